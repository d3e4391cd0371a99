"""Our netpipe against NetPIPE 3.7.2 on the same MPI, on two bound ranks of this machine."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.sites.toolchains.spec import read_catalogue
from roundtrip.stats.summaries import median_interval
from roundtrip.studies.netpipe.output import OutputPoint, SizeSchedule, parse_output
from tools.bench import run

VARIANTS, RUNS, LEVEL = 5, 9, 0.95
_SIZE_RANGES = ((1, 1), (131072, 8 << 20))  # bytes: of the latency, and of the possible peak
#: Time limit of a run, s.
_RUN_LIMIT_S = 900


@dataclass(frozen=True)
class ComparedMpi:
    """An MPI of Debian with two programs to compare: NetPIPE's own binary, and our netpipe.

    `mpi` is its name in the output, `toolchain` that of our build, `reference_program` the name of
    NetPIPE's binary, and `launcher` the command that starts ranks, each bound to a core.
    """

    mpi: str
    toolchain: str
    reference_program: str
    launcher: tuple[str, ...]

    @property
    def mpi_bin(self) -> Path:
        """Folder of the MPI's programs."""
        return paths.toolchains() / read_catalogue().toolchains[self.toolchain].mpi.name / "bin"

    def build_our_netpipe(self) -> str:
        """Build our netpipe if necessary, and return its path; UserError if that fails."""
        prefix = paths.toolchains() / self.toolchain
        if not prefix.is_dir():
            raise UserError(f"toolchain {self.toolchain} is missing; run: make setup")
        build = paths.checkout() / "build" / self.toolchain
        options = ["-DCMAKE_BUILD_TYPE=Release", f"-DBoost_ROOT={prefix}"]
        options.append(f"-DCMAKE_CXX_COMPILER={self.mpi_bin / 'mpicxx'}")
        workloads = str(paths.checkout() / "workloads")
        run(["cmake", "-G", "Ninja", "-S", workloads, "-B", str(build), *options])
        run(["cmake", "--build", str(build)])
        return str(build / "netpipe" / "netpipe")

    def launch(self, *command: str) -> str:
        """Run `command` on two ranks; return its standard output.  UserError if it fails."""
        environment = {
            **os.environ,
            "PATH": f"{self.mpi_bin}:{os.environ['PATH']}",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
        launcher = [str(self.mpi_bin / self.launcher[0]), *self.launcher[1:], "-n", "2"]
        return run([*launcher, *command], environment, _RUN_LIMIT_S)

    def run_reference(self, schedule: SizeSchedule) -> list[OutputPoint]:
        """Run Debian's NetPIPE 3.7.2; return its points.  UserError if it is not installed."""
        program = shutil.which(self.reference_program)
        if program is None:
            raise UserError(f"{self.reference_program} is missing; run: make setup")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "np.out"
            self.launch(program, "-o", str(file), *schedule.options())
            return parse_output(file, schedule)


COMPARED_MPIS = (
    ComparedMpi("Open MPI 4.1", "openmpi41-boost181", "NPopenmpi", ("mpirun", "--bind-to", "core")),
    ComparedMpi("MPICH 4.0", "mpich40-boost181", "NPmpich2", ("mpiexec", "-bind-to", "core")),
)


def reference() -> Iterator[str]:
    """Our raw-MPI variant against NetPIPE 3.7.2 on the same MPI: 1-byte latency, peak bandwidth.

    Ratios ours / NetPIPE over pairs of runs, each pair in random order.
    """
    for compared_mpi in COMPARED_MPIS:
        netpipe = compared_mpi.build_our_netpipe()
        our_values: list[tuple[float, float]] = []
        reference_values: list[tuple[float, float]] = []
        for _ in range(RUNS):
            for is_ours in random.sample([True, False], 2):
                points = (
                    _run_our_netpipe(compared_mpi, netpipe)
                    if is_ours
                    else _run_reference(compared_mpi)
                )
                (our_values if is_ours else reference_values).append(
                    (latency_s(points), peak_bytes_per_s(points))
                )
        for name, index, extremum in (("latency at 1 B", 0, min), ("peak bandwidth", 1, max)):
            ratios = [
                value[index] / reference_value[index]
                for value, reference_value in zip(our_values, reference_values, strict=True)
            ]
            ratio = extremum(value[index] for value in our_values) / extremum(
                value[index] for value in reference_values
            )
            yield f"{compared_mpi.mpi}: {name} {_describe_ratios(ratios)}, best {ratio:.3f}"


def curve() -> Iterator[str]:
    """Time of the whole curve of five variants against five default runs of NetPIPE 3.7.2.

    Wall time of one launch at the default precision over five times that of one NetPIPE run.
    """
    compared_mpi = COMPARED_MPIS[0]
    netpipe = compared_mpi.build_our_netpipe()
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        compared_mpi.launch(netpipe, "--samples", f"{folder}/samples.csv")
        our_s = time.monotonic() - start
        points = json.loads((Path(folder) / "run.json").read_text())["points"]
    start = time.monotonic()
    reference = compared_mpi.run_reference(SizeSchedule())
    netpipe_s = time.monotonic() - start
    counts = Counter(point["status"] for point in points)
    endings = ", ".join(f"{count} {status}" for status, count in counts.items())
    yield (
        f"{compared_mpi.mpi}: {our_s:.1f} s for {VARIANTS} variants, {len(points)} points "
        f"({endings}); "
        f"one NetPIPE run of {len(reference)} points {netpipe_s:.1f} s; "
        f"ratio to {VARIANTS} of them {our_s / (VARIANTS * netpipe_s):.3f}"
    )


def _run_reference(compared_mpi: ComparedMpi) -> list[OutputPoint]:
    schedules = (SizeSchedule(first, last, perturbation=0) for first, last in _SIZE_RANGES)
    return [point for schedule in schedules for point in compared_mpi.run_reference(schedule)]


def _run_our_netpipe(compared_mpi: ComparedMpi, netpipe: str) -> list[OutputPoint]:
    points = []
    for first, last in _SIZE_RANGES:
        span = ("--start", str(first), "--end", str(last), "--perturbation", "0")
        output = compared_mpi.launch(netpipe, "--exact", "mpi", *span)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "np.out"
            file.write_text("\n".join(output.splitlines()[:-1]) + "\n")  # without the end marker
            points += parse_output(file, SizeSchedule(first, last, perturbation=0))
    return points


def latency_s(points: list[OutputPoint]) -> float:
    """The half-round-trip time of a message of 1 byte, s."""
    return next(point.seconds for point in points if point.size_bytes == 1)


def peak_bytes_per_s(points: list[OutputPoint]) -> float:
    """The largest bandwidth of any size, B/s."""
    return max(point.size_bytes / point.seconds for point in points)


def _describe_ratios(ratios: list[float]) -> str:
    ci = median_interval(ratios, LEVEL)
    return f"{ci.median:.3f} [{ci.low:.3f}, {ci.high:.3f}] of NetPIPE 3.7.2, n={ci.n}"
