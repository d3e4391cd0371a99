"""A benchmark on one simulated cluster and on two, at many host speeds and round-trip times.

    python -m roundtrip.studies.npb.sweep --program build/npb --platform grid.xml --benchmark MG

runs a sweep; `read_curves` reads the sweeps of a bundle.

Both are recorded once and replayed at each point (`roundtrip.sites.simgrid`), and every point is
a simulation with a file of its own in ``points/``.  samples.csv has a row for each point: its case
is ``<benchmark>/<class>/<Mflop/s of a host>``, its variant `ONE_CLUSTER_VARIANT` or
`two_clusters_variant(rtt_ms)`.  Files of what was measured elsewhere (`marks`) are copied into
run.json, and into no row.

Speed-up
    time on one cluster / time on two clusters at one host speed and one added round-trip time.
Round trips waited for
    growth of the time on two clusters with the round-trip time, s/s, from the shortest to the
    longest, at one host speed.
Ratio of computing to latency
    compute time of one rank of one cluster, which is its declared operations over the host speed,
    over the time of the round trips waited for.
Host speed of a speed-up
    linear interpolation between two host speeds over the logarithm of the speed.

NPB's formula counts the operations that one rank declares, so that Mop/s of a rank on any machine
are Mflop/s of a simulated host.  The formula counts work that several ranks repeat once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files, model
from roundtrip.errors import UserError
from roundtrip.report.data import BundleData
from roundtrip.sites import simgrid
from roundtrip.sites.simgrid import RUN_FILE, Trace, record, replay_trace
from roundtrip.studies import foreign
from roundtrip.studies.npb import (
    CLASSES,
    PUBLISHED_RTT_MS,
    PUBLISHED_SPEEDUPS,
    STUDY,
    ReferenceNight,
    ReferenceRate,
    ReferenceSpeedup,
)

#: Label of every row and figure of simulated values.
SIMULATED = "SIMULATED"
CHECK_NAME = "NPBHostSpeeds"
ONE_CLUSTER_VARIANT = "one cluster"
#: Ranks of one cluster and of both, as in the study.
CLUSTER_RANKS = (16, 32)
_RECORDING_FLOPS = 1e9  # flop/s; a trace does not depend on it
_FLOPS_PER_MFLOP = 1e6
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
        return case_at(self.benchmark, self.problem_class, self.host_flops / _FLOPS_PER_MFLOP)

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

    def points(self, one_cluster: Trace, two_clusters: Trace) -> Iterator[SweepPoint]:
        """Simulate one cluster at each host speed, and two at each host speed and delay."""
        delays = [(one_cluster, None), *((two_clusters, rtt) for rtt in self.rtts)]
        settings = [(trace, rtt, mflops) for trace, rtt in delays for mflops in self.mflops]

        def simulate(setting: tuple[Trace, float | None, float]) -> SweepPoint:
            trace, rtt, mflops = setting
            flops = mflops * _FLOPS_PER_MFLOP
            platform = simgrid.read_platform(self.platform, flops, rtt or 0.0)
            names = self.benchmark, self.problem_class, trace.ranks, flops, rtt, platform.sha256
            return SweepPoint(*names, replay_trace(trace, platform))

        with ThreadPoolExecutor(_WORKER_COUNT) as pool:
            yield from pool.map(simulate, settings)


def read_marks(file: Path, benchmark: str, problem_class: str) -> ReferenceNight:
    """Read the marks of a benchmark and class from `file`; without marks its origin is kept.

    UserError if it is not a file of marks.
    """
    content = files.read_json(file)
    if fault := model.fault(ReferenceNight, content):
        raise UserError(f"no file of marks: {fault.where or 'the file'}: {fault.why}", file)
    marks = ReferenceNight.model_validate(content)
    problem = benchmark, problem_class
    alone = [mark for mark in marks.alone if (mark.benchmark, mark.class_) == problem]
    emulated = [mark for mark in marks.emulated if (mark.benchmark, mark.class_) == problem]
    return marks.model_copy(update={"alone": alone, "emulated": emulated})


def run_sweep(sweep: Sweep, output: Path) -> None:
    """Simulate every point; write run.json, samples.csv and points/ beside `output`."""
    problem = sweep.benchmark, sweep.problem_class
    origins = [read_marks(file, *problem).as_json() for file in sweep.marks]
    folder = output.with_name("points")
    folder.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        with ThreadPoolExecutor(_WORKER_COUNT) as pool:
            folders = [Path(scratch, f"{ranks}") for ranks in CLUSTER_RANKS]
            recordings = list(pool.map(sweep.record_trace, CLUSTER_RANKS, folders))
        operations = recordings[0][0].operations()
        points = []
        for point in sweep.points(*(trace for trace, _ in recordings)):
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
        "points": [
            foreign.point_entry(
                point.case,
                point.variant,
                0,
                median_s=point.seconds,
                status="converged",
                verified=True,
            )
            for point in points
        ],
        STUDY.name: {**details, "declared": operations, "marks": origins},
    }
    output.write_text(
        "".join(f"{point.case} {point.variant}: {point.seconds!r} s\n" for point in points)
    )
    foreign.write_launch(output, record, map(_sample_row, points), {"simulated": simulated})


def _sample_row(point: SweepPoint) -> tuple[object, ...]:
    return STUDY.name, point.case, point.variant, 0, "total", 0, "time", point.seconds, "s"


#: In a row of samples.csv: benchmark, class, Mflop/s; and added round-trip time, ms.
_CASE_PATTERN = r"^(?<benchmark>\w+)/(?<problem_class>\w)/(?<mflops>[\d.e+]+)$"
_ADDED_RTT_PATTERN = r"\+(?<rtt>[\d.]+) ms$"


@dataclass(frozen=True)
class BenchmarkCurves:
    """Times of a benchmark in seconds by host speed in Mflop/s, on two clusters by RTT in ms first.

    `operations` of the timed section are declared by the ranks of one cluster, in bundles without
    them counted by NPB's formula; 0 if neither is known.  `marks` were measured elsewhere.
    """

    benchmark: str
    problem_class: str
    one_cluster_s: Mapping[float, float]
    two_clusters_s: Mapping[float, Mapping[float, float]]
    operations: float = 0.0
    marks: tuple[ReferenceNight, ...] = ()
    case_id: str = ""

    @property
    def name(self) -> str:
        """``CG A``."""
        return f"{self.benchmark} {self.problem_class}"

    @property
    def sort_key(self) -> tuple[str, int]:
        """Sort key: by benchmark, then by class, the smallest first."""
        return self.benchmark, CLASSES.index(self.problem_class)

    @property
    def rank_marks(self) -> list[tuple[ReferenceNight, ReferenceRate]]:
        return [(origin, mark) for origin in self.marks for mark in origin.alone]

    @property
    def emulated_marks(self) -> list[ReferenceSpeedup]:
        marks = [mark for origin in self.marks for mark in origin.emulated]
        return sorted(marks, key=lambda mark: (mark.ranks, mark.rtt_ms, mark.toolchain))

    @property
    def rtts(self) -> list[float]:
        """Round-trip times, ms, ascending."""
        return sorted(self.two_clusters_s)

    def speedups(self, rtt_ms: float) -> dict[float, float]:
        """Speed-ups at a round-trip time, by host speed in Mflop/s, ascending."""
        seconds = self.two_clusters_s[rtt_ms]
        return {
            speed: self.one_cluster_s[speed] / seconds[speed]
            for speed in sorted(self.one_cluster_s)
            if speed in seconds
        }

    def speed_at(self, rtt: float, speedup: float) -> float | None:
        """Host speed, Mflop/s, where the speed-up falls below `speedup`; None if it never does."""
        for (speed, high), (next_speed, low) in pairwise(self.speedups(rtt).items()):
            if high >= speedup > low:
                part = (high - speedup) / (high - low)
                return speed * math.exp(part * math.log(next_speed / speed))
        return None

    @property
    def even_speed(self) -> float | None:
        """Host speed, Mflop/s, up to which two clusters beat one at the longest round trip."""
        return self.speed_at(self.rtts[-1], 1.0)

    @property
    def study_speedup(self) -> float | None:
        """The study's speed-up at the longest round-trip time; None if it has none there."""
        return PUBLISHED_SPEEDUPS.get(self.benchmark) if self.rtts[-1] == PUBLISHED_RTT_MS else None

    @property
    def matching_mflops(self) -> float | None:
        """Host speed, Mflop/s, of `study_speedup`; None if it is not found."""
        return self.speed_at(self.rtts[-1], self.study_speedup) if self.study_speedup else None

    @property
    def round_trips(self) -> float | None:
        """Round trips waited for at the fastest host; None if there is only one round-trip time."""
        min_rtt, max_rtt = self.rtts[0], self.rtts[-1]
        if min_rtt == max_rtt:
            return None
        speed = max(self.one_cluster_s)
        added_s = self.two_clusters_s[max_rtt][speed] - self.two_clusters_s[min_rtt][speed]
        return added_s / (max_rtt - min_rtt) * 1e3

    def compute_latency_ratio(self, speed: float | None) -> float | None:
        """Ratio of computing to latency at the longest round trip and any `speed` in Mflop/s.

        The round trips waited for are taken at the fastest host, which computes least.
        """
        round_trips = self.round_trips
        if not speed or not round_trips or round_trips <= 0 or not self.operations:
            return None
        compute_s = self.operations / CLUSTER_RANKS[0] / (speed * _FLOPS_PER_MFLOP)
        return compute_s / (round_trips * self.rtts[-1] / 1e3)


def read_curves(data: BundleData) -> tuple[BenchmarkCurves, ...]:
    """Curves of each benchmark and class in the launches of `CHECK_NAME`, in display order.

    One launch of each case is read: its completed launches are equal.
    """
    launches = data.study_launches(STUDY.name).filter(pl.col("check") == CHECK_NAME)
    names = launches.unique("case_id", keep="first")["launch"].to_list()
    samples = data.samples.filter(pl.col("launch").is_in(names)).select(
        "launch",
        "case_id",
        "value",
        pl.col("case").str.extract_groups(_CASE_PATTERN).alias("case"),
        one=pl.col("variant") == ONE_CLUSTER_VARIANT,
        rtt=pl.col("variant").str.extract_groups(_ADDED_RTT_PATTERN).struct.field("rtt"),
    )
    keys = ["launch", "case_id", "benchmark", "problem_class"]
    records = data.workload_records(STUDY.name)
    curves = []
    for key, points in samples.unnest("case").collect().group_by(keys):
        launch, case_id, benchmark, problem_class = map(str, key)
        one_cluster_s: dict[float, float] = {}
        two_clusters_s: dict[float, dict[float, float]] = {}
        for row in points.iter_rows(named=True):
            rtt = row["rtt"]
            times = one_cluster_s if row["one"] else two_clusters_s.setdefault(float(rtt), {})
            times[float(row["mflops"])] = row["value"]
        if one_cluster_s and two_clusters_s:
            record = records.get(launch) or {}
            operations = float(record.get("declared") or record.get("operations") or 0.0)
            marks = tuple(map(ReferenceNight.model_validate, record.get("marks") or ()))
            points_s = one_cluster_s, two_clusters_s
            curve = BenchmarkCurves(benchmark, problem_class, *points_s, operations, marks, case_id)
            curves.append(curve)
    return tuple(sorted(curves, key=lambda curve: curve.sort_key))


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
    parser.add_argument("--marks", default="", help=marks_help)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=Path, default=Path("samples.csv"))
    options = vars(parser.parse_args(arguments))
    output = options.pop("samples").with_name("sweep.txt")
    options["marks"] = tuple(Path(name) for name in options["marks"].split(",") if name)
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


if __name__ == "__main__":
    sys.exit(main())
