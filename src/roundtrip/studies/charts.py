"""The figures of all studies: curves over size with bands, and dots with intervals.

One figure a panel, all of one call with the same axes.  A study hands over rows of medians and
intervals, and says how its arms look::

    arms = {"mpi": Arm("MPI_Barrier", BLUE), "ring": Arm("Messages in a ring", ORANGE)}
    drawings = [drawing(f"barrier-{n}", panel, frame, arms) for n, (panel, frame) in ...]
    figures = dots(drawings, "Time of a barrier", "Time (µs)")

`frame` has the columns arm (a key of `arms`), median, low and high, low and high null where there
is no interval; `over_size` needs the column x as well, in bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import figures
from roundtrip.report.blocks import Figure
from roundtrip.report.figures import WIDTH, Theme, shade
from roundtrip.studies.colours import Colour
from roundtrip.studies.panel import Panel

_BAND = 0.25
_DOT_ROW = 26
_INTERVAL = ("median", "low", "high")


@dataclass(frozen=True)
class Arm:
    """How a curve or a dot looks, and its name beside it."""

    title: str
    colour: Colour


@dataclass(frozen=True)
class Drawing:
    """A figure to be: file name without suffix, title, rows, and arms in their order."""

    name: str
    title: str
    subtitle: str
    frame: pl.DataFrame
    arms: Mapping[str, Arm]

    @property
    def drawn(self) -> dict[str, Arm]:
        """The arms of which there are rows."""
        there = set(self.frame["arm"])
        return {name: arm for name, arm in self.arms.items() if name in there}


@dataclass(frozen=True)
class Axis:
    """Scale and axis that the layers of a chart share; values from `low` to `high`."""

    low: float
    high: float
    scale: Any
    axis: Any
    is_log: bool = True

    def x(self, field: str = "x:Q") -> Any:
        return alt.X(field, scale=self.scale, axis=self.axis)

    def y(self, field: str = "median:Q") -> Any:
        return alt.Y(field, scale=self.scale, axis=self.axis)

    def part(self, value: float) -> float:
        """Where on the axis, from 0 to 1; what lies beyond an end is at the end."""
        ends = (self.low, self.high, min(max(value, self.low), self.high))
        low, high, at = map(math.log10, ends) if self.is_log else ends
        return (at - low) / (high - low)


def drawing(
    name: str, panel: Panel, frame: pl.DataFrame, arms: Mapping[str, Arm], subtitle: str = ""
) -> Drawing:
    """Titled as the panel, with the number of its launches if nothing else is told."""
    return Drawing(name, panel.label, subtitle or panel.counted, frame, arms)


def over_size(drawings: Sequence[Drawing], what: str, y_title: str) -> tuple[Figure, ...]:
    """Curves over message size on two log axes, with the band of their interval.

    `what` names the figures to those who cannot see them.  No row may be at size 0, or have a value
    of 0 or less.
    """
    if not drawings:
        return ()
    y_domain = decades([one.frame for one in drawings])
    sizes = pl.concat([one.frame["x"] for one in drawings])
    x_domain = float(sizes.min()), float(sizes.max())  # type: ignore[arg-type]

    def draw(one: Drawing, theme: Theme) -> Any:
        x = log_axis(x_domain, figures.size_axis(theme))
        y = log_axis(y_domain, decade_axis(y_domain, y_title))
        layers = [*curves(one, x, y, theme), *end_labels(one, x, y, 260, theme)]
        return titled(alt.layer(*layers).properties(width=WIDTH, height=260), one)

    return _rendered(drawings, what, draw)


def dots(drawings: Sequence[Drawing], what: str, x_title: str) -> tuple[Figure, ...]:
    """A row an arm: the median as a dot, its interval as a rule, on an axis from 0."""
    if not drawings:
        return ()
    values = pl.concat([one.frame.select(_INTERVAL) for one in drawings])
    top = 1.05 * float(values.max().max_horizontal().item())

    def draw(one: Drawing, theme: Theme) -> Any:
        axis = alt.Axis(title=x_title, tickCount=5, gridColor=theme.grid)
        x = Axis(0.0, top, alt.Scale(domain=[0.0, top], nice=False), axis, is_log=False)
        names = {name: arm.title for name, arm in one.arms.items()}
        rows = one.frame.with_columns(row=pl.col("arm").replace_strict(names))
        y_axis = alt.Axis(title=None, ticks=False, labelPadding=6, labelLimit=240)
        y = alt.Y("row:N", sort=[arm.title for arm in one.drawn.values()], axis=y_axis)
        layers = []
        for name, arm in one.drawn.items():
            chart = alt.Chart(rows.filter(pl.col("arm") == name))
            colour = shade(arm.colour, theme)
            layers += [
                chart.transform_filter("isValid(datum.low)")
                .mark_rule(color=colour, strokeWidth=2)
                .encode(x.x("low:Q"), y, x2="high:Q"),
                chart.mark_point(color=colour, filled=True, opacity=1, size=60).encode(
                    x.x("median:Q"), y
                ),
            ]
        sized = alt.layer(*layers).properties(width=WIDTH, height=alt.Step(_DOT_ROW))
        return titled(sized, one)

    return _rendered(drawings, what, draw)


def curves(one: Drawing, x: Axis, y: Axis, theme: Theme) -> list[Any]:
    """Bands below, then a line with its measured points for each arm."""
    bands, lines = [], []
    for name, arm in one.drawn.items():
        columns = pl.col(*_INTERVAL).cast(pl.Float64)
        rows = one.frame.filter(pl.col("arm") == name).with_columns(columns)
        chart, colour = alt.Chart(rows.select("x", *_INTERVAL)), shade(arm.colour, theme)
        band = chart.transform_filter("isValid(datum.low)").mark_area(
            color=colour, opacity=_BAND, clip=True
        )
        bands.append(band.encode(x.x(), y.y("low:Q"), y2="high:Q"))
        point = alt.OverlayMarkDef(size=14, color=colour, clip=True)
        line = chart.mark_line(color=colour, strokeWidth=2, clip=True, point=point)
        lines.append(line.encode(x.x(), y.y()))
    return [*bands, *lines]


def end_labels(one: Drawing, x: Axis, y: Axis, height: int, theme: Theme) -> list[Any]:
    """The names of the arms right of their last points, apart from each other, tied to them."""
    ends = {
        name: one.frame.filter(pl.col("arm") == name).sort("x").row(-1, named=True)
        for name in one.drawn
    }
    wanted = {name: height * (1 - y.part(end["median"])) for name, end in ends.items()}
    places = figures.spread_apart(wanted, 16.0, 6.0, height - 2.0)
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


def decades(frames: Sequence[pl.DataFrame], *inside: float) -> tuple[float, float]:
    """The powers of ten around all medians and bands, and around the values of `inside`."""
    values = pl.concat([frame.select(pl.col(*_INTERVAL).cast(pl.Float64)) for frame in frames])
    low = min(*inside, values.min().min_horizontal().item(), math.inf)
    high = max(*inside, values.max().max_horizontal().item(), -math.inf)
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def log_axis(domain: tuple[float, float], axis: Any) -> Axis:
    """From end to end of `domain`, nothing added."""
    return Axis(*domain, alt.Scale(type="log", domain=list(domain), nice=False), axis)


def decade_axis(domain: tuple[float, float], title: str) -> Any:
    """A vertical axis with a label at each power of ten."""
    exponents = range(round(math.log10(domain[0])), round(math.log10(domain[1])) + 1)
    return figures.named_axis(
        title,
        values=[10.0**exponent for exponent in exponents],
        labelExpr="datum.value >= 1 ? replace(format(datum.value, ',d'), /,/g, '\u202f') "
        ": format(datum.value, '~g')",
    )


def titled(chart: Any, one: Drawing) -> Any:
    """With title and subtitle."""
    return chart.properties(title=alt.TitleParams(one.title, subtitle=one.subtitle))


def _rendered(drawings: Sequence[Drawing], what: str, draw: Any) -> tuple[Figure, ...]:
    return tuple(
        figures.render(one.name, f"{what}: {one.title}", partial(draw, one)) for one in drawings
    )
