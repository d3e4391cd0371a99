"""Scaling of the benchmarks over ranks and nodes in one place, and over two clusters.

Speed-ups on two clusters are drawn against the round-trip time of their link.  Dashed lines: ranks
share processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Cell, Column, Figure, Inline, Strong, Table, Text
from roundtrip.report.data import Data
from roundtrip.report.plot import DIAMOND, Curve, Rule, Scale, View
from roundtrip.report.units import Level, Quantity, Unit
from roundtrip.sites.scales import ALL_CORES
from roundtrip.stats.summaries import Interval
from roundtrip.studies import display, growth
from roundtrip.studies.display import Drawing
from roundtrip.studies.growth import Growth
from roundtrip.studies.npb import (
    ARMS,
    NATIVE,
    PUBLISHED_SPEEDUPS,
    STUDY,
    STUDY_RTT_MS,
    TRANSPORT,
    TRIAL_CLASSES,
    UPSTREAM,
    published_words,
)
from roundtrip.studies.npb.data import EMULATED, Launches, Series
from roundtrip.studies.npb.speedup import claimed_speedups, speedups_over_ranks
from roundtrip.studies.npb.tables import SourceVerdicts
from roundtrip.studies.study import GREY, PINK, Arm, Colour

Rows = list[dict[str, Any]]


def as_lines(rows: Sequence[dict[str, Any]]) -> tuple[Rows, dict[str, Arm]]:
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
        arms[title] = _arm(title, row["colour"], shared)
        arm_rows.append({**row, "arm": title})
    return arm_rows, dict(sorted(arms.items()))


def _arm(title: str, colour: Colour, shared: bool) -> Arm:
    return Arm(title, colour, point=3.3, is_dashed=shared)


def link_caption(level: Level) -> Text:
    """Caption of the figures over the link, with intervals at `level`."""
    return level.caption(
        f"Speed-up over one cluster against the round-trip time of the link, {EMULATED}: median "
        "over rounds, bars are {level} rank intervals, cut off where they leave the axes. "
        "Dashed lines: ranks share processors, so that compute time is taken as on processors of "
        "their own, unless the base shares them as well. Diamonds: the study in 2003, 16 + 16 "
        "hosts, at 4 ms. Grey rules: 1, no gain over one cluster; 2, the most that twice the "
        "ranks can give."
    )


def link_plots(launches: Launches) -> tuple[Figure, ...]:
    """Figures of each benchmark and class, the study's benchmarks first, with the same axes."""
    rows_by_name: dict[str, list[dict[str, Any]]] = {}
    for series in sorted(
        launches.link_series, key=lambda series: series.benchmark not in PUBLISHED_SPEEDUPS
    ):
        source = "" if series.source == NATIVE else ", NPB 3.4"
        rows_by_name.setdefault(f"{series.name}{source}", []).extend(_link_rows(launches, series))
    panels = [(name, rows) for name, rows in rows_by_name.items() if rows]
    drawings = [
        _link_drawing(number, *panel, launches.level) for number, panel in enumerate(panels, 1)
    ]
    if not drawings:
        return ()
    values = pl.concat([drawing.frame.select("x", "median") for drawing in drawings])
    top = 1.1 * max([2.0, *values["median"]])
    max_rtt = max([STUDY_RTT_MS, *values["x"]])

    # Room for the whole mark of the study at the longest RTT.
    x = Scale("Round-trip time of the link", Unit.MS, 0.0, 1.04 * max_rtt, is_log=False)
    y = Scale("Speed-up over one cluster", Unit.RATIO, 0.0, top, is_log=False)

    def views(drawing: Drawing) -> tuple[View, ...]:
        return (View("Speed-up", x, y, drawing.curves, rules=_link_rules(drawing), has_bars=True),)

    subject = f"Speed-up over one cluster against round-trip time, {EMULATED}"
    return display.panel_figures(drawings, subject, views)


def _link_drawing(number: int, name: str, rows: list[dict[str, Any]], level: Level) -> Drawing:
    """Drawing of a benchmark, with the study's speed-up if the study has one."""
    rows, arms = as_lines(rows)
    note = "" if all(row["scales"] for row in rows) else ", over as many ranks in one"
    has_intervals = all(row["low"] is not None for row in rows)
    intervals = f"{level} intervals" if has_intervals else "too few launches for intervals"
    benchmark = name.split(" ")[0]
    study_speedup = PUBLISHED_SPEEDUPS.get(benchmark)
    if study_speedup is not None:
        study = f"The study, 2003: {published_words(benchmark)}"
        arms[study] = Arm(study, PINK, width=0, point=5, shape=DIAMOND)
        rows.append({"arm": study, "x": STUDY_RTT_MS, "median": study_speedup})
    frame = pl.DataFrame(rows, infer_schema_length=None).select(
        "arm", "x", "median", "low", "high", "n", "scales"
    )
    return Drawing(f"npb-{number}", name, f"{EMULATED}{note}, {intervals}", frame, arms)


def _link_rules(drawing: Drawing) -> tuple[Rule, ...]:
    """Rule of no gain and, if all bases have fewer ranks, rule of the ideal speed-up."""
    gain, ideal = Rule(1.0), Rule(2.0, "ideal speed-up")
    return (gain, ideal) if drawing.frame["scales"].drop_nulls().all() else (gain,)


def _link_rows(launches: Launches, series: Series) -> list[dict[str, Any]]:
    half, base = series.ranks // 2, launches.base_of(series)
    # If several environments stand for the same library, their names must differ.
    title = ARMS[series.role].title if series.role else series.transport
    name = f"{title}, {half} + {half}"
    if sum(_kind(other) == _kind(series) for other in launches.link_series) > 1:
        name = f"{series.transport}, {half} + {half}"
    rows = []
    for rtt in launches.points[series]:
        interval = launches.interval(claimed_speedups(launches, series, rtt or 0.0))
        if interval is not None:
            rows.append(
                {
                    "name": name,
                    "colour": ARMS[series.role or TRANSPORT].colour,
                    "shared": series.shares_processors,
                    "scales": base is not None and base.ranks < series.ranks,
                    "x": rtt,
                    "median": interval.median,
                    "low": interval.low,
                    "high": interval.high,
                    "n": interval.n,
                }
            )
    return rows


def _kind(series: Series) -> tuple[object, ...]:
    return series.name, series.ranks, series.role, series.source


def node_growth(data: Data, launches: Launches) -> Growth:
    """Efficiency of each benchmark and class in one machine or cluster over its nodes."""
    rates = [
        (launch, f"{series.name}{_BY_SOURCE[series.source]}", series.ranks / figures["rate"])
        for series in launches.cluster_series
        if series.placement == ALL_CORES
        for launch, figures in launches.points[series].get(None, {}).items()
    ]
    schema = {"launch": pl.String, "thing": pl.String, "value": pl.Float64}
    times = pl.DataFrame(rates, schema=schema, orient="row")
    rows = data.study_launches(STUDY.name)
    return Growth.from_launches(times, rows, growth.constant_time, launches.level, minimum_nodes=1)


_BY_SOURCE = {NATIVE: "", UPSTREAM: ", NPB 3.4"}


def caption(level: Level) -> Text:
    """Caption of the figures over ranks, with intervals at `level`."""
    return level.caption(
        "Speed-up over the fewest ranks in the same place against the number of ranks: median "
        "over rounds, bars are {level} rank intervals. Dashed lines: ranks share processors. "
        "Grey: ideal."
    )


def table(launches: Launches) -> Table:
    """Table of speed-ups over ranks: a row for each series on more than the fewest ranks."""
    rows = []
    for series in launches.cluster_series:
        speedup, base = _speedup(launches, series), launches.fewest_ranks_base(series)
        if speedup is None:
            continue
        rows.append(
            (
                Cell(series.label),
                Cell(base.setup),
                Cell(
                    Quantity.from_interval(speedup, Unit.RATIO, base=base.label),
                    series=launches.series_key(series, None),
                ),
                Cell(_efficiency(series, base, speedup)),
            )
        )
    return Table(
        launches.level.caption(
            "Speed-up over the fewest ranks in the same place: ratio of rates in the same round, "
            "median and {level} interval. Efficiency: speed-up over the ratio of the numbers "
            "of ranks."
        ),
        (
            Column("Benchmark and toolchain"),
            Column("Over"),
            Column("Speed-up", "right"),
            Column("Efficiency", "right"),
        ),
        tuple(rows),
    )


def answers(launches: Launches, verdicts: SourceVerdicts) -> list[Answer]:
    """An answer for each benchmark, class and toolchain; trial classes only if no other ran."""
    natives = [series for series in launches.cluster_series if series.source == NATIVE]
    non_trials = [series for series in natives if series.problem_class not in TRIAL_CLASSES]
    groups: dict[tuple[str, str], list[Series]] = {}
    for series in non_trials or natives:
        groups.setdefault((series.name, series.toolchain), []).append(series)
    return [_answer(launches, verdicts, *key, group) for key, group in groups.items()]


def plots(launches: Launches) -> tuple[Figure, ...]:
    """One figure for each benchmark and class that ran on several numbers of ranks."""
    frames: dict[str, list[dict[str, Any]]] = {}
    for series in launches.cluster_series:
        if speedup := _speedup(launches, series):
            rows = frames.setdefault(series.name, [])
            rows += [_scaling_row(launches, series, speedup), *_start(launches, series)]
    drawings = [_drawing(number, *panel) for number, panel in enumerate(frames.items(), 1)]

    def views(drawing: Drawing) -> tuple[View, ...]:
        ranks = sorted(set(drawing.frame["x"]))
        top = 1.1 * max([*drawing.frame["ideal"], *drawing.frame["median"]])
        x = Scale("Ranks", Unit.COUNT, ranks[0], ranks[-1], is_log=True, ticks=tuple(ranks))
        y = Scale("Speed-up", Unit.RATIO, 0.0, top, is_log=False)
        return (View("Speed-up", x, y, (_ideal(drawing), *drawing.curves), has_bars=True),)

    return display.panel_figures(drawings, "Speed-up over ranks", views)


def _ideal(drawing: Drawing) -> Curve:
    """Curve of the ideal speed-up, which is proportional to the number of ranks."""
    rows = drawing.frame.unique("x").sort("x").select("x", "ideal").rows()
    points = tuple((x, y, None, None, None) for x, y in rows)
    return Curve("Ideal", GREY, points, width=1.0, size=0, bound="ideal speed-up")


def _drawing(number: int, name: str, rows: list[dict[str, Any]]) -> Drawing:
    rows, arms = as_lines(rows)
    columns = ["arm", "x", "ideal", "median", "low", "high", "n"]
    frame = pl.DataFrame(rows, infer_schema_length=None).select(columns).unique(maintain_order=True)
    subtitle = "over the fewest ranks in the same place"
    return Drawing(f"npb-scaling-{number}", name, subtitle, frame, arms)


def _speedup(launches: Launches, series: Series) -> Interval | None:
    return launches.interval(speedups_over_ranks(launches, series))


def _efficiency(series: Series, base: Series, speedup: Interval) -> Quantity:
    return units.percentage(speedup.median * base.ranks / series.ranks)


def _answer(
    launches: Launches, verdicts: SourceVerdicts, name: str, toolchain: str, group: Sequence[Series]
) -> Answer:
    words: list[Inline] = []
    for series in group:
        rate = launches.interval(
            [figures["rate"] for figures in launches.points[series][None].values()]
        )
        if rate is None:
            continue
        rate_words = f"{units.amount(rate.median, Unit.MOPS)} on {series.setup}"
        if speedup := _speedup(launches, series):
            base = launches.fewest_ranks_base(series)
            rate_words += (
                f" ({units.pure_number(speedup.median)} times {base.setup}, efficiency "
                f"{_efficiency(series, base, speedup)})"
            )
        words.append(rate_words)
    group_verdicts = {
        key: verdict for key, verdict in verdicts.items() if key.native in group and key.rtt is None
    }
    text = f", {toolchain}: {', '.join(map(str, words))}."
    if group_verdicts:
        ratios = [verdict.interval.median for verdict in group_verdicts.values()]
        verdict_words = ", ".join(
            dict.fromkeys(str(verdict.verdict) for verdict in group_verdicts.values())
        )
        text += f" Over NPB 3.4: {units.ratio_range_text(ratios)} times its rate ({verdict_words})."
    is_slower = any(verdict.verdict == "slower" for verdict in group_verdicts.values())
    is_below = any(verdict.interval.median < 1 for verdict in group_verdicts.values())
    return Answer((Strong(name), text), "bad" if is_slower else "warn" if is_below else "plain")


def _scaling_row(launches: Launches, series: Series, speedup: Interval) -> dict[str, Any]:
    return {
        "name": _line(launches, series),
        "colour": ARMS[series.source].colour,
        "shared": series.shares_processors,
        "x": series.ranks,
        "ideal": series.ranks / launches.fewest_ranks_base(series).ranks,
        "median": speedup.median,
        "low": speedup.low,
        "high": speedup.high,
        "n": speedup.n or None,
    }


def _start(launches: Launches, series: Series) -> list[dict[str, Any]]:
    """The first point of the line: 1 on the fewest ranks."""
    start = Interval(1.0, None, None, 0)
    base = {
        **_scaling_row(launches, launches.fewest_ranks_base(series), start),
        "name": _line(launches, series),
    }
    return [{**base, "shared": series.shares_processors}]


def _line(launches: Launches, series: Series) -> str:
    peers = [
        other for other in launches.cluster_series if other.name == series.name and other.ranks > 1
    ]
    name = ARMS[series.source].title
    if len({peer.toolchain for peer in peers}) > 1:
        name += f", {series.toolchain}"
    return f"{name}, {series.placement}" if len({peer.placement for peer in peers}) > 1 else name
