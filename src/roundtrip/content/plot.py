"""The content of a figure: typed values that the painter draws and the audit checks.

A study declares which curves a figure has, their intervals, what a spread is, what a line joins,
and bounds.  `painter` draws each view as SVG, and `plot_json` has the values for the page's script.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from roundtrip.units import UNPRINTED_UNITS

_SIGNIFICANT_DIGITS = 5
CIRCLE, SQUARE, TRIANGLE, DIAMOND = "circle", "square", "triangle-up", "diamond"
#: Shapes of values beyond the ends of an axis.
TRIANGLE_LEFT, TRIANGLE_RIGHT = "triangle-left", "triangle-right"
#: The name of the bound of launches over an emulated link.
LINK_BOUND_NAME = "Rate of the link"
#: Kinds of events: a change point, a person's note, a changed fact.
STEP, NOTE, CHANGE = "step", "note", "change"
#: A point: x or its row, median, low and high of its interval, and number of values.
CurvePoint = tuple[float, float, float | None, float | None, int | None]


@dataclass(frozen=True)
class Axis:
    """An axis of `name` from `low` to `high`, in `unit`.

    `ticks`: () for the painter's choice; `tick_labels`: in place of their values, such as dates.
    """

    name: str
    unit: str
    low: float
    high: float
    is_log: bool
    ticks: tuple[float, ...] = ()
    tick_labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name with the unit: in place of ``{}``, or in brackets after it."""
        if "{}" in self.name:
            return self.name.replace("{}", self.unit)
        return self.name if self.unit in UNPRINTED_UNITS else f"{self.name} ({self.unit})"

    def relative_position(self, value: float) -> float:
        """0 at `low`, 1 at `high`; ValueError for a value that a logarithmic axis cannot show."""
        ends = (self.low, self.high, value)
        low, high, position = map(math.log10, ends) if self.is_log else ends
        return (position - low) / ((high - low) or 1.0)

    def can_show(self, value: float | None) -> bool:
        """Whether the axis, if extended, could show the value."""
        return value is not None and math.isfinite(value) and (value > 0 or not self.is_log)


@dataclass(frozen=True)
class Curve:
    """Points in order; `colour` has the colours on a light and on a dark page.

    If `line_width` is 0, no line joins the points.  `point_radius` is in pixels; with 0, no points
    are drawn.  `line_meaning` says what the line joins, for readers who interpolate; "" if a study
    does not declare it.  `bound_name` is set if no measured value can exceed the curve.
    `level_segments` are (first x, last x, level of the points between them).
    """

    name: str
    colour: tuple[str, str]
    points: tuple[CurvePoint, ...]
    line_width: float = 2.0
    is_dashed: bool = False
    point_shape: str = CIRCLE
    point_radius: float = 2.2
    line_meaning: str = "the measured points of an arm"
    bound_name: str = ""
    level_segments: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class Event:
    """A vertical line; `event_kind`: STEP or NOTE, or CHANGE, a short line without text."""

    position: float
    event_kind: str
    text: str = ""


@dataclass(frozen=True)
class ReferenceLine:
    """A value at which a line goes across; `bound_name`: set if no measured value can exceed it."""

    value: float
    bound_name: str = ""


@dataclass(frozen=True)
class View:
    """One view of a figure.

    With `row_names` (from top to bottom), `x_axis` is the axis of values, the first number of a
    point is its row, and a value beyond an end of the axis is printed there.  A bracket joins a row
    of `bracketed_rows` to the one above it.  Without `row_names`, `y_axis` is the axis of values.
    `reference_lines` are drawn across, and the range between the two values of `shaded_range` is
    shaded.  With `has_interval_bars`, an interval is a bar at its point, else a band along the
    curve.

    If `is_stacked`, the curves of a row form one stacked bar, and the interval of the first curve
    is that of the whole bar.  `header_rows` name a group and have no values.  `width` is the width
    of the drawing area, in pixels.
    """

    name: str
    x_axis: Axis
    y_axis: Axis | None
    curves: tuple[Curve, ...]
    row_names: tuple[str, ...] = ()
    reference_lines: tuple[ReferenceLine, ...] = ()
    shaded_range: tuple[float, float] | None = None
    has_interval_bars: bool = False
    is_stacked: bool = False
    header_rows: frozenset[int] = frozenset()
    bracketed_rows: frozenset[int] = frozenset()
    events: tuple[Event, ...] = ()
    width: float = 340.0

    @property
    def line_meanings(self) -> tuple[str, ...]:
        """What each line of measured values joins; "" if it is not declared."""
        curves = () if self.row_names else self.curves
        lines = (curve for curve in curves if curve.line_width and not curve.bound_name)
        return tuple(curve.line_meaning for curve in lines)

    @property
    def bound_names(self) -> tuple[str, ...]:
        lines: tuple[ReferenceLine | Curve, ...] = (*self.reference_lines, *self.curves)
        return tuple(line.bound_name for line in lines if line.bound_name)


@dataclass(frozen=True)
class Plot:
    """Views, the first shown first; `is_published`: all values come from a publication."""

    title: str
    subtitle: str
    views: tuple[View, ...]
    is_published: bool = False

    @property
    def has_intervals(self) -> bool:
        curves = (curve for view in self.views for curve in view.curves)
        return any(point[2] is not None for curve in curves for point in curve.points)

    def describe_view(self, view: View) -> str:
        """A description of one of its views, for people who cannot see it."""
        axes = " against ".join(axis.title for axis in (view.y_axis, view.x_axis) if axis)
        curves = ", ".join(curve.name for curve in view.curves)
        return f"{self.title}, {self.subtitle}. {axes}: {curves}."


@dataclass(frozen=True)
class HeatMapCell:
    """A value with its unit, and its difference from usual; a positive one is worse."""

    row: int
    column: int
    value_text: str
    effect_percent: float
    launches: int


@dataclass(frozen=True)
class HeatMap:
    """A square map of `quantity` between items of one type, which name the rows and columns."""

    title: str
    subtitle: str
    quantity: str
    item_names: tuple[str, ...]
    highlighted_names: frozenset[str]
    cells: tuple[HeatMapCell, ...]

    @property
    def description(self) -> str:
        count = len(self.item_names)
        return f"{self.title}, {self.subtitle}: a map of {count} by {count}"

    @property
    def display_names(self) -> tuple[str, ...]:
        """The names, with an asterisk before the highlighted ones."""
        return tuple(
            f"* {name}" if name in self.highlighted_names else name for name in self.item_names
        )


def curve_points(
    rows: Iterable[Mapping[str, Any]], position_column: str = "x"
) -> tuple[CurvePoint, ...]:
    """Points from rows with the columns `position_column`, median, low, high and perhaps n."""
    return tuple(
        (row[position_column], row["median"], row["low"], row["high"], row.get("n")) for row in rows
    )


def plot_json(name: str, plot: Plot) -> Markup:
    """The plot as JSON for the page's script, with five digits, more than a reader can see."""
    views = []
    for view in plot.views:
        curves = [
            {"name": curve.name, "points": [list(map(_round_number, p)) for p in curve.points]}
            for curve in view.curves
        ]
        views.append(view_json_without_curves(view) | {"curves": curves})
    return escaped_json({"name": name, "title": plot.title, "views": views})


def heat_map_json(heat_map: HeatMap) -> Markup:
    """The map as JSON for the page's script."""
    content = {
        "title": heat_map.title,
        "names": heat_map.display_names,
        "sick": [name in heat_map.highlighted_names for name in heat_map.item_names],
        "cells": [
            [c.row, c.column, c.value_text, round(c.effect_percent, 1), c.launches]
            for c in heat_map.cells
        ],
    }
    return escaped_json(content)


def escaped_json(content: Any) -> Markup:
    """JSON for a <script>: all characters that could begin or end HTML are escaped."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(escaped)  # noqa: S704  no < and no & in it


def view_json_without_curves(view: View) -> dict[str, Any]:
    """The properties of a view that the page's script needs besides its curves."""
    content: dict[str, Any] = {"name": view.name, "x": _axis_json(view.x_axis)}
    if view.y_axis:
        content["y"] = _axis_json(view.y_axis)
    if view.row_names:
        content["rows"] = list(view.row_names)
    if view.is_stacked:
        content["stacked"] = 1
    return content


def _axis_json(axis: Axis) -> dict[str, Any]:
    content = {"title": axis.title, "lo": axis.low, "hi": axis.high, "log": int(axis.is_log)}
    options = {"ticks": axis.ticks, "labels": axis.tick_labels}
    return content | {name: list(values) for name, values in options.items() if values}


def _round_number(value: float | None) -> float | int | None:
    """The value with `_SIGNIFICANT_DIGITS` digits; a whole number stays exact."""
    if value is None:
        return None
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be drawn")
    return int(value) if float(value).is_integer() else float(f"{value:.{_SIGNIFICANT_DIGITS}g}")
