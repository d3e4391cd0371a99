"""Debian's MPIs and build tools as Spack externals: makes a prefix for each MPI, and the entries.

``/usr`` cannot be the prefix of an MPI: ``/usr/bin/mpicc`` belongs to the MPI that the alternatives
chose, and headers and libraries are in other folders.  Spack expands no variables in a prefix, so
the entries hold real paths and are valid on this machine only.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from roundtrip import paths

# Spack's recipe of Open MPI asks for `mpic++`.
_WRAPPERS = ("mpicc", "mpicxx", "mpic++", "mpif77", "mpif90", "mpifort", "mpirun", "mpiexec")
#: Spack's name of a tool, and the Debian package that has its version.
_TOOLS = {
    "cmake": "cmake",
    "ninja": "ninja-build",
    "gmake": "make",
    "cli11": "libcli11-dev",
    "nlohmann-json": "nlohmann-json3-dev",
    "pkgconf": "pkgconf",
}


@dataclass(frozen=True)
class External:
    """An entry of ``packages.yaml``: Spack's name, its spec, and the prefix."""

    name: str
    spec: str
    prefix: str


@dataclass(frozen=True)
class _Mpi:
    name: str
    package: str
    include: str
    libraries: dict[str, str]  # link in the prefix: file in the system's library folder


_MPIS = (
    _Mpi("openmpi", "openmpi-bin", "openmpi/include", {"lib": "openmpi/lib"}),
    _Mpi(
        "mpich",
        "mpich",
        "mpich/include",
        {"lib/libmpi.so": "libmpich.so", "lib/libmpicxx.so": "libmpichcxx.so"},
    ),
)


def externals(folder: Path) -> list[External]:
    """Externals for what Debian has installed here; makes MPI prefixes in `folder`."""
    found = [
        External(name, f"{name}@{version}", "/usr")
        for name, package in _TOOLS.items()
        if (version := installed_version(package))
    ]
    for mpi in _MPIS:
        version = installed_version(mpi.package)
        if version and shutil.which(f"mpicxx.{mpi.name}"):
            prefix = folder / f"{mpi.name}-{version}"
            _link(mpi, prefix)
            found.append(External(mpi.name, f"{mpi.name}@={version} +fortran", str(prefix)))
            found += _boosts(mpi.name, version)
    return found


def installed_version(package: str) -> str | None:
    """Upstream's part of the version of an installed Debian package, e.g. 4.1.4; else None."""
    if not shutil.which("dpkg-query"):
        return None
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Status}|${Version}", package], capture_output=True, text=True
    )
    number = re.match(r"install ok installed\|(?:\d+:)?(\d+(?:\.\d+)*)", done.stdout)
    return number[1] if number else None


def _boosts(mpi: str, version: str) -> list[External]:
    """Boosts that ``roundtrip toolchains`` has built for this MPI."""
    major, minor, *_ = version.split(".")
    found = []
    for place in sorted(paths.toolchains().glob(f"{mpi}{major}{minor}-boost*")):
        header = place / "include" / "boost" / "version.hpp"
        if not header.is_file():
            continue
        number = re.search(r'BOOST_LIB_VERSION "(\d+)_(\d+)(?:_(\d+))?"', header.read_text())
        if number:
            boost = f"{number[1]}.{number[2]}.{number[3] or 0}"
            spec = f"boost@={boost} +mpi +serialization ^{mpi}@={version}"
            found.append(External("boost", spec, str(place)))
    return found


def _link(mpi: _Mpi, prefix: Path) -> None:
    machine = subprocess.run(
        ["gcc", "-print-multiarch"], capture_output=True, text=True
    ).stdout.strip()
    system = Path("/usr/lib") / machine
    links = {"include": system / mpi.include}
    links |= {link: system / file for link, file in mpi.libraries.items()}
    for link, target in links.items():
        place = prefix / link
        place.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not place.is_symlink():
            place.symlink_to(target)
    (prefix / "bin").mkdir(exist_ok=True)
    for name in _WRAPPERS:
        # Not links: Hydra looks for its helper in the folder of the name that it was started by.
        program, place = Path(f"/usr/bin/{name}.{mpi.name}"), prefix / "bin" / name
        if program.exists():
            place.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
            place.chmod(0o755)
