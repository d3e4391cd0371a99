"""What figures are made of: curves with their intervals, and names at their ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import drawn, figures
from roundtrip.report.figures import WIDTH, Theme, shade
from roundtrip.report.plot import CIRCLE, Curve, points
from roundtrip.studies.axes import INTERVAL, Axis
from roundtrip.studies.colours import Colour

_BAND = 0.25
_LINE_GAP = 16.0
_DASHES = [5, 4]


@dataclass(frozen=True)
class Arm:
    """How a curve or a dot looks, and the name beside it; `point` is the area of its points.

    `width` 0: points that no line joins.

    `is_bound`: not measured, but what nothing that is measured can exceed.
    """

    title: str
    colour: Colour
    width: float = 2.0
    point: int = 14
    shape: str = CIRCLE
    is_dashed: bool = False
    is_bound: bool = False


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn: file name without suffix, title, rows, and arms in order.

    `frame` has the columns arm (a key of `arms`), median, low and high (null without an interval),
    for curves x, and n where it is known.  `is_published`: none of it was measured here.
    """

    name: str
    title: str
    subtitle: str
    frame: pl.DataFrame
    arms: Mapping[str, Arm]
    is_published: bool = False

    @property
    def drawn(self) -> dict[str, Arm]:
        """The arms that have rows."""
        there = set(self.frame["arm"])
        return {name: arm for name, arm in self.arms.items() if name in there}

    def of(self, arm: str) -> pl.DataFrame:
        """The rows of one arm, with the columns of `frame`; for curves in the order of x."""
        rows = self.frame.filter(pl.col("arm") == arm)
        rows = rows.with_columns(pl.col(*INTERVAL).cast(pl.Float64))
        return rows.sort("x", maintain_order=True) if "x" in rows.columns else rows

    @property
    def plotted(self) -> tuple[Curve, ...]:
        """The arms as curves over x for the page's script."""
        return tuple(
            Curve(
                arm.title,
                arm.colour,
                points(self.of(name).iter_rows(named=True)),
                arm.width,
                arm.is_dashed or arm.is_bound,
                arm.shape,
            )
            for name, arm in self.drawn.items()
        )


def rows(intervals: pl.DataFrame, scale: float = 1.0, arm: str = "variant") -> pl.DataFrame:
    """`intervals` as a drawing has them: median, low and high times `scale`, and the columns arm,
    of column `arm`, and x, of size_bytes.
    """
    return intervals.with_columns(pl.col(*INTERVAL) * scale, arm=arm, x="size_bytes")


def curves(one: Drawing, x: Axis, y: Axis, theme: Theme, has_bars: bool = False) -> list[Any]:
    """A line through the medians of each arm; under all lines, the intervals.

    These are bands along the line, or with `has_bars` a bar at each point.
    """
    intervals, lines = [], []
    for name, arm in one.drawn.items():
        colour = shade(arm.colour, theme)
        rows = one.of(name).select("x", *INTERVAL)
        chart = alt.Chart(rows)
        known = chart.transform_filter("isValid(datum.low)")
        if has_bars:
            spread = known.mark_rule(color=colour, strokeWidth=1.5, clip=True)
        else:
            spread = known.mark_area(color=colour, opacity=_BAND, clip=True)
        intervals.append(drawn.spread(spread.encode(x.x(), y.y("low:Q"), y2="high:Q")))
        line = chart.mark_line(
            color=colour,
            strokeWidth=arm.width,
            strokeCap="butt" if arm.is_dashed else "round",
            strokeDash=_DASHES if arm.is_dashed else [1, 0],
            clip=True,
        )
        curve = line.encode(x.x(), y.y())
        if arm.is_bound:
            lines.append(drawn.bound(curve, arm.title))
        elif arm.width:
            lines.append(drawn.line(curve, "the measured points of an arm"))
        if arm.point:
            inside = alt.Chart(rows.filter(pl.col("median").is_between(y.low, y.high)))
            points = inside.mark_point(
                shape=arm.shape, size=arm.point, filled=True, opacity=1, color=colour
            )
            lines.append(points.encode(x.x(), y.y()))
    return [*intervals, *lines]


def end_labels(one: Drawing, x: Axis, y: Axis, height: int, theme: Theme) -> list[Any]:
    """The names of the arms right of their last points, apart from each other, tied to them.

    A line that leaves the axis at the top is marked by an arrow.
    """
    ends = {name: one.of(name).row(-1, named=True) for name in one.drawn}
    wanted = {name: height * (1 - y.part(end["median"])) for name, end in ends.items()}
    places = figures.spread_apart(wanted, _LINE_GAP, 6.0, height - 2.0)
    rows = [
        {
            "name": f"{arm.title} ↑" if ends[name]["median"] > y.high else arm.title,
            "colour": shade(arm.colour, theme),
            "from": WIDTH * x.part(ends[name]["x"]),
            "end": wanted[name],
            "place": places[name],
        }
        for name, arm in one.drawn.items()
    ]
    chart = alt.Chart(pl.DataFrame(rows))
    place = alt.Y("place:Q", scale=None)
    return [
        chart.mark_rule(strokeWidth=0.8, color=theme.muted, opacity=0.6).encode(
            x=alt.X("from:Q", scale=None),
            x2=alt.value(WIDTH + 9),
            y=alt.Y("end:Q", scale=None),
            y2="place:Q",
        ),
        chart.mark_rule(strokeWidth=3.5).encode(
            x=alt.value(WIDTH + 11),
            x2=alt.value(WIDTH + 19),
            y=place,
            color=alt.Color("colour:N", scale=None),
        ),
        chart.mark_text(align="left", baseline="middle", fontSize=13, color=theme.ink).encode(
            x=alt.value(WIDTH + 23), y=place, text="name:N"
        ),
    ]


def legend(field: str, arms: Mapping[str, Arm], theme: Theme) -> Any:
    """The colours of arms, named under the figure: of bars, which have no ends to be named at."""
    pairs = [f"datum.label == '{name}' ? '{arm.title}'" for name, arm in arms.items()]
    colours = [shade(arm.colour, theme) for arm in arms.values()]
    return alt.Color(
        field,
        scale=alt.Scale(domain=list(arms), range=colours),
        legend=alt.Legend(
            title=None,
            orient="bottom",
            columns=1,
            labelExpr=f"{' : '.join(pairs)} : datum.label",
            labelColor=theme.ink,
            labelFontSize=13,
            symbolStrokeWidth=0,
        ),
    )


def room(drawings: Sequence[Drawing], height: int) -> Any:
    """As much room for names in each figure: an invisible one as wide as the longest."""
    longest = max((len(arm.title) for one in drawings for arm in one.drawn.values()), default=0)
    return (
        alt.Chart(pl.DataFrame({"name": ["n" * longest]}))
        .mark_text(align="left", fontSize=13, opacity=0)
        .encode(x=alt.value(WIDTH + 23), y=alt.value(height), text="name:N")
    )
