"""Makes a prefix for each MPI, with the same names in it wherever the MPI comes from.

bin/ holds wrappers, not links: Open MPI's programs depend on the name that they are called by, and
the compiler must depend neither on the system's alternatives nor on the user's environment.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from roundtrip.toolchains.plan import CC, CXX, MpiPlan
from roundtrip.toolchains.process import run
from roundtrip.toolchains.spec import Mpi

PROGRAMS = ("mpicc", "mpicxx", "mpirun", "mpiexec")


def wrapper(mpi: Mpi, program: Path) -> str:
    """Text of a wrapper that runs `program` with this toolchain's compilers."""
    prefix = mpi.of_family.compilers
    return (
        "#!/bin/sh\n"
        f"export {prefix}_CC={CC} {prefix}_CXX={CXX}\n"
        f'exec {shlex.quote(str(program))} "$@"\n'
    )


def make_prefix(plan: MpiPlan, place: Path, log: Path) -> None:
    """Fill `place` with bin/ and, for a wheel, with the MPI itself.  BuildError if pip fails.

    Nothing in it links to a system folder, so that no clean-up can reach one.
    """
    if plan.pin is None:
        programs = {name: Path("/usr/bin") / f"{name}.{plan.mpi.family}" for name in PROGRAMS}
    else:
        wheel = place / "wheel"
        _install_wheel(plan.pin, wheel, place, log)
        programs = {name: wheel / "bin" / name for name in PROGRAMS}
    (place / "bin").mkdir()
    for name, program in programs.items():
        path = place / "bin" / name
        path.write_text(wrapper(plan.mpi, program))
        path.chmod(0o755)


def _install_wheel(pin: str, wheel: Path, place: Path, log: Path) -> None:
    requirement = place / "requirement.txt"
    requirement.write_text(pin)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps"]
    command += ["--ignore-installed", "--no-warn-script-location", "--require-hashes"]
    options: list[str | Path] = ["--prefix", wheel, "-r", requirement]
    run("installing the MPI wheel", [*command, *options], log)
