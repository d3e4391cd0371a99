"""The NPB section of simulated launches: host speeds up to which a second cluster pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import polars as pl

from roundtrip import units
from roundtrip.content.blocks import (
    Answer,
    Block,
    Cell,
    Column,
    Figure,
    Gallery,
    Heading,
    Paragraph,
    ReportSection,
    RichText,
    StrongText,
    Table,
    number_columns,
    text_items,
)
from roundtrip.content.data import BundleData
from roundtrip.content.plot import CIRCLE, DIAMOND, SQUARE, TRIANGLE, Axis, ReferenceLine, View
from roundtrip.content.series import SeriesMedians
from roundtrip.studies import display
from roundtrip.studies.display import Drawing
from roundtrip.studies.npb import PUBLISHED_SPEEDUPS, STUDY, describe_published_speedup
from roundtrip.studies.npb.marks import EMULATED, reference_blocks, value_cell
from roundtrip.studies.npb.sweep import (
    CHECK_NAME,
    ONE_CLUSTER_VARIANT,
    SIMULATED,
    BenchmarkCurves,
    point_case,
    read_curves,
    two_clusters_variant,
)
from roundtrip.study import GREY, PINK, Arm, palette
from roundtrip.units import Quantity, Unit

_ONE_CLUSTER_TITLE = "One cluster"
_MARK_SHAPES = (SQUARE, TRIANGLE, DIAMOND)


def simulated_section(data: BundleData) -> ReportSection:
    """Sweeps over host speeds, and rates of the benchmarks on many simulated hosts."""
    curves = read_curves(data)
    launches = data.study_launches(STUDY.name).filter(pl.col("check") != CHECK_NAME)
    blocks: list[Block] = [Paragraph(_QUESTION_TEXT)]
    picture = None
    if curves:
        has_marks = any(curve.reference_nights for curve in curves)
        caption: RichText = (
            (*_FIGURE_CAPTION, " ", *_REFERENCE_CAPTION) if has_marks else _FIGURE_CAPTION
        )
        picture = Gallery(caption, speedup_figures(curves))
        blocks += [
            Heading(3, f"Two clusters over one, {SIMULATED}"),
            _break_even_table(curves),
            _point_table(curves, data.series_medians),
            *reference_blocks(curves),
            Heading(3, "How to read it"),
            text_items(*_READING_NOTES),
        ]
    if not launches.is_empty():
        blocks += [Heading(3, f"On many hosts, {SIMULATED}"), _rate_table(data, launches)]
    return ReportSection(
        anchor="npb",
        title=f"NPB, {SIMULATED}: up to which host speed does a second cluster pay?",
        blocks=tuple(blocks),
        answers=tuple(map(_break_even_answer, curves)),
        answer_gallery=picture,
    )


def speedup_figures(curves: Sequence[BenchmarkCurves]) -> tuple[Figure, ...]:
    """Figures of each benchmark and class, all with the same axes."""
    simulated = [curve.speedups(rtt).values() for curve in curves for rtt in curve.rtts_ms]
    measured = [mark.speedup for curve in curves for mark in curve.reference_speedups]
    top = 1.1 * max(2.0, *chain(*simulated, measured))
    drawings = [_drawing(number, curve, top) for number, curve in enumerate(curves, 1)]
    values = pl.concat([drawing.frame.select("x", "median") for drawing in drawings])
    low, high = float(values["x"].min()), float(values["x"].max())  # type: ignore[arg-type]
    if high > max(speed for curve in curves for speed in curve.one_cluster_s):
        high *= 1.25  # room for a mark beyond the curves
    decades = tuple(10.0**power for power in range(9) if low <= 10.0**power <= high)
    domain = (low, high) if low < high else (low / 2, 2 * high)
    x = Axis("Speed of a host", Unit.MFLOPS, *domain, is_log=True, ticks=decades)
    y = Axis("Speed-up over one cluster", Unit.RATIO, 0.0, top, is_log=False)
    limits = ReferenceLine(1.0), ReferenceLine(2.0, "ideal speed-up")

    def views(drawing: Drawing) -> tuple[View, ...]:
        return (View("Speed-up", x, y, drawing.curves, reference_lines=limits),)

    subject = f"{SIMULATED}: speed-up of two clusters over one against host speed"
    return display.drawing_figures(drawings, subject, views)


def _drawing(number: int, curve: BenchmarkCurves, top: float) -> Drawing:
    lines = list(_arms_with_points(curve, top))
    rows = [(arm.title, x, y, None, None, n) for arm, points in lines for x, y, n in points]
    numbers = dict.fromkeys(("x", "median", "low", "high"), pl.Float64)
    processors = dict.fromkeys(origin.processor for origin in curve.reference_nights)
    return Drawing(
        f"npb-simulated-{number}",
        f"{curve.name} ({SIMULATED})",
        f"{SIMULATED}; measured: {', '.join(processors)}" if processors else SIMULATED,
        pl.DataFrame(rows, schema={"arm": pl.String, **numbers, "n": pl.Int64}, orient="row"),
        {arm.title: arm for arm, _ in lines},
    )


def _arms_with_points(
    curve: BenchmarkCurves, top: float
) -> Iterator[tuple[Arm, list[tuple[float, float, int | None]]]]:
    """Lines with their points (Mflop/s of a host, speed-up, number of values if it is measured):
    first the simulated ones, then the published speed-up, reference rates, reference speed-ups."""
    colours = palette(f"+{rtt:g} ms" for rtt in curve.rtts_ms)
    for rtt, (title, colour) in zip(curve.rtts_ms, colours.items(), strict=True):
        arm = Arm(title, colour, point_radius=3.1, shape=CIRCLE)
        yield arm, [(speed, value, 1) for speed, value in curve.speedups(rtt).items()]
    if published_speedup := PUBLISHED_SPEEDUPS.get(curve.benchmark):
        study = f"The study, 4 ms: {describe_published_speedup(curve.benchmark)}"
        arm = Arm(study, PINK, is_dashed=True, point_radius=0)
        ends = min(curve.one_cluster_s), max(curve.one_cluster_s)
        yield arm, [(speed, published_speedup, None) for speed in ends]
    for _, rate in curve.reference_rates:
        title = f"One rank, measured: {units.amount(rate.mops, Unit.MOPS)}"
        arm = Arm(title, GREY, is_dashed=True, point_radius=0)
        yield arm, [(rate.mops, end, None) for end in (top / 1000, top)]
    delays = {reference.rtt_ms for reference in curve.reference_speedups}
    ranks = sorted({reference.ranks for reference in curve.reference_speedups})
    for reference in curve.reference_speedups:
        if reference.rtt_ms in (min(delays), max(delays)):
            delay = f"+{reference.rtt_ms:g} ms"
            title = f"{EMULATED} {reference.ranks_per_cluster}, {delay}"
            shape = _MARK_SHAPES[ranks.index(reference.ranks) % len(_MARK_SHAPES)]
            arm = Arm(title, colours.get(delay, GREY), line_width=0, point_radius=4.2, shape=shape)
            yield arm, [(reference.mops, reference.speedup, reference.launches)]


def _break_even_table(curves: Sequence[BenchmarkCurves]) -> Table:
    """Table of the host speeds of break-even and of the published speed-up at the longest delay,
    with the ratios of computing to latency there.
    """
    rows = [
        (
            Cell(f"{curve.name} ({SIMULATED})"),
            _rtt_cell(curve.rtts_ms[-1]),
            value_cell(curve.break_even_mflops, Unit.MFLOPS),
            value_cell(curve.published_speedup, Unit.PURE_NUMBER),
            value_cell(curve.published_speedup_mflops, Unit.MFLOPS),
            value_cell(curve.round_trips_waited, Unit.PURE_NUMBER),
            value_cell(curve.compute_latency_ratio(curve.break_even_mflops), Unit.PURE_NUMBER),
            value_cell(
                curve.compute_latency_ratio(curve.published_speedup_mflops), Unit.PURE_NUMBER
            ),
        )
        for curve in curves
    ]
    return Table(
        f"{SIMULATED}: the host speed up to which two clusters beat one, and the host speed that "
        "gives the study's number. For both: the time that a rank of one cluster computes per "
        "second of round trips waited for.",
        (
            Column("Benchmark"),
            Column("Longer by", "right", Unit.MS),
            Column("Break-even", "right", Unit.MFLOPS),
            Column("The study", "right"),
            Column("Found at", "right", Unit.MFLOPS),
            *number_columns(
                "Round trips waited for",
                "Computing over waiting, at break-even",
                "Computing over waiting, at the study's",
            ),
        ),
        tuple(rows),
    )


def _point_table(curves: Sequence[BenchmarkCurves], origins: SeriesMedians) -> Table:
    """Table of speed-ups: a row for each benchmark and host speed, a column for each delay."""
    rtts = sorted({rtt for curve in curves for rtt in curve.rtts_ms})
    rows = []
    for curve in curves:
        for speed, one_cluster_s in sorted(curve.one_cluster_s.items()):
            names = {
                "case": point_case(curve.benchmark, curve.problem_class, speed),
                "metric": "time",
            }
            key = origins.find_key([curve.case_id], 0, variant=ONE_CLUSTER_VARIANT, **names)
            name = f"{curve.name}, hosts of {speed:g} Mflop/s ({SIMULATED})"
            cells = [Cell(name), value_cell(one_cluster_s, Unit.S, series_key=key)]
            for rtt in rtts:
                variant = two_clusters_variant(rtt)
                key = origins.find_key([curve.case_id], 0, variant=variant, **names)
                time = curve.two_clusters_s.get(rtt, {}).get(speed)
                ratio = Quantity(value=one_cluster_s / time, unit=Unit.RATIO) if time else None
                cells.append(Cell(ratio, series_key=key) if ratio else display.NO_VALUE_CELL)
            rows.append(tuple(cells))
    return Table(
        f"{SIMULATED}: time on one cluster, and speed-up of two over it, by added round-trip time.",
        (
            Column("Benchmark"),
            Column(_ONE_CLUSTER_TITLE, "right", Unit.S),
            *(Column(f"+{rtt:g} ms", "right", base_name=_ONE_CLUSTER_TITLE) for rtt in rtts),
        ),
        tuple(rows),
    )


def _rtt_cell(rtt_ms: float) -> Cell:
    """A round-trip time with all its digits, because it was chosen, not measured."""
    digits = len(f"{rtt_ms:g}".replace(".", "").lstrip("0"))
    return Cell(Quantity(value=rtt_ms, unit=Unit.MS, digits=digits))


def _rate_table(data: BundleData, launches: pl.DataFrame) -> Table:
    samples = data.samples.filter((pl.col("phase") == "total") & (pl.col("metric") == "rate"))
    rates = dict(samples.select("launch", "value").collect().iter_rows())
    cases = launches.unique("case_id", keep="first").sort("case_id")
    rows = []
    for case_id, launch, ranks in cases.select("case_id", "launch", "ranks").iter_rows():
        key = data.series_medians.find_key([case_id], 0, metric="rate", phase="total")
        rate = value_cell(rates.get(launch), Unit.MOPS, series_key=key)
        rows.append((Cell(f"{case_id} ({SIMULATED})"), Cell(units.count(ranks)), rate))
    return Table(
        f"{SIMULATED}: rate by NPB's formula, verified as NPB has it.",
        (Column("Case"), Column("Ranks", "right"), Column("", "right", Unit.MOPS)),
        tuple(rows),
    )


def _break_even_answer(curve: BenchmarkCurves) -> Answer:
    max_rtt = curve.rtts_ms[-1]
    speedups = curve.speedups(max_rtt)
    if speed := curve.break_even_mflops:
        most = units.amount(speed, Unit.MFLOPS)
        words = f"two clusters beat one up to {most} a host at +{max_rtt:g} ms"
    else:
        pays = min(speedups.values()) >= 1
        words = f"two clusters {'always' if pays else 'never'} beat one at +{max_rtt:g} ms, " + (
            f"from {min(speedups):g} to {max(speedups):g} Mflop/s a host"
        )
    return Answer((StrongText(curve.name), f" ({SIMULATED}): {words}."))


_FIGURE_CAPTION: RichText = (
    f"{SIMULATED}: speed-up of two clusters of 16 hosts over one against the speed of a host, by "
    "added round-trip time. One simulation per point, without noise: no interval. Dashed: the "
    "study's number at 4 ms. Grey rules: 1, no gain over one cluster; 2, the most for twice the "
    "hosts. One host speed means different things for different benchmarks: it counts the "
    "operations of each by NPB's formula, and the same processor does many times more of one "
    "kind in a second than of another.",
)
_REFERENCE_CAPTION: RichText = (
    "Measured, not simulated: a dashed vertical rule is the rate of one rank of a real processor "
    f"at this benchmark and class. Squares and triangles are {EMULATED}: speed-ups over an "
    "emulated link at the shortest and the longest delay, with the ranks in their name, at the "
    "rate of one rank; the table below has their intervals. They have fewer ranks than the "
    "simulated clusters, so each rank computes longer between two messages. No claim joins them "
    "with the curves.",
)
_QUESTION_TEXT: RichText = (
    "In 2003 Matsuda, Kudoh and Ishikawa joined two clusters of 16 hosts by a link with a "
    "round-trip time of up to 4 ms. Whether a second cluster pays depends on the computing time "
    "between two messages, so on the host speed. The study's abstract does not give it: here it "
    "is swept.",
)
_READING_NOTES = (
    "Each point is one simulation: the declared work and the messages of a verified launch, "
    "replayed on hosts of that speed. The network is that of the chosen platform.",
    "A host speed counts the operations of the benchmark that runs, as the programs declare "
    "them by NPB's formula: Mop/s of one rank on any machine are Mflop/s of a host. So one "
    "host speed is not one processor. A processor that does 1000 Mop/s of one benchmark does "
    "many times more or less of another, because the formulas count different things: IS "
    "counts keys, EP pairs of random numbers with all that they cost, LU every operation on "
    "data that stay in cache, CG those on scattered data.",
    "Compare a benchmark with itself along its curve. Across benchmarks compare what a "
    "processor did at each, or the ratio of computing to latency, not the host speed.",
    "If ranks repeat work, as in a grid column of CG, each declares it, but the formula counts "
    "it once. The ratio of computing to latency uses the declared work.",
    "The ratio of computing to latency is the computing time of a rank of one cluster over the "
    "round trips that two clusters wait for. If communication cost nothing else, a speed-up S "
    "would need a ratio of 1 / (1/S - 1/2): 2 to break even, 2.6 for 1.13, 3.3 for 1.24.",
    "One processor gives all of the study's numbers only if they are found at the same part of "
    "its rates. If not, the study's processor, network, problem class or protocol differed from "
    "those here. Which one is open: its abstract names none.",
)
