"""The curves of the OSU section: one panel for each toolchain, placement and number of ranks.

Figures of times and rates over message size, the growth of the collectives with the nodes, and OSU
beside our NetPIPE: two programs that measure the same quantity must agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.report import labels, units
from roundtrip.report.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Heading,
    Paragraph,
    Table,
    Text,
    Tone,
)
from roundtrip.report.data import Data
from roundtrip.report.units import Level, Quantity, Unit
from roundtrip.stats.summaries import Interval, median_interval, median_intervals
from roundtrip.studies import display
from roundtrip.studies import panel as panels
from roundtrip.studies.growth import Growth
from roundtrip.studies.netpipe import BASE
from roundtrip.studies.netpipe import STUDY as NETPIPE
from roundtrip.studies.netpipe.derived import launch_medians
from roundtrip.studies.osu import ARMS, STUDY, Thresholds, derived
from roundtrip.studies.panel import Panels, Row, with_placement

PLACE = ["system", "partition", "environ", "placement"]


@dataclass(frozen=True, kw_only=True)
class Panel(panels.Panel):
    """One toolchain, placement and number of ranks; `place` has the values of PLACE."""

    place: tuple[str, ...]
    ranks: int
    versions: tuple[str, ...]

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key of panels: measured before emulated, then from few ranks to many."""
        return bool(self.kind), self.ranks, self.key


class Curves(Panels[Panel]):
    """Typical values of each launch (`derived.typical_values`)."""

    key_columns = ("panel",)

    def __init__(self, data: Data) -> None:
        super().__init__(data, STUDY.name)
        key = [*PLACE, "ranks", "kind", "toolchain"]
        self.launches = self.launches.with_columns(
            panel=pl.concat_str(key, separator="|", ignore_nulls=True)
        )

    @cached_property
    def values(self) -> pl.DataFrame:
        """One row for each launch and size.

        Columns: launch, benchmark, variant, metric, size_bytes, phase, value, panel.
        """
        values = derived.typical_values(self.samples, ["launch"]).rename({"case": "benchmark"})
        return values.join(self.launches.select("launch", "panel"), on="launch")

    @cached_property
    def intervals(self) -> pl.DataFrame:
        """Interval over launches: columns panel, benchmark, metric, size_bytes; median, low and
        high in the metric's unit; n.
        """
        keys = ["panel", "benchmark", "metric", "size_bytes"]
        return median_intervals(self.values, keys, "value", self.level)

    def point(self, panel: Panel, benchmark: str, metric: str, size: int) -> Interval | None:
        """The interval of one point; None if it was not measured."""
        rows = self.rows(self.intervals, panel, benchmark=benchmark, metric=metric)
        return self.interval_at(rows, panel, size_bytes=size)

    def cell(
        self,
        panel: Panel,
        benchmark: str,
        metric: str,
        size: int,
        unit: Unit,
        scale: float = 1.0,
    ) -> Cell:
        """The interval of one point, times `scale`, with its series."""
        interval = self.point(panel, benchmark, metric, size)
        series = self.series_key(panel, benchmark, metric, size)
        return display.value(interval, unit, scale, series=series)

    def series_key(self, panel: Panel, benchmark: str, metric: str, size: int) -> str:
        """The series of one point, as `Cell.series`; "" if launches gave different statistics."""
        rows = self.rows(self.values, panel, benchmark=benchmark, metric=metric, size_bytes=size)
        phases = rows["phase"].unique().to_list()
        if len(phases) != 1:
            return ""
        return self.series(panel, size, case=benchmark, metric=metric, phase=phases[0])

    def _panel_rows(self) -> pl.DataFrame:
        """One row for each panel, with the column versions."""
        versions = self.samples.select("launch", "variant").unique().collect()
        launches = self.launches.join(versions, on="launch").group_by("panel")
        counts = launches.agg(
            versions=pl.col("variant").unique().sort(), launches=pl.len().cast(pl.Int64)
        )
        return counts.join(self.launches.unique("panel", keep="first"), on="panel")

    def _panel(self, row: Row) -> Panel:
        where = labels.PLACEMENTS.get(row["placement"], row["placement"])
        return Panel(
            key=(row["panel"],),
            toolchain=row["toolchain"],
            where=f"{row['ranks']} ranks {where}",
            kind=row["kind"],
            launches=row["launches"],
            facts=(panels.place(row), row["environ"]),
            place=tuple(row[name] for name in PLACE),
            ranks=row["ranks"],
            versions=tuple(row["versions"]),
        )


#: Bytes per rank: a size where ranks mostly wait, and a size where they move data.
GROWTH_SIZES = (8, 64 << 10)


def node_growth(curves: Curves) -> Growth:
    """Efficiency over nodes of each collective at GROWTH_SIZES, from launches on several nodes."""
    collectives = [
        name for name, benchmark in derived.BENCHMARKS.items() if benchmark.is_collective
    ]
    values = (
        curves.values.filter(pl.col("benchmark").is_in(collectives))
        .filter(pl.col("size_bytes").is_in(GROWTH_SIZES) | (pl.col("benchmark") == "barrier"))
        .filter(pl.col("value") > 0)
    )
    things = [_thing(*row) for row in values.select("benchmark", "size_bytes").rows()]
    times = values.with_columns(thing=pl.Series(things, dtype=pl.String))
    return Growth.from_launches(times, curves.launches, ideal_time, curves.level)


def ideal_time(thing: str, ranks: int) -> float:
    """Steps on `ranks` ranks: one for each other rank in alltoall, otherwise a tree of messages."""
    return float(ranks - 1) if thing.startswith("alltoall") else math.log2(ranks)


def _thing(benchmark: str, size: int) -> str:
    return benchmark if benchmark == "barrier" else f"{benchmark}, {units.size(size)}"


@dataclass(frozen=True)
class Kind:
    """Benchmarks that share a figure of `axis`; values times `scale` are in `unit`."""

    name: str
    benchmarks: tuple[str, ...]
    axis: str
    unit: Unit
    scale: float
    description: str

    def caption(self, level: Level) -> Text:
        """The caption of its figures, with intervals at `level`."""
        return level.caption(
            f"{self.description}: median over launches, bands are {{level}} rank intervals. Where "
            "the version prints percentiles a launch's value is the median over its messages, else "
            "their mean."
        )


KINDS = (
    Kind(
        "latency",
        ("latency", "put_latency", "get_latency"),
        "Time",
        Unit.US,
        1e6,
        "Half a round trip (latency), and the time of one MPI_Put and one MPI_Get",
    ),
    Kind(
        "bandwidth",
        ("bw", "bibw", "mbw_mr", "put_bw", "get_bw"),
        "Bandwidth",
        Unit.MB_S,
        1.0,
        "Bandwidth in windows of messages; bibw both ways, mbw_mr all pairs together",
    ),
    Kind(
        "collectives",
        ("allreduce", "alltoall", "bcast"),
        "Time",
        Unit.US,
        1e6,
        "Time of a collective, mean over the ranks, by bytes a rank",
    ),
)


def draw(curves: Curves, kind: Kind) -> tuple[Figure, ...]:
    """One figure for each panel that has such benchmarks; all with the same axes."""
    frames = [(panel, _frame(curves, panel, kind)) for panel in curves.panels]
    frames = [(panel, frame) for panel, frame in frames if not frame.is_empty()]
    arms = {name: ARMS[name] for name in kind.benchmarks}
    drawings = [
        display.drawing(f"osu-{kind.name}-{number}", panel, frame, arms, ", ".join(panel.versions))
        for number, (panel, frame) in enumerate(frames, 1)
    ]
    description = f"OSU {kind.name} over message size"
    return display.curves_over_size(drawings, description, kind.axis, kind.unit)


def _frame(curves: Curves, panel: Panel, kind: Kind) -> pl.DataFrame:
    """The rows that a log scale can show: no empty messages, no values that OSU rounded to 0."""
    return (
        display.curve_rows(curves.rows(curves.intervals, panel), kind.scale, "benchmark")
        .filter(pl.col("benchmark").is_in(kind.benchmarks) & (pl.col("metric") != "message_rate"))
        .filter((pl.col("size_bytes") > 0) & (pl.col("median") > 0))
        .with_columns(low=pl.when(pl.col("low") > 0).then("low"))
        .with_columns(high=pl.when(pl.col("low").is_not_null()).then("high"))
    )


AGREE, DISAGREE, UNKNOWN = "agree", "disagree", "cannot tell"
TONES: dict[str, Tone] = {AGREE: "good", DISAGREE: "bad", UNKNOWN: "warn"}


@dataclass(frozen=True)
class Pair:
    """An OSU benchmark and the case of NetPIPE that measures the same quantity, `metric`."""

    benchmark: str
    metric: str
    case: str
    words: str


PAIRS = (
    Pair("latency", "half_round_trip_time", "pingpong/same", "latency / ping-pong"),
    Pair("bw", "bandwidth", "stream/same", "bw / stream"),
)


@dataclass(frozen=True)
class Comparison:
    """OSU and NetPIPE at one size: seconds for `latency`, MB/s for `bw`.

    `series`: the series of both, as `Cell.series`.
    """

    panel: Panel
    pair: Pair
    size_bytes: int
    osu: Interval
    netpipe: Interval
    outcome: str
    series: tuple[str, str] = ("", "")


def compare_with_netpipe(data: Data, curves: Curves) -> list[Comparison]:
    """Every pair at every compared size that both programs measured in the same place."""
    settings = data.analysis.study_thresholds(Thresholds)
    all_medians = _netpipe(data)
    comparisons = []
    for panel in curves.panels:
        place = dict(zip(PLACE, panel.place, strict=True), kind=panel.kind)
        conditions = [pl.col(key) == value for key, value in place.items()]
        medians = all_medians.filter(*conditions) if panel.ranks == 2 else all_medians.clear()
        for pair in PAIRS:
            for size in settings.compared_sizes:
                at = (pl.col("case") == pair.case) & (pl.col("size_bytes") == size)
                column = "seconds" if pair.metric != "bandwidth" else "bandwidth"
                rows = medians.filter(at)
                values = rows[column].to_list()
                osu = curves.point(panel, pair.benchmark, pair.metric, size)
                if values and osu:
                    netpipe = median_interval(values, curves.level)
                    verdict = outcome(osu, netpipe, settings)
                    series = (
                        curves.series_key(panel, pair.benchmark, pair.metric, size),
                        data.origins.key(
                            rows["case_id"].unique(),
                            size,
                            case=pair.case,
                            variant=BASE,
                            phase="measure",
                        ),
                    )
                    comparisons.append(Comparison(panel, pair, size, osu, netpipe, verdict, series))
    return comparisons


def outcome(osu: Interval, netpipe: Interval, settings: Thresholds) -> str:
    """DISAGREE if the nearest ends exceed the limit, AGREE if the farthest do not, else UNKNOWN."""
    if osu.low is None or osu.high is None or netpipe.low is None or netpipe.high is None:
        return UNKNOWN
    limit = 1 + settings.disagreement
    if osu.low > limit * netpipe.high or netpipe.low > limit * osu.high:
        return DISAGREE
    return AGREE if max(osu.high, netpipe.high) <= limit * min(osu.low, netpipe.low) else UNKNOWN


def comparison_blocks(
    comparisons: list[Comparison], settings: Thresholds, level: Level
) -> list[Block]:
    """The cross-check; [] if NetPIPE was not measured in the same places."""
    if not comparisons:
        return []
    limit = units.percent(settings.disagreement)
    return [
        Heading(3, "Beside NetPIPE"),
        Paragraph(
            (
                "OSU's latency is half a round trip, as NetPIPE's is. Its bw sends one way in "
                "windows of 64 messages, NetPIPE's stream one by one. The launches are not the "
                "same, so the ratio is not paired. They disagree if the nearest ends of the two "
                f"intervals are more than {limit} apart, and agree if the farthest ends are within "
                f"{limit}. Not every disagreement is an error: NetPIPE sends back the buffer into "
                "which it has just received, while OSU sends from one buffer and receives into "
                "another. Both may stay in cache, so its large messages are faster inside a node. "
                "Which of the two NetPIPE 3.7.2 itself agrees with stands above where it was "
                "launched.",
            )
        ),
        Table(
            level.caption(
                f"OSU and our NetPIPE (raw MPI): {Unit.US} for latency, {Unit.MB_S} for the "
                "others; median over launches, {level} rank interval."
            ),
            (
                Column("Toolchain"),
                Column("OSU / NetPIPE"),
                *(Column(name, "right") for name in ("Size", "OSU", "NetPIPE")),
                Column("Ratio", "right", base="NetPIPE"),
                Column("They"),
            ),
            tuple(_comparison_row(comparison) for comparison in comparisons),
            (Unit.US, Unit.MB_S),
        ),
    ]


def _comparison_row(comparison: Comparison) -> tuple[Cell, ...]:
    is_rate = comparison.pair.metric == "bandwidth"
    unit, scale = (Unit.MB_S, 1.0) if is_rate else (Unit.US, 1e6)
    cells = (
        Cell(Quantity.from_interval(value, unit, scale, series=series))
        for value, series in zip(
            (comparison.osu, comparison.netpipe), comparison.series, strict=True
        )
    )
    ratio = Quantity(value=comparison.osu.median / comparison.netpipe.median, unit=Unit.RATIO)
    return (
        Cell(comparison.panel.label),
        Cell(comparison.pair.words),
        Cell(units.byte_size(comparison.size_bytes)),
        *cells,
        Cell(ratio, series=comparison.series[0]),
        Cell("", TONES[comparison.outcome], comparison.outcome),
    )


def _netpipe(data: Data) -> pl.DataFrame:
    """Launch medians of raw MPI, with the columns of PLACE and `kind`."""
    launches = with_placement(data.study_launches(NETPIPE.name)).select(
        "launch", "case_id", *PLACE, "kind"
    )
    samples = data.samples.filter(
        (pl.col("study") == NETPIPE.name)
        & (pl.col("phase") == "measure")
        & (pl.col("variant") == BASE)
    )
    return launch_medians(samples, ["launch"]).join(launches, on="launch")
