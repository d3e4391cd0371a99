"""Speed-up over one cluster against the round-trip time, one figure a benchmark and class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import figures
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.figures import LIGHT, WIDTH, Theme
from roundtrip.report.sections.npb_data import Launches
from roundtrip.report.sections.npb_series import EMULATED, Series
from roundtrip.report.sections.npb_speedup import headline
from roundtrip.studies import npb, npb_wan

CAPTION: Text = (
    f"Speed-up over one cluster against the round-trip time of the link, {EMULATED}: median over "
    "rounds, bars are 95 % rank intervals, cut off where they leave the axes. Dashed lines: ranks "
    "share processors, so that compute "
    "time is taken as on processors of their own, unless the base shares them as well. Diamonds: "
    "the study in 2003, 16 + 16 hosts, at 4 ms. Grey rules: 1, no gain over one cluster; 2, the "
    "most that twice the ranks can give.",
)
_HEIGHT = 250
_GAP = 16.0
_COLOURS = {
    npb_wan.UDP: ("#0b4f94", "#a9d3fb"),
    npb_wan.MIXED: ("#2a9d8f", "#6fd3c6"),
    npb_wan.TCP: ("#d95f02", "#ffb27a"),
    None: ("#7a7a7a", "#c0c0c0"),
}
_STUDY = ("#c2185b", "#ff7fb0")
_NAMES = {npb_wan.UDP: "UDP", npb_wan.MIXED: "Memory + TCP", npb_wan.TCP: "TCP"}


def speedups(launches: Launches) -> tuple[Figure, ...]:
    """One figure a benchmark and class, all with the same axes."""
    frames: dict[str, list[dict[str, Any]]] = {}
    for series in launches.over_the_link:
        source = "" if series.source == npb.NATIVE else ", NPB 3.4"
        frames.setdefault(f"{series.name}{source}", []).extend(_rows(launches, series))
    drawn = {name: pl.DataFrame(rows) for name, rows in frames.items() if rows}
    highest = [float(frame["median"].max()) for frame in drawn.values()]  # type: ignore[arg-type]
    top = 1.1 * max([2.0, *highest])
    longest = max((name for rows in frames.values() for name in _labels(rows)), key=len, default="")
    return tuple(
        figures.render(
            f"npb-{number}",
            f"Speed-up over one cluster against round-trip time, {EMULATED}: {name}",
            partial(_chart, frame, name, top, longest),
        )
        for number, (name, frame) in enumerate(drawn.items(), 1)
    )


def _rows(launches: Launches, series: Series) -> list[dict[str, Any]]:
    half, base = series.ranks // 2, launches.base_of(series)
    # Several environments may stand for the same library: then the names have to differ.
    name = f"{_NAMES.get(series.role or '', series.transport)}, {half} + {half}"
    if sum(_kind(other) == _kind(series) for other in launches.over_the_link) > 1:
        name = f"{series.transport}, {half} + {half}"
    rows = []
    for rtt in launches.points[series]:
        found = launches.interval(headline(launches, series, rtt or 0.0))
        if found is not None:
            rows.append(
                {
                    "name": name,
                    "role": series.role,
                    "shared": series.shared,
                    "scales": base is not None and base.ranks < series.ranks,
                    "rtt": rtt,
                    "median": found.median,
                    "low": found.low,
                    "high": found.high,
                }
            )
    return rows


def _kind(series: Series) -> tuple[object, ...]:
    return series.name, series.ranks, series.role, series.source


def _chart(frame: pl.DataFrame, name: str, top: float, longest: str, theme: Theme) -> Any:
    shade = 0 if theme is LIGHT else 1
    frame = frame.with_columns(
        pl.col("low", "high").cast(pl.Float64),
        colour=pl.col("role").map_elements(
            lambda role: _COLOURS[role][shade], return_dtype=pl.String, skip_nulls=False
        ),
    )
    x = alt.X(
        "rtt:Q",
        scale=alt.Scale(domain=[0, max(4.0, float(frame["rtt"].max()))], nice=False),  # type: ignore[arg-type]
        axis=alt.Axis(
            title="Round-trip time of the link (ms)", tickCount=4, format="~g", grid=False
        ),
    )
    scale = alt.Scale(domain=[0, top], nice=False)
    scales = bool(frame["scales"].all())
    bounds = alt.Chart(pl.DataFrame({"at": [1.0, 2.0] if scales else [1.0]}))
    layers = [
        bounds.mark_rule(color=theme.muted, strokeWidth=1, opacity=0.7).encode(
            y=alt.Y("at:Q", scale=scale)
        ),
        *lines(frame, x, scale, "Speed-up over one cluster", theme),
        *_study(name, x, scale, shade),
        _direct_labels(frame, name, top, theme),
        _room(longest),
    ]
    against = "" if scales else ", over as many ranks in one"
    subtitle = f"{EMULATED}{against}, {_rounds(frame)}"
    return alt.layer(*layers).properties(
        width=WIDTH, height=_HEIGHT, title=alt.TitleParams(name, subtitle=subtitle)
    )


def lines(frame: pl.DataFrame, x: Any, scale: Any, title: str, theme: Theme) -> list[Any]:
    """A line a name with its intervals; dashed where ranks share processors.

    Columns name, colour, shared, median, low and high, and what `x` shows; `scale` and `title` are
    those of the speed-up.
    """
    axis = figures.named_axis(title, tickCount=5, gridColor=theme.grid)
    y = alt.Y("median:Q", scale=scale, axis=axis)
    colour = alt.Color("colour:N", scale=None)
    dash = alt.StrokeDash(
        "shared:N", scale=alt.Scale(domain=[False, True], range=[[1, 0], [5, 4]]), legend=None
    )
    base = alt.Chart(frame)
    return [
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.5, clip=True)
        .encode(x, y=alt.Y("low:Q", scale=scale), y2="high:Q", color=colour),
        base.mark_line(strokeWidth=2).encode(x, y, color=colour, detail="name:N", strokeDash=dash),
        base.mark_point(size=34, filled=True, opacity=1).encode(x, y, color=colour),
    ]


def _rounds(frame: pl.DataFrame) -> str:
    without = frame["low"].null_count()
    return "95 % intervals" if not without else "too few launches for intervals"


def _labels(rows: list[dict[str, Any]]) -> list[str]:
    return [*(row["name"] for row in rows), _study_label(max(npb_wan.PUBLISHED.values()))]


def _study_label(published: float) -> str:
    return f"The study, 2003: {published:.2f}"


def _room(longest: str) -> Any:
    """As much room for labels in each figure: an invisible one."""
    return (
        alt.Chart(pl.DataFrame({"name": ["n" * len(longest)]}))
        .mark_text(align="left", fontSize=13, opacity=0)
        .encode(x=alt.value(WIDTH + 10), y=alt.value(_HEIGHT), text="name:N")
    )


def _study(name: str, x: Any, scale: Any, shade: int) -> list[Any]:
    published = npb_wan.PUBLISHED.get(name.split(" ")[0])
    if published is None:
        return []
    point = pl.DataFrame({"rtt": [npb_wan.STUDY_RTT_MS], "median": [published]})
    mark = alt.Chart(point).mark_point(
        shape="diamond", size=130, filled=True, opacity=1, color=_STUDY[shade]
    )
    return [mark.encode(x, y=alt.Y("median:Q", scale=scale))]


def _direct_labels(frame: pl.DataFrame, name: str, top: float, theme: Theme) -> Any:
    shade = 0 if theme is LIGHT else 1
    last = frame.sort("rtt").group_by("name", maintain_order=True).last()
    ends = {row["name"]: (row["median"], row["colour"]) for row in last.iter_rows(named=True)}
    published = npb_wan.PUBLISHED.get(name.split(" ")[0])
    if published is not None:
        ends[_study_label(published)] = (published, _STUDY[shade])
    return names_at_ends(ends, top, _HEIGHT)


def names_at_ends(ends: Mapping[str, tuple[float, str]], top: float, height: int) -> Any:
    """Names where their lines end, told apart; each with its last value, 0 to `top`, and colour."""
    wanted = {key: height * (1 - value / top) for key, (value, _) in ends.items()}
    places = figures.spread_apart(wanted, _GAP, 6, height - 2)
    rows = pl.DataFrame(
        {
            "name": list(ends),
            "place": [float(places[key]) for key in ends],
            "colour": [colour for _, colour in ends.values()],
        }
    )
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
