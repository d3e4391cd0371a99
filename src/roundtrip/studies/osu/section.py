"""The OSU section: the well-known baseline, and whether it agrees with our NetPIPE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import (
    Answer,
    Block,
    Cell,
    CollapsibleBlocks,
    Column,
    Heading,
    Paragraph,
    ReportSection,
    RichText,
    StatusColour,
    StrongText,
    Table,
    number_columns,
    text_cells,
    text_columns,
)
from roundtrip.content.data import BundleData
from roundtrip.stats.summaries import Interval, median_interval
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display
from roundtrip.studies.findings import OPEN, coverage_suffix, describe_sizes
from roundtrip.studies.osu import derived
from roundtrip.studies.osu.curves import (
    AGREE,
    COLOUR_BY_OUTCOME,
    DISAGREE,
    FIGURE_GROUPS,
    NETPIPE_PAIRS,
    NetPIPEComparison,
    OSUCurves,
    Panel,
    compare_with_netpipe,
    comparison_blocks,
    draw_gallery,
    node_efficiency,
)
from roundtrip.study import Claim
from roundtrip.units import Quantity, Unit

_TABLE_SIZES = (8, 1 << 10, 64 << 10, 1 << 20)


def time_table(curves: OSUCurves) -> Table:
    """Table of latencies and times of collectives at a few sizes, µs; a barrier has no message."""
    rows, sizes = [], (0, *_TABLE_SIZES)
    for panel, benchmark in product(curves.panels, derived.BENCHMARKS.values()):
        intervals = curves.panel_rows(curves.intervals, panel, benchmark=benchmark.name)
        if benchmark.metric == "bandwidth" or intervals.is_empty():
            continue
        point = panel, benchmark.name, benchmark.metric
        cells = (curves.point_cell(*point, size) for size in sizes)
        rows.append((*text_cells(panel.title, benchmark.name), *cells))
    return display.size_table(
        curves.level.fill_caption(
            f"Times in {Unit.US}: median over launches, {{level}} rank interval. OSU prints two "
            "decimals; toolchains are not compared by times below 0.1 µs."
        ),
        ("Toolchain", "Benchmark"),
        sizes,
        rows,
        caption_units=(Unit.US,),
    )


def rate_table(curves: OSUCurves) -> Table:
    """Table of bandwidths at a few sizes, peaks, and messages per second."""
    rows = []
    for panel, benchmark in product(curves.panels, derived.BENCHMARKS):
        if not (peak := _peak_bandwidth(curves, panel, benchmark)):
            continue
        rows.append(
            (
                *text_cells(panel.title, benchmark),
                *(curves.point_cell(panel, benchmark, "bandwidth", size) for size in _TABLE_SIZES),
                display.interval_cell(peak, Unit.MB_S, 1.0),
                curves.point_cell(panel, benchmark, "message_rate", 8),
            )
        )
    return Table(
        curves.level.fill_caption(
            f"Bandwidth in {Unit.MB_S}, and messages per second where the program counts them: "
            "median over launches, {level} rank interval."
        ),
        (
            *text_columns("Toolchain", "Benchmark"),
            *number_columns(*map(units.size_text, _TABLE_SIZES), "Peak"),
            Column("{} at 8 B", "right", Unit.MILLION_MESSAGES_S),
        ),
        tuple(rows),
        (Unit.MB_S,),
    )


def validation_table(curves: OSUCurves) -> Table:
    """Table of the versions that ran, and of launches whose received data were validated."""
    launches = curves.launches.join(
        curves.launch_values.select("launch", "benchmark", "phase").unique(["launch"]), on="launch"
    )
    by_launch = curves.data.points.group_by("launch").agg(pl.col("verified").fill_null(False).all())
    verified_launches = by_launch.filter("verified")
    rows = []
    panels = {panel.key[0]: panel for panel in curves.panels}
    for (key, benchmark), group in sorted(launches.group_by("panel", "benchmark")):
        panel = panels[str(key)]
        statistic = "median" if group["phase"].unique().to_list() == ["p50"] else "mean"
        count = group.join(verified_launches, on="launch", how="semi").height
        share = (units.count(count), f" of {group.height}")
        words = "all compared" if count == group.height else share
        rows.append(
            (
                *text_cells(panel.title, str(benchmark), ", ".join(panel.osu_versions), statistic),
                Cell(units.count(group.height)),
                Cell(words) if count else Cell("not: the program cannot", "muted"),
            )
        )
    return Table(
        "What was run. A short separate run compares the data before the measured run.",
        (
            *text_columns("Toolchain", "Benchmark", "Version", "A launch's value"),
            *number_columns("Launches"),
            Column("Data"),
        ),
        tuple(rows),
    )


_QUESTION_TEXT: RichText = (
    "These are the OSU Micro-Benchmarks as their authors wrote them. Most published numbers of "
    "an MPI were measured with them, so they compare this machine with others.",
)


class Section:
    """The report on every OSU benchmark that was launched, with a cross-check by NetPIPE."""

    def __init__(self, data: BundleData) -> None:
        self._curves = OSUCurves(data)

    def ratios_by_claim(self) -> Mapping[Claim, Sequence[float]]:
        """No claims: OSU and NetPIPE run in different launches, so no ratio is paired."""
        return {}

    def report_section(self, verdicts: Mapping[Claim, ClaimVerdict]) -> ReportSection:
        curves = self._curves
        comparisons = compare_with_netpipe(curves)
        groups = ((name, draw_gallery(curves, name)) for name in FIGURE_GROUPS)
        galleries = [(name, gallery) for name, gallery in groups if gallery]
        picture = galleries.pop(0)[1] if galleries else None
        blocks: list[Block] = [Paragraph(_QUESTION_TEXT)]
        for name, gallery in galleries:
            blocks += [Heading(3, name.capitalize()), gallery]
        blocks += node_efficiency(curves).blocks("osu-growth")
        tables = [time_table(curves), rate_table(curves)]
        blocks += [Heading(3, "In numbers"), *(table for table in tables if table.rows)]
        blocks += comparison_blocks(curves, comparisons)
        versions = validation_table(curves)
        blocks.append(CollapsibleBlocks("Versions, and which data were compared", (versions,)))
        return ReportSection(
            anchor="osu",
            title="OSU Micro-Benchmarks: the well-known baseline",
            blocks=tuple(blocks),
            answers=overall_answers(curves, comparisons),
            panel_answers=tuple(panel_answer(curves, one, comparisons) for one in curves.panels),
            verdict_tables=(_agreement_table(comparisons, curves.settings.compared_sizes),)
            if comparisons
            else (),
            answer_gallery=picture,
        )


def _agreement_table(comparisons: Sequence[NetPIPEComparison], sizes: Sequence[int]) -> Table:
    cells = []
    for panel, pair in dict.fromkeys((one.panel, one.pair) for one in comparisons):
        group = [one for one in comparisons if (one.panel, one.pair) == (panel, pair)]
        outcomes = {one.outcome for one in group}
        worst = next(outcome for outcome in _OUTCOMES_WORST_FIRST if outcome in outcomes)
        limits = coverage_suffix([one.size_bytes for one in group], sizes) if worst == AGREE else ""
        colour = "warn" if limits else COLOUR_BY_OUTCOME[worst]
        ratios = [one.ratio for one in group]
        cell = display.ratio_range_cell(ratios, colour, f"{worst}{limits}")
        cells.append(((panel.title,), pair, cell))
    return display.grid_table(
        "Does OSU agree with our NetPIPE? Ratios of the medians over the compared sizes.",
        ("Toolchain",),
        {pair: Column(pair.title, base_name="NetPIPE") for pair in NETPIPE_PAIRS},
        cells,
    )


#: The latency in the answers: benchmark, metric and size in bytes.
_LATENCY_POINT = ("latency", "half_round_trip_time", 8)
#: Collectives whose times are in the answers, with a size in bytes.
_COLLECTIVE_POINTS = (("allreduce", 8), ("barrier", 0))


def overall_answers(
    curves: OSUCurves, comparisons: Sequence[NetPIPEComparison]
) -> tuple[Answer, ...]:
    """Answers on latency and peak bandwidth over all panels, and on agreement with NetPIPE; without
    the former, on the collectives: their panels have different numbers of ranks."""
    clauses = []
    points = (curves.point_interval(panel, *_LATENCY_POINT) for panel in curves.panels)
    if latencies := [latency.median for latency in points if latency]:
        clauses.append(f"latency {units.range_text(latencies, 1e6)} µs at {units.size_text(8)}")
    if peaks := [peak for panel in curves.panels if (peak := _peak_bandwidth(curves, panel, "bw"))]:
        clauses.append(
            "bandwidth one way at its peak "
            f"{units.range_text([peak.median for peak in peaks])} MB/s"
        )
    if not clauses:
        texts = (_collective_text(curves, *collective) for collective in _COLLECTIVE_POINTS)
        clauses += filter(None, texts)
    label_suffix = labels.partial_label_suffix(panel.emulation_label for panel in curves.panels)
    text = "; ".join(clauses) or "see below"
    values = Answer((f"{text[0].upper()}{text[1:]}{label_suffix}.",))
    colour = _agreement_colour(comparisons)
    lines = (
        f"{line[0].upper()}{line[1:]}{label_suffix}." for line in _agreement_clauses(comparisons)
    )
    return values, *(Answer((line,), colour) for line in lines)


def panel_answer(
    curves: OSUCurves, panel: Panel, comparisons: Sequence[NetPIPEComparison]
) -> Answer:
    """Answer on latency, peak bandwidth, collectives and agreement with NetPIPE in one panel."""
    panel_comparisons = [comparison for comparison in comparisons if comparison.panel == panel]
    clauses = []
    if latency := curves.point_interval(panel, *_LATENCY_POINT):
        clauses.append(f"latency {_microseconds(latency)} at {units.size_text(8)}")
    if peak := _peak_bandwidth(curves, panel, "bw"):
        clauses.append(f"bandwidth one way up to {units.amount(peak.median, Unit.MB_S)}")
    for name, size in _COLLECTIVE_POINTS:
        if value := curves.point_interval(panel, name, "operation_time", size):
            clauses.append(f"{name} {_microseconds(value)}")
    clauses += _agreement_clauses(panel_comparisons)
    words = "; ".join(clauses) or "see below"
    return Answer((StrongText(panel.title), f": {words}."), _agreement_colour(panel_comparisons))


def _microseconds(seconds: Interval) -> Quantity:
    return units.amount(seconds.median * units.FACTOR_FROM_SECONDS[Unit.US], Unit.US)


def _collective_text(curves: OSUCurves, name: str, size: int) -> str:
    medians = {
        panel: value.median
        for panel in curves.panels
        if (value := curves.point_interval(panel, name, "operation_time", size))
    }
    if not medians:
        return ""
    counts = [panel.ranks for panel in medians]
    few, many = min(counts), max(counts)
    ranks = f"{few}" if few == many else f"{few} to {many}"
    return f"{name} {units.range_text([*medians.values()], 1e6)} µs on {ranks} ranks"


def _peak_bandwidth(curves: OSUCurves, panel: Panel, benchmark: str) -> Interval | None:
    """Interval over launches of the peak bandwidth, MB/s; None if it was not measured."""
    rates = curves.panel_rows(curves.launch_values, panel, benchmark=benchmark, metric="bandwidth")
    peaks = rates.group_by("launch").agg(pl.col("value").max())["value"].to_list()
    return median_interval(peaks, curves.level) if peaks else None


_OUTCOMES_WORST_FIRST = (DISAGREE, OPEN, AGREE)
_TEXT_BY_OUTCOME = {AGREE: "they agree at", OPEN: "open at"}


def _agreement_clauses(comparisons: Sequence[NetPIPEComparison]) -> Iterator[str]:
    """Yield a clause for each pair on the sizes at which OSU and NetPIPE agree in all panels."""
    for pair in dict.fromkeys(comparison.pair for comparison in comparisons):
        group = [comparison for comparison in comparisons if comparison.pair == pair]
        worst_at = {
            comparison.size_bytes: comparison.outcome
            for outcome in reversed(_OUTCOMES_WORST_FIRST)
            for comparison in group
            if comparison.outcome == outcome
        }
        all_sizes = sorted(worst_at)
        places = {}
        for outcome in _OUTCOMES_WORST_FIRST:
            if sizes := [size for size in all_sizes if worst_at[size] == outcome]:
                places[outcome] = describe_sizes(sizes, all_sizes)
        worst, *rest = places
        where = f"at {places[worst]}" if rest else "everywhere"
        ratios = units.range_text([item.ratio for item in group if item.outcome == worst], digits=2)
        others = "".join(f"; {_TEXT_BY_OUTCOME[outcome]} {places[outcome]}" for outcome in rest)
        benchmark, mode = pair.title.split(" / ")
        verb = "disagrees" if worst == DISAGREE else "agrees"
        yield (
            f"{'open: whether ' if worst == OPEN else ''}OSU {benchmark} {verb} with the {mode} of "
            f"NetPIPE {where} ({ratios} times its values){others}"
        )


def _agreement_colour(comparisons: Sequence[NetPIPEComparison]) -> StatusColour:
    is_bad = any(comparison.outcome == DISAGREE for comparison in comparisons)
    return COLOUR_BY_OUTCOME[DISAGREE] if is_bad else "plain"
