"""The programs that are compared with each other, run on two bound ranks of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.studies.netpipe import output as netpipe_output
from roundtrip.studies.netpipe.output import Point, Schedule
from roundtrip.toolchains.spec import catalogue

#: Seconds after which a run is given up.
_LIMIT = 900


@dataclass(frozen=True)
class Pair:
    """An MPI for which Debian has NetPIPE's own binary, and our build for the same MPI."""

    mpi: str
    toolchain: str
    reference: str
    launcher: tuple[str, ...]


PAIRS = (
    Pair("Open MPI 4.1", "openmpi41-boost181", "NPopenmpi", ("mpirun", "--bind-to", "core")),
    Pair("MPICH 4.0", "mpich40-boost181", "NPmpich2", ("mpiexec", "-bind-to", "core")),
)


def ours(pair: Pair) -> str:
    """Path of our netpipe for `pair`, built if necessary.

    UserError if the toolchain is missing or the build fails.
    """
    prefix = paths.toolchains() / pair.toolchain
    if not prefix.is_dir():
        raise UserError(f"toolchain {pair.toolchain} is missing; run: make setup")
    build = paths.checkout() / "build" / pair.toolchain
    compiler = _mpi(pair) / "mpicxx"
    workloads = paths.checkout() / "workloads"
    options = ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={compiler}"]
    options.append(f"-DBoost_ROOT={prefix}")
    for command in (
        ["cmake", "-G", "Ninja", "-S", str(workloads), "-B", str(build), *options],
        ["cmake", "--build", str(build)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise UserError(f"{' '.join(command[:2])} failed: {done.stdout.strip()[-200:]}")
    return str(build / "netpipe" / "netpipe")


def _mpi(pair: Pair) -> Path:
    """Folder of the MPI's programs."""
    return paths.toolchains() / catalogue().toolchains[pair.toolchain].mpi.name / "bin"


def reference(pair: Pair) -> str:
    """Path of Debian's NetPIPE 3.7.2 for `pair`; UserError if it is not installed."""
    program = shutil.which(pair.reference)
    if program is None:
        raise UserError(f"{pair.reference} is missing; run: make setup")
    return program


def run(pair: Pair, command: list[str]) -> str:
    """Standard output of `command` on two ranks; UserError if it fails."""
    bin_folder = _mpi(pair)
    environment = {
        **os.environ,
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    done = subprocess.run(
        [str(bin_folder / pair.launcher[0]), *pair.launcher[1:], "-n", "2", *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LIMIT,
    )
    if done.returncode:
        raise UserError(f"{command[0]} failed: {done.stderr.strip()[-200:]}")
    return done.stdout


def run_reference(pair: Pair, schedule: Schedule) -> list[Point]:
    """Points of one run of NetPIPE 3.7.2."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "np.out"
        run(pair, [reference(pair), "-o", str(file), *schedule.options()])
        return netpipe_output.parse(file, schedule)
