"""The content of a figure: typed values that the painter draws and the audit checks.

A study declares which curves a figure has, their intervals, what a spread is, what a line joins,
and bounds.  `painter` draws each view as SVG, and `as_json` has the values for the page's script.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from roundtrip.report.units import UNPRINTED_UNITS

_SIGNIFICANT_DIGITS = 5
CIRCLE, SQUARE, TRIANGLE, DIAMOND = "circle", "square", "triangle-up", "diamond"
#: Shapes of values beyond the ends of an axis.
TRIANGLE_LEFT, TRIANGLE_RIGHT = "triangle-left", "triangle-right"
#: The name of the bound of launches over an emulated link.
LINK = "Rate of the link"
#: Kinds of events: a change point, a person's note, a changed fact.
STEP, NOTE, CHANGE = "step", "note", "change"
#: A point: place on the axis, median, low and high of its interval, and number of values.
Point = tuple[float, float, float | None, float | None, int | None]


@dataclass(frozen=True)
class Scale:
    """An axis of `name` from `low` to `high`, in `unit`.

    `ticks`: values with labels; () for the painter's choice.  `labels`: texts in place of those
    values, such as the dates of nights.
    """

    name: str
    unit: str
    low: float
    high: float
    is_log: bool
    ticks: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name with the unit: in place of ``{}``, or in brackets after it."""
        if "{}" in self.name:
            return self.name.replace("{}", self.unit)
        return self.name if self.unit in UNPRINTED_UNITS else f"{self.name} ({self.unit})"

    def position(self, value: float) -> float:
        """0 at `low`, 1 at `high`; ValueError for a value that a logarithmic axis cannot show."""
        ends = (self.low, self.high, value)
        low, high, position = map(math.log10, ends) if self.is_log else ends
        return (position - low) / ((high - low) or 1.0)

    def has_place(self, value: float | None) -> bool:
        """Whether the axis, if extended, could show the value."""
        return value is not None and math.isfinite(value) and (value > 0 or not self.is_log)


@dataclass(frozen=True)
class Curve:
    """Points in order, with the colours of a light and of a dark page.

    `width` 0: no line joins the points.  `size`: half the width of a point, in pixels; 0: none.
    `joined_points`: what the line joins, for readers who interpolate; "" if it is not declared.
    `bound`: its name, if no measured value can exceed the curve.  `levels`: (first place, last
    place, level of the points between them).
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
    """A vertical mark at a position of the horizontal axis, with its text.

    `kind`: STEP, NOTE or CHANGE; a CHANGE is a short mark without words.
    """

    place: float
    kind: str
    words: str = ""


@dataclass(frozen=True)
class Rule:
    """A value marked by a line across; `bound`: its name, if no measured value can exceed it."""

    value: float
    bound: str = ""


@dataclass(frozen=True)
class View:
    """One view of a figure.

    With `rows` (names from top to bottom), `x` is the axis of values and the place of a point is
    its row number; a value beyond an end is a number there.  A bracket joins a row of `joined_rows`
    to the one above it.  Without `rows`, `y` is the axis of values.  `rules` are drawn across, and
    a strip between the two values of `strip`.  `has_bars`: an interval is a bar at its point, else
    a band along the curve.

    `is_stacked`: the curves of a row are parts of a stacked bar, and the interval of the first is
    that of the whole bar.  `heads`: rows that name a group and have no values.  `width`: width of
    the drawing area, in pixels.
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
    joined_rows: frozenset[int] = frozenset()
    events: tuple[Event, ...] = ()
    width: float = 340.0

    @property
    def joined_points(self) -> tuple[str, ...]:
        """The kind of points that each line of measured values joins; "" if it is not declared."""
        curves = () if self.rows else self.curves
        return tuple(curve.joined_points for curve in curves if curve.width and not curve.bound)

    @property
    def bounds(self) -> tuple[str, ...]:
        names = (*(rule.bound for rule in self.rules), *(curve.bound for curve in self.curves))
        return tuple(name for name in names if name)


@dataclass(frozen=True)
class Plot:
    """The views of a figure; the first one is shown first.

    `is_published`: whether all its values come from a publication and none was measured here.
    """

    title: str
    subtitle: str
    views: tuple[View, ...]
    is_published: bool = False

    @property
    def has_intervals(self) -> bool:
        """Whether any value is drawn with its interval."""
        curves = (curve for view in self.views for curve in view.curves)
        return any(point[2] is not None for curve in curves for point in curve.points)

    def describe(self, view: View) -> str:
        """A description of one of its views, for people who cannot see it."""
        axes = " against ".join(axis.title for axis in (view.y, view.x) if axis)
        curves = ", ".join(curve.name for curve in view.curves)
        return f"{self.title}, {self.subtitle}. {axes}: {curves}."


@dataclass(frozen=True)
class MapCell:
    """The value at a row and a column, with its unit; `effect`: percent of the usual value.

    A positive effect is worse.  `n`: number of launches.
    """

    row: int
    column: int
    value: str
    effect: float
    n: int


@dataclass(frozen=True)
class Heat:
    """A square map of values between items of one kind, such as nodes or processors.

    `names`: of rows and columns.  `marked_names`: highlighted.  `quantity`: the measured quantity.
    """

    title: str
    subtitle: str
    quantity: str
    names: tuple[str, ...]
    marked_names: frozenset[str]
    cells: tuple[MapCell, ...]

    @property
    def description(self) -> str:
        """The description of the map, for people who cannot see it."""
        count = len(self.names)
        return f"{self.title}, {self.subtitle}: a map of {count} by {count}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names, with an asterisk before the marked ones."""
        return tuple(f"* {name}" if name in self.marked_names else name for name in self.names)


def points(rows: Iterable[Mapping[str, Any]], place: str = "x") -> tuple[Point, ...]:
    """Points from rows with the columns `place` (on the horizontal axis), median, low, high, n."""
    return tuple((row[place], row["median"], row["low"], row["high"], row.get("n")) for row in rows)


def as_json(name: str, plot: Plot) -> Markup:
    """The plot as JSON for the page's script, with five digits, more than a reader can see."""
    views = []
    for view in plot.views:
        curves = [
            {"name": curve.name, "points": [list(map(_round_number, p)) for p in curve.points]}
            for curve in view.curves
        ]
        views.append(view_outline(view) | {"curves": curves})
    return escaped_json({"name": name, "title": plot.title, "views": views})


def heat_json(heat: Heat) -> Markup:
    """The map as JSON for the page's script."""
    content = {
        "title": heat.title,
        "names": heat.labels,
        "sick": [name in heat.marked_names for name in heat.names],
        "cells": [[c.row, c.column, c.value, round(c.effect, 1), c.n] for c in heat.cells],
    }
    return escaped_json(content)


def escaped_json(content: Any) -> Markup:
    """JSON for a <script>: all characters that could begin or end HTML are escaped."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(escaped)  # noqa: S704  no < and no & in it


def view_outline(view: View) -> dict[str, Any]:
    """The properties of a view that the page's script needs besides its curves."""
    content: dict[str, Any] = {"name": view.name, "x": _scale_json(view.x)}
    if view.y:
        content["y"] = _scale_json(view.y)
    if view.rows:
        content["rows"] = list(view.rows)
    if view.is_stacked:
        content["stacked"] = 1
    return content


def _scale_json(scale: Scale) -> dict[str, Any]:
    content = {"title": scale.title, "lo": scale.low, "hi": scale.high, "log": int(scale.is_log)}
    options = {"ticks": scale.ticks, "labels": scale.labels}
    return content | {name: list(values) for name, values in options.items() if values}


def _round_number(value: float | None) -> float | int | None:
    """The value with `_SIGNIFICANT_DIGITS` digits; a whole number stays exact."""
    if value is None:
        return None
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be drawn")
    return int(value) if float(value).is_integer() else float(f"{value:.{_SIGNIFICANT_DIGITS}g}")
