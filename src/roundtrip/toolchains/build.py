"""Builds the toolchains that are asked for and do not exist yet; complete ones are left alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from roundtrip.toolchains import boost as boosts
from roundtrip.toolchains import simgrid
from roundtrip.toolchains.debian import Archive
from roundtrip.toolchains.mpi import make_prefix
from roundtrip.toolchains.plan import CXX, MpiPlan, Plan, boost_key, plan
from roundtrip.toolchains.selftest import selftest
from roundtrip.toolchains.spec import Toolchain
from roundtrip.toolchains.store import Store

#: Is called with the toolchain's name and what is being done for it, at last ``good``.
Report = Callable[[str, str], None]


def pending(toolchains: Sequence[Toolchain], store: Store) -> list[Plan]:
    """Plans of the toolchains that do not exist as they would be built now."""
    plans = [plan(toolchain) for toolchain in toolchains]
    return [p for p in plans if store.linked(p.toolchain.name) != p.key]


def build(plans: Sequence[Plan], store: Store, report: Report) -> None:
    """Build each plan in turn; BuildError at the first failure.  The caller holds the store."""
    work = store.root / "work"
    try:
        for each in plans:
            name = each.toolchain.name
            log = store.log(name)
            report(name, each.mpi.origin)
            archive = Archive(work, log)
            mpi = store.ensure(each.mpi.key, partial(_make_mpi, each.mpi, archive))
            store.link(each.mpi.mpi.name, each.mpi.key)
            store.ensure(each.key, partial(_make, each, store, mpi, archive, report))
            store.link(name, each.key)
            report(name, "good")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _make_mpi(plan: MpiPlan, archive: Archive, place: Path) -> None:
    if plan.mpi.unpacked:
        simgrid.make_prefix(plan.mpi, archive, place)
    else:
        make_prefix(plan, place, archive.log)


def _make(
    plan: Plan, store: Store, mpi: Path, archive: Archive, report: Report, place: Path
) -> None:
    toolchain, boost, log = plan.toolchain, plan.toolchain.boost, archive.log
    say = partial(report, toolchain.name)
    headers = boost_key(boost, "headers")
    say(f"Boost {boost.version}: headers")
    store.ensure(headers, partial(boosts.make_headers, boost, archive))
    (place / "include").symlink_to(Path("..") / headers / "include")
    (place / "mpi").symlink_to(Path("..") / mpi.name)
    if plan.from_debian:
        say(f"Boost {boost.version}: Debian's libraries")
        origin = boosts.take_debian_libraries(boost, archive, place)
        flags = ["as Debian built it"]
    else:
        say(f"Boost {boost.version}: sources")
        sources = store.ensure(
            boost_key(boost, "sources"), partial(boosts.make_sources, boost, archive)
        )
        boosts.compile_libraries(
            plan, sources, place, log, lambda n, of: say(f"compiling Boost.MPI: {n} of {of} files")
        )
        origin, flags = f"built from Debian's boost{boost.series} sources", list(plan.flags)
    say("self-test: two ranks")
    selftest(plan, place, mpi, log)
    record = {
        "schema": 1,
        "name": toolchain.name,
        "mpi": {
            "family": toolchain.mpi.family,
            "version": plan.mpi.version,
            "origin": plan.mpi.origin,
        },
        "boost": {"version": boost.version, "origin": origin},
        "compiler": {"id": Path(CXX).name, "version": plan.compiler, "flags": flags},
        "key": plan.key,
    }
    (place / "toolchain.json").write_text(json.dumps(record, indent=2) + "\n")
