"""A benchmark on one simulated cluster and on two, at many host speeds and round-trip times.

    python -m roundtrip.studies.npb.sweep --program build/npb --platform grid.xml --benchmark MG

runs a sweep; `read_curves` reads the sweeps of a bundle.

Both are recorded once and replayed at each point (`roundtrip.sites.simgrid`), and every point is a
simulation with a file of its own in ``points/``.  samples.csv has a row for each point: its case is
``<benchmark>/<class>/<Mflop/s of a host>``, its variant `ONE_CLUSTER_VARIANT` or
`two_clusters_variant(rtt_ms)`.  Reference nights, which were measured elsewhere, are copied into
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
from roundtrip.content.data import BundleData
from roundtrip.errors import UserError
from roundtrip.sites import simgrid
from roundtrip.sites.simgrid import RUN_RECORD_FILE, Trace, record_trace, replay_trace
from roundtrip.studies import third_party
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
#: Ranks of one cluster and of both, as published.
CLUSTER_RANKS = (16, 32)
_RECORDING_FLOP_PER_S = 1e9  # flop/s; a trace does not depend on it
_FLOPS_PER_MFLOP = 1e6
_MAX_PARALLEL_SIMULATIONS = 2
#: Fields of the recorded launch that run.json repeats.
_COPIED_ENTRIES = ("mpi", "boost", "compiler", "clock", "timing", "hosts", "placement", "version")


def two_clusters_variant(rtt_ms: float) -> str:
    """``two clusters, +4 ms``: the variant in samples.csv with a round trip longer by `rtt_ms`."""
    return f"two clusters, +{rtt_ms:g} ms"


def point_case(benchmark: str, problem_class: str, mflops: float) -> str:
    """``CG/A/100``: the case in samples.csv of the points at a host speed [Mflop/s]."""
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
        return point_case(self.benchmark, self.problem_class, self.host_flops / _FLOPS_PER_MFLOP)

    @property
    def variant(self) -> str:
        rtt_ms = self.added_rtt_ms
        return ONE_CLUSTER_VARIANT if rtt_ms is None else two_clusters_variant(rtt_ms)


@dataclass(frozen=True)
class Sweep:
    """Settings of a sweep over host speeds [Mflop/s] and added round-trip times [ms]."""

    program: Path
    platform: Path
    benchmark: str
    problem_class: str
    mflops: tuple[float, ...]
    rtts_ms: tuple[float, ...]
    seed: int
    reference_files: tuple[Path, ...] = ()

    def record_trace(self, ranks: int, folder: Path) -> tuple[Trace, dict[str, Any]]:
        """Record a trace on `ranks` hosts in `folder`; return it and run.json of its launch.
        UserError if the benchmark cannot run on so many hosts, or was not verified."""
        problem = f"--benchmark={self.benchmark}", f"--class={self.problem_class}"
        command: list[str | Path] = [self.program, *problem, f"--seed={self.seed}"]
        platform = simgrid.read_platform(self.platform, _RECORDING_FLOP_PER_S, 0.0)
        trace = record_trace(command, ranks, platform, folder)
        launch = files.read_json(folder / RUN_RECORD_FILE)
        if launch[STUDY.name]["verified"] is not True:
            raise UserError(f"{self.benchmark} on {ranks} ranks was not verified")
        return trace, launch

    def simulate_points(self, one_cluster: Trace, two_clusters: Trace) -> Iterator[SweepPoint]:
        """Simulate one cluster at each host speed, and two at each host speed and added RTT."""
        delays = [(one_cluster, None), *((two_clusters, rtt) for rtt in self.rtts_ms)]
        settings = [(trace, rtt, mflops) for trace, rtt in delays for mflops in self.mflops]

        def simulate(setting: tuple[Trace, float | None, float]) -> SweepPoint:
            trace, rtt, mflops = setting
            flops = mflops * _FLOPS_PER_MFLOP
            platform = simgrid.read_platform(self.platform, flops, rtt or 0.0)
            names = self.benchmark, self.problem_class, trace.ranks, flops, rtt, platform.sha256
            return SweepPoint(*names, replay_trace(trace, platform))

        with ThreadPoolExecutor(_MAX_PARALLEL_SIMULATIONS) as pool:
            yield from pool.map(simulate, settings)


def read_reference_night(file: Path, benchmark: str, problem_class: str) -> ReferenceNight:
    """Read what a reference night measured of a benchmark and class; if nothing, its origin.
    UserError if `file` holds no reference night."""
    content = files.read_json(file)
    if fault := model.find_fault(ReferenceNight, content):
        raise UserError(f"no file of marks: {fault.dotted_path or 'the file'}: {fault.why}", file)
    night = ReferenceNight.model_validate(content)
    problem = benchmark, problem_class
    alone = [rate for rate in night.alone if (rate.benchmark, rate.class_) == problem]
    emulated = [item for item in night.emulated if (item.benchmark, item.class_) == problem]
    return night.model_copy(update={"alone": alone, "emulated": emulated})


def run_sweep(sweep: Sweep, output: Path) -> None:
    """Simulate every point; write run.json, samples.csv and points/ beside `output`."""
    problem = sweep.benchmark, sweep.problem_class
    nights = [read_reference_night(file, *problem).as_json() for file in sweep.reference_files]
    folder = output.with_name("points")
    folder.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        with ThreadPoolExecutor(_MAX_PARALLEL_SIMULATIONS) as pool:
            folders = [Path(scratch, f"{ranks}") for ranks in CLUSTER_RANKS]
            recordings = list(pool.map(sweep.record_trace, CLUSTER_RANKS, folders))
        operations = recordings[0][0].declared_operations()
        points = []
        for point in sweep.simulate_points(*(trace for trace, _ in recordings)):
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
        **{name: launch[name] for name in _COPIED_ENTRIES if name in launch},
        "simulated": simulated,
        "workload": "npb-sweep",
        "command": [str(sweep.program), f"--benchmark={sweep.benchmark}"],
        "ranks": CLUSTER_RANKS[1],
        "seed": sweep.seed,
        "points": [
            third_party.point_entry(
                point.case,
                point.variant,
                0,
                median_s=point.seconds,
                status="converged",
                verified=True,
            )
            for point in points
        ],
        STUDY.name: {**details, "declared": operations, "marks": nights},
    }
    lines = (f"{point.case} {point.variant}: {point.seconds!r} s\n" for point in points)
    output.write_text("".join(lines))
    third_party.write_launch(output, record, map(_sample_row, points), {"simulated": simulated})


def _sample_row(point: SweepPoint) -> tuple[object, ...]:
    return STUDY.name, point.case, point.variant, 0, "total", 0, "time", point.seconds, "s"


#: In a row of samples.csv: benchmark, class, Mflop/s; and added round-trip time, ms.
_CASE_PATTERN = r"^(?<benchmark>\w+)/(?<problem_class>\w)/(?<mflops>[\d.e+]+)$"
_ADDED_RTT_PATTERN = r"\+(?<rtt>[\d.]+) ms$"


@dataclass(frozen=True)
class BenchmarkCurves:
    """Times of a benchmark in seconds by host speed in Mflop/s, on two clusters by RTT in ms first.

    `operations` of the timed section are declared by the ranks of one cluster, in bundles without
    them counted by NPB's formula; 0 if neither is known.  `reference_nights`: measured elsewhere.
    """

    benchmark: str
    problem_class: str
    one_cluster_s: Mapping[float, float]
    two_clusters_s: Mapping[float, Mapping[float, float]]
    operations: float = 0.0
    reference_nights: tuple[ReferenceNight, ...] = ()
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
    def reference_rates(self) -> list[tuple[ReferenceNight, ReferenceRate]]:
        return [(night, rate) for night in self.reference_nights for rate in night.alone]

    @property
    def reference_speedups(self) -> list[ReferenceSpeedup]:
        speedups = [speedup for night in self.reference_nights for speedup in night.emulated]
        return sorted(speedups, key=lambda item: (item.ranks, item.rtt_ms, item.toolchain))

    @property
    def rtts_ms(self) -> list[float]:
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

    def mflops_at_speedup(self, rtt_ms: float, speedup: float) -> float | None:
        """Host speed, Mflop/s, where the speed-up falls below `speedup`; None if it never does."""
        for (speed, high), (next_speed, low) in pairwise(self.speedups(rtt_ms).items()):
            if high >= speedup > low:
                part = (high - speedup) / (high - low)
                return speed * math.exp(part * math.log(next_speed / speed))
        return None

    @property
    def break_even_mflops(self) -> float | None:
        """Host speed, Mflop/s, up to which two clusters beat one at the longest round trip."""
        return self.mflops_at_speedup(self.rtts_ms[-1], 1.0)

    @property
    def published_speedup(self) -> float | None:
        """The published speed-up at the longest round-trip time; None if there is none."""
        is_published = self.rtts_ms[-1] == PUBLISHED_RTT_MS
        return PUBLISHED_SPEEDUPS.get(self.benchmark) if is_published else None

    @property
    def published_speedup_mflops(self) -> float | None:
        """Host speed, Mflop/s, of `published_speedup`; None if it is not found."""
        speedup = self.published_speedup
        return self.mflops_at_speedup(self.rtts_ms[-1], speedup) if speedup else None

    @property
    def round_trips_waited(self) -> float | None:
        """Added time over added round-trip time, at the fastest host; None with a single RTT."""
        min_rtt, max_rtt = self.rtts_ms[0], self.rtts_ms[-1]
        if min_rtt == max_rtt:
            return None
        speed = max(self.one_cluster_s)
        added_s = self.two_clusters_s[max_rtt][speed] - self.two_clusters_s[min_rtt][speed]
        return added_s / (max_rtt - min_rtt) * 1e3

    def compute_latency_ratio(self, mflops: float | None) -> float | None:
        """Ratio of computing to latency at the longest round trip and the host speed `mflops`;
        round trips waited for are those of the fastest host, which computes least."""
        trips = self.round_trips_waited
        if not mflops or not trips or trips <= 0 or not self.operations:
            return None
        compute_s = self.operations / CLUSTER_RANKS[0] / (mflops * _FLOPS_PER_MFLOP)
        return compute_s / (trips * self.rtts_ms[-1] / 1e3)


def read_curves(data: BundleData) -> tuple[BenchmarkCurves, ...]:
    """Curves of each benchmark and class of `CHECK_NAME`, in display order, from one launch of each
    case: its completed launches are equal."""
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
            nights = tuple(map(ReferenceNight.model_validate, record.get("marks") or ()))
            problem, points_s = (benchmark, problem_class), (one_cluster_s, two_clusters_s)
            curves.append(BenchmarkCurves(*problem, *points_s, operations, nights, case_id))
    return tuple(sorted(curves, key=lambda curve: curve.sort_key))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; print one line and return 2 on a user error."""
    parser = argparse.ArgumentParser(prog="sweep", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--program", type=Path, required=True, help="our npb, built for SimGrid")
    parser.add_argument("--platform", type=Path, required=True, help="two clusters of 16 hosts")
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--class", dest="problem_class", default="S")
    parser.add_argument("--mflops", type=_parse_numbers, default=(10.0, 100.0, 1000.0, 10000.0))
    parser.add_argument(
        "--rtts", dest="rtts_ms", type=_parse_numbers, default=(0.0, 4.0), help="ms"
    )
    marks_help = "files made by roundtrip.studies.npb.marks, with commas"
    parser.add_argument("--marks", dest="reference_files", default="", help=marks_help)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=Path, default=Path("samples.csv"))
    options = vars(parser.parse_args(arguments))
    output = options.pop("samples").with_name("sweep.txt")
    names = options["reference_files"].split(",")
    options["reference_files"] = tuple(Path(name) for name in names if name)
    try:
        run_sweep(Sweep(**options), output)
    except UserError as error:
        print(f"sweep: {error}", file=sys.stderr)
        return 2
    print(f"ROUNDTRIP COMPLETE ranks={CLUSTER_RANKS[1]} hosts={CLUSTER_RANKS[1]}")
    return 0


def _parse_numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(map(third_party.parse_number, text.split(",")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


if __name__ == "__main__":
    sys.exit(main())
