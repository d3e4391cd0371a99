"""Pieces of an SVG: elements and shapes, labels of axes, and where a drawing has what, in pixels.

How wide text is, is estimated: nobody knows the font of the reader."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from markupsafe import Markup, escape

from roundtrip.report import units
from roundtrip.report.plot import CIRCLE, DIAMOND, SQUARE, TRIANGLE, Curve, Scale, View
from roundtrip.report.units import Unit

#: Sizes of text, in pixels: of axes and names, and of titles.
TEXT, TITLE = 13, 15
FONT = (
    "Inter, Segoe UI, Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans Condensed, "
    "sans-serif"
)
#: Widths of Helvetica's printable ASCII characters from the blank on, in thousandths of the size
#: (Adobe's font metrics); the fonts above differ by less than _WIDER.
_WIDTHS = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556),
    *(1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556),
    *(333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556),
    *(556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
_OTHER, _WIDER = 620, 1.1
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Points of half-width 1 that are no circles.
_SHAPES = {
    SQUARE: ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    TRIANGLE: ((0, -1.2), (1.2, 1), (-1.2, 1)),
    DIAMOND: ((0, -1.4), (1.2, 0), (0, 1.4), (-1.2, 0)),
}
Place = tuple[float, float]
#: Of ticks: how far beyond the ends of an axis one may lie, as rounding takes it there.
_SLACK = 1e-9
_FEW = 2  # so few powers of ten have values between them
#: The height of curves, in pixels; a row's height, and that of one of several in it.
_HEIGHT = 240
_ROW, _SLOT, _PART = 24, 13, 17
_TOP, _BOTTOM, _RIGHT = 28, 46, 22
#: The space for a name at the end of a curve: where its sign begins, and where its words do.
SIGN, NAME = 10, 21


def element(name: str, attributes: Mapping[str, object], *inside: str) -> Markup:
    """An element; every value and every text that is no Markup is escaped."""
    words = "".join(f' {key}="{_escaped(value)}"' for key, value in attributes.items())
    content = "".join(map(_escaped, inside))
    return Markup(f"<{name}{words}>{content}</{name}>" if inside else f"<{name}{words}/>")  # noqa: S704


def _escaped(value: object) -> str:
    """Without characters that no XML may have, not even escaped; Markup is so already."""
    if isinstance(value, Markup):
        return value
    text = str(escape(value))
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text) if _ILLEGAL.search(text) else text


def number(value: float) -> str:
    """A coordinate: one decimal, or none."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def path(places: Iterable[Place]) -> str:
    """A line through the places, each written as ``x,y``; "" without one."""
    corners = "L".join(f"{number(x)},{number(y)}" for x, y in places)
    return f"M{corners}" if corners else ""


def text(words: str, x: float, y: float, **attributes: object) -> Markup:
    """Words at a place; an attribute `text_anchor` is ``text-anchor``."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    return element("text", {"x": number(x), "y": number(y), **named}, words)


def rect(
    x: float, y: float, width: float, height: float, about: Mapping[str, object] | None = None
) -> Markup:
    """A rectangle; `about` are more attributes of it."""
    sides = {"x": x, "y": y, "width": width, "height": height}
    return element("rect", {**(about or {}), **{name: number(v) for name, v in sides.items()}})


def dot(shape: str, x: float, y: float, size: float) -> Markup:
    """A point of half-width `size` in the colour of its group, its edge in the paper's."""
    paint = {"class": "dot", "stroke": "#ffffff"}
    if shape == CIRCLE:
        return element("circle", {**paint, "cx": number(x), "cy": number(y), "r": number(size)})
    corners = path((size * one, size * two) for one, two in _SHAPES[shape])
    at = f"translate({number(x)},{number(y)})"
    return element("path", {**paint, "d": f"{corners}Z", "transform": at})


def width(words: str, size: float = TEXT) -> float:
    """About how wide a text is, rather too wide than too narrow."""
    known = len(_WIDTHS)
    each = (_WIDTHS[ord(c) - 32] if 0 <= ord(c) - 32 < known else _OTHER for c in words)
    return _WIDER * size * sum(each) / 1000


def lines(words: str, room: float, size: float = TEXT) -> list[str]:
    """The text in lines that fit the room, as far as its words do."""
    found: list[str] = []
    for word in words.split():
        longer = f"{found[-1]} {word}" if found else word
        if found and width(longer, size) <= room:
            found[-1] = longer
        else:
            found.append(word)
    return found


def apart(wanted: Mapping[int, float], gap: float, low: float, high: float) -> dict[int, float]:
    """Positions near those wanted, at least `gap` apart, within [low, high] where they fit."""
    placed: list[tuple[int, float]] = []
    for key, position in sorted(wanted.items(), key=lambda item: (item[1], item[0])):
        floor = placed[-1][1] + gap if placed else low
        placed.append((key, max(position, floor)))
    ceiling, found = high, {}
    for key, position in reversed(placed):
        found[key] = min(position, ceiling)
        ceiling = found[key] - gap
    return found


def ticks(scale: Scale, count: float) -> tuple[float, ...]:
    """About `count` values from `low` to `high` that read well; the scale's own ones, if it has."""
    slack = _SLACK * max(abs(scale.low), abs(scale.high))
    inside = tuple(one for one in scale.ticks if scale.low - slack <= one <= scale.high + slack)
    if len(inside) > 1:
        return inside
    binary = scale.unit == Unit.BYTES and math.log2(scale.low or 1.0).is_integer()
    powers = _powers(scale, count, 2 if binary else 10) if scale.is_log else ()
    return powers if len(powers) > 1 else _even(scale, count, binary)


def tick_label(value: float, scale: Scale) -> str:
    """The label of a tick: the scale's own one, else as short as it may be."""
    if scale.labels and value in scale.ticks:
        return scale.labels[scale.ticks.index(value)]
    if scale.unit == Unit.BYTES and value >= 1 and float(value).is_integer():
        return units.size(int(value))
    text = f"{value:.12g}"
    return units.number(value) if "e" in text else _grouped(text)


def _grouped(text: str) -> str:
    sign = "\N{MINUS SIGN}" if text.startswith("-") else ""
    whole, dot, part = text.lstrip("-").partition(".")
    return f"{sign}{int(whole):,}".replace(",", "\N{NARROW NO-BREAK SPACE}") + dot + part


def _powers(scale: Scale, count: float, base: int) -> tuple[float, ...]:
    first = math.ceil(math.log(scale.low, base) - _SLACK)
    last = math.floor(math.log(scale.high, base) + _SLACK)
    few = base != 2 and last - first < _FEW
    step = next((one for one in (1, 2, 3, 5, 10, 20) if (last - first) / one < count), 50)
    exponents = range(first - 1, last + 1) if few else range(first, last + 1, step)
    times = (1, 2, 5) if few else (1,)
    values = (_clean(one * float(base) ** exponent) for exponent in exponents for one in times)
    low, high = scale.low * (1 - _SLACK), scale.high * (1 + _SLACK)
    return tuple(value for value in values if low <= value <= high)


def _even(scale: Scale, count: float, binary: bool) -> tuple[float, ...]:
    least = (scale.high - scale.low) / count or 1.0
    power = 10.0 ** math.floor(math.log10(least))
    step = next(one * power for one in (1, 2, 5, 10) if one * power >= least * (1 - _SLACK))
    if binary and least > 1:
        step = 2.0 ** math.ceil(math.log2(least))
    first = math.ceil(scale.low / step - _SLACK)
    last = math.floor(scale.high / step + _SLACK)
    if first > last and scale.high > scale.low:
        return _even(scale, 2 * count, binary)
    return tuple(_clean(at * step) for at in range(first, last + 1))


def _clean(value: float) -> float:
    """Without the last bits that arithmetic leaves."""
    return float(f"{value:.12g}")


class Frame:
    """Where things are in the drawing of a view; all numbers are pixels.

    `left`, `right`, `top` and `bottom` are the edges of the drawing area; `width` and `height` are
    those of the whole drawing, with names, axis and legend.  `y_ticks`: values of the vertical axis
    that are labelled; none with rows.
    """

    y_ticks: tuple[float, ...] = ()
    top: float
    left: float
    right: float
    bottom: float
    width: float
    height: float

    def __init__(self, name: str, view: View) -> None:
        self.name, self.view = name, view
        self.order = {curve.name: at for at, curve in enumerate(view.curves)}
        rows = [point[0] for curve in view.curves for point in curve.points]
        there = set(rows)
        #: How many curves stand under each other in a row: 1 where each row has one of its own.
        self.slots = len(view.curves) if len(there) < len(rows) else 1
        # A row with several curves is higher, the parts of a bar share one.
        high = _PART if view.is_stacked else max(_ROW, self.slots * _SLOT + 6)
        self.heights: list[float] = [
            high if row in there else _ROW for row in range(len(view.rows))
        ]
        #: Where the names of several curves begin under a figure of rows.
        self.legend: list[Place] = []
        self.lay_out()

    def lay_out(self) -> None:
        """Set all edges, and what lies around them."""
        view, axis = self.view, self.view.y
        self.y_ticks = ticks(axis, _HEIGHT / 36) if axis else ()
        labels = [tick_label(one, axis) for one in self.y_ticks] if axis else view.rows
        self.left = max(map(width, labels), default=0.0) + 12
        self.right = self.left + view.width
        self.top = 6 if view.rows else _TOP
        self.bottom = self.top + (sum(self.heights) if view.rows else _HEIGHT)
        names = () if view.rows else view.curves
        room = [SIGN + NAME + width(f"{one.name} ↑") for one in names]
        self.width = self.right + max(_RIGHT, *room, 0)
        self.height = self.bottom + _BOTTOM
        if view.rows and self.slots > 1:
            x, y = 0.0, self.height + 8
            for curve in view.curves:
                wide = NAME + width(curve.name) + 14
                if x and x + wide > self.width:
                    x, y = 0.0, y + 20
                self.legend.append((x, y))
                x += wide
            self.height = y + 12

    @property
    def box(self) -> str:
        """The view box."""
        return f"0 0 {number(self.width)} {number(self.height)}"

    def across(self, value: float) -> float:
        """Where a value of the horizontal axis is, from the left."""
        return self.left + (self.right - self.left) * self.view.x.part(value)

    def up(self, value: float) -> float:
        """Where a value of the axis of values is, from the top."""
        axis = self.view.y or self.view.x
        return self.bottom - (self.bottom - self.top) * axis.part(value)

    def middle(self, row: int) -> float:
        """The middle of a row, from the top."""
        return self.top + sum(self.heights[:row]) + self.heights[row] / 2

    def place(self, curve: Curve, place: float, value: float | None) -> Place | None:
        """Where a value is; None if the axes cannot show it."""
        view = self.view
        axis = view.x if view.rows else view.y
        if value is None or axis is None or not axis.has_place(value):
            return None
        if not view.rows:
            return (self.across(place), self.up(value)) if view.x.has_place(place) else None
        slot = self.order[curve.name] if self.slots > 1 else 0
        aside = (slot - (self.slots - 1) / 2) * _SLOT
        return self.across(value), self.middle(int(place)) + aside
