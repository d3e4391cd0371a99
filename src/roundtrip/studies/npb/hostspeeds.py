"""Speed-up of two simulated clusters over one against the speed of a host.

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

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.data import Data
from roundtrip.report.plot import CIRCLE, DIAMOND, SQUARE, TRIANGLE, Rule, Scale, View
from roundtrip.report.units import Unit
from roundtrip.studies import display
from roundtrip.studies.display import Drawing
from roundtrip.studies.npb import (
    CLASSES,
    PUBLISHED_SPEEDUPS,
    STUDY,
    STUDY_RTT_MS,
    ReferenceNight,
    ReferenceRate,
    ReferenceSpeedup,
    published_words,
)
from roundtrip.studies.npb.sweep import CLUSTER_RANKS, ONE_CLUSTER_VARIANT
from roundtrip.studies.study import GREY, PINK, Arm, Colour, palette

CHECK_NAME = "NPBHostSpeeds"
_FLOPS_PER_MFLOP = 1e6
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
    def order(self) -> tuple[str, int]:
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
        return PUBLISHED_SPEEDUPS.get(self.benchmark) if self.rtts[-1] == STUDY_RTT_MS else None

    @property
    def study_speed(self) -> float | None:
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
        return (
            self.operations
            / CLUSTER_RANKS[0]
            / (speed * _FLOPS_PER_MFLOP)
            / (round_trips * self.rtts[-1] / 1e3)
        )


def read_curves(data: Data) -> tuple[BenchmarkCurves, ...]:
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
    records = data.study_records(STUDY.name)
    curves = []
    for key, points in samples.unnest("case").collect().group_by(keys):
        launch, case_id, benchmark, problem_class = map(str, key)
        one_cluster_s: dict[float, float] = {}
        two_clusters_s: dict[float, dict[float, float]] = {}
        for row in points.iter_rows(named=True):
            rtt = row["rtt"]
            times = one_cluster_s if row["one"] else two_clusters_s.setdefault(float(rtt), {})
            times[float(row["mflops"])] = row["value"]
        record = records.get(launch) or {}
        if one_cluster_s and two_clusters_s:
            curves.append(
                BenchmarkCurves(
                    benchmark,
                    problem_class,
                    one_cluster_s,
                    two_clusters_s,
                    float(record.get("declared") or record.get("operations") or 0.0),
                    tuple(map(ReferenceNight.model_validate, record.get("marks") or ())),
                    case_id,
                )
            )
    return tuple(sorted(curves, key=lambda curve: curve.order))


SIMULATED = "SIMULATED"
EMULATED = "EMULATED"
FIGURE_CAPTION: Text = (
    f"{SIMULATED}: speed-up of two clusters of 16 hosts over one against the speed of a host, by "
    "how much a round trip between them is longer. One simulation a point, without noise: no "
    "interval. Dashed: the study's number at 4 ms. Grey rules: 1, no gain over one cluster; 2, the "
    "most that twice the hosts can give. One host speed means different things for different "
    "benchmarks: it counts the operations of each by NPB's formula, and the same processor does "
    "many times more of one kind in a second than of another.",
)
MARKS_CAPTION: Text = (
    "Not simulated but measured, and marked: a dashed upright rule is how fast one rank of a real "
    f"processor is at this benchmark and class; squares and triangles are {EMULATED}, speed-ups "
    "over an emulated link at the shortest and the longest delay, with as many ranks as their name "
    "says, at the rate of one rank; the table below has their intervals. They have fewer ranks "
    "than the simulated clusters, so that each computes longer between two messages. No claim "
    "joins them with the curves, and no value of one follows from the other.",
)


def speedup_figures(curves: Sequence[BenchmarkCurves]) -> tuple[Figure, ...]:
    """Figures of each benchmark and class, all with the same axes."""
    top = _axis_top(curves)
    drawings = [_drawing(number, curve, top) for number, curve in enumerate(curves, 1)]
    values = pl.concat([drawing.frame.select("x", "median") for drawing in drawings])
    low, high = float(values["x"].min()), float(values["x"].max())  # type: ignore[arg-type]
    if high > max(speed for curve in curves for speed in curve.one_cluster_s):
        high *= _TOP_MARGIN  # room for a mark beyond the curves
    decades = tuple(10.0**power for power in range(9) if low <= 10.0**power <= high)
    domain = (low, high) if low < high else (low / 2, 2 * high)
    x = Scale("Speed of a host", Unit.MFLOPS, *domain, is_log=True, ticks=decades)
    y = Scale("Speed-up over one cluster", Unit.RATIO, 0.0, top, is_log=False)

    def views(drawing: Drawing) -> tuple[View, ...]:
        return (View("Speed-up", x, y, drawing.curves, rules=_LIMIT_RULES),)

    subject = f"{SIMULATED}: speed-up of two clusters over one against host speed"
    return display.panel_figures(drawings, subject, views)


_LIMIT_RULES = (Rule(1.0), Rule(2.0, "ideal speed-up"))
_TOP_MARGIN = 1.25
_MARK_SHAPES = (SQUARE, TRIANGLE, DIAMOND)


def _axis_top(curves: Sequence[BenchmarkCurves]) -> float:
    speedups = [
        value for curve in curves for rtt in curve.rtts for value in curve.speedups(rtt).values()
    ]
    mark_speedups = [mark.speedup for curve in curves for mark in curve.emulated_marks]
    return 1.1 * max([2.0, *speedups, *mark_speedups])


#: A curve of a figure: its points are host speed, speed-up, and number of values if it is measured.
CurveLine = tuple[Arm, list[tuple[float, float, int | None]]]
_FRAME_COLUMNS = {
    "arm": pl.String,
    **dict.fromkeys(("x", "median", "low", "high"), pl.Float64),
    "n": pl.Int64,
}


def _drawing(number: int, curve: BenchmarkCurves, top: float) -> Drawing:
    lines = [*_simulated_lines(curve), *_rank_rate_lines(curve, top), *_emulated_points(curve)]
    rows = [(arm.title, x, y, None, None, n) for arm, points in lines for x, y, n in points]
    processors = dict.fromkeys(origin.processor for origin in curve.marks)
    return Drawing(
        f"npb-simulated-{number}",
        f"{curve.name} ({SIMULATED})",
        f"{SIMULATED}; measured: {', '.join(processors)}" if processors else SIMULATED,
        pl.DataFrame(rows, schema=_FRAME_COLUMNS, orient="row"),
        {arm.title: arm for arm, _ in lines},
    )


def _simulated_lines(curve: BenchmarkCurves) -> Iterator[CurveLine]:
    colours = _curve_colours(curve)
    for rtt in curve.rtts:
        title = f"+{rtt:g} ms"
        arm = Arm(title, colours[title], point=3.1, shape=CIRCLE)
        yield arm, [(speed, value, 1) for speed, value in curve.speedups(rtt).items()]
    if study_speedup := PUBLISHED_SPEEDUPS.get(curve.benchmark):
        study = f"The study, 4 ms: {published_words(curve.benchmark)}"
        ends = (min(curve.one_cluster_s), max(curve.one_cluster_s))
        arm = Arm(study, PINK, is_dashed=True, point=0)
        yield arm, [(speed, study_speedup, None) for speed in ends]


def _curve_colours(curve: BenchmarkCurves) -> dict[str, Colour]:
    return palette(f"+{rtt:g} ms" for rtt in curve.rtts)


def _rank_rate_lines(curve: BenchmarkCurves, top: float) -> Iterator[CurveLine]:
    for _, mark in curve.rank_marks:
        title = f"One rank, measured: {units.amount(mark.mops, Unit.MOPS)}"
        arm = Arm(title, GREY, is_dashed=True, point=0)
        yield arm, [(mark.mops, end, None) for end in (top / 1000, top)]


def _emulated_points(curve: BenchmarkCurves) -> Iterator[CurveLine]:
    marks, colours = curve.emulated_marks, _curve_colours(curve)
    delays = {mark.rtt_ms for mark in marks}
    ranks = sorted({mark.ranks for mark in marks})
    for mark in marks:
        if mark.rtt_ms in (min(delays), max(delays)):
            title = f"{EMULATED} {mark.ranks_per_cluster}, +{mark.rtt_ms:g} ms"
            colour = colours.get(f"+{mark.rtt_ms:g} ms", GREY)
            shape = _MARK_SHAPES[ranks.index(mark.ranks) % len(_MARK_SHAPES)]
            arm = Arm(title, colour, width=0, point=4.2, shape=shape)
            yield arm, [(mark.mops, mark.speedup, mark.launches)]
