"""Writes the folder of a new site: a data file that extends a base by the facts of a probe.

Its Spack part is a shipped one, fitted to these facts.  On a cluster, Spack builds the MPIs.  On a
machine without a scheduler, MPIs and tools of Debian are externals.  ``/usr`` cannot be the prefix
of an MPI: ``/usr/bin/mpicc`` belongs to the MPI that the alternatives chose, and headers and
libraries are in other folders.  So each MPI gets a prefix of its own.  Spack expands no variables
in a prefix: the entries hold real paths of this machine.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped]

from roundtrip import paths, tables
from roundtrip.errors import UserError
from roundtrip.sites import data
from roundtrip.sites import software as spack
from roundtrip.sites.machine import installed_packages, upstream
from roundtrip.sites.probe import USUAL_TARGET, Facts, Library
from roundtrip.sites.schedulers.interface import SitePart, command_output
from roundtrip.sites.toolchains.build import write_wrapper

#: The site's ``reframe.py``; its data are in ``site.toml``.
_REFRAME_FILE_TEXT = '''"""Site `{name}` as ReFrame takes it: `site.toml` says what it is."""

from roundtrip.sites.render import configuration

site_configuration = configuration(__file__)
'''
_PLACEHOLDER_VALUES = {
    "hca": ("mlx5_0", "`ibv_devinfo -l`; of several, the one nearest to the ranks (`lstopo`)"),
    "port": (1, ""),
    "interface": ("eth0", "`ip -br link`: the network interface of the nodes"),
    "gid_index": (3, "`show_gids`: the line of the IPv4 address that says v2"),
    "traffic_class": (106, "the class that the switches treat as lossless: ask who runs them"),
}


class _SiteBase(NamedTuple):
    """A kind of site, the shipped site whose Spack part it copies, and the values it needs."""

    title: str
    spack_part: str
    values: tuple[str, ...] = ()


#: The base of a machine without a scheduler.
MACHINE = "machine"
_RDMA_KEYS = ("hca", "port", "interface")
_BASE_BY_NAME = {
    "infiniband": _SiteBase("InfiniBand", "infiniband", _RDMA_KEYS),
    "roce": _SiteBase(
        "RDMA over Converged Ethernet", "roce", (*_RDMA_KEYS, "gid_index", "traffic_class")
    ),
    "ethernet": _SiteBase("Ethernet, UCX", "infiniband", ("interface",)),
    "tcp": _SiteBase("Ethernet, each MPI's own TCP", "infiniband", ("interface",)),
    MACHINE: _SiteBase("This machine, no scheduler, software by Spack", "spack"),
}


def write_site(
    name: str,
    facts: Facts,
    checkout: Path,
    partitions: Sequence[str] = (),
    software: str = "spack",
) -> Path:
    """Write the folder ``site-configs/<name>``.

    `partitions` are those to measure on, by default the distinct ones; `software` makes the
    toolchains: ``spack``, or ``toolchains`` (`roundtrip toolchains`).  UserError if the folder
    exists, for an illegal name, or for a partition that the scheduler lacks.
    """
    sites = checkout / "site-configs"
    if not re.fullmatch(r"[A-Za-z][\w-]*", name):
        raise UserError(f"'{name}' is no name for a site: letters, digits, - and _ only")
    folder = sites / name
    if folder.exists():
        raise UserError("there is one already; remove it, or choose another name", folder)
    scheduler, cluster = facts.scheduler, facts.cluster
    by_name = {partition.name: partition for partition in cluster.partitions}
    if missing_names := [item for item in partitions if item not in by_name]:
        choices = ", ".join(sorted(by_name)) or f"none, or no {scheduler.lister}"
        complaint = f"{scheduler.title} has no partition '{missing_names[0]}'"
        raise UserError(f"{complaint}; there are: {choices}")
    chosen = [by_name[item] for item in partitions] or cluster.distinct_partitions
    part = scheduler.site_part(cluster, chosen, facts.has_scheduler_library)
    fabric = _fabric(facts)
    base = fabric if fabric == MACHINE else scheduler.base(fabric)
    folder.mkdir()
    text, unknowns = site_toml(name, (fabric, base), facts, part, software)
    (folder / data.SITE_FILE).write_text(text)
    (folder / "reframe.py").write_text(_REFRAME_FILE_TEXT.format(name=name))
    if software == "spack":
        source = sites / _BASE_BY_NAME[fabric].spack_part / "spack"
        unknowns += write_spack_part(source, folder, facts, fabric)
    unknowns += part.decisions
    lines = [*facts.lines(), *part.lines]
    found = "\n".join(f"- {line}" for line in lines)
    missing = "\n".join(f"- {item}" for item in unknowns or ["nothing, but read every value once"])
    (folder / "README.md").write_text(
        f"# Site `{name}`\n\nWritten by `roundtrip site new`, over `site-configs/base/{base}.toml`."
        f"\n\nFound:\n\n{found}\n\nNot found, so the usual value stands; set it:\n\n{missing}"
        f"\n\nThen `roundtrip site check {name}`.\n"
    )
    if part.environment:
        (folder / "environment").write_text(part.environment)
    return folder


def _fabric(facts: Facts) -> str:
    """``machine`` without a scheduler; else by the port's link layer, or by UCX."""
    if not facts.cluster.usable_partitions:
        return MACHINE
    if facts.port is None:
        return "ethernet" if facts.library("ucx") else "tcp"
    return "roce" if facts.port.link_layer == "Ethernet" else "infiniband"


def site_toml(
    name: str, kind: tuple[str, str], facts: Facts, part: SitePart, software: str
) -> tuple[str, list[str]]:
    """Return the text of ``site.toml``, and the keys for which the probe found no value.

    `kind`: the fabric, a key of `_BASE_BY_NAME`, and the base.
    """
    fabric, base = kind
    of_whom = "" if fabric == MACHINE else f"{facts.scheduler.title}, "
    text = (
        f"# Site `{name}`: README.md beside it says what was found. It is laid over\n"
        f"# site-configs/base/{base}.toml: whatever stands there may be replaced here.\n"
        f'base = "{base}"\ndescription = "{of_whom}{_BASE_BY_NAME[fabric].title}"\n'
    )
    if software != "spack" or fabric == MACHINE:
        text += f'software = "{software}"\n'
    if fabric == MACHINE:
        return text, []
    text += f"hostnames = ['^{name}-login\\d*$'] # chosen by RFM_SYSTEM all the same\n"
    text += part.keys
    unknowns = [*part.unknown_keys]
    values: dict[str, str | int | None] = {
        "hca": facts.port.device if facts.port else None,
        "port": facts.port.number if facts.port else None,
        "interface": facts.interface(infiniband=fabric == "infiniband"),
    }
    text += "\n[values]\n"
    for key in _BASE_BY_NAME[fabric].values:
        default, hint = _PLACEHOLDER_VALUES[key]
        value = values.get(key)
        if value is None:
            unknowns.append(f"`{key}` in `{data.SITE_FILE}`" + (f": {hint}" if hint else ""))
        literal = json.dumps(default if value is None else value)
        text += f"{key} = {literal}{f' # {hint}' if hint else ''}\n"
    return text + part.tables, [*unknowns, *part.unknown_values]


# Spack's recipe of Open MPI asks for `mpic++`.
_MPI_WRAPPERS = ("mpicc", "mpicxx", "mpic++", "mpif77", "mpif90", "mpifort", "mpirun", "mpiexec")
#: Spack's name of a tool, and the Debian package that has its version.
_TOOL_PACKAGES = {
    "cmake": "cmake",
    "ninja": "ninja-build",
    "gmake": "make",
    "cli11": "libcli11-dev",
    "nlohmann-json": "nlohmann-json3-dev",
    "pkgconf": "pkgconf",
}


class External(NamedTuple):
    """An entry of ``packages.yaml``: Spack's name, its spec, and the prefix."""

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


def debian_externals(prefix_root: Path) -> list[External]:
    """Return externals for the Debian packages installed here; make MPI prefixes below a folder."""
    packages = [*_TOOL_PACKAGES.values(), *(mpi.package for mpi in _DEBIAN_MPIS)]
    versions = installed_packages(packages) or {}
    externals = [
        External(name, f"{name}@{upstream(versions[package])}", "/usr")
        for name, package in _TOOL_PACKAGES.items()
        if package in versions
    ]
    for mpi in _DEBIAN_MPIS:
        if mpi.package in versions and shutil.which(f"mpicxx.{mpi.name}"):
            version = upstream(versions[mpi.package])
            prefix = prefix_root / f"{mpi.name}-{version}"
            _make_prefix(mpi, prefix)
            externals.append(External(mpi.name, f"{mpi.name}@={version} +fortran", str(prefix)))
            externals += _built_boosts(mpi.name, version)
    return externals


def _built_boosts(mpi: str, version: str) -> list[External]:
    """Boosts that ``roundtrip toolchains`` has built for this MPI."""
    major, minor, *_ = version.split(".")
    externals = []
    for place in sorted(paths.toolchains().glob(f"{mpi}{major}{minor}-boost*")):
        header = place / "include" / "boost" / "version.hpp"
        if not header.is_file():
            continue
        number = re.search(r'BOOST_LIB_VERSION "(\d+)_(\d+)(?:_(\d+))?"', header.read_text())
        if number:
            boost = f"{number[1]}.{number[2]}.{number[3] or 0}"
            spec = f"boost@={boost} +mpi +serialization ^{mpi}@={version}"
            externals.append(External("boost", spec, str(place)))
    return externals


def _make_prefix(mpi: _DebianMpi, prefix: Path) -> None:
    machine = command_output("gcc", "-print-multiarch") or ""
    system = Path("/usr/lib") / machine.strip()
    links = {"include": system / mpi.include}
    links |= {link: system / file for link, file in mpi.libraries.items()}
    for link, target in links.items():
        place = prefix / link
        place.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not place.is_symlink():
            place.symlink_to(target)
    (prefix / "bin").mkdir(exist_ok=True)
    for name in _MPI_WRAPPERS:
        # Not links: Hydra looks for its helper in the folder of the path that started it.
        program, place = Path(f"/usr/bin/{name}.{mpi.name}"), prefix / "bin" / name
        if program.exists():
            write_wrapper(place, [program])


#: The comments that explain each entry are in the shipped site.
_FILE_HEAD = """\
# Written by `roundtrip site new`; site-configs/{source}/spack/packages.yaml explains each entry.
# Externals are what is installed here with headers and libraries; what is not, Spack builds.
"""
#: Variants of the template, which use UCX, and the variants for TCP without UCX.
_TCP_VARIANTS = {"fabrics=ucx": "fabrics=none", "netmod=ucx": "netmod=ofi"}
_UCX_VARIANTS = "+thread_multiple +cma ~cuda ~rocm"
_UCX_RDMA_VARIANTS = "+verbs +rc +ud +dc +mlx5_dv"
#: Open MPI must share these with an external PMIx: two copies of one in a process end it.
_PMIX_PACKAGES = ("pmix", "hwloc", "libevent")


def cluster_packages(template: str, facts: Facts, base: str) -> tuple[dict[str, Any], list[str]]:
    """Return ``packages.yaml``, made from the text `template`, and what the user has to set."""
    scheduler = facts.scheduler
    text = scheduler.set_mpi_launchers(template, facts.cluster, facts.has_scheduler_library)
    text = text.replace(f"target={USUAL_TARGET}", f"target={facts.target or USUAL_TARGET}")
    if base == "tcp":
        for ucx, tcp in _TCP_VARIANTS.items():
            text = text.replace(ucx, tcp)
    if series := scheduler.pmix_series(facts.cluster.pmi):
        text = re.sub(r"(?m)^(  pmix:.*\n    require: \[')@[\d.]+", rf"\g<1>@{series}", text)
    packages = yaml.safe_load(text)["packages"]
    unknowns = (
        [] if facts.target else ["`target` in `spack/packages.yaml`: one that all nodes have"]
    )
    name = scheduler.spack_package
    if library := facts.library(name):
        packages[name] = _external_entry(library, scheduler.spack_spec(library.version))
    elif name:
        unknowns.append(f"version and prefix of {name} in `spack/packages.yaml`")
    _add_libraries(packages, facts, base)
    return {"packages": packages}, unknowns


def _external_entry(library: Library, spec: str) -> dict[str, Any]:
    return {"buildable": False, "externals": [{"spec": spec, "prefix": library.prefix}]}


def _add_libraries(packages: dict[str, Any], facts: Facts, base: str) -> None:
    """Add the libraries of the MPIs, from this machine if programs can be built with them."""
    usable = {item.name: item for item in facts.libraries if not item.missing_file}
    for name in ("ucx", "rdma-core"):
        del packages[name]
    if base != "tcp":
        options = f"{_UCX_VARIANTS} {_UCX_RDMA_VARIANTS}" if facts.port else _UCX_VARIANTS
        if ucx := usable.get("ucx"):
            packages["ucx"] = _external_entry(ucx, f"ucx@{ucx.version} {options}")
        else:
            target = facts.target or USUAL_TARGET
            packages["ucx"] = {"require": [f"{options} target={target}"]}
    if facts.port and (core := usable.get("rdma-core")):
        packages["rdma-core"] = _external_entry(core, f"rdma-core@{core.version}")
    if not usable.keys() >= {*_PMIX_PACKAGES}:
        return
    if usable["pmix"].version.split(".")[0] == facts.scheduler.pmix_series(facts.cluster.pmi):
        for item in (usable[name] for name in _PMIX_PACKAGES):
            external = {"spec": f"{item.name}@{item.version}", "prefix": item.prefix}
            packages.setdefault(item.name, {})["externals"] = [external]


def external_packages(externals: list[External]) -> str:
    """``packages.yaml`` for a machine whose MPIs are externals."""
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


def external_definitions(externals: list[External], template: Mapping[str, list[str]]) -> str:
    """Return ``definitions.yaml`` for external MPIs, with the Boosts that exist for all of them.

    A Boost external is built for one MPI, so the product MPI x Boost must hold only such pairs.
    Without such Boosts, Spack builds those of the template.
    """
    mpis = [item.spec.split()[0] for item in externals if item.name in ("openmpi", "mpich")]
    boosts = [item.spec.split()[0] for item in externals if item.name == "boost"]
    pairs = {(item.spec.split()[0], item.spec.rpartition("^")[2]) for item in externals}
    numbers = [{spec for spec in boosts if (spec, mpi) in pairs} for mpi in mpis]
    boost_specs = sorted(set.intersection(*numbers)) if numbers else []
    lists = [
        {"mpis": mpis},
        {"boosts": [f"{spec} +mpi +serialization" for spec in boost_specs] or template["boosts"]},
        {"suites": template["suites"]},
        {"comparators": template["comparators"]},
    ]
    return tables.dump_yaml({"definitions": lists})


def write_spack_part(source: Path, folder: Path, facts: Facts, base: str) -> list[str]:
    """Write ``spack/`` of the site in `folder` from `source`; return what the user has to set."""
    target = folder / "spack"
    target.mkdir()
    for file in sorted(source.glob("*.yaml")):
        shutil.copyfile(file, target / file.name)
    file = target / "packages.yaml"
    if not facts.cluster.usable_partitions:
        externals = debian_externals(folder / "prefix")
        if any(item.name in ("openmpi", "mpich") for item in externals):
            file.write_text(external_packages(externals))
            definitions = external_definitions(externals, spack.definitions(source))
            (target / "definitions.yaml").write_text(definitions)
        return []
    entries, unknowns = cluster_packages(file.read_text(), facts, base)
    file.write_text(_FILE_HEAD.format(source=source.parent.name) + tables.dump_yaml(entries))
    if facts.port is None:  # MVAPICH2's device is InfiniBand
        definitions = (target / "definitions.yaml").read_text()
        (target / "definitions.yaml").write_text(re.sub(r"  - mvapich2@.*\n", "", definitions))
    return unknowns
