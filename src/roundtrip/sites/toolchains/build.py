"""Builds and tests toolchains that are missing or stale; keeps the others."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from roundtrip.sites.machine import distributor
from roundtrip.sites.toolchains import prefixes
from roundtrip.sites.toolchains.plan import (
    CXX,
    FLAGS,
    BuildError,
    Plan,
    ResolvedMpi,
    Store,
    boost_key,
    boost_tar,
    clean_environment,
    run,
    toolchain_plan,
)
from roundtrip.sites.toolchains.prefixes import AptArchive, fill_mpi_prefix
from roundtrip.sites.toolchains.spec import Toolchain, is_version

#: Called with the name of a toolchain and its current step, finally ``good``.
StateListener = Callable[[str, str], None]
_SELFTEST_SOURCE = Path(__file__).with_name("selftest.cpp")


def any_machine_environment() -> dict[str, str]:
    """An environment in which two ranks run anywhere, also as root and on one core."""
    environment = clean_environment() | {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return environment


def selftest_faults(plan: Plan, output: str) -> list[str]:
    """Return the faults in the self-test's output; [] without any."""
    lines = output.strip().splitlines()[-4:]
    if len(lines) < 4:
        return ["the self-test printed no complete answer"]
    ranks, total, boost, library = lines
    faults = []
    if ranks != "2":
        faults.append(f"{ranks} ranks instead of 2: compiler and mpirun are of different MPIs")
    if total != "321":
        faults.append(f"received {total} instead of 321")
    if boost.replace("_", ".") != plan.toolchain.boost.series:
        faults.append(f"Boost headers are {boost}, not {plan.toolchain.boost.series}")
    prefix = plan.toolchain.mpi.kind.answers
    if not is_version(library, prefix, plan.mpi.version, exactly=True):
        faults.append(f"the MPI library is {library!r}, not {plan.mpi.version}")
    return faults


def check_toolchain(plan: Plan, prefix: Path, mpi: Path, log: Path) -> None:
    """Test the toolchain in `prefix` with the MPI in `mpi`; BuildError if it does not work."""
    program, lib = prefix / "selftest", prefix / "lib"
    command = [str(mpi / "bin" / "mpicxx"), "-std=c++20", "-isystem", str(prefix / "include")]
    command += [str(_SELFTEST_SOURCE), "-o", str(program), f"-L{lib}", f"-Wl,-rpath,{lib}"]
    run("compiling the self-test", [*command, "-lboost_mpi", "-lboost_serialization"], log)
    launch: list[str | Path] = [mpi / "bin" / "mpirun", "-n", "2"]
    with tempfile.TemporaryDirectory() as folder:
        if plan.toolchain.mpi.kind.simulator:
            launch += prefixes.two_host_options(Path(folder))
        env = any_machine_environment()
        output = run("running the self-test", [*launch, program], log, env=env, timeout=120)
    program.unlink()
    if faults := selftest_faults(plan, output):
        raise BuildError("self-test: " + "; ".join(faults), log, output)


def pending_plans(toolchains: Sequence[Toolchain], store: Store) -> list[Plan]:
    """Return the plans of the toolchains that are missing or stale."""
    plans = [toolchain_plan(toolchain) for toolchain in toolchains]
    return [p for p in plans if store.symlink_key(p.toolchain.name) != p.key]


def build_plans(plans: Sequence[Plan], store: Store, report: StateListener) -> None:
    """Build each plan in turn; BuildError at the first failure.  The caller holds the store."""
    work = store.root / "work"
    try:
        for plan in plans:
            name = plan.toolchain.name
            log = store.log(name)
            report(name, plan.mpi.origin)
            archive = AptArchive(work, log)
            mpi = store.ensure(plan.mpi.key, partial(_make_mpi_unit, plan.mpi, archive))
            store.link(plan.mpi.mpi.name, plan.mpi.key)
            store.ensure(plan.key, partial(_make_toolchain, plan, store, mpi, archive, report))
            store.link(name, plan.key)
            report(name, "good")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _make_mpi_unit(plan: ResolvedMpi, archive: AptArchive, place: Path) -> None:
    if plan.mpi.unpacked:
        prefixes.fill_simulator_prefix(plan.mpi, archive, place)
    else:
        fill_mpi_prefix(plan.mpi, place, archive.log)


def _make_toolchain(
    plan: Plan, store: Store, mpi: Path, archive: AptArchive, report: StateListener, place: Path
) -> None:
    toolchain, boost, log = plan.toolchain, plan.toolchain.boost, archive.log
    say = partial(report, toolchain.name)
    headers = boost_key(boost, "headers")
    say(f"Boost {boost.version}: headers")
    store.ensure(headers, partial(prefixes.fill_boost_headers, boost, archive))
    (place / "include").symlink_to(Path("..") / headers / "include")
    (place / "mpi").symlink_to(Path("..") / mpi.name)
    if plan.from_debian:
        say(f"Boost {boost.version}: Debian's libraries")
        origin = prefixes.take_debian_libraries(boost, archive, place)
        flags = ["as Debian built it"]
    else:
        say(f"Boost {boost.version}: sources")
        make_sources = partial(prefixes.fill_boost_sources, boost, archive)
        sources = store.ensure(boost_key(boost, "sources"), make_sources)
        prefixes.compile_libraries(
            plan, sources, place, log, lambda n, of: say(f"compiling Boost.MPI: {n} of {of} files")
        )
        supplier = "a tar file's" if boost_tar() else f"{distributor()}'s"
        origin, flags = f"built from {supplier} boost{boost.series} sources", list(FLAGS)
    say("self-test: two ranks")
    check_toolchain(plan, place, mpi, log)
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
