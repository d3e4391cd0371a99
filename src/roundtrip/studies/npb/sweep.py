"""A benchmark on one simulated cluster and on two, at many host speeds and round-trip times.

    python -m roundtrip.studies.npb.sweep --program build/npb --platform grid.xml --benchmark MG

Both are recorded once and replayed at each point (`roundtrip.sites.simgrid`), and every point is
a simulation with a file of its own in ``points/``.  samples.csv has a row for each point: its case
is ``<benchmark>/<class>/<Mflop/s of a host>``, its variant `ONE_CLUSTER_VARIANT` or
`two_clusters_variant(rtt_ms)`.  Files of what was measured elsewhere (`marks`) are copied into
run.json, and into no row.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.sites import simgrid
from roundtrip.sites.simgrid import RUN_FILE, Trace, record, replay_trace
from roundtrip.studies import foreign
from roundtrip.studies.npb import STUDY, marks

ONE_CLUSTER_VARIANT = "one cluster"
#: Ranks of one cluster and of both, as in the study.
CLUSTER_RANKS = (16, 32)
_RECORDING_FLOPS = 1e9  # flop/s; a trace does not depend on it
_WORKER_COUNT = 2
#: Fields of the recorded launch that run.json repeats.
_LAUNCH_FIELDS = ("mpi", "boost", "compiler", "clock", "timing", "hosts", "placement", "version")


def two_clusters_variant(rtt_ms: float) -> str:
    """The variant of both clusters, with a round trip longer by `rtt_ms`."""
    return f"two clusters, +{rtt_ms:g} ms"


def case_at(benchmark: str, problem_class: str, mflops: float) -> str:
    """The case of a point at a host speed."""
    return f"{benchmark}/{problem_class}/{mflops:g}"


@dataclass(frozen=True)
class SweepPoint:
    """One simulation: `seconds` of the timed section; `added_rtt_ms` is None on one cluster."""

    benchmark: str
    problem_class: str
    ranks: int
    host_flops: float
    added_rtt_ms: float | None
    platform_sha256: str
    seconds: float

    @property
    def case(self) -> str:
        return case_at(self.benchmark, self.problem_class, self.host_flops / 1e6)

    @property
    def variant(self) -> str:
        rtt_ms = self.added_rtt_ms
        return ONE_CLUSTER_VARIANT if rtt_ms is None else two_clusters_variant(rtt_ms)


@dataclass(frozen=True)
class Sweep:
    """Settings of a sweep: host speeds in Mflop/s, added round-trip times in ms."""

    program: Path
    platform: Path
    benchmark: str
    problem_class: str
    mflops: tuple[float, ...]
    rtts: tuple[float, ...]
    seed: int
    marks: tuple[Path, ...] = ()

    def read_marks(self) -> list[dict[str, Any]]:
        """Read the marks of this benchmark and class; UserError if a file is not one of marks."""
        origins = (
            marks.read_marks(file, self.benchmark, self.problem_class) for file in self.marks
        )
        return [marks.marks_json(origin) for origin in origins]

    def record_trace(self, ranks: int, folder: Path) -> tuple[Trace, dict[str, Any]]:
        """Record a trace on `ranks` hosts in `folder`; return it and run.json of its launch.

        UserError if the benchmark cannot run on so many hosts, or was not verified.
        """
        problem = f"--benchmark={self.benchmark}", f"--class={self.problem_class}"
        command: list[str | Path] = [self.program, *problem, f"--seed={self.seed}"]
        platform = simgrid.read_platform(self.platform, _RECORDING_FLOPS, 0.0)
        trace = record(command, ranks, platform, folder)
        launch = files.read_json(folder / RUN_FILE)
        if launch[STUDY.name]["verified"] is not True:
            raise UserError(f"{self.benchmark} on {ranks} ranks was not verified")
        return trace, launch

    def points(self, traces: Sequence[Trace]) -> Iterator[SweepPoint]:
        settings = [
            (trace, flops * 1e6, rtt)
            for trace, rtts in zip(traces, ((None,), self.rtts), strict=True)
            for rtt in rtts
            for flops in self.mflops
        ]
        with ThreadPoolExecutor(_WORKER_COUNT) as pool:
            yield from pool.map(lambda setting: self._simulate_point(*setting), settings)

    def _simulate_point(self, trace: Trace, flops: float, rtt: float | None) -> SweepPoint:
        platform = simgrid.read_platform(self.platform, flops, rtt or 0.0)
        return SweepPoint(
            self.benchmark,
            self.problem_class,
            trace.ranks,
            flops,
            rtt,
            platform.sha256,
            replay_trace(trace, platform),
        )


def run_sweep(sweep: Sweep, output: Path) -> None:
    """Simulate every point; write run.json, samples.csv and points/ beside `output`."""
    origins = sweep.read_marks()
    folder = output.with_name("points")
    folder.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        with ThreadPoolExecutor(_WORKER_COUNT) as pool:
            folders = [Path(scratch, f"{ranks}") for ranks in CLUSTER_RANKS]
            recordings = list(pool.map(sweep.record_trace, CLUSTER_RANKS, folders))
        operations = recordings[0][0].operations()
        points = []
        for point in sweep.points([trace for trace, _ in recordings]):
            name = f"{point.case} {point.variant}".replace("/", "-").replace(" ", "-")
            text = json.dumps({**asdict(point), "simulated": True}, indent=1)
            (folder / f"{name}.json").write_text(f"{text}\n")
            points.append(point)
    launch = recordings[1][1]
    details = {
        name: launch[STUDY.name][name] for name in ("benchmark", "class", "operations", "verified")
    }
    # Without host speed and delay: each point has its own.
    simulated = {
        **{name: launch["simulated"][name] for name in ("simgrid", "platform")},
        "platform_sha256": hashlib.sha256(sweep.platform.read_bytes()).hexdigest(),
    }
    record = {
        **{name: launch[name] for name in _LAUNCH_FIELDS if name in launch},
        "simulated": simulated,
        "workload": "npb-sweep",
        "command": [str(sweep.program), f"--benchmark={sweep.benchmark}"],
        "ranks": CLUSTER_RANKS[1],
        "seed": sweep.seed,
        "points": [_point_entry(point) for point in points],
        STUDY.name: {**details, "declared": operations, "marks": origins},
    }
    output.write_text(
        "".join(f"{point.case} {point.variant}: {point.seconds!r} s\n" for point in points)
    )
    foreign.write_launch(output, record, map(_sample_row, points), {"simulated": simulated})


def _point_entry(point: SweepPoint) -> dict[str, Any]:
    fields = {"median_s": point.seconds, "status": "converged", "verified": True}
    return foreign.point_entry(point.case, point.variant, 0, **fields)


def _sample_row(point: SweepPoint) -> tuple[object, ...]:
    return STUDY.name, point.case, point.variant, 0, "total", 0, "time", point.seconds, "s"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; print one line and return 2 on a user error."""
    parser = argparse.ArgumentParser(prog="sweep", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--program", type=Path, required=True, help="our npb, built for SimGrid")
    parser.add_argument("--platform", type=Path, required=True, help="two clusters of 16 hosts")
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--class", dest="problem_class", default="S")
    parser.add_argument("--mflops", type=_parse_numbers, default=(10.0, 100.0, 1000.0, 10000.0))
    parser.add_argument("--rtts", type=_parse_numbers, default=(0.0, 4.0), help="ms")
    marks_help = "files made by roundtrip.studies.npb.marks, with commas"
    parser.add_argument("--marks", type=_parse_files, default=(), help=marks_help)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=Path, default=Path("samples.csv"))
    options = vars(parser.parse_args(arguments))
    output = options.pop("samples").with_name("sweep.txt")
    try:
        run_sweep(Sweep(**options), output)
    except UserError as error:
        print(f"sweep: {error}", file=sys.stderr)
        return 2
    print(f"ROUNDTRIP COMPLETE ranks={CLUSTER_RANKS[1]} hosts={CLUSTER_RANKS[1]}")
    return 0


def _parse_numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(map(foreign.parse_number, text.split(",")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parse_files(text: str) -> tuple[Path, ...]:
    return tuple(Path(name) for name in text.split(",") if name)


if __name__ == "__main__":
    sys.exit(main())
