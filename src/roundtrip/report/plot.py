"""What an interactive figure shows: the values behind its drawing, for the script of the page.

The drawing itself stays on paper, in `figures/` and where no script runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_DIGITS = 5
CIRCLE = "circle"
#: A point: its place on the axis, median, low and high of its interval, and of how many values.
Point = tuple[float, float, float | None, float | None, int | None]


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`; its title ends with the unit in brackets, if there is one.

    `otherwise`: both ends when a reader makes it linear or logarithmic, which it is not; None for
    those of the values.
    """

    title: str
    low: float
    high: float
    is_log: bool
    otherwise: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """Points in order, with the colours of a light and of a dark page; `width` 0: no line.

    `shape`: of the points, as Vega-Lite names it.
    """

    name: str
    colour: tuple[str, str]
    points: tuple[Point, ...]
    width: float = 2.0
    is_dashed: bool = False
    shape: str = CIRCLE


@dataclass(frozen=True)
class View:
    """One way to look at a figure.

    With `rows`, which are names from top to bottom, `x` is their axis of values and the place of a
    point is the number of its row; otherwise `y` is the axis of values.  `rules` are drawn across
    at these values, and a strip between the two of `strip`.  `has_bars`: an interval is a bar at
    its point, else a band along the curve.
    """

    name: str
    x: Scale
    y: Scale | None
    curves: tuple[Curve, ...]
    rows: tuple[str, ...] = ()
    rules: tuple[float, ...] = ()
    strip: tuple[float, float] | None = None
    has_bars: bool = False

    @property
    def shown(self) -> int:
        """Values that are drawn with their interval."""
        points = (point for curve in self.curves for point in curve.points)
        return sum(point[2] is not None for point in points)


@dataclass(frozen=True)
class Plot:
    """The views of a figure, the first of which is that of its drawing."""

    title: str
    subtitle: str
    views: tuple[View, ...]


def points(rows: Iterable[Mapping[str, Any]], place: str = "x") -> tuple[Point, ...]:
    """From rows with the columns `place`, median, low and high, and n where it is known."""
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
    content = {
        "name": name,
        "title": plot.title,
        "subtitle": plot.subtitle,
        "views": [_view(one) for one in plot.views],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _view(one: View) -> dict[str, Any]:
    found: dict[str, Any] = {"name": one.name, "x": _scale(one.x)}
    if one.y:
        found["y"] = _scale(one.y)
    for name, values in (("rows", one.rows), ("rules", one.rules), ("strip", one.strip)):
        if values:
            found[name] = list(values)
    if one.has_bars:
        found["bars"] = 1
    return {**found, "curves": [_curve(curve) for curve in one.curves]}


def _scale(one: Scale) -> dict[str, Any]:
    found = {"title": one.title, "lo": one.low, "hi": one.high, "log": int(one.is_log)}
    return {**found, "else": list(one.otherwise)} if one.otherwise else found


def _curve(one: Curve) -> dict[str, Any]:
    return {
        "name": one.name,
        "colour": list(one.colour),
        "width": one.width,
        **({"dash": 1} if one.is_dashed else {}),
        **({"shape": one.shape} if one.shape != CIRCLE else {}),
        "points": [[None if v is None else _short(v) for v in point] for point in one.points],
    }


def _short(value: float) -> float | int:
    """With so many digits; places of points and counts are whole numbers, and stay so."""
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be drawn")
    return int(value) if float(value).is_integer() else float(f"{value:.{_DIGITS}g}")
