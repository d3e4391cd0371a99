"""What a cluster has installed below an MPI: version, prefix, and whether one can build with it.

A library without its headers runs programs and builds none: as an external of Spack it would end
the configure step of the MPI, half an hour later.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Library:
    """`name` as Spack has it; `lacks` is the file without which nothing can be built with it."""

    name: str
    version: str
    prefix: str = "/usr"
    lacks: str | None = None

    def __str__(self) -> str:
        lacking = f", without {self.lacks}" if self.lacks else ""
        return f"{self.name} {self.version} in {self.prefix}{lacking}"


@dataclass(frozen=True)
class _Sought:
    """How to find one: `command` with its version, a program in its prefix, header and library."""

    command: tuple[str, ...]
    version: str
    program: str | None
    header: str
    library: str


_NUMBER = r"(\d+(?:\.\d+)*)"
_SOUGHT = {
    "ucx": _Sought(
        ("ucx_info", "-v"),
        rf"(?:Library version:|UCT version=)\s*{_NUMBER}",
        "ucx_info",
        "ucp/api/ucp.h",
        "libucp.so",
    ),
    "gcc": _Sought(("gcc", "-dumpfullversion"), _NUMBER, "gcc", "", ""),
}
#: Known to pkg-config, which tells the prefix too: (its name, header, library).  Open MPI 5 looks
#: for them in `lib` and `lib64` of the prefix only, not in Debian's folder of an architecture.
_PACKAGED = {
    "pmix": ("pmix", "pmix.h", "libpmix.so"),
    "hwloc": ("hwloc", "hwloc.h", "libhwloc.so"),
    "libevent": ("libevent", "event2/event.h", "libevent_core.so"),
}


def look(run: Callable[..., str | None], slurm: str | None) -> list[Library]:
    """What `run` finds; `slurm` is Slurm's version if there is one."""
    found = []
    if slurm:
        found.append(_in("slurm", slurm, _prefix("sinfo"), "slurm/slurm.h", "libslurm.so"))
    for name, sought in _SOUGHT.items():
        match = re.search(sought.version, run(*sought.command) or "")
        if match:
            prefix = _prefix(sought.program or name)
            found.append(_in(name, match[1], prefix, sought.header, sought.library))
    rdma = run("rpm", "-q", "--qf", "%{VERSION}", "rdma-core") or run(
        "dpkg-query", "-W", "-f", "${Version}", "libibverbs-dev"
    )
    if rdma and (number := re.match(_NUMBER, rdma)):
        header = "infiniband/verbs.h"
        found.append(_in("rdma-core", number[1], Path("/usr"), header, "libibverbs.so"))
    for name, (package, header, library) in _PACKAGED.items():
        version = run("pkg-config", "--modversion", package)
        place = run("pkg-config", "--variable=prefix", package)
        if version and place and (number := re.match(_NUMBER, version)):
            prefix = Path(place.strip())
            found.append(_in(name, number[1], prefix, header, library, apart=False))
    return found


def _prefix(program: str) -> Path:
    place = shutil.which(program)
    return Path(place).parent.parent if place else Path("/usr")


def _in(
    name: str, version: str, prefix: Path, header: str, library: str, apart: bool = True
) -> Library:
    """With `apart`, the library may be in a folder of an architecture."""
    lacks = None
    if header and not (prefix / "include" / header).is_file():
        lacks = f"include/{header}"
    elif library and not any(_libraries(prefix, library, apart)):
        lacks = f"lib/{library}"
    return Library(name, version, str(prefix), lacks)


def _libraries(prefix: Path, library: str, apart: bool) -> list[Path]:
    """In ``lib``, ``lib64``, or if `apart` a folder of an architecture as Debian has them."""
    more = prefix.glob(f"lib/*-linux-gnu*/{library}") if apart else ()
    return [*prefix.glob(f"lib*/{library}"), *more]
