"""The curves of the OSU section: one panel for each toolchain, placement and number of ranks.

Figures of times and rates over message size, the growth of the collectives with the nodes, and OSU
beside our NetPIPE: two programs that measure the same quantity must agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import (
    Block,
    Cell,
    Column,
    Gallery,
    Heading,
    Paragraph,
    StatusColour,
    Table,
    number_columns,
    text_cells,
    text_columns,
)
from roundtrip.content.data import BundleData
from roundtrip.stats.summaries import Interval, median_interval, median_intervals
from roundtrip.studies import display
from roundtrip.studies import panel as panels
from roundtrip.studies.findings import OPEN
from roundtrip.studies.netpipe import RAW_MPI
from roundtrip.studies.netpipe import STUDY as NETPIPE
from roundtrip.studies.netpipe.derived import launch_medians
from roundtrip.studies.node_efficiency import NodeEfficiency
from roundtrip.studies.osu import ARMS, STUDY, Thresholds, derived
from roundtrip.studies.panel import CaseRow, Panels, with_placement_and_label
from roundtrip.units import Quantity, Unit

SETTING_COLUMNS = ["system", "partition", "environ", "placement"]
#: The unit in which values of a metric are printed, and the factor that converts to it.
PRINTED_UNIT_BY_METRIC = {
    "half_round_trip_time": (Unit.US, 1e6),
    "operation_time": (Unit.US, 1e6),
    "bandwidth": (Unit.MB_S, 1.0),
    "message_rate": (Unit.MILLION_MESSAGES_S, 1e-6),
}


@dataclass(frozen=True, kw_only=True)
class Panel(panels.Panel):
    """A toolchain, placement and number of ranks, and its values of the `SETTING_COLUMNS`."""

    setting_values: tuple[str, ...]
    ranks: int
    osu_versions: tuple[str, ...]

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Sort key of panels: measured before emulated, then from few ranks to many."""
        return bool(self.emulation_label), self.ranks, self.key


class OSUCurves(Panels[Panel]):
    """The OSU launches of a bundle by panel: typical values, and intervals over message size."""

    key_columns = ("panel",)

    def __init__(self, data: BundleData) -> None:
        super().__init__(data, STUDY.name)
        self.settings = data.analysis.study_thresholds(Thresholds)
        key = [*SETTING_COLUMNS, "ranks", "emulation_label", "toolchain"]
        panel = pl.concat_str(key, separator="|", ignore_nulls=True)
        self.launches = self.launches.with_columns(panel=panel)

    @cached_property
    def launch_values(self) -> pl.DataFrame:
        """Columns launch, benchmark, variant, metric, size_bytes, phase, value, panel."""
        values = derived.typical_values(self.samples, ["launch"]).rename({"case": "benchmark"})
        return values.join(self.launches.select("launch", "panel"), on="launch")

    @cached_property
    def intervals(self) -> pl.DataFrame:
        """Columns panel, benchmark, metric, size_bytes; median, low, high over launches; n."""
        keys = ["panel", "benchmark", "metric", "size_bytes"]
        return median_intervals(self.launch_values, keys, "value", self.level)

    def point_interval(
        self, panel: Panel, benchmark: str, metric: str, size: int
    ) -> Interval | None:
        """The interval of one point; None if it was not measured."""
        return self.interval_at(
            self.intervals, panel, benchmark=benchmark, metric=metric, size_bytes=size
        )

    def point_cell(self, panel: Panel, benchmark: str, metric: str, size: int) -> Cell:
        """The interval of one point in its printed unit, with the key of its series."""
        point = panel, benchmark, metric, size
        return display.interval_cell(
            self.point_interval(*point),
            *PRINTED_UNIT_BY_METRIC[metric],
            series_key=self.series_key(*point),
        )

    def series_key(self, panel: Panel, benchmark: str, metric: str, size: int) -> str:
        """The key of the history series of one point; "" if launches gave different statistics."""
        rows = self.panel_rows(
            self.launch_values, panel, benchmark=benchmark, metric=metric, size_bytes=size
        )
        phases = rows["phase"].unique().to_list()
        if len(phases) != 1:
            return ""
        return self.history_series_key(panel, size, case=benchmark, metric=metric, phase=phases[0])

    def _row_per_panel(self) -> pl.DataFrame:
        """One row for each panel, with the column versions."""
        versions = self.samples.select("launch", "variant").unique().collect()
        launches = self.launches.join(versions, on="launch").group_by("panel")
        counts = launches.agg(
            versions=pl.col("variant").unique().sort(), launch_count=pl.len().cast(pl.Int64)
        )
        return counts.join(self.launches.unique("panel", keep="first"), on="panel")

    def _panel(self, row: CaseRow) -> Panel:
        where = labels.TEXT_BY_PLACEMENT.get(row["placement"], row["placement"])
        return Panel(
            **self._panel_fields(row),
            placement_text=f"{row['ranks']} ranks {where}",
            setting_clauses=(panels.describe_partition(row), row["environ"]),
            setting_values=tuple(row[name] for name in SETTING_COLUMNS),
            ranks=row["ranks"],
            osu_versions=tuple(row["versions"]),
        )


#: Sizes per rank: one at which ranks mostly wait, and one at which they move data.
EFFICIENCY_SIZES_BYTES = (8, 64 << 10)


def node_efficiency(curves: OSUCurves) -> NodeEfficiency:
    """Efficiency over nodes of each collective at EFFICIENCY_SIZES_BYTES, from two nodes on."""
    collectives = [one.name for one in derived.BENCHMARKS.values() if one.is_collective]
    benchmark, size = pl.col("benchmark"), pl.col("size_bytes")
    is_barrier = benchmark == "barrier"
    values = curves.launch_values.filter(
        benchmark.is_in(collectives),
        size.is_in(EFFICIENCY_SIZES_BYTES) | is_barrier,
        pl.col("value") > 0,
    )
    titles = {n: f", {units.size_text(n)}" for n in EFFICIENCY_SIZES_BYTES}
    suffix = size.replace_strict(titles, default="")
    times = values.with_columns(subject=pl.concat_str(benchmark, suffix))
    return NodeEfficiency.from_launches(times, curves.launches, curves.level, ideal_step_count)


def ideal_step_count(subject: str, ranks: int) -> float:
    """Steps on `ranks` ranks, as an ideal time: ranks - 1 for alltoall, log2(ranks) for others."""
    return float(ranks - 1) if subject.startswith("alltoall") else math.log2(ranks)


#: The benchmarks that share a figure, and a description of their values.
FIGURE_GROUPS = {
    "latency": (
        ("latency", "put_latency", "get_latency"),
        "Half a round trip (latency), and the time of one MPI_Put and one MPI_Get",
    ),
    "bandwidth": (
        ("bw", "bibw", "mbw_mr", "put_bw", "get_bw"),
        "Bandwidth in windows of messages; bibw both ways, mbw_mr all pairs together",
    ),
    "collectives": (
        ("allreduce", "alltoall", "bcast"),
        "Time of a collective, mean over the ranks, by bytes a rank",
    ),
}


def draw_gallery(curves: OSUCurves, name: str) -> Gallery | None:
    """A figure of the benchmarks of `FIGURE_GROUPS[name]` for each panel; None without values."""
    benchmarks, description = FIGURE_GROUPS[name]
    unit, scale = PRINTED_UNIT_BY_METRIC[derived.BENCHMARKS[benchmarks[0]].metric]
    # A log scale shows no empty messages, and no values that OSU rounded to 0.
    frame = (
        display.curve_rows(curves.intervals, scale, "benchmark")
        .filter(pl.col("benchmark").is_in(benchmarks) & (pl.col("metric") != "message_rate"))
        .filter((pl.col("size_bytes") > 0) & (pl.col("median") > 0))
        .with_columns(low=pl.when(pl.col("low") > 0).then("low"))
        .with_columns(high=pl.when(pl.col("low").is_not_null()).then("high"))
    )
    shown = [panel for panel in curves.panels if curves.panel_rows(frame, panel).height]
    if not shown:
        return None
    arms = {benchmark: ARMS[benchmark] for benchmark in benchmarks}
    drawings = display.panel_drawings(
        f"osu-{name}", curves, frame, arms, shown, lambda panel: ", ".join(panel.osu_versions)
    )
    axis = "Bandwidth" if unit is Unit.MB_S else "Time"
    caption = curves.level.fill_caption(
        f"{description}: median over launches, bands are {{level}} rank intervals. If the version "
        "prints percentiles, a launch's value is the median over its messages, else their mean."
    )
    title = f"OSU {name} over message size"
    return Gallery(caption, display.curve_figures_over_size(drawings, title, axis, unit))


AGREE, DISAGREE = "agree", "disagree"
COLOUR_BY_OUTCOME: dict[str, StatusColour] = {AGREE: "good", DISAGREE: "bad", OPEN: "warn"}


@dataclass(frozen=True)
class BenchmarkPair:
    """An OSU benchmark and the case of NetPIPE that measures the same quantity, `metric`;
    `netpipe_column` has it in `netpipe.derived.launch_medians`.
    """

    benchmark: str
    metric: str
    netpipe_case: str
    netpipe_column: str
    title: str


NETPIPE_PAIRS = (
    BenchmarkPair(
        "latency", "half_round_trip_time", "pingpong/same", "seconds", "latency / ping-pong"
    ),
    BenchmarkPair("bw", "bandwidth", "stream/same", "bandwidth", "bw / stream"),
)


@dataclass(frozen=True)
class NetPIPEComparison:
    """OSU and NetPIPE at one size, in s or MB/s, with the key of the series of each."""

    panel: Panel
    pair: BenchmarkPair
    size_bytes: int
    osu: Interval
    netpipe: Interval
    outcome: str
    series_keys: tuple[str, str] = ("", "")

    @property
    def ratio(self) -> float:
        return self.osu.median / self.netpipe.median


def compare_with_netpipe(curves: OSUCurves) -> list[NetPIPEComparison]:
    """Every pair at every compared size that both programs measured in the same setting."""
    data = curves.data
    launches = with_placement_and_label(data.study_launches(NETPIPE.name)).select(
        "launch", "case_id", *SETTING_COLUMNS, "emulation_label"
    )
    samples = data.samples.filter(study=NETPIPE.name, phase="measure", variant=RAW_MPI)
    all_medians = launch_medians(samples, ["launch"]).join(launches, on="launch")
    comparisons = []
    for panel in curves.panels:
        if panel.ranks != 2:
            continue
        setting = dict(zip(SETTING_COLUMNS, panel.setting_values, strict=True))
        medians = all_medians.filter(**setting, emulation_label=panel.emulation_label)
        for pair, size in product(NETPIPE_PAIRS, curves.settings.compared_sizes):
            rows = medians.filter(case=pair.netpipe_case, size_bytes=size)
            point = panel, pair.benchmark, pair.metric, size
            osu = curves.point_interval(*point)
            if rows.is_empty() or osu is None:
                continue
            netpipe = median_interval(rows[pair.netpipe_column].to_list(), curves.level)
            cases, names = rows["case_id"].unique(), {"case": pair.netpipe_case, "variant": RAW_MPI}
            netpipe_series = data.series_medians.find_key(cases, size, **names, phase="measure")
            series = curves.series_key(*point), netpipe_series
            verdict = agreement_outcome(osu, netpipe, curves.settings)
            comparisons.append(NetPIPEComparison(panel, pair, size, osu, netpipe, verdict, series))
    return comparisons


def agreement_outcome(osu: Interval, netpipe: Interval, settings: Thresholds) -> str:
    """DISAGREE if the nearest interval ends exceed the limit, AGREE if no ends do, else OPEN."""
    if osu.low is None or osu.high is None or netpipe.low is None or netpipe.high is None:
        return OPEN
    limit = 1 + settings.disagreement
    if osu.low > limit * netpipe.high or netpipe.low > limit * osu.high:
        return DISAGREE
    return AGREE if max(osu.high, netpipe.high) <= limit * min(osu.low, netpipe.low) else OPEN


def comparison_blocks(curves: OSUCurves, comparisons: list[NetPIPEComparison]) -> list[Block]:
    """Blocks on OSU beside NetPIPE; [] if NetPIPE was not measured in the same settings."""
    if not comparisons:
        return []
    rows = tuple(map(_comparison_row, comparisons))
    limit = units.percent_text(curves.settings.disagreement)
    return [
        Heading(3, "Beside NetPIPE"),
        Paragraph(
            (
                "OSU's latency is half a round trip, as NetPIPE's is. Its bw sends one way in "
                "windows of 64 messages, NetPIPE's stream one by one. The launches are not the "
                "same, so the ratio is not paired. They disagree if the nearest ends of the two "
                f"intervals are more than {limit} apart, and agree if the farthest ends are "
                f"within {limit}. Not every disagreement is an error: NetPIPE sends the buffer "
                "that it has just received, OSU sends from one buffer and receives into another. "
                "OSU's buffers may both stay in cache, so its large messages are faster inside a "
                "node. If NetPIPE 3.7.2 was launched, its values above show which of the two it "
                "agrees with.",
            )
        ),
        Table(
            curves.level.fill_caption(
                f"OSU and our NetPIPE (raw MPI): {Unit.US} for latency, {Unit.MB_S} for the "
                "others; median over launches, {level} rank interval."
            ),
            (
                *text_columns("Toolchain", "OSU / NetPIPE"),
                *number_columns("Size", "OSU", "NetPIPE"),
                Column("Ratio", "right", base_name="NetPIPE"),
                Column("They"),
            ),
            rows,
            (Unit.US, Unit.MB_S),
        ),
    ]


def _comparison_row(comparison: NetPIPEComparison) -> tuple[Cell, ...]:
    unit = PRINTED_UNIT_BY_METRIC[comparison.pair.metric]
    osu_series, netpipe_series = comparison.series_keys
    return (
        *text_cells(comparison.panel.title, comparison.pair.title),
        Cell(units.byte_size(comparison.size_bytes)),
        display.interval_cell(comparison.osu, *unit, series_key=osu_series),
        display.interval_cell(comparison.netpipe, *unit, series_key=netpipe_series),
        Cell(Quantity(value=comparison.ratio, unit=Unit.RATIO), series_key=osu_series),
        Cell("", COLOUR_BY_OUTCOME[comparison.outcome], comparison.outcome),
    )
