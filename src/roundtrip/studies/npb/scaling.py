"""Scaling of the benchmarks over ranks and nodes in one place, and over two clusters; and our
programs against those of NPB 3.4.

Speed-ups on two clusters are drawn against the round-trip time of their link.  Dashed lines: ranks
share processors.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import (
    Answer,
    Cell,
    Column,
    Gallery,
    StatusColour,
    StrongText,
    Table,
    number_columns,
    text_columns,
)
from roundtrip.report.data import BundleData
from roundtrip.report.plot import DIAMOND, Axis, Curve, ReferenceLine, View
from roundtrip.report.units import ConfidenceLevel, Quantity, Unit
from roundtrip.sites.launching import ALL_CORES
from roundtrip.stats.summaries import Interval
from roundtrip.studies import display
from roundtrip.studies.display import Drawing
from roundtrip.studies.node_efficiency import NodeEfficiency
from roundtrip.studies.npb import (
    ARMS,
    NATIVE,
    PUBLISHED_RTT_MS,
    PUBLISHED_SPEEDUPS,
    STUDY,
    TRANSPORT,
    TRIAL_CLASSES,
    published_words,
)
from roundtrip.studies.npb.data import EMULATED, Launches, Series
from roundtrip.studies.npb.speedup import (
    SeriesClaim,
    Verdicts,
    claimed_speedups,
    speedup_over_ranks,
)
from roundtrip.studies.study import GREY, PINK, Arm, Colour

Rows = list[dict[str, Any]]


def _row(
    name: str, colour: Colour, series: Series, x: float, value: Interval, **more: object
) -> dict[str, Any]:
    """A row of `rows_as_lines`: the point at `x` of the line of that name."""
    point = {"x": x, "median": value.median, "low": value.low, "high": value.high}
    line = {"name": name, "colour": colour, "shared": series.shares_processors}
    return {**line, **point, "n": value.n or None, **more}


def rows_as_lines(rows: Sequence[dict[str, Any]]) -> tuple[Rows, dict[str, Arm]]:
    """Return the rows with the added key arm, and the arms by title.

    A row has the keys name, colour and shared: whether its ranks share processors.  Rows of one
    name that differ in shared are two lines, with different titles.
    """
    unshared = {row["name"] for row in rows if not row["shared"]}
    arms: dict[str, Arm] = {}
    arm_rows = []
    for row in rows:
        name, shared = row["name"], row["shared"]
        title = f"{name}, fewer processors" if shared and name in unshared else name
        arms[title] = Arm(title, row["colour"], point_radius=3.3, is_dashed=shared)
        arm_rows.append({**row, "arm": title})
    return arm_rows, dict(sorted(arms.items()))


def link_gallery(launches: Launches) -> Gallery | None:
    """Figures of each benchmark and class with the same axes, the study's benchmarks first; None
    without speed-ups over the link.
    """
    # If several environments stand for the same library, their names must differ.
    counts = Counter((one.program, one.ranks, one.role) for one in launches.link_series)
    rows_by_program: dict[str, Rows] = defaultdict(list)
    for series in sorted(
        launches.link_series, key=lambda series: series.benchmark not in PUBLISHED_SPEEDUPS
    ):
        arm = ARMS[series.role or TRANSPORT]
        is_named = series.role and counts[series.program, series.ranks, series.role] == 1
        half = series.ranks // 2
        name = f"{arm.title if is_named else series.transport}, {half} + {half}"
        base = launches.base_of(series)
        scales = base is not None and base.ranks < series.ranks
        rows = rows_by_program[series.program]
        for rtt in launches.points[series]:
            if speedup := launches.interval(claimed_speedups(launches, series, rtt)):
                rows.append(_row(name, arm.colour, series, rtt or 0.0, speedup, scales=scales))
    panels = [(program, rows) for program, rows in rows_by_program.items() if rows]
    if not panels:
        return None
    drawings = [
        _link_drawing(number, *panel, launches.level) for number, panel in enumerate(panels, 1)
    ]
    values = pl.concat([drawing.frame.select("x", "median") for drawing in drawings])
    top = 1.1 * max([2.0, *values["median"]])
    max_rtt = max([PUBLISHED_RTT_MS, *values["x"]])

    # Room for the whole mark of the study at the longest RTT.
    x = Axis("Round-trip time of the link", Unit.MS, 0.0, 1.04 * max_rtt, is_log=False)
    y = Axis("Speed-up over one cluster", Unit.RATIO, 0.0, top, is_log=False)

    def views(drawing: Drawing) -> tuple[View, ...]:
        gain, ideal = ReferenceLine(1.0), ReferenceLine(2.0, "ideal speed-up")
        rules = (gain, ideal) if drawing.frame["scales"].drop_nulls().all() else (gain,)
        return (
            View("Speed-up", x, y, drawing.curves, reference_lines=rules, has_interval_bars=True),
        )

    caption = launches.level.fill_caption(
        f"Speed-up over one cluster against the round-trip time of the link, {EMULATED}: median "
        "over rounds, bars are {level} rank intervals, cut off where they leave the axes. "
        "Dashed lines: ranks share processors, so that compute time is taken as on processors of "
        "their own, unless the base shares them as well. Diamonds: the study in 2003, 16 + 16 "
        "hosts, at 4 ms. Grey rules: 1, no gain over one cluster; 2, the most that twice the "
        "ranks can give."
    )
    subject = f"Speed-up over one cluster against round-trip time, {EMULATED}"
    return Gallery(caption, display.drawing_figures(drawings, subject, views))


def _link_drawing(number: int, name: str, rows: Rows, level: ConfidenceLevel) -> Drawing:
    rows, arms = rows_as_lines(rows)
    note = "" if all(row["scales"] for row in rows) else ", over as many ranks in one"
    has_intervals = all(row["low"] is not None for row in rows)
    intervals = f"{level} intervals" if has_intervals else "too few launches for intervals"
    benchmark = name.split(" ")[0]
    study_speedup = PUBLISHED_SPEEDUPS.get(benchmark)
    if study_speedup is not None:
        study = f"The study, 2003: {published_words(benchmark)}"
        arms[study] = Arm(study, PINK, line_width=0, point_radius=5, shape=DIAMOND)
        rows.append({"arm": study, "x": PUBLISHED_RTT_MS, "median": study_speedup})
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return Drawing(f"npb-{number}", name, f"{EMULATED}{note}, {intervals}", frame, arms)


def node_efficiency(data: BundleData, launches: Launches) -> NodeEfficiency:
    """Efficiency of each benchmark and class in one machine or cluster over its nodes."""
    times = [
        (launch, series.program, series.ranks / figures["rate"])
        for series in launches.cluster_series
        if series.placement == ALL_CORES
        for launch, figures in launches.rounds(series, None).items()
    ]
    schema = {"launch": pl.String, "subject": pl.String, "value": pl.Float64}
    values = pl.DataFrame(times, schema=schema, orient="row")
    rows = data.study_launches(STUDY.name)
    return NodeEfficiency.from_launches(values, rows, launches.level, min_nodes=1)


def rank_speedup_table(launches: Launches) -> Table:
    """Table of speed-ups over ranks: a row for each series on more than the fewest ranks."""
    rows = []
    for series in launches.cluster_series:
        if speedup := speedup_over_ranks(launches, series):
            base = launches.fewest_ranks_base(series)
            ratio = Quantity.from_interval(speedup, Unit.RATIO, base_name=base.label)
            rows.append(
                (
                    Cell(series.label),
                    Cell(base.setup_text),
                    Cell(ratio, series_key=launches.series_key(series, None)),
                    Cell(_efficiency_quantity(series, base, speedup)),
                )
            )
    return Table(
        launches.level.fill_caption(
            "Speed-up over the fewest ranks in the same place: ratio of rates in the same round, "
            "median and {level} interval. Efficiency: speed-up over the ratio of the numbers "
            "of ranks."
        ),
        (
            *text_columns("Benchmark and toolchain", "Over"),
            *number_columns("Speed-up", "Efficiency"),
        ),
        tuple(rows),
    )


def rank_gallery(launches: Launches) -> Gallery | None:
    """A figure of each benchmark and class that ran on several numbers of ranks; None without."""
    rows_by_name: dict[str, Rows] = defaultdict(list)
    for series in launches.cluster_series:
        if speedup := speedup_over_ranks(launches, series):
            rows_by_name[series.name] += _rank_rows(launches, series, speedup)
    drawings = []
    columns = ["arm", "x", "ideal", "median", "low", "high", "n"]
    subtitle = "over the fewest ranks in the same place"
    for number, (name, name_rows) in enumerate(rows_by_name.items(), 1):
        rows, arms = rows_as_lines(name_rows)
        frame = pl.DataFrame(rows, infer_schema_length=None).select(columns)
        frame = frame.unique(maintain_order=True)
        drawings.append(Drawing(f"npb-scaling-{number}", name, subtitle, frame, arms))

    def views(drawing: Drawing) -> tuple[View, ...]:
        ranks = sorted(set(drawing.frame["x"]))
        top = 1.1 * max([*drawing.frame["ideal"], *drawing.frame["median"]])
        x = Axis("Ranks", Unit.COUNT, ranks[0], ranks[-1], is_log=True, ticks=tuple(ranks))
        y = Axis("Speed-up", Unit.RATIO, 0.0, top, is_log=False)
        ends = drawing.frame.unique("x").sort("x").select("x", "ideal").rows()
        points = tuple((count, speedup, None, None, None) for count, speedup in ends)
        ideal = Curve(
            "Ideal", GREY, points, line_width=1.0, point_radius=0, bound_name="ideal speed-up"
        )
        return (View("Speed-up", x, y, (ideal, *drawing.curves), has_interval_bars=True),)

    caption = launches.level.fill_caption(
        "Speed-up over the fewest ranks in the same place against the number of ranks: median "
        "over rounds, bars are {level} rank intervals. Dashed lines: ranks share processors. "
        "Grey: ideal."
    )
    figures = display.drawing_figures(drawings, "Speed-up over ranks", views)
    return Gallery(caption, figures) if figures else None


def _rank_rows(launches: Launches, series: Series, speedup: Interval) -> Rows:
    """The point of `series`, and the first point of its line: 1 on the fewest ranks."""
    peers = [
        other for other in launches.cluster_series if other.name == series.name and other.ranks > 1
    ]
    name, colour = ARMS[series.source].title, ARMS[series.source].colour
    if len({peer.toolchain for peer in peers}) > 1:
        name += f", {series.toolchain}"
    if len({peer.placement for peer in peers}) > 1:
        name += f", {series.placement}"
    start, ranks = Interval(1.0, None, None, 0), launches.fewest_ranks_base(series).ranks
    return [
        _row(name, colour, series, series.ranks, speedup, ideal=launches.ideal_speedup(series)),
        _row(name, colour, series, ranks, start, ideal=1.0),
    ]


def _efficiency_quantity(series: Series, base: Series, speedup: Interval) -> Quantity:
    return units.percentage(speedup.median * base.ranks / series.ranks)


def scaling_answers(launches: Launches, verdicts: Verdicts) -> list[Answer]:
    """An answer for each benchmark, class and toolchain; trial classes only if no other ran."""
    natives = [series for series in launches.cluster_series if series.source == NATIVE]
    non_trials = [series for series in natives if series.problem_class not in TRIAL_CLASSES]
    groups: dict[tuple[str, str], list[Series]] = defaultdict(list)
    for series in non_trials or natives:
        groups[series.name, series.toolchain].append(series)
    return [_toolchain_answer(launches, verdicts, group) for group in groups.values()]


def _toolchain_answer(launches: Launches, verdicts: Verdicts, group: Sequence[Series]) -> Answer:
    words = []
    for series in group:
        rates = [figures["rate"] for figures in launches.rounds(series, None).values()]
        rate_words = f"{units.amount(median(rates), Unit.MOPS)} on {series.setup_text}"
        if speedup := speedup_over_ranks(launches, series):
            base = launches.fewest_ranks_base(series)
            rate_words += (
                f" ({units.pure_number(speedup.median)} times {base.setup_text}, efficiency "
                f"{_efficiency_quantity(series, base, speedup)})"
            )
        words.append(rate_words)
    text = f", {group[0].toolchain}: {', '.join(words)}."
    group_verdicts = [
        verdict
        for claim, verdict in verdicts.items()
        if claim.series in group and claim.rtt is None
    ]
    ratios = [verdict.interval.median for verdict in group_verdicts]
    kinds = list(dict.fromkeys(str(verdict.verdict) for verdict in group_verdicts))
    if ratios:
        times = units.ratio_range_text(ratios)
        text += f" Over NPB 3.4: {times} times its rate ({', '.join(kinds)})."
    is_below = any(ratio < 1 for ratio in ratios)
    tone: StatusColour = "bad" if "slower" in kinds else "warn" if is_below else "plain"
    return Answer((StrongText(group[0].name), text), tone)


def source_verdict_table(launches: Launches, verdicts: Verdicts) -> Table:
    """Table of ratios to NPB 3.4: rows by benchmark, class and place, columns by ranks."""

    def place_first(claim: SeriesClaim) -> tuple[object, ...]:
        rtt = -1.0 if claim.rtt is None else claim.rtt
        return replace(claim.series, ranks=0).sort_key, rtt, claim.series.ranks

    ranks = sorted({claim.series.ranks for claim in verdicts})
    cells = []
    for claim in sorted(verdicts, key=place_first):
        series, verdict = claim.series, verdicts[claim]
        cell = display.verdict_cell(verdict, series=launches.series_key(series, claim.rtt))
        cells.append(((series.name, _source_place(claim)), series.ranks, cell))
    return display.grid_table(
        launches.level.fill_caption(
            "Our programs against NPB 3.4: ratio of Mop/s in the same round, median and "
            "{level} interval; below 1 ours is slower."
        ),
        ("Benchmark", "Where"),
        {
            count: Column(units.plural(count, "rank"), "right", base_name="NPB 3.4")
            for count in ranks
        },
        cells,
        display.NO_VALUE_CELL,
    )


def source_rate_table(launches: Launches, verdicts: Verdicts) -> Table:
    """Table of the rates of our programs and of NPB 3.4's, with their ratios."""
    rows = []
    for claim, verdict in verdicts.items():
        rates = [launches.value(side, claim.rtt, "rate") for side in (claim.series, claim.base)]
        link = "" if claim.rtt is None else f" {claim.rtt:g} ms"
        ratio = display.verdict_cell(verdict, series=rates[0].linked_series_key)
        rows.append((Cell(f"{claim.series.label}{link}"), *rates, ratio))
    return Table(
        "Our programs beside those of NPB 3.4 in the same place: Mop/s by NPB's own formula, and "
        "the ratio in the same round.",
        (
            Column("Benchmark and toolchain"),
            Column("Ours", "right", Unit.MOPS),
            Column("NPB 3.4", "right", Unit.MOPS),
            Column("Ours / NPB 3.4", "right", base_name="NPB 3.4"),
        ),
        tuple(rows),
    )


def source_warnings(verdicts: Verdicts) -> Iterator[str]:
    """Yield a line for each case with a median ratio to NPB 3.4 below 1, over the link or not."""
    places = {_source_place(claim) for claim in verdicts}
    for claim, verdict in verdicts.items():
        if verdict.interval.median >= 1:
            continue
        place = f", {_source_place(claim)}" if len(places) > 1 else ""
        doubt = "" if verdict.verdict == "slower" else f" ({verdict.verdict})"
        ratio = units.interval_text(verdict.interval)
        yield f"slower than official NPB 3.4: {claim.series.case}{place}, {ratio}{doubt}"


def _source_place(claim: SeriesClaim) -> str:
    series = claim.series
    placement = series.placement if series.ranks > 1 else ""
    place = f"{series.toolchain}, {placement}" if placement else series.toolchain
    return place if claim.rtt is None else f"{place}, {EMULATED} {claim.rtt:g} ms"
