"""How the benchmarks scale over ranks in one machine or cluster: speed-up, efficiency, answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import figures, units
from roundtrip.report.blocks import Answer, Cell, Column, Figure, Inline, Strong, Table, Text
from roundtrip.report.figures import LIGHT, WIDTH, Theme
from roundtrip.report.sections.npb_data import Launches
from roundtrip.report.sections.npb_figures import lines, names_at_ends
from roundtrip.report.sections.npb_series import Series
from roundtrip.report.sections.npb_sources import Compared
from roundtrip.report.sections.npb_speedup import over_ranks
from roundtrip.stats.intervals import Interval
from roundtrip.studies import npb

CAPTION: Text = (
    "Speed-up over the fewest ranks in the same place against the number of ranks: median over "
    "rounds, bars are 95 % rank intervals. Dashed lines: ranks share processors. Grey: ideal.",
)
_HEIGHT = 220
_COLOURS = {npb.NATIVE: ("#0b4f94", "#a9d3fb"), npb.UPSTREAM: ("#d95f02", "#ffb27a")}
_NAMES = {npb.NATIVE: "Ours", npb.UPSTREAM: "NPB 3.4"}


def table(launches: Launches) -> Table:
    """One row a series on more than the fewest ranks."""
    rows = []
    for series in launches.inside:
        speedup, base = _speedup(launches, series), launches.fewest_of(series)
        if speedup is None:
            continue
        rows.append(
            (
                Cell(series.label),
                Cell(base.setup),
                Cell(units.interval(speedup)),
                Cell(_efficiency(series, base, speedup)),
            )
        )
    return Table(
        "Speed-up over the fewest ranks in the same place: ratio of rates in the same round, "
        "median and 95 % interval. Efficiency: speed-up over the ratio of the numbers of ranks.",
        (
            Column("Benchmark and toolchain"),
            Column("Over"),
            Column("Speed-up", "right"),
            Column("Efficiency", "right"),
        ),
        tuple(rows),
    )


def answers(launches: Launches, found: Compared) -> list[Answer]:
    """One for each benchmark, class and toolchain; classes for trying only where no other ran."""
    series = [one for one in launches.inside if one.source == npb.NATIVE]
    measuring = [one for one in series if one.problem_class not in npb.TRIAL_CLASSES]
    groups: dict[tuple[str, str], list[Series]] = {}
    for one in measuring or series:
        groups.setdefault((one.name, one.toolchain), []).append(one)
    return [_answer(launches, found, *named, mine) for named, mine in groups.items()]


def drawn(launches: Launches) -> tuple[Figure, ...]:
    """One figure a benchmark and class that ran on several numbers of ranks."""
    frames: dict[str, list[dict[str, Any]]] = {}
    for series in launches.inside:
        if speedup := _speedup(launches, series):
            rows = frames.setdefault(series.name, [])
            rows += [_row(launches, series, speedup), *_start(launches, series)]
    return tuple(
        figures.render(
            f"npb-scaling-{number}",
            f"Speed-up over ranks: {name}",
            partial(_chart, pl.DataFrame(rows).unique(maintain_order=True), name),
        )
        for number, (name, rows) in enumerate(frames.items(), 1)
    )


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
        "source": series.source,
        "shared": series.shared,
        "ranks": series.ranks,
        "ideal": series.ranks / launches.fewest_of(series).ranks,
        "median": speedup.median,
        "low": speedup.low,
        "high": speedup.high,
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


def _chart(frame: pl.DataFrame, name: str, theme: Theme) -> Any:
    shade = 0 if theme is LIGHT else 1
    frame = frame.with_columns(
        pl.col("low", "high").cast(pl.Float64),
        colour=pl.col("source").replace_strict({k: v[shade] for k, v in _COLOURS.items()}),
    ).sort("name", "ranks")
    ranks = sorted(set(frame["ranks"].to_list()))
    top = 1.1 * max(float(frame["ideal"].max()), float(frame["median"].max()))  # type: ignore[arg-type]
    x = alt.X(
        "ranks:Q",
        scale=alt.Scale(type="log", base=2, domain=[ranks[0], ranks[-1]], nice=False),
        axis=alt.Axis(title="Ranks", values=ranks, format="d", grid=False),
    )
    scale = alt.Scale(domain=[0, top], nice=False)
    last = frame.group_by("name", maintain_order=True).last()
    ends = {row["name"]: (row["median"], row["colour"]) for row in last.iter_rows(named=True)}
    layers = [
        alt.Chart(frame)
        .mark_line(color=theme.muted, strokeWidth=1, opacity=0.7)
        .encode(x, y=alt.Y("ideal:Q", scale=scale)),
        *lines(frame, x, scale, "Speed-up", theme),
        names_at_ends(ends, top, _HEIGHT),
    ]
    title = alt.TitleParams(name, subtitle="over the fewest ranks in the same place")
    return alt.layer(*layers).properties(width=WIDTH, height=_HEIGHT, title=title)
