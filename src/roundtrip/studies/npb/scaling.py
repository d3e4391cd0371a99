"""How the benchmarks scale over ranks in one machine or cluster: speed-up, efficiency, answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import RATIO, Answer, Cell, Column, Figure, Inline, Strong, Table, Text
from roundtrip.report.plot import Curve, Scale, View
from roundtrip.stats.intervals import Interval
from roundtrip.studies import charts
from roundtrip.studies.charts import Drawing
from roundtrip.studies.colours import BLUE, GREY, ORANGE
from roundtrip.studies.npb import derived
from roundtrip.studies.npb.data import Launches
from roundtrip.studies.npb.lines import told_apart
from roundtrip.studies.npb.series import Series
from roundtrip.studies.npb.sources import Compared
from roundtrip.studies.npb.speedup import over_ranks

CAPTION: Text = (
    "Speed-up over the fewest ranks in the same place against the number of ranks: median over "
    "rounds, bars are 95 % rank intervals. Dashed lines: ranks share processors. Grey: ideal.",
)
_COLOURS = {derived.NATIVE: BLUE, derived.UPSTREAM: ORANGE}
_NAMES = {derived.NATIVE: "Ours", derived.UPSTREAM: "NPB 3.4"}


def table(launches: Launches) -> Table:
    """One row for each series on more than the fewest ranks."""
    rows = []
    for series in launches.inside:
        speedup, base = _speedup(launches, series), launches.fewest_of(series)
        if speedup is None:
            continue
        rows.append(
            (
                Cell(series.label),
                Cell(base.setup),
                Cell(
                    units.interval(speedup),
                    base=base.label,
                    series=launches.traced(series, None),
                ),
                Cell(_efficiency(series, base, speedup)),
            )
        )
    return Table(
        "Speed-up over the fewest ranks in the same place: ratio of rates in the same round, "
        "median and 95 % interval. Efficiency: speed-up over the ratio of the numbers of ranks.",
        (
            Column("Benchmark and toolchain"),
            Column("Over"),
            Column("Speed-up", "right", RATIO),
            Column("Efficiency", "right"),
        ),
        tuple(rows),
    )


def answers(launches: Launches, found: Compared) -> list[Answer]:
    """An answer for each benchmark, class and toolchain; small classes only if no other ran."""
    series = [one for one in launches.inside if one.source == derived.NATIVE]
    measuring = [one for one in series if one.problem_class not in derived.TRIAL_CLASSES]
    groups: dict[tuple[str, str], list[Series]] = {}
    for one in measuring or series:
        groups.setdefault((one.name, one.toolchain), []).append(one)
    return [_answer(launches, found, *named, mine) for named, mine in groups.items()]


def plots(launches: Launches) -> tuple[Figure, ...]:
    """One figure for each benchmark and class that ran on several numbers of ranks."""
    frames: dict[str, list[dict[str, Any]]] = {}
    for series in launches.inside:
        if speedup := _speedup(launches, series):
            rows = frames.setdefault(series.name, [])
            rows += [_row(launches, series, speedup), *_start(launches, series)]
    drawings = [_drawing(number, *named) for number, named in enumerate(frames.items(), 1)]

    def views(one: Drawing) -> tuple[View, ...]:
        ranks = sorted(set(one.frame["x"]))
        top = 1.1 * max([*one.frame["ideal"], *one.frame["median"]])
        x = Scale("Ranks", ranks[0], ranks[-1], is_log=True, ticks=tuple(ranks))
        y = Scale("Speed-up", 0.0, top, is_log=False)
        return (View("Speed-up", x, y, (_ideal(one), *one.curves), has_bars=True),)

    return charts.figures(drawings, "Speed-up over ranks", views)


def _ideal(one: Drawing) -> Curve:
    """As many times as fast as there are more ranks."""
    rows = one.frame.unique("x").sort("x").select("x", "ideal").rows()
    points = tuple((x, y, None, None, None) for x, y in rows)
    return Curve("Ideal", GREY, points, width=1.0, size=0, bound="ideal speed-up")


def _drawing(number: int, name: str, rows: list[dict[str, Any]]) -> Drawing:
    rows, arms = told_apart(rows)
    columns = ["arm", "x", "ideal", "median", "low", "high", "n"]
    frame = pl.DataFrame(rows, infer_schema_length=None).select(columns).unique(maintain_order=True)
    subtitle = "over the fewest ranks in the same place"
    return Drawing(f"npb-scaling-{number}", name, subtitle, frame, arms)


def _speedup(launches: Launches, series: Series) -> Interval | None:
    return launches.interval(over_ranks(launches, series))


def _efficiency(series: Series, base: Series, speedup: Interval) -> str:
    return units.percent(speedup.median * base.ranks / series.ranks)


def _answer(
    launches: Launches, found: Compared, name: str, toolchain: str, mine: Sequence[Series]
) -> Answer:
    words: list[Inline] = []
    for series in mine:
        rate = launches.interval([one["rate"] for one in launches.points[series][None].values()])
        if rate is None:
            continue
        told = f"{units.number(rate.median)} Mop/s on {series.setup}"
        if speedup := _speedup(launches, series):
            base = launches.fewest_of(series)
            told += (
                f" ({units.number(speedup.median)} times {base.setup}, efficiency "
                f"{_efficiency(series, base, speedup)})"
            )
        words.append(told)
    against = {key: one for key, one in found.items() if key.native in mine and key.rtt is None}
    text = f", {toolchain}: {', '.join(map(str, words))}."
    if against:
        ratios = [one.interval.median for one in against.values()]
        told = ", ".join(dict.fromkeys(str(one.verdict) for one in against.values()))
        text += f" Over NPB 3.4: {units.spread(ratios)} times its rate ({told})."
    slower = any(one.verdict == "slower" for one in against.values())
    below = any(one.interval.median < 1 for one in against.values())
    return Answer((Strong(name), text), "bad" if slower else "warn" if below else "plain")


def _row(launches: Launches, series: Series, speedup: Interval) -> dict[str, Any]:
    return {
        "name": _line(launches, series),
        "colour": _COLOURS[series.source],
        "shared": series.shared,
        "x": series.ranks,
        "ideal": series.ranks / launches.fewest_of(series).ranks,
        "median": speedup.median,
        "low": speedup.low,
        "high": speedup.high,
        "n": speedup.n or None,
    }


def _start(launches: Launches, series: Series) -> list[dict[str, Any]]:
    """The first point of the line: 1 on the fewest ranks."""
    one = Interval(1.0, None, None, 0)
    base = {**_row(launches, launches.fewest_of(series), one), "name": _line(launches, series)}
    return [{**base, "shared": series.shared}]


def _line(launches: Launches, series: Series) -> str:
    alike = [other for other in launches.inside if other.name == series.name and other.ranks > 1]
    name = _NAMES.get(series.source, series.source)
    if len({other.toolchain for other in alike}) > 1:
        name += f", {series.toolchain}"
    return f"{name}, {series.placement}" if len({one.placement for one in alike}) > 1 else name
