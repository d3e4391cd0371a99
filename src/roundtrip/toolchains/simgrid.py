"""Makes the prefix of SimGrid's SMPI from Debian packages that are unpacked and never installed.

Debian's scripts hold the paths of an installed package; the copies in the prefix hold its own.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from roundtrip.toolchains.debian import Archive
from roundtrip.toolchains.plan import CC, CXX
from roundtrip.toolchains.process import run
from roundtrip.toolchains.spec import Mpi

_COMPILERS = {"smpicc": "mpicc", "smpicxx": "mpicxx"}
_STARTERS = ("smpirun", "mpirun", "mpiexec")
_TWO_HOSTS = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="pair" prefix="host" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/>
</platform>
"""


def make_prefix(mpi: Mpi, archive: Archive, place: Path) -> None:
    """Fill `place` with usr/, as unpacked, and bin/: SMPI's programs under their names and under
    those of any MPI.  BuildError if a package is not there."""
    for deb in archive.packages(list(mpi.unpacked)):
        run(f"unpacking {deb.name}", ["dpkg-deb", "-x", deb, place], archive.log)
    # SMPI's mpi.h wants a header of Boost; that of a toolchain, if it has one, goes before.
    later = place / "later"
    later.mkdir()
    (place / "usr" / "include" / "boost").rename(later / "boost")
    programs = place / "usr" / "bin"
    for name in (*_COMPILERS, _STARTERS[0]):
        script = programs / name
        script.write_text(moved(script.read_text(), place))
    # The linker, too, looks for what SimGrid needs in the system's folders only.
    for library in sorted((place / "usr" / "lib").glob("*/*.so*")):
        if not library.is_symlink():
            command: list[str | Path] = ["patchelf", "--set-rpath", "$ORIGIN", library]
            run(f"setting the search path of {library.name}", command, archive.log)
    (place / "bin").mkdir()
    options = [f"-idirafter{later}", *(f"-D{each}" for each in mpi.of_family.definitions)]
    for own, usual in _COMPILERS.items():
        for name in (own, usual):
            _wrap(place / "bin" / name, [programs / own, *options])
    for name in _STARTERS:
        _wrap(place / "bin" / name, [programs / _STARTERS[0]])


def moved(script: str, place: Path) -> str:
    """Debian's `script` with the paths of what was unpacked into `place`, and our compilers."""
    for folder in ("lib", "include"):
        script = script.replace(f"/usr/{folder}", f"{place}/usr/{folder}")
    return script.replace("CC=/usr/bin/cc\n", f"CC={CC}\n").replace(
        "CXX=/usr/bin/c++\n", f"CXX={CXX}\n"
    )


def two_hosts(folder: Path) -> list[str | Path]:
    """Options of smpirun for two ranks on a host each; `folder` gets the files that they name."""
    platform, hosts = folder / "pair.xml", folder / "hosts"
    platform.write_text(_TWO_HOSTS)
    hosts.write_text("host0\nhost1\n")
    return ["-platform", platform, "-hostfile", hosts]


def _wrap(path: Path, command: list[str | Path]) -> None:
    words = " ".join(shlex.quote(str(word)) for word in command)
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)
