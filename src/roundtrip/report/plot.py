"""What a figure shows: typed values, from which the painter draws and the audit judges.

A study says what it shows: which curves with which intervals, what a spread is, between what a line
is drawn, what a bound is.  `painter` makes an SVG of each view, and `as_json` the values that the
page's script reads out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from roundtrip.report.units import UNPRINTED_UNITS

_DIGITS = 5
CIRCLE, SQUARE, TRIANGLE, DIAMOND = "circle", "square", "triangle-up", "diamond"
#: A bound that launches over an emulated link tell.
LINK = "Rate of the link"
#: Kinds of events: a change point, what a person says, a recorded fact that differs.
STEP, NOTE, CHANGE = "step", "note", "change"
#: A point: its place on the axis, median, low and high of its interval, and of how many values.
Point = tuple[float, float, float | None, float | None, int | None]


@dataclass(frozen=True)
class Scale:
    """An axis of `name` from `low` to `high`, in `unit`.

    `alternative_ends`: both ends when a reader makes it linear or logarithmic, which it is not;
    None for those of the values.  `ticks`: where labels stand; () for the painter's choice.
    `labels`: what stands there, if not the value: the date of a night.
    """

    name: str
    unit: str
    low: float
    high: float
    is_log: bool
    alternative_ends: tuple[float, float] | None = None
    ticks: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name with the unit: in the place of ``{}``, or in brackets after it."""
        if "{}" in self.name:
            return self.name.replace("{}", self.unit)
        return self.name if self.unit in UNPRINTED_UNITS else f"{self.name} ({self.unit})"

    def position(self, value: float) -> float:
        """Position on the axis: 0 at `low`, 1 at `high`; beyond them outside of 0 to 1.

        ValueError for what a logarithmic axis cannot show.
        """
        ends = (self.low, self.high, value)
        low, high, position = map(math.log10, ends) if self.is_log else ends
        return (position - low) / ((high - low) or 1.0)

    def has_place(self, value: float | None) -> bool:
        """Whether the axis, made longer, could show the value."""
        return value is not None and math.isfinite(value) and (value > 0 or not self.is_log)


@dataclass(frozen=True)
class Curve:
    """Points in order, with the colours of a light and of a dark page.

    `width` 0: no line joins the points.  `size`: half the width of a point, in pixels; 0: none.
    `joined_points`: what the line joins, which a reader may interpolate; "" if nobody tells.
    `bound`: its name, where no measured value can exceed the curve.  `levels`: from where to where
    a value is the level of the points.
    """

    name: str
    colour: tuple[str, str]
    points: tuple[Point, ...]
    width: float = 2.0
    is_dashed: bool = False
    shape: str = CIRCLE
    size: float = 2.2
    joined_points: str = "the measured points of an arm"
    bound: str = ""
    levels: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class Event:
    """A place on the axis along which points stand, marked from top to bottom, with its words.

    Of kind STEP, NOTE or CHANGE; a CHANGE is a short mark without words.
    """

    place: float
    kind: str
    words: str = ""


@dataclass(frozen=True)
class Rule:
    """A value that a line across marks; `bound`: its name, if no measured value can exceed it."""

    value: float
    bound: str = ""


@dataclass(frozen=True)
class View:
    """One way to look at a figure.

    With `rows`, which are names from top to bottom, `x` is their axis of values and the place of a
    point is the number of its row; otherwise `y` is the axis of values.  `rules` are drawn across,
    and a strip between the two values of `strip`.  `has_bars`: an interval is a bar at its point,
    else a band along the curve.

    `is_stacked`: the curves of a row are parts of a bar, side by side, and the interval of the
    first is that of the whole.  `heads` are rows that name a group, and have no values.  `width` is
    that of the drawing area, in pixels.
    """

    name: str
    x: Scale
    y: Scale | None
    curves: tuple[Curve, ...]
    rows: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    strip: tuple[float, float] | None = None
    has_bars: bool = False
    is_stacked: bool = False
    heads: frozenset[int] = frozenset()
    events: tuple[Event, ...] = ()
    width: float = 340.0

    @property
    def interval_count(self) -> int:
        """Values that are drawn with their interval."""
        points = (point for curve in self.curves for point in curve.points)
        return sum(point[2] is not None for point in points)

    @property
    def joined_points(self) -> tuple[str, ...]:
        """Between what each line of measured values is drawn, "" where nobody tells."""
        curves = () if self.rows else self.curves
        return tuple(curve.joined_points for curve in curves if curve.width and not curve.bound)

    @property
    def bounds(self) -> tuple[str, ...]:
        """Names of the bounds that are drawn."""
        names = (*(rule.bound for rule in self.rules), *(curve.bound for curve in self.curves))
        return tuple(name for name in names if name)


@dataclass(frozen=True)
class Plot:
    """The views of a figure, the first of which is shown first.

    `is_published`: all its values are of a publication, none was measured here.
    """

    title: str
    subtitle: str
    views: tuple[View, ...]
    is_published: bool = False

    @property
    def interval_count(self) -> int:
        """Values that are drawn with their interval."""
        return sum(view.interval_count for view in self.views)

    def describe(self, view: View) -> str:
        """What one of its views draws, for those who cannot see it."""
        axes = " against ".join(axis.title for axis in (view.y, view.x) if axis)
        curves = ", ".join(curve.name for curve in view.curves)
        return f"{self.title}, {self.subtitle}. {axes}: {curves}."


@dataclass(frozen=True)
class MapCell:
    """The value between row and column, by number, with its unit; `effect` in percent of usual.

    A positive effect is worse.  `n` launches are behind it.
    """

    row: int
    column: int
    value: str
    effect: float
    n: int


@dataclass(frozen=True)
class Heat:
    """A map of values between things of one kind, as nodes or processors: a square of cells.

    `names` of rows and columns; `marked_names` stand out.  `quantity`: what the values are of.
    """

    title: str
    subtitle: str
    quantity: str
    names: tuple[str, ...]
    marked_names: frozenset[str]
    cells: tuple[MapCell, ...]

    @property
    def description(self) -> str:
        """What it draws, for those who cannot see it."""
        count = len(self.names)
        return f"{self.title}, {self.subtitle}: a map of {count} by {count}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names, with an asterisk before those that stand out."""
        return tuple(f"* {name}" if name in self.marked_names else name for name in self.names)


def points(rows: Iterable[Mapping[str, Any]], place: str = "x") -> tuple[Point, ...]:
    """The points of a table's rows, whose columns are `place` (the horizontal coordinate), median,
    low, high, and n where it is known.
    """
    return tuple(
        (
            row[place],
            row["median"],
            *((None, None) if row["low"] is None else (row["low"], row["high"])),
            row.get("n"),
        )
        for row in rows
    )


def as_json(name: str, plot: Plot) -> str:
    """The plot for the page's script, in the same bytes each time; no HTML can begin or end in it.

    Values have five digits, which is more than a reader sees.
    """
    views = [
        outline(view) | {"curves": [_curve(curve) for curve in view.curves]} for view in plot.views
    ]
    return escaped_json({"name": name, "title": plot.title, "views": views})


def heat_json(heat: Heat) -> str:
    """The same of a map."""
    return escaped_json(
        {
            "title": heat.title,
            "names": heat.labels,
            "sick": [name in heat.marked_names for name in heat.names],
            "cells": [[c.row, c.column, c.value, round(c.effect, 1), c.n] for c in heat.cells],
        }
    )


def escaped_json(content: Any) -> str:
    """JSON for a <script>: no HTML can begin or end in it."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def outline(view: View) -> dict[str, Any]:
    """Of a view, what the page's script must know besides its curves."""
    content: dict[str, Any] = {"name": view.name, "x": _scale(view.x)}
    if view.y:
        content["y"] = _scale(view.y)
    if view.rows:
        content["rows"] = list(view.rows)
    if view.is_stacked:
        content["stacked"] = 1
    return content


def _scale(scale: Scale) -> dict[str, Any]:
    content = {"title": scale.title, "lo": scale.low, "hi": scale.high, "log": int(scale.is_log)}
    options = {"else": scale.alternative_ends, "ticks": scale.ticks, "labels": scale.labels}
    return content | {name: list(values) for name, values in options.items() if values}


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "name": curve.name,
        "points": [[None if v is None else _short(v) for v in point] for point in curve.points],
    }


def _short(value: float) -> float | int:
    """With so many digits; places of points and counts are whole numbers, and stay so."""
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be drawn")
    return int(value) if float(value).is_integer() else float(f"{value:.{_DIGITS}g}")
