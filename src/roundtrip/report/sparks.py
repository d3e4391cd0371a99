"""Small copies of figures: what they show at a glance, without axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from markupsafe import Markup

from roundtrip.report.plot import Curve, Plot, Scale, View

WIDTH, HEIGHT = 220, 96
_EDGE = 5.0
_MOST_ROWS = 12
_SVG = Markup('<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{marks}</svg>')
_STYLE = Markup('style="--light:{0};--dark:{1}"')
_LINE = Markup('<path class="line{dash}" {style} stroke-width="{width:.1f}" d="{path}"/>')
_DOT = Markup('<circle class="dot" {style} cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>')
_RULE = Markup('<path class="rule" d="{path}"/>')


def draw(plot: Plot, label: str) -> Markup:
    """The first view of a plot as SVG; its colours are those of the class `line` of the page."""
    view = plot.views[0]
    marks = _rows(view) if view.rows else _curves(view)
    return _SVG.format(width=WIDTH, height=HEIGHT, label=label, marks=Markup("").join(marks))


def _curves(view: View) -> Iterator[Markup]:
    if view.y is None:
        return
    across = _place(view.x, _EDGE, WIDTH - _EDGE)
    up = _place(_near(view, view.y), HEIGHT - _EDGE, _EDGE)
    for value in view.rules:
        y = up(value)
        yield _RULE.format(path=f"M{_EDGE:.1f},{y:.1f}H{WIDTH - _EDGE:.1f}")
    for curve in view.curves:
        places = [(across(point[0]), up(point[1])) for point in curve.points]
        if curve.width and len(places) > 1:
            path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in places)
            dash = " dash" if curve.is_dashed else ""
            width = min(curve.width, 3.0)
            yield _LINE.format(dash=dash, style=_style(curve), width=width, path=path)
        else:
            for x, y in places:
                yield _DOT.format(style=_style(curve), x=x, y=y, r=2.5)


def _near(view: View, scale: Scale) -> Scale:
    """The axis without what lies beyond all values, if it is logarithmic: 0 stays on the others."""
    values = [point[1] for curve in view.curves for point in curve.points]
    if not (scale.is_log and values):
        return scale
    low, high = max(scale.low, min(values)), min(scale.high, max(values))
    return replace(scale, low=low, high=high) if low < high else scale


def _rows(view: View) -> Iterator[Markup]:
    across = _place(view.x, _EDGE, WIDTH - _EDGE)
    count = min(len(view.rows), _MOST_ROWS)
    for value in view.rules or (max(view.x.low, 0.0) if not view.x.is_log else view.x.low,):
        x = across(value)
        yield _RULE.format(path=f"M{x:.1f},{_EDGE:.1f}V{HEIGHT - _EDGE:.1f}")
    for curve in view.curves:
        for point in curve.points:
            if point[0] < count:
                y = HEIGHT * (point[0] + 0.5) / count
                yield _DOT.format(style=_style(curve), x=across(point[1]), y=y, r=2.5)


def _style(curve: Curve) -> Markup:
    return _STYLE.format(*curve.colour)


def _place(scale: Scale, start: float, end: float) -> Callable[[float], float]:
    """From a value to a place; what lies beyond an end of the scale is at the end."""

    def placed(value: float) -> float:
        inside = min(max(value, scale.low), scale.high)
        low, high, at = scale.low, scale.high, inside
        if scale.is_log:
            low, high, at = math.log10(low), math.log10(high), math.log10(at)
        return start + (end - start) * (at - low) / ((high - low) or 1.0)

    return placed
