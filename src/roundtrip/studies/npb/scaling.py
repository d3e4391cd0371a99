"""Scaling of the benchmarks over ranks and nodes of one cluster, and over two clusters; and our
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

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import (
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
from roundtrip.content.plot import DIAMOND, Axis, Curve, ReferenceLine, View
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
    describe_published_speedup,
)
from roundtrip.studies.npb.data import EMULATED_WAN, NPBLaunches, Series
from roundtrip.studies.npb.speedup import (
    SeriesClaim,
    SeriesVerdicts,
    claimed_speedups,
    speedup_over_ranks,
)
from roundtrip.study import GREY, PINK, Arm, Colour
from roundtrip.units import ConfidenceLevel, Quantity, Unit

DrawingRows = list[dict[str, Any]]


def _line_point(
    name: str, colour: Colour, series: Series, x: float, value: Interval, **extra_columns: object
) -> dict[str, Any]:
    """A row of `rows_and_arms`: the point at `x` of the line `name`."""
    point = {"x": x, "median": value.median, "low": value.low, "high": value.high}
    line = {"name": name, "colour": colour, "shared": series.shares_processors}
    return {**line, **point, "n": value.n or None, **extra_columns}


def rows_and_arms(rows: Sequence[dict[str, Any]]) -> tuple[DrawingRows, dict[str, Arm]]:
    """The rows with the added key arm, and the arms by title.  Rows have the keys name, colour and
    shared (whether ranks share processors); two values of shared are two lines with different
    titles."""
    unshared = {row["name"] for row in rows if not row["shared"]}
    arms: dict[str, Arm] = {}
    arm_rows = []
    for row in rows:
        name, shared = row["name"], row["shared"]
        title = f"{name}, {labels.ON_FEWER_PROCESSORS}" if shared and name in unshared else name
        arms[title] = Arm(title, row["colour"], point_radius=3.3, is_dashed=shared)
        arm_rows.append({**row, "arm": title})
    return arm_rows, dict(sorted(arms.items()))


def link_gallery(launches: NPBLaunches) -> Gallery | None:
    """Figures of speed-ups over the link on the same axes, published ones first; or None."""
    panels = [(program, rows) for program, rows in _link_rows(launches).items() if rows]
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
        f"Speed-up over one cluster against the round-trip time of the link, {EMULATED_WAN}: "
        "median over rounds, bars are {level} rank intervals, cut off at the axes. Dashed "
        "lines: ranks share processors, so compute time is taken as on own processors, unless "
        "the base shares them too. Diamonds: the study in 2003, 16 + 16 hosts, at 4 ms. Grey "
        "rules: 1, no gain over one cluster; 2, the most for twice the ranks."
    )
    subject = f"Speed-up over one cluster against round-trip time, {EMULATED_WAN}"
    return Gallery(caption, display.drawing_figures(drawings, subject, views))


def _link_rows(launches: NPBLaunches) -> dict[str, DrawingRows]:
    """The speed-ups over the link, one for each series and RTT, as rows of a figure by program."""
    # If several environments stand for the same library, their names must differ.
    counts = Counter(
        (series.program_name, series.ranks, series.transport_role)
        for series in launches.link_series
    )
    rows_by_program: dict[str, DrawingRows] = defaultdict(list)
    published = [one for one in launches.link_series if one.benchmark in PUBLISHED_SPEEDUPS]
    for series in dict.fromkeys((*published, *launches.link_series)):
        role = series.transport_role
        arm = ARMS[role or TRANSPORT]
        is_named = role and counts[series.program_name, series.ranks, role] == 1
        half = series.ranks // 2
        name = f"{arm.title if is_named else series.transport_title}, {half} + {half}"
        base = launches.one_cluster_base(series)
        scales = base is not None and base.ranks < series.ranks
        rows = rows_by_program[series.program_name]
        for rtt_ms in launches.values_by_point[series]:
            if speedup := launches.interval(claimed_speedups(launches, series, rtt_ms)):
                point = name, arm.colour, series, rtt_ms or 0.0, speedup
                rows.append(_line_point(*point, scales=scales))
    return rows_by_program


def _link_drawing(number: int, name: str, rows: DrawingRows, level: ConfidenceLevel) -> Drawing:
    rows, arms = rows_and_arms(rows)
    note = "" if all(row["scales"] for row in rows) else ", over as many ranks in one"
    has_intervals = all(row["low"] is not None for row in rows)
    intervals = f"{level} intervals" if has_intervals else "too few launches for intervals"
    benchmark = name.split(" ")[0]
    published_speedup = PUBLISHED_SPEEDUPS.get(benchmark)
    if published_speedup is not None:
        study = f"The study, 2003: {describe_published_speedup(benchmark)}"
        arms[study] = Arm(study, PINK, line_width=0, point_radius=5, shape=DIAMOND)
        rows.append({"arm": study, "x": PUBLISHED_RTT_MS, "median": published_speedup})
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return Drawing(f"npb-{number}", name, f"{EMULATED_WAN}{note}, {intervals}", frame, arms)


def node_efficiency(launches: NPBLaunches) -> NodeEfficiency:
    """Efficiency of each benchmark and class in one machine or cluster over its nodes."""
    times = [
        (launch, series.program_name, series.ranks / values["rate"])
        for series in launches.cluster_series
        if series.placement == ALL_CORES
        for launch, values in launches.values_at(series, None).items()
    ]
    schema = {"launch": pl.String, "subject": pl.String, "value": pl.Float64}
    values = pl.DataFrame(times, schema=schema, orient="row")
    rows = launches.data.study_launches(STUDY.name)
    return NodeEfficiency.from_launches(values, rows, launches.level, min_nodes=1)


def rank_speedup_table(launches: NPBLaunches) -> Table:
    """Table of speed-ups over ranks: a row for each series on more than the fewest ranks."""
    rows = []
    for series in launches.cluster_series:
        if speedup := speedup_over_ranks(launches, series):
            base = launches.min_ranks_base(series)
            ratio = Quantity.from_interval(speedup, Unit.RATIO, base_name=base.title)
            rows.append(
                (
                    Cell(series.title),
                    Cell(base.ranks_and_placement),
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


def rank_gallery(launches: NPBLaunches) -> Gallery | None:
    """A figure of each benchmark and class that ran on several numbers of ranks, or None."""
    rows_by_name: dict[str, DrawingRows] = defaultdict(list)
    for series in launches.cluster_series:
        if speedup := speedup_over_ranks(launches, series):
            rows_by_name[series.problem_name] += _rank_points(launches, series, speedup)
    drawings = []
    columns = ["arm", "x", "ideal", "median", "low", "high", "n"]
    subtitle = "over the fewest ranks in the same place"
    for number, (name, name_rows) in enumerate(rows_by_name.items(), 1):
        rows, arms = rows_and_arms(name_rows)
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


def _rank_points(launches: NPBLaunches, series: Series, speedup: Interval) -> DrawingRows:
    """The point of `series`, and the first point of its line: 1 on the fewest ranks."""
    peers = [
        other
        for other in launches.cluster_series
        if other.problem_name == series.problem_name and other.ranks > 1
    ]
    name, colour = ARMS[series.source].title, ARMS[series.source].colour
    if len({peer.toolchain for peer in peers}) > 1:
        name += f", {series.toolchain}"
    if len({peer.placement for peer in peers}) > 1:
        name += f", {series.placement}"
    start, ranks = Interval(1.0, None, None, 0), launches.min_ranks_base(series).ranks
    return [
        _line_point(
            name, colour, series, series.ranks, speedup, ideal=launches.ideal_speedup(series)
        ),
        _line_point(name, colour, series, ranks, start, ideal=1.0),
    ]


def _efficiency_quantity(series: Series, base: Series, speedup: Interval) -> Quantity:
    return units.percentage(speedup.median * base.ranks / series.ranks)


def scaling_answers(launches: NPBLaunches, verdicts: SeriesVerdicts) -> list[Answer]:
    """An answer for each benchmark, class and toolchain; trial classes only if no other ran."""
    natives = [series for series in launches.cluster_series if series.source == NATIVE]
    non_trials = [series for series in natives if series.problem_class not in TRIAL_CLASSES]
    groups: dict[tuple[str, str], list[Series]] = defaultdict(list)
    for series in non_trials or natives:
        groups[series.problem_name, series.toolchain].append(series)
    return [_toolchain_answer(launches, verdicts, group) for group in groups.values()]


def _toolchain_answer(
    launches: NPBLaunches, verdicts: SeriesVerdicts, group: Sequence[Series]
) -> Answer:
    words = []
    for series in group:
        rates = [launch["rate"] for launch in launches.values_at(series, None).values()]
        rate_words = f"{units.amount(median(rates), Unit.MOPS)} on {series.ranks_and_placement}"
        if speedup := speedup_over_ranks(launches, series):
            base = launches.min_ranks_base(series)
            rate_words += (
                f" ({units.pure_number(speedup.median)} times {base.ranks_and_placement}, "
                f"efficiency {_efficiency_quantity(series, base, speedup)})"
            )
        words.append(rate_words)
    text = f", {group[0].toolchain}: {', '.join(words)}."
    group_verdicts = [
        verdict
        for claim, verdict in verdicts.items()
        if claim.series in group and claim.rtt_ms is None
    ]
    ratios = [verdict.interval.median for verdict in group_verdicts]
    kinds = list(dict.fromkeys(str(verdict.verdict) for verdict in group_verdicts))
    if ratios:
        times = units.ratio_range_text(ratios)
        text += f" Over NPB 3.4: {times} times its rate ({', '.join(kinds)})."
    is_below = any(ratio < 1 for ratio in ratios)
    colour: StatusColour = "bad" if "slower" in kinds else "warn" if is_below else "plain"
    return Answer((StrongText(group[0].problem_name), text), colour)


def source_verdict_table(launches: NPBLaunches, verdicts: SeriesVerdicts) -> Table:
    """Ratios to NPB 3.4: a row for each problem and setting, a column for each rank count."""

    def place_first(claim: SeriesClaim) -> tuple[object, ...]:
        rtt_ms = -1.0 if claim.rtt_ms is None else claim.rtt_ms
        return replace(claim.series, ranks=0).sort_key, rtt_ms, claim.series.ranks

    ranks = sorted({claim.series.ranks for claim in verdicts})
    cells = []
    for claim in sorted(verdicts, key=place_first):
        series, verdict = claim.series, verdicts[claim]
        cell = display.verdict_cell(verdict, series_key=launches.series_key(series, claim.rtt_ms))
        cells.append(((series.problem_name, _source_setting(claim)), series.ranks, cell))
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


def source_rate_table(launches: NPBLaunches, verdicts: SeriesVerdicts) -> Table:
    """Table of the rates of our programs and of NPB 3.4's, with their ratios."""
    rows = []
    for claim, verdict in verdicts.items():
        rates = [
            launches.value_cell(side, claim.rtt_ms, "rate") for side in (claim.series, claim.base)
        ]
        link = "" if claim.rtt_ms is None else f" {claim.rtt_ms:g} ms"
        ratio = display.verdict_cell(verdict, series_key=rates[0].linked_series_key)
        rows.append((Cell(f"{claim.series.title}{link}"), *rates, ratio))
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


def source_warnings(verdicts: SeriesVerdicts) -> Iterator[str]:
    """Yield a line for each claim with a median ratio to NPB 3.4 below 1, over the link or not."""
    settings = {_source_setting(claim) for claim in verdicts}
    for claim, verdict in verdicts.items():
        if verdict.interval.median >= 1:
            continue
        suffix = f", {_source_setting(claim)}" if len(settings) > 1 else ""
        doubt = "" if verdict.verdict == "slower" else f" ({verdict.verdict})"
        ratio = units.interval_text(verdict.interval)
        problem = f"{claim.series.benchmark}.{claim.series.problem_class}"
        ranks = units.plural(claim.series.ranks, "rank")
        yield f"slower than official NPB 3.4: {problem} on {ranks}{suffix}, {ratio}{doubt}"


def _source_setting(claim: SeriesClaim) -> str:
    series = claim.series
    placement = series.placement if series.ranks > 1 else ""
    place = f"{series.toolchain}, {placement}" if placement else series.toolchain
    return place if claim.rtt_ms is None else f"{place}, {EMULATED_WAN} {claim.rtt_ms:g} ms"
