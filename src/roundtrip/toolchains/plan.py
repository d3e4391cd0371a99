"""What each toolchain consists of on this machine, and the content keys that follow from it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from roundtrip.errors import UserError
from roundtrip.host.packages import installed
from roundtrip.toolchains.spec import Boost, Mpi, Toolchain
from roundtrip.toolchains.store import Store, content_key

#: Increase it when the build steps change in a way that no other input of the keys shows.
RECIPE = 1
CC, CXX = "/usr/bin/gcc", "/usr/bin/g++"
#: Debian's own flags for Boost, so that Debian's Boost.MPI and ours differ only in the MPI.
FLAGS = (
    "-std=gnu++17",
    "-O2",
    "-g0",
    "-fstack-protector-strong",
    "-D_FORTIFY_SOURCE=2",
    "-DNDEBUG",
    "-fPIC",
    "-pthread",
)
SPACK_ROUTE = "or build with Spack: spack env activate . && spack install"


@dataclass(frozen=True)
class MpiPlan:
    """An MPI as it is on this machine: `origin` in words; `pin` is a wheel's locked requirement."""

    mpi: Mpi
    version: str
    origin: str
    key: str
    pin: str | None = None


@dataclass(frozen=True)
class Plan:
    """A toolchain as it would be built here now."""

    toolchain: Toolchain
    mpi: MpiPlan
    compiler: str
    flags: tuple[str, ...]
    key: str

    @property
    def from_debian(self) -> bool:
        """Whether Debian has a Boost.MPI that is linked with this MPI."""
        return self.toolchain.mpi.boost_packages


def upstream(version: str) -> str:
    """Upstream's part of a Debian version: ``1:4.1.4+ds-3+b1`` -> ``4.1.4``."""
    return re.split(r"[-+~]", version.split(":", 1)[-1])[0]


@cache
def compiler_version() -> str:
    """Version of the C++ compiler, e.g. 12.2.0; UserError without one."""
    try:
        run = subprocess.run([CXX, "-dumpfullversion"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise UserError(f"no compiler {CXX}: run `make setup`, {SPACK_ROUTE}") from None
    return run.stdout.strip()


def mpi_plan(mpi: Mpi) -> MpiPlan:
    """Plan of one MPI; UserError if its package is missing here, or of another series."""
    pin = None
    if mpi.package:
        found = (installed([mpi.package]) or {}).get(mpi.package)
        if not found:
            raise UserError(
                f"{mpi.name} needs Debian package {mpi.package}: run `make setup`, {SPACK_ROUTE}"
            )
        version, origin = upstream(found), f"Debian {mpi.package} {found}"
    elif mpi.unpacked:
        # Which of Debian's packages it is, only the download tells; they are all of this series.
        version, origin = mpi.series, f"Debian {mpi.unpacked[0]} {mpi.series}, unpacked"
    else:
        pin = mpi.pin or ""
        wheel, version = pin.split()[0].split("==")
        origin = f"PyPI {wheel} {version}"
    if not f"{version}.".startswith(f"{mpi.series}."):
        raise UserError(f"{mpi.name} needs version {mpi.series}, not {origin}; {SPACK_ROUTE}")
    inputs: dict[str, object] = {"recipe": RECIPE, "unit": mpi.name, "origin": origin}
    inputs |= {"pin": pin, "cxx": CXX}
    if mpi.unpacked:
        inputs |= {"unpacked": mpi.unpacked, "definitions": mpi.of_family.definitions}
    return MpiPlan(mpi, version, origin, content_key(inputs), pin)


def plan(toolchain: Toolchain) -> Plan:
    """Plan of one toolchain; UserError if this machine cannot have it."""
    mpi = mpi_plan(toolchain.mpi)
    compiler = compiler_version()
    inputs = {
        "recipe": RECIPE,
        "unit": toolchain.name,
        "mpi": mpi.key,
        "boost": toolchain.boost.version,
        "compiler": [CXX, compiler],
        "flags": FLAGS,
    }
    return Plan(toolchain, mpi, compiler, FLAGS, content_key(inputs))


def boost_key(boost: Boost, part: str) -> str:
    """Key of what toolchains share of one Boost; `part` is headers or sources."""
    return content_key({"recipe": RECIPE, "unit": part, "boost": boost.version})


def states(toolchains: Iterable[Toolchain], store: Store) -> dict[str, str]:
    """``good``, ``stale`` (built from other parts than there are now) or ``not built``, by name."""
    found = {}
    for toolchain in toolchains:
        linked = store.linked(toolchain.name)
        try:
            wanted = plan(toolchain).key
        except UserError:
            wanted = None
        found[toolchain.name] = (
            "not built" if linked is None else "good" if linked == wanted else "stale"
        )
    return found
