"""What a toolchain from Spack is called: its MPI and Boost, and whatever else its site asks for.

Two builds of one series need two names.  A site's ``label`` lists what tells them apart: ``patch``
(the rest of the MPI's version), ``compiler``, a variant of the MPI, or a package below it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from roundtrip.errors import UserError
from roundtrip.sites.lock import Concrete, Lock

PATCH, COMPILER = "patch", "compiler"
_TITLES = {
    "openmpi": "Open MPI",
    "mpich": "MPICH",
    "mvapich": "MVAPICH",
    "mvapich2": "MVAPICH2",
    "ucx": "UCX",
    "pmix": "PMIx",
    "gcc": "GCC",
}


def require(lock: Lock, parts: Sequence[str]) -> None:
    """UserError for a part that nothing in the lock file has."""
    mpis = lock.mpis.values()
    known = {PATCH, COMPILER, *(spec.name for spec in lock.specs.values())}
    known |= {variant for mpi in mpis for variant in mpi.parameters}
    for part in parts:
        if part not in known:
            raise UserError(
                f"`label` in site.toml: '{part}' is neither {PATCH}, {COMPILER}, a variant of an "
                "MPI nor a package",
                lock.file,
            )


def mpi(spec: Concrete, lock: Lock, parts: Sequence[str]) -> str:
    """The name of an MPI: ``openmpi41``, or with more parts ``mpich43p2-ofi-ucx117``.

    ReFrame allows no dot in a name.
    """
    patch = "p" + "p".join(_numbers(spec)[2:]) if PATCH in parts else ""
    rest = [_part(spec, lock, part) for part in parts if part not in (PATCH, COMPILER)]
    return "-".join([series(spec) + patch, *filter(None, rest)])


def name(root: Concrete, mpi_: Concrete, boost: Concrete, lock: Lock, parts: Sequence[str]) -> str:
    """The name of a toolchain: ``openmpi41-boost186``, or with more parts between and after."""
    built = _compiler(root, lock) if COMPILER in parts else None
    found = [mpi(mpi_, lock, parts), series(boost), series(built, 1) if built else ""]
    return "-".join(filter(None, found))


def title(root: Concrete, mpi_: Concrete, boost: Concrete, lock: Lock, parts: Sequence[str]) -> str:
    """The toolchain for people: ``Open MPI 4.1.8, Boost 1.86.0, netmod ofi, UCX 1.17.0``."""
    told = [_told(mpi_), f"Boost {boost.version}"]
    for part in parts:
        if part == COMPILER:
            below = _compiler(root, lock)
        elif part in mpi_.parameters:
            told.append(f"{part} {_value(mpi_.parameters[part])}")
            continue
        else:
            below = _below(mpi_, lock, part)
        told += [_told(below)] if below else []
    return ", ".join(told)


def series(spec: Concrete, length: int = 2) -> str:
    """``openmpi@5.0.8`` -> ``openmpi50``."""
    number = "".join([*_numbers(spec), "0", "0"][:length])
    return f"{spec.name}{'-' if spec.name[-1].isdigit() else ''}{number}"


def _part(spec: Concrete, lock: Lock, part: str) -> str:
    if part in spec.parameters:
        value = spec.parameters[part]
        text = part if value is True else f"no-{part}" if value is False else _value(value)
        return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")
    below = _below(spec, lock, part)
    return series(below) if below else ""


def _below(spec: Concrete, lock: Lock, package: str) -> Concrete | None:
    return next((item for item in lock.reached(spec.hash) if item.name == package), None)


def _compiler(root: Concrete, lock: Lock) -> Concrete | None:
    """What compiled the C++ of `root`."""
    hashes = [hash_ for _, hash_, virtuals in root.dependencies if "cxx" in virtuals]
    return lock.specs[hashes[0]] if hashes else None


def _numbers(spec: Concrete) -> list[str]:
    return re.findall(r"\d+", spec.version)


def _told(spec: Concrete) -> str:
    return f"{_TITLES.get(spec.name, spec.name)} {spec.version}"


def _value(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
