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
from roundtrip.stats.intervals import Interval
from roundtrip.studies.npb import derived
from roundtrip.studies.npb.data import Launches
from roundtrip.studies.npb.series import Series
from roundtrip.studies.npb.sources import Compared
from roundtrip.studies.npb.speedup import over_ranks

CAPTION: Text = (
    "Speed-up over the fewest ranks in the same place against the number of ranks: median over "
    "rounds, bars are 95 % rank intervals. Dashed lines: ranks share processors. Grey: ideal.",
)
_HEIGHT, _GAP = 220, 16.0
_COLOURS = {derived.NATIVE: ("#0b4f94", "#a9d3fb"), derived.UPSTREAM: ("#d95f02", "#ffb27a")}
_NAMES = {derived.NATIVE: "Ours", derived.UPSTREAM: "NPB 3.4"}


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
    series = [one for one in launches.inside if one.source == derived.NATIVE]
    measuring = [one for one in series if one.problem_class not in derived.TRIAL_CLASSES]
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
    y = alt.Y(
        "median:Q",
        scale=scale,
        axis=figures.named_axis("Speed-up", tickCount=5, gridColor=theme.grid),
    )
    colour = alt.Color("colour:N", scale=None)
    dash = alt.StrokeDash(
        "shared:N", scale=alt.Scale(domain=[False, True], range=[[1, 0], [5, 4]]), legend=None
    )
    base = alt.Chart(frame)
    layers = [
        base.mark_line(color=theme.muted, strokeWidth=1, opacity=0.7).encode(
            x, y=alt.Y("ideal:Q", scale=scale)
        ),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.5, clip=True)
        .encode(x, y=alt.Y("low:Q", scale=scale), y2="high:Q", color=colour),
        base.mark_line(strokeWidth=2).encode(x, y, color=colour, detail="name:N", strokeDash=dash),
        base.mark_point(size=34, filled=True, opacity=1).encode(x, y, color=colour),
        _labels(frame, top),
    ]
    title = alt.TitleParams(name, subtitle="over the fewest ranks in the same place")
    return alt.layer(*layers).properties(width=WIDTH, height=_HEIGHT, title=title)


def _labels(frame: pl.DataFrame, top: float) -> Any:
    last = frame.sort("ranks").group_by("name", maintain_order=True).last()
    wanted = {row["name"]: _HEIGHT * (1 - row["median"] / top) for row in last.to_dicts()}
    places = figures.spread_apart(wanted, _GAP, 6, _HEIGHT - 2)
    rows = last.with_columns(
        place=pl.col("name").replace_strict(places, return_dtype=pl.Float64)
    ).select("name", "place", "colour")
    return (
        alt.Chart(rows)
        .mark_text(align="left", baseline="middle", fontSize=13)
        .encode(
            x=alt.value(WIDTH + 10),
            y=alt.Y("place:Q", scale=None),
            text="name:N",
            color=alt.Color("colour:N", scale=None),
        )
    )
