"""One prefix for each MPI, with the same names in it wherever the MPI comes from.

bin/ holds exec wrappers, not links: Open MPI's programs look at the name they are called by, and
the compiler must not depend on the system's alternatives or on the user's environment.
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
    prefix = {"openmpi": "OMPI", "mpich": "MPICH"}[mpi.family]
    return (
        "#!/bin/sh\n"
        f"export {prefix}_CC={CC} {prefix}_CXX={CXX}\n"
        f'exec {shlex.quote(str(program))} "$@"\n'
    )


def make_prefix(plan: MpiPlan, place: Path, log: Path) -> None:
    """Fill `place` with bin/, include and lib of the MPI."""
    if plan.pin is None:
        suffix = f".{plan.mpi.family}"
        programs = {name: Path("/usr/bin") / f"{name}{suffix}" for name in PROGRAMS}
        include, lib = _debian_folders(plan, log)
    else:
        wheel = place / "wheel"
        _install_wheel(plan.pin, wheel, place, log)
        programs = {name: wheel / "bin" / name for name in PROGRAMS}
        include, lib = wheel / "include", wheel / "lib"
    (place / "bin").mkdir()
    for name, program in programs.items():
        path = place / "bin" / name
        path.write_text(wrapper(plan.mpi, program))
        path.chmod(0o755)
    (place / "include").symlink_to(include)
    (place / "lib").symlink_to(lib)


def _debian_folders(plan: MpiPlan, log: Path) -> tuple[Path, Path]:
    compiler = f"/usr/bin/mpicc.{plan.mpi.family}"
    shown = run(f"asking {compiler}", [compiler, "-show"], log).split()
    include = next(part[2:] for part in shown if part.startswith("-I"))
    lib = next(part[2:] for part in shown if part.startswith("-L"))
    return Path(include), Path(lib)


def _install_wheel(pin: str, wheel: Path, place: Path, log: Path) -> None:
    requirement = place / "requirement.txt"
    requirement.write_text(pin)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps"]
    command += ["--ignore-installed", "--no-warn-script-location", "--require-hashes"]
    options: list[str | Path] = ["--prefix", wheel, "-r", requirement]
    run("installing the MPI wheel", [*command, *options], log)
