"""Writes the Spack part of a new site: a shipped one, fitted to the facts of a probe.

On a cluster, Spack builds the MPIs.  On a machine without a scheduler, MPIs and tools of Debian are
externals.  ``/usr`` cannot be the prefix of an MPI: ``/usr/bin/mpicc`` belongs to the MPI that the
alternatives chose, and headers and libraries are in other folders.  So each MPI gets a prefix of
its own.  Spack expands no variables in a prefix: the entries hold real paths of this machine.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped]

from roundtrip import paths, tables
from roundtrip.sites import schedulers, software
from roundtrip.sites.machine import installed_packages, upstream_version
from roundtrip.sites.probe import MAX_DEFAULT_TARGET, Library, MachineFacts
from roundtrip.sites.schedulers.interface import Cluster, command_output
from roundtrip.sites.toolchains.build import write_wrapper

# Spack's recipe of Open MPI asks for `mpic++`.
_MPI_PROGRAMS = ("mpicc", "mpicxx", "mpic++", "mpif77", "mpif90", "mpifort", "mpirun", "mpiexec")
#: Spack's name of a tool, and the Debian package that has its version.
_TOOL_PACKAGES = {
    "cmake": "cmake",
    "ninja": "ninja-build",
    "gmake": "make",
    "cli11": "libcli11-dev",
    "nlohmann-json": "nlohmann-json3-dev",
    "pkgconf": "pkgconf",
}


class SpackExternal(NamedTuple):
    """An installed package that Spack uses, as in ``packages.yaml``: name, spec and prefix."""

    name: str
    spec: str
    prefix: str


class _DebianMpi(NamedTuple):
    name: str
    package: str
    include: str
    libraries: dict[str, str]  # link in the prefix: file in the system's library folder


_DEBIAN_MPIS = (
    _DebianMpi("openmpi", "openmpi-bin", "openmpi/include", {"lib": "openmpi/lib"}),
    _DebianMpi(
        "mpich",
        "mpich",
        "mpich/include",
        {"lib/libmpi.so": "libmpich.so", "lib/libmpicxx.so": "libmpichcxx.so"},
    ),
)


def make_debian_externals(prefix_root: Path) -> list[SpackExternal]:
    """Return Spack's externals for the Debian packages installed here; make a prefix with links and
    wrappers for each MPI below `prefix_root`."""
    packages = [*_TOOL_PACKAGES.values(), *(mpi.package for mpi in _DEBIAN_MPIS)]
    versions = installed_packages(packages) or {}
    externals = [
        SpackExternal(name, f"{name}@{upstream_version(versions[package])}", "/usr")
        for name, package in _TOOL_PACKAGES.items()
        if package in versions
    ]
    for mpi in _DEBIAN_MPIS:
        if mpi.package in versions and shutil.which(f"mpicxx.{mpi.name}"):
            version = upstream_version(versions[mpi.package])
            prefix = prefix_root / f"{mpi.name}-{version}"
            _make_mpi_prefix(mpi, prefix)
            externals.append(
                SpackExternal(mpi.name, f"{mpi.name}@={version} +fortran", str(prefix))
            )
            externals += _built_boost_externals(mpi.name, version)
    return externals


def _built_boost_externals(mpi: str, version: str) -> list[SpackExternal]:
    """Return the Boosts that ``roundtrip toolchains`` has built for this MPI, as externals."""
    major, minor, *_ = version.split(".")
    externals = []
    for prefix in sorted(paths.toolchains().glob(f"{mpi}{major}{minor}-boost*")):
        header = prefix / "include" / "boost" / "version.hpp"
        if not header.is_file():
            continue
        number = re.search(r'BOOST_LIB_VERSION "(\d+)_(\d+)(?:_(\d+))?"', header.read_text())
        if number:
            boost = f"{number[1]}.{number[2]}.{number[3] or 0}"
            spec = f"boost@={boost} +mpi +serialization ^{mpi}@={version}"
            externals.append(SpackExternal("boost", spec, str(prefix)))
    return externals


def _make_mpi_prefix(mpi: _DebianMpi, prefix: Path) -> None:
    machine = command_output("gcc", "-print-multiarch") or ""
    system = Path("/usr/lib") / machine.strip()
    links = {"include": system / mpi.include}
    links |= {link: system / file for link, file in mpi.libraries.items()}
    for link, target in links.items():
        path = prefix / link
        path.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not path.is_symlink():
            path.symlink_to(target)
    (prefix / "bin").mkdir(exist_ok=True)
    for name in _MPI_PROGRAMS:
        # Not links: Hydra looks for its helper in the folder of the path that started it.
        program, path = Path(f"/usr/bin/{name}.{mpi.name}"), prefix / "bin" / name
        if program.exists():
            write_wrapper(path, [program])


#: The comments that explain each entry are in the shipped site.
_PACKAGES_FILE_COMMENT = """\
# Written by `roundtrip site new`; site-configs/{source}/spack/packages.yaml explains each entry.
# Externals are what is installed here with headers and libraries, and the scheduler, of which
# commands are enough; what is not, Spack builds.
"""
#: Variants of the template, which use UCX, and the variants for TCP without UCX.
_TCP_VARIANT_BY_UCX_VARIANT = {"fabrics=ucx": "fabrics=none", "netmod=ucx": "netmod=ofi"}
_UCX_VARIANTS = "+thread_multiple +cma ~cuda ~rocm"
_UCX_RDMA_VARIANTS = "+verbs +rc +ud +dc +mlx5_dv"
#: Open MPI must share these with an external PMIx: two copies of one in a process end it.
_PMIX_PACKAGES = ("pmix", "hwloc", "libevent")


def cluster_packages(
    template: str, facts: MachineFacts, base: str
) -> tuple[dict[str, Any], list[str]]:
    """Return the ``packages.yaml`` of a cluster on fabric `base`, and what the user has to set in
    it, from the shipped text `template`, which is for the first of `SCHEDULERS`."""
    scheduler, shipped = facts.scheduler, schedulers.SCHEDULERS[0]
    text = template.replace(
        f"target={MAX_DEFAULT_TARGET}", f"target={facts.target or MAX_DEFAULT_TARGET}"
    )
    if base == "tcp":
        for ucx, tcp in _TCP_VARIANT_BY_UCX_VARIANT.items():
            text = text.replace(ucx, tcp)
    if series := scheduler.pmix_series(facts.cluster.offered_pmis):
        text = re.sub(r"(?m)^(  pmix:.*\n    require: \[')@[\d.]+", rf"\g<1>@{series}", text)
    packages = yaml.safe_load(text)["packages"]
    shipped_variants = shipped.spack_variants(Cluster(), has_library=True)
    own_variants = scheduler.spack_variants(facts.cluster, facts.has_scheduler_library)
    for mpi, variants in shipped_variants.items():
        first, *others = packages[mpi]["require"]
        packages[mpi]["require"] = [first.replace(variants, own_variants[mpi]), *others]
    if scheduler is not shipped:
        del packages[shipped.spack_package]
    unknowns = (
        [] if facts.target else ["`target` in `spack/packages.yaml`: one that all nodes have"]
    )
    name = scheduler.spack_package
    if library := facts.find_library(name):
        packages[name] = _external_entry(library, scheduler.spack_spec(library.version))
    elif name:
        unknowns.append(f"version and prefix of {name} in `spack/packages.yaml`")
    _add_mpi_libraries(packages, facts, base)
    return {"packages": packages}, unknowns


def _external_entry(library: Library, spec: str) -> dict[str, Any]:
    return {"buildable": False, "externals": [{"spec": spec, "prefix": library.prefix}]}


def _add_mpi_libraries(packages: dict[str, Any], facts: MachineFacts, base: str) -> None:
    """Add the libraries of the MPIs to `packages`; those installed with headers as externals."""
    usable = {item.name: item for item in facts.libraries if not item.missing_file}
    for name in ("ucx", "rdma-core"):
        del packages[name]
    if base != "tcp":
        options = f"{_UCX_VARIANTS} {_UCX_RDMA_VARIANTS}" if facts.active_port else _UCX_VARIANTS
        if ucx := usable.get("ucx"):
            packages["ucx"] = _external_entry(ucx, f"ucx@{ucx.version} {options}")
        else:
            target = facts.target or MAX_DEFAULT_TARGET
            packages["ucx"] = {"require": [f"{options} target={target}"]}
    if facts.active_port and (core := usable.get("rdma-core")):
        packages["rdma-core"] = _external_entry(core, f"rdma-core@{core.version}")
    if not usable.keys() >= {*_PMIX_PACKAGES}:
        return
    if usable["pmix"].version.split(".")[0] == facts.scheduler.pmix_series(
        facts.cluster.offered_pmis
    ):
        for item in (usable[name] for name in _PMIX_PACKAGES):
            external = {"spec": f"{item.name}@{item.version}", "prefix": item.prefix}
            packages.setdefault(item.name, {})["externals"] = [external]


def external_packages_yaml(externals: list[SpackExternal]) -> str:
    """Return the text of ``packages.yaml`` for a machine whose MPIs are externals."""
    entries: dict[str, dict[str, Any]] = {
        "mpi": {"buildable": False},
        **{language: {"require": ["gcc"]} for language in ("c", "cxx", "fortran")},
    }
    for item in externals:
        entry = entries.setdefault(item.name, {"buildable": False, "externals": []})
        entry["externals"].append({"spec": item.spec, "prefix": item.prefix})
    head = (
        "# Installed already, so Spack builds none of it. Paths of this machine: do not commit.\n"
    )
    return head + tables.dump_yaml({"packages": entries})


def external_definitions_yaml(
    externals: list[SpackExternal], template: Mapping[str, list[str]]
) -> str:
    """Return the text of ``definitions.yaml``: the external MPIs, the Boosts that all of them have.

    A Boost external is built for one MPI, so the product MPI x Boost must hold only such pairs.
    Without such Boosts, Spack builds those of the template.
    """
    mpis = [item.spec.split()[0] for item in externals if item.name in ("openmpi", "mpich")]
    boosts_by_mpi = [
        {item.spec.split()[0] for item in externals if item.spec.endswith(f"^{mpi}")}
        for mpi in mpis
    ]
    boost_specs = sorted(set.intersection(*boosts_by_mpi)) if mpis else []
    lists = [
        {"mpis": mpis},
        {"boosts": [f"{spec} +mpi +serialization" for spec in boost_specs] or template["boosts"]},
        {"suites": template["suites"]},
        {"comparators": template["comparators"]},
    ]
    return tables.dump_yaml({"definitions": lists})


def write_spack_folder(source: Path, folder: Path, facts: MachineFacts, base: str) -> list[str]:
    """Write ``spack/`` of the site in `folder` from `source`; return what the user has to set."""
    target = folder / "spack"
    target.mkdir()
    for file in sorted(source.glob("*.yaml")):
        shutil.copyfile(file, target / file.name)
    file = target / "packages.yaml"
    if not facts.cluster.usable_partitions:
        externals = make_debian_externals(folder / "prefix")
        if any(item.name in ("openmpi", "mpich") for item in externals):
            file.write_text(external_packages_yaml(externals))
            definitions = external_definitions_yaml(externals, software.read_definitions(source))
            (target / "definitions.yaml").write_text(definitions)
        return []
    entries, unknowns = cluster_packages(file.read_text(), facts, base)
    file.write_text(
        _PACKAGES_FILE_COMMENT.format(source=source.parent.name) + tables.dump_yaml(entries)
    )
    if facts.active_port is None:  # MVAPICH2's device is InfiniBand
        definitions = (target / "definitions.yaml").read_text()
        (target / "definitions.yaml").write_text(re.sub(r"  - mvapich2@.*\n", "", definitions))
    return unknowns
