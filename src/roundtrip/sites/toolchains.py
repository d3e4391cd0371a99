"""ReFrame environments from a Spack lock file: each is exactly one concrete spec.

A site's ``reframe.py`` calls `environments` while ReFrame loads it; Spack itself is not run.
Prefixes are those of the view that ``spack.yaml`` keeps, or of the site's own installations.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip.errors import UserError
from roundtrip.sites import labels, launchers, nothing
from roundtrip.sites import lock as locks
from roundtrip.sites.lock import Concrete, Lock

#: The package whose roots are the toolchains.
WORKLOADS = "roundtrip-workloads"
OSU, NPB, NETPIPE = "osu-micro-benchmarks", "npb", "netpipe"
#: What a partition offers, as a feature, if the workloads of every toolchain use this package.
PVM = "pvm"
#: Feature that a check asks for: the package that offers it.
_OFFERS = {"osu": OSU, "npb-upstream": NPB, "netpipe-reference": NETPIPE}
#: The view of spack.yaml, in the environment's folder.
VIEW = ".spack-view"
#: MPI package: (ReFrame launcher, its options).
Launch = Mapping[str, tuple[str | None, Sequence[str]]]


@dataclass(frozen=True)
class Toolchain:
    """One MPI with one Boost, under the `name` and `title` that its site asks for.

    `suites` are the other roots that use this MPI, by package.
    """

    name: str
    title: str
    root: Concrete
    mpi: Concrete
    boost: Concrete
    suites: Mapping[str, Concrete]


def active_lock() -> Path | None:
    """Lock file of the active Spack environment (``spack env activate .`` sets SPACK_ENV)."""
    folder = os.environ.get("SPACK_ENV")
    file = Path(folder) / "spack.lock" if folder else None
    return file if file and file.is_file() else None


def toolchains(lock: Lock, label: Sequence[str] = ()) -> list[Toolchain]:
    """The toolchains of a lock file; UserError if two specs would get the same name.

    `label`: what of them is in their names besides the series of MPI and Boost (`labels`).
    """
    labels.require(lock, label)
    suites: dict[str, dict[str, Concrete]] = {}
    for root in lock.roots:
        spec, mpi = lock.specs[root.hash], lock.mpi_of(root.hash)
        if mpi and spec.name != WORKLOADS:
            suites.setdefault(mpi.hash, {})[spec.name] = spec
    found: dict[str, Toolchain] = {}
    for root in lock.roots:
        spec = lock.specs[root.hash]
        if spec.name != WORKLOADS:
            continue
        below = {item.name: item for item in lock.reached(spec.hash)}
        mpi, boost = lock.mpi_of(spec.hash), below.get("boost")
        if mpi is None or boost is None:
            raise UserError(f"root '{root.asked}' lacks an MPI or a Boost", lock.file)
        name = labels.name(spec, mpi, boost, lock, label)
        if name in found and found[name].root.hash != spec.hash:
            other = found[name].root.hash
            raise UserError(
                f"environment '{name}' would be two concrete specs: {other[:7]} and "
                f"{spec.hash[:7]} (root '{root.asked}'): tell them apart with `label` in site.toml",
                lock.file,
            )
        title = labels.title(spec, mpi, boost, lock, label)
        others = suites.get(mpi.hash, {})
        found[name] = Toolchain(name, title, spec, mpi, boost, others)
    return list(found.values())


def workloads(lock: Lock) -> dict[str, str]:
    """What was asked for, by the hash of each root that is a toolchain."""
    roots = ((root.hash, root.asked) for root in lock.roots)
    return {hash_: asked for hash_, asked in roots if lock.specs[hash_].name == WORKLOADS}


def prefix(spec: Concrete, lock: Lock) -> str:
    """Where `spec` is installed: its own prefix if external, else in the view of spack.yaml."""
    if spec.external is not None:
        return spec.external
    return str(lock.file.parent / VIEW / f"{spec.name}-{spec.version}-{spec.hash[:7]}")


def environments(
    system: str,
    launch: Launch,
    variables: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    label: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """ReFrame environments of `system` from the active Spack environment; none if none is active.

    `launch` says how each MPI starts ranks, `variables` what it needs set, by package name, and
    `label` what is in the names (`toolchains`).
    ReFrame calls a run without any case passed: so a line on standard error says what is missing.
    UserError for a lock file that is broken or holds an MPI that `launch` does not know.
    """
    file = active_lock()
    if file is None:
        nothing.tell(system, "no concretized Spack environment is active: `spack env activate .`")
        return []
    lock = locks.read(file)
    found = toolchains(lock, label)
    # Programs that do not use Boost are measured with one Boost only, the last of each MPI.
    last = {item.mpi.hash: item.name for item in sorted(found, key=lambda item: item.name)}
    all_ = [
        _environment(item, lock, system, launch, variables or {}, last[item.mpi.hash])
        for item in found
    ]
    if not installed(all_):
        nothing.tell(system, f"no toolchain of {file} is installed: `spack install`")
    return all_


def pvm() -> list[str]:
    """The feature ``pvm`` if Spack built every toolchain's workloads with PVM; else nothing.

    Of the active Spack environment; UserError for a lock file that is broken.
    """
    file = active_lock()
    lock = locks.read(file) if file else None
    roots = workloads(lock) if lock else []
    with_pvm = [any(spec.name == PVM for spec in lock.reached(root)) for root in roots if lock]
    return [PVM] if with_pvm and all(with_pvm) else []


def installed(found: Iterable[Mapping[str, Any]], without: Sequence[str] = ()) -> list[str]:
    """Names of those `environments` that are installed and whose MPI is not one of `without`."""
    return [
        item["name"]
        for item in found
        if item["extras"]["mpi"] not in without
        and all(Path(folder).is_dir() for folder in item["extras"]["prefixes"])
    ]


def _environment(
    item: Toolchain,
    lock: Lock,
    system: str,
    launch: Launch,
    variables: Mapping[str, Sequence[tuple[str, str]]],
    last: str,
) -> dict[str, Any]:
    if item.mpi.name not in launch:
        raise UserError(
            f"site '{system}' does not say how {item.mpi.label} starts ranks; "
            f"it knows: {', '.join(sorted(launch))}",
            lock.file,
        )
    launcher, options = launch[item.mpi.name]
    mpi, own = prefix(item.mpi, lock), prefix(item.root, lock)
    suites = {name: prefix(spec, lock) for name, spec in sorted(item.suites.items())}
    suites = {name: place for name, place in suites.items() if Path(place).is_dir()}
    is_last = item.name == last
    offered = [feature for feature, package in _OFFERS.items() if package in suites]
    mpi_spec = f"^{item.mpi.name}@{item.mpi.version}"
    enough = f"it knows no Boost, {last} is enough"
    return {
        "name": item.name,
        "cc": f"{mpi}/bin/mpicc",
        "cxx": f"{mpi}/bin/mpicxx",
        "ftn": f"{mpi}/bin/mpifort",
        "env_vars": [
            ["PATH", f"{mpi}/bin:$PATH"],
            *[list(pair) for pair in variables.get(item.mpi.name, ())],
        ],
        "features": ["mpi", "boost", *(offered if is_last else [])],
        "extras": {
            "toolchain": item.title,
            "mpi": item.mpi.name,
            "mpi_version": item.mpi.version,
            "boost_version": item.boost.version,
            "spec": item.root.hash,
            "specs": {
                spec.name: f"{spec.version}/{spec.hash}"
                for spec in (item.root, item.mpi, item.boost)
            },
            "prefix": own,
            "programs": f"{own}/bin",
            "prefixes": [mpi, own],
            "suites": suites,
            "osu_prefix": suites.get(OSU),
            "npb_upstream": f"{suites[NPB]}/bin" if NPB in suites else None,
            "netpipe_reference": f"{suites[NETPIPE]}/bin/NPmpi" if NETPIPE in suites else None,
            "lacks": {
                feature: f"spack install {package} {mpi_spec}" if is_last else enough
                for feature, package in _OFFERS.items()
            },
            "build": f"{system}-{item.name}-{item.root.hash[:7]}",
            **launchers.extras(launcher, options),
        },
        "target_systems": [system],
    }
