"""ReFrame environments from a Spack lock file, each exactly one concrete spec, and their names.

The configuration of a site calls `spack_environments` while ReFrame loads it; Spack is not run.
Prefixes are those of the view of ``spack.yaml``, or of external installations.

Two builds of one series need two names.  The ``label`` of a site lists what distinguishes them:
``patch`` (the rest of the MPI's version), ``compiler``, a variant of the MPI, or a package that it
depends on.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip.errors import UserError
from roundtrip.sites import lock as locks
from roundtrip.sites.lock import ConcreteSpec, SpackLock

#: The package whose roots are the toolchains.
WORKLOADS_PACKAGE = "roundtrip-workloads"
OSU_PACKAGE, NPB_PACKAGE, NETPIPE_PACKAGE = "osu-micro-benchmarks", "npb", "netpipe"
#: Package and feature: a partition has the feature if the workloads of every toolchain use it.
PVM_FEATURE = "pvm"
#: Feature that a check requires: the package that provides it.
_PACKAGE_BY_FEATURE = {
    "osu": OSU_PACKAGE,
    "npb-upstream": NPB_PACKAGE,
    "netpipe-reference": NETPIPE_PACKAGE,
}
#: The view of spack.yaml, in the environment's folder.
VIEW_FOLDER_NAME = ".spack-view"
#: How ranks of an MPI start: environment variables, and extras (`launching.launcher_extras`).
StartSettings = tuple[Mapping[str, str], Mapping[str, object]]
PATCH_PART, COMPILER_PART = "patch", "compiler"
#: ReFrame's option to run, abbreviated or joined with others: those before it take no value.
_RUN_OPTION_PATTERN = re.compile(r"-[RVqv]*r.*|--run?")
_TITLE_BY_PACKAGE = {
    "openmpi": "Open MPI",
    "mpich": "MPICH",
    "mvapich": "MVAPICH",
    "mvapich2": "MVAPICH2",
    "ucx": "UCX",
    "pmix": "PMIx",
    "gcc": "GCC",
}


@dataclass(frozen=True)
class SpackToolchain:
    """One MPI with one Boost in a lock file, named by the site's ``label``: `root` is our
    workloads, `suites` are the other roots that use this MPI, by package."""

    name: str
    title: str
    root: ConcreteSpec
    mpi: ConcreteSpec
    boost: ConcreteSpec
    suites: Mapping[str, ConcreteSpec]


def active_lock() -> Path | None:
    """Lock file of the active Spack environment (``spack env activate .`` sets SPACK_ENV)."""
    folder = os.environ.get("SPACK_ENV")
    file = Path(folder) / "spack.lock" if folder else None
    return file if file and file.is_file() else None


def toolchains_in_lock(lock: SpackLock, name_parts: Sequence[str] = ()) -> list[SpackToolchain]:
    """Return the toolchains of a lock file, with `name_parts` in their names (`toolchain_name`);
    UserError if two specs would get the same name."""
    require_known_name_parts(lock, name_parts)
    suites: dict[str, dict[str, ConcreteSpec]] = {}
    for root in lock.roots:
        spec, mpi = lock.specs[root.hash], lock.find_mpi(root.hash)
        if mpi and spec.name != WORKLOADS_PACKAGE:
            suites.setdefault(mpi.hash, {})[spec.name] = spec
    by_name: dict[str, SpackToolchain] = {}
    for root in lock.roots:
        spec = lock.specs[root.hash]
        if spec.name != WORKLOADS_PACKAGE:
            continue
        dependencies = {item.name: item for item in lock.closure(spec.hash)}
        mpi, boost = lock.find_mpi(spec.hash), dependencies.get("boost")
        if mpi is None or boost is None:
            raise UserError(f"root '{root.spec}' lacks an MPI or a Boost", lock.file)
        name = toolchain_name(spec, mpi, boost, lock, name_parts)
        if name in by_name and by_name[name].root.hash != spec.hash:
            other_hash = by_name[name].root.hash
            raise UserError(
                f"environment '{name}' would be two concrete specs: {other_hash[:7]} and "
                f"{spec.hash[:7]} (root '{root.spec}'): tell them apart with `label` in site.toml",
                lock.file,
            )
        title = toolchain_title(spec, mpi, boost, lock, name_parts)
        by_name[name] = SpackToolchain(name, title, spec, mpi, boost, suites.get(mpi.hash, {}))
    return list(by_name.values())


def toolchain_spec_by_hash(lock: SpackLock) -> dict[str, str]:
    """Return the abstract spec of each root that is a toolchain, by its concrete spec's hash."""
    roots = ((root.hash, root.spec) for root in lock.roots)
    return {hash_: spec for hash_, spec in roots if lock.specs[hash_].name == WORKLOADS_PACKAGE}


def prefix_of_spec(spec: ConcreteSpec, lock: SpackLock) -> str:
    """Return the prefix of `spec`: its own if external, else its folder in spack.yaml's view."""
    if spec.external is not None:
        return spec.external
    return str(lock.file.parent / VIEW_FOLDER_NAME / f"{spec.name}-{spec.version}-{spec.hash[:7]}")


def warn_empty_site(system: str, reason: str) -> None:
    """Warn on standard error that a site has no toolchain; ConfigError instead if this ReFrame is
    to run checks, since an empty run would pass."""
    message = f"site '{system}' can run no check: {reason}"
    if any(_RUN_OPTION_PATTERN.fullmatch(word) for word in sys.argv):
        from reframe.core.exceptions import ConfigError  # already loaded inside ReFrame only

        raise ConfigError(message)
    print(message, file=sys.stderr)


def spack_environments(
    system: str, starts: Mapping[str, StartSettings], name_parts: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return ReFrame environments of `system` from the active Spack environment; [] without one.

    `starts` says how ranks start, by the package of the MPI; `name_parts` is the site's ``label``.
    A line on standard error says what is missing, as ReFrame reports a run without any case as
    passed.  UserError for a broken lock file, or an MPI that `starts` lacks.
    """
    file = active_lock()
    if file is None:
        reason = "no concretized Spack environment is active: `spack env activate .`"
        warn_empty_site(system, reason)
        return []
    lock = locks.read_lock(file)
    items = toolchains_in_lock(lock, name_parts)
    # Programs that do not use Boost are measured with one Boost only, the last of each MPI.
    last = {item.mpi.hash: item.name for item in sorted(items, key=lambda item: item.name)}
    entries = [
        _reframe_environment(item, lock, system, starts, last[item.mpi.hash]) for item in items
    ]
    if not installed_environment_names(entries):
        warn_empty_site(system, f"no toolchain of {file} is installed: `spack install`")
    return entries


def spack_pvm_features() -> list[str]:
    """Return the feature ``pvm`` if all workloads in the active lock file use PVM; else []."""
    file = active_lock()
    lock = locks.read_lock(file) if file else None
    roots = toolchain_spec_by_hash(lock) if lock else []
    with_pvm = [
        any(spec.name == PVM_FEATURE for spec in lock.closure(root)) for root in roots if lock
    ]
    return [PVM_FEATURE] if with_pvm and all(with_pvm) else []


def installed_environment_names(
    entries: Iterable[Mapping[str, Any]], excluded_mpis: Sequence[str] = ()
) -> list[str]:
    """Return the names of the installed ReFrame environments whose MPI is not excluded."""
    return [
        item["name"]
        for item in entries
        if item["extras"]["mpi"] not in excluded_mpis
        and all(Path(folder).is_dir() for folder in item["extras"]["prefixes"])
    ]


def _reframe_environment(
    toolchain: SpackToolchain,
    lock: SpackLock,
    system: str,
    starts: Mapping[str, StartSettings],
    last_toolchain: str,
) -> dict[str, Any]:
    if toolchain.mpi.name not in starts:
        raise UserError(
            f"site '{system}' does not say how {toolchain.mpi.name_version} starts ranks; "
            f"it knows: {', '.join(sorted(starts))}",
            lock.file,
        )
    variables, start_extras = starts[toolchain.mpi.name]
    mpi, prefix = prefix_of_spec(toolchain.mpi, lock), prefix_of_spec(toolchain.root, lock)
    suites = {name: prefix_of_spec(spec, lock) for name, spec in sorted(toolchain.suites.items())}
    suites = {name: folder for name, folder in suites.items() if Path(folder).is_dir()}
    is_last = toolchain.name == last_toolchain
    features = [feature for feature, package in _PACKAGE_BY_FEATURE.items() if package in suites]
    mpi_spec = f"^{toolchain.mpi.name}@{toolchain.mpi.version}"
    reason = f"it knows no Boost, {last_toolchain} is enough"
    return {
        "name": toolchain.name,
        "cc": f"{mpi}/bin/mpicc",
        "cxx": f"{mpi}/bin/mpicxx",
        "ftn": f"{mpi}/bin/mpifort",
        "env_vars": [["PATH", f"{mpi}/bin:$PATH"], *map(list, variables.items())],
        "features": ["mpi", "boost", *(features if is_last else [])],
        "extras": {
            "toolchain": toolchain.title,
            "mpi": toolchain.mpi.name,
            "mpi_version": toolchain.mpi.version,
            "boost_version": toolchain.boost.version,
            "spec": toolchain.root.hash,
            "specs": {
                spec.name: f"{spec.version}/{spec.hash}"
                for spec in (toolchain.root, toolchain.mpi, toolchain.boost)
            },
            "prefix": prefix,
            "programs": f"{prefix}/bin",
            "prefixes": [mpi, prefix],
            "suites": suites,
            "osu_prefix": suites.get(OSU_PACKAGE),
            "npb_upstream": f"{suites[NPB_PACKAGE]}/bin" if NPB_PACKAGE in suites else None,
            "netpipe_reference": f"{suites[NETPIPE_PACKAGE]}/bin/NPmpi"
            if NETPIPE_PACKAGE in suites
            else None,
            "lacks": {
                feature: f"spack install {package} {mpi_spec}" if is_last else reason
                for feature, package in _PACKAGE_BY_FEATURE.items()
            },
            "build": f"{system}-{toolchain.name}-{toolchain.root.hash[:7]}",
            **start_extras,
        },
        "target_systems": [system],
    }


def require_known_name_parts(lock: SpackLock, name_parts: Sequence[str]) -> None:
    """UserError if one of `name_parts` names nothing in the lock file."""
    names = {PATCH_PART, COMPILER_PART, *(spec.name for spec in lock.specs.values())}
    names |= {variant for mpi in lock.mpi_by_hash.values() for variant in mpi.parameters}
    for part in name_parts:
        if part not in names:
            raise UserError(
                f"`label` in site.toml: '{part}' is neither {PATCH_PART}, {COMPILER_PART}, a "
                "variant of an MPI nor a package",
                lock.file,
            )


def mpi_name(spec: ConcreteSpec, lock: SpackLock, name_parts: Sequence[str]) -> str:
    """The name of an MPI, without dots: ``openmpi41``, or longer ``mpich43p2-ofi-ucx117``."""
    patch = "p" + "p".join(_version_numbers(spec)[2:]) if PATCH_PART in name_parts else ""
    names = [series_name(spec) + patch]
    for part in name_parts:
        if part in (PATCH_PART, COMPILER_PART):
            continue
        if part in spec.parameters:
            value = spec.parameters[part]
            text = part if value is True else f"no-{part}" if value is False else spec.value(part)
            names.append(re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-"))
        elif dependency := _find_dependency(spec, lock, part):
            names.append(series_name(dependency))
    return "-".join(filter(None, names))


def toolchain_name(
    root: ConcreteSpec,
    mpi: ConcreteSpec,
    boost: ConcreteSpec,
    lock: SpackLock,
    name_parts: Sequence[str],
) -> str:
    """The name of a toolchain: ``openmpi41-boost186``, or longer, the compiler last."""
    compiler = _find_compiler(root, lock) if COMPILER_PART in name_parts else None
    names = [mpi_name(mpi, lock, name_parts), series_name(boost)]
    return "-".join([*names, series_name(compiler, 1)] if compiler else names)


def toolchain_title(
    root: ConcreteSpec,
    mpi: ConcreteSpec,
    boost: ConcreteSpec,
    lock: SpackLock,
    name_parts: Sequence[str],
) -> str:
    """The title of a toolchain: ``Open MPI 4.1.8, Boost 1.86.0, netmod ofi, UCX 1.17.0``."""
    titles = [_spec_title(mpi), f"Boost {boost.version}"]
    for part in name_parts:
        if part == COMPILER_PART:
            dependency = _find_compiler(root, lock)
        elif part in mpi.parameters:
            titles.append(f"{part} {mpi.value(part)}")
            continue
        else:
            dependency = _find_dependency(mpi, lock, part)
        titles += [_spec_title(dependency)] if dependency else []
    return ", ".join(titles)


def series_name(spec: ConcreteSpec, number_count: int = 2) -> str:
    """Return a package's name with the first numbers of its version: ``openmpi50`` of 5.0.8."""
    number = "".join([*_version_numbers(spec), "0", "0"][:number_count])
    return f"{spec.name}{'-' if spec.name[-1].isdigit() else ''}{number}"


def _find_dependency(spec: ConcreteSpec, lock: SpackLock, package: str) -> ConcreteSpec | None:
    return next((item for item in lock.closure(spec.hash) if item.name == package), None)


def _find_compiler(root: ConcreteSpec, lock: SpackLock) -> ConcreteSpec | None:
    """Return the compiler of the C++ code of `root`, if the lock file has it."""
    hashes = [hash_ for _, hash_, virtuals in root.dependencies if "cxx" in virtuals]
    return lock.specs[hashes[0]] if hashes else None


def _version_numbers(spec: ConcreteSpec) -> list[str]:
    return re.findall(r"\d+", spec.version)


def _spec_title(spec: ConcreteSpec) -> str:
    return f"{_TITLE_BY_PACKAGE.get(spec.name, spec.name)} {spec.version}"
