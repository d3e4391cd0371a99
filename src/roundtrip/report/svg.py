"""SVG elements and shapes, labels of axes, and the layout of a drawing, in pixels.

Widths of text are estimates, because the font of the reader is unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from markupsafe import Markup, escape
from reportlab.pdfbase import pdfmetrics

from roundtrip import units
from roundtrip.content import plot
from roundtrip.units import Unit

#: The width of a column of a paper in inches, which is that of a file.
COLUMN_WIDTH_IN = 3.5
#: Text sizes in pixels: of axes and names, and of titles.
TEXT_SIZE, TITLE_SIZE = 13, 15
FONT_FAMILY = (
    "Inter, Segoe UI, Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans Condensed, "
    "sans-serif"
)
#: Width of other characters than ASCII in thousandths of the size; and how much wider than
#: Helvetica the fonts above are at most.
_DEFAULT_WIDTH_UNITS, _WIDTH_FACTOR = 620, 1.1
_ILLEGAL_CHARACTER_PATTERN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Corners of points of half-width 1, except circles.
_CORNERS_BY_SHAPE = {
    plot.SQUARE: ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    plot.TRIANGLE: ((0, -1.2), (1.2, 1), (-1.2, 1)),
    plot.DIAMOND: ((0, -1.4), (1.2, 0), (0, 1.4), (-1.2, 0)),
    plot.TRIANGLE_LEFT: ((-1.2, 0), (1, -1.2), (1, 1.2)),
    plot.TRIANGLE_RIGHT: ((1.2, 0), (-1, -1.2), (-1, 1.2)),
}
Position = tuple[float, float]
#: How far a tick may lie beyond the ends of an axis because of rounding; relative.
_TICK_TOLERANCE = 1e-9
_MIN_POWER_STEPS = 2  # with fewer steps of powers of ten, ticks lie between them
#: Heights in pixels: curves; a row, a curve in a shared row, a row of a stacked bar.
_PLOT_AREA_HEIGHT = 240
_ROW_HEIGHT, _BAR_HEIGHT, _STACK_HEIGHT = 24, 13, 17
_TOP_MARGIN, _BOTTOM_MARGIN, _RIGHT_MARGIN = 28, 46, 22
#: Offsets of the name at the end of a curve: of its sign from the edge, of its words from the sign.
SIGN_WIDTH, NAME_HEIGHT = 10, 21


def element(name: str, attributes: Mapping[str, object], *children: str) -> Markup:
    """An element; values and texts are escaped unless they are Markup."""
    attribute_text = "".join(f' {key}="{_escape(value)}"' for key, value in attributes.items())
    content = "".join(map(_escape, children))
    start = f"<{name}{attribute_text}"
    return Markup(f"{start}>{content}</{name}>" if children else f"{start}/>")  # noqa: S704


def _escape(value: object) -> str:
    """The escaped value, without characters that XML forbids; Markup is returned unchanged."""
    if isinstance(value, Markup):
        return value
    return _ILLEGAL_CHARACTER_PATTERN.sub("\N{REPLACEMENT CHARACTER}", str(escape(value)))


def coordinate_text(value: float) -> str:
    """A coordinate: one decimal, or none."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def path_data(positions: Iterable[Position]) -> str:
    """The path data of a line through the positions, each as ``x,y``; "" without positions."""
    corners = "L".join(f"{coordinate_text(x)},{coordinate_text(y)}" for x, y in positions)
    return f"M{corners}" if corners else ""


def text_element(content: str, x: float, y: float, **attributes: object) -> Markup:
    """A text at a position; an attribute `text_anchor` becomes ``text-anchor``."""
    position = {"x": coordinate_text(x), "y": coordinate_text(y)}
    names = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    return element("text", {**position, **names}, content)


def rect_element(
    x: float,
    y: float,
    width: float,
    height: float,
    extra_attributes: Mapping[str, object] | None = None,
) -> Markup:
    """A rectangle with `extra_attributes`."""
    sides = {"x": x, "y": y, "width": width, "height": height}
    texts = {name: coordinate_text(value) for name, value in sides.items()}
    return element("rect", {**(extra_attributes or {}), **texts})


def point_element(shape: str, x: float, y: float, size: float) -> Markup:
    """A point of half-width `size` in the colour of its group, with a paper-coloured edge."""
    paint = {"class": "dot", "stroke": "#ffffff"}
    cx, cy = coordinate_text(x), coordinate_text(y)
    if shape == plot.CIRCLE:
        return element("circle", {**paint, "cx": cx, "cy": cy, "r": coordinate_text(size)})
    corners = path_data((size * dx, size * dy) for dx, dy in _CORNERS_BY_SHAPE[shape])
    transform = f"translate({cx},{cy})"
    return element("path", {**paint, "d": f"{corners}Z", "transform": transform})


def text_width(text: str, size: float = TEXT_SIZE) -> float:
    """The estimated width of a text, rather too large than too small."""
    helvetica = pdfmetrics.getFont("Helvetica").widths
    widths = (helvetica[ord(c)] if " " <= c <= "~" else _DEFAULT_WIDTH_UNITS for c in text)
    return _WIDTH_FACTOR * size * sum(widths) / 1000


def wrap_text(text: str, max_width: float, size: float = TEXT_SIZE) -> list[str]:
    """The text wrapped to lines of `max_width`; a longer word has a line of its own."""
    text_lines: list[str] = []
    for word in text.split():
        candidate = f"{text_lines[-1]} {word}" if text_lines else word
        if text_lines and text_width(candidate, size) <= max_width:
            text_lines[-1] = candidate
        else:
            text_lines.append(word)
    return text_lines


def space_out(
    ideal_positions: Mapping[int, float], gap: float, low: float, high: float
) -> dict[int, float]:
    """Positions near the ideal ones, at least `gap` apart, within [low, high] if they fit."""
    places: list[tuple[int, float]] = []
    for key, position in sorted(ideal_positions.items(), key=lambda item: (item[1], item[0])):
        floor = places[-1][1] + gap if places else low
        places.append((key, max(position, floor)))
    ceiling, positions = high, {}
    for key, position in reversed(places):
        positions[key] = min(position, ceiling)
        ceiling = positions[key] - gap
    return positions


def axis_ticks(axis: plot.Axis, count: float) -> tuple[float, ...]:
    """About `count` round values from `low` to `high`; the axis' own ticks if it has some."""
    slack = _TICK_TOLERANCE * max(abs(axis.low), abs(axis.high))
    low, high = axis.low - slack, axis.high + slack
    given_ticks = tuple(tick for tick in axis.ticks if low <= tick <= high)
    if len(given_ticks) > 1:
        return given_ticks
    is_binary = axis.unit == Unit.BYTES and math.log2(axis.low or 1.0).is_integer()
    powers = _power_ticks(axis, count, 2 if is_binary else 10) if axis.is_log else ()
    return powers if len(powers) > 1 else _even_ticks(axis, count, is_binary)


def tick_label(value: float, axis: plot.Axis) -> str:
    """The label of a tick: that of the axis if it has one, else the value in its shortest form."""
    if axis.tick_labels and value in axis.ticks:
        return axis.tick_labels[axis.ticks.index(value)]
    if axis.unit == Unit.BYTES and value >= 1 and float(value).is_integer():
        return units.size_text(int(value))
    text = f"{value:,.12g}"
    if "e" in text:
        return units.number_text(value)
    return text.replace("-", "\N{MINUS SIGN}").replace(",", "\N{NARROW NO-BREAK SPACE}")


def _power_ticks(axis: plot.Axis, count: float, base: int) -> tuple[float, ...]:
    first = math.ceil(math.log(axis.low, base) - _TICK_TOLERANCE)
    last = math.floor(math.log(axis.high, base) + _TICK_TOLERANCE)
    is_short = base != 2 and last - first < _MIN_POWER_STEPS
    step = next((n for n in (1, 2, 3, 5, 10, 20) if (last - first) / n < count), 50)
    exponents = range(first - 1, last + 1) if is_short else range(first, last + 1, step)
    multiples = (1, 2, 5) if is_short else (1,)
    powers = (float(base) ** exponent for exponent in exponents)
    values = (_round_off(multiple * power) for power in powers for multiple in multiples)
    low, high = axis.low * (1 - _TICK_TOLERANCE), axis.high * (1 + _TICK_TOLERANCE)
    return tuple(value for value in values if low <= value <= high)


def _even_ticks(axis: plot.Axis, count: float, is_binary: bool) -> tuple[float, ...]:
    min_step = (axis.high - axis.low) / count or 1.0
    power = 10.0 ** math.floor(math.log10(min_step))
    steps = (multiple * power for multiple in (1, 2, 5, 10))
    step = next(step for step in steps if step >= min_step * (1 - _TICK_TOLERANCE))
    if is_binary and min_step > 1:
        step = 2.0 ** math.ceil(math.log2(min_step))
    first = math.ceil(axis.low / step - _TICK_TOLERANCE)
    last = math.floor(axis.high / step + _TICK_TOLERANCE)
    if first > last and axis.high > axis.low:
        return _even_ticks(axis, 2 * count, is_binary)
    return tuple(_round_off(index * step) for index in range(first, last + 1))


def _round_off(value: float) -> float:
    """The value without rounding errors in its last bits."""
    return float(f"{value:.12g}")


class Frame:
    """The layout of the drawing of a view; all numbers are pixels.

    `left`, `right`, `top` and `bottom` are the edges of the drawing area; `width` and `height` are
    those of the whole drawing, with names, axis and legend.  `y_ticks`: labelled values of the
    vertical axis; none with rows.
    """

    y_ticks: tuple[float, ...] = ()
    top: float
    left: float
    right: float
    bottom: float
    width: float
    height: float

    def __init__(self, name: str, view: plot.View) -> None:
        self.name, self.view = name, view
        self.order = {curve.name: index for index, curve in enumerate(view.curves)}
        rows = [point[0] for curve in view.curves for point in curve.points]
        distinct_rows = set(rows)
        #: Number of curves below each other in a row; 1 if each row has one curve.
        self.slots = len(view.curves) if len(distinct_rows) < len(rows) else 1
        # A row with several curves is higher; the parts of a stacked bar share one row.
        row_height = max(_ROW_HEIGHT, self.slots * _BAR_HEIGHT + 6)
        if view.is_stacked:
            row_height = _STACK_HEIGHT
        heights = dict.fromkeys(distinct_rows, row_height)
        rows_from_top = range(len(view.row_names))
        self.heights: list[float] = [heights.get(row, _ROW_HEIGHT) for row in rows_from_top]
        #: Start of the name of each curve in the legend below a figure of rows.
        self.legend: list[Position] = []
        self.lay_out()

    def lay_out(self) -> None:
        """Set all edges, the outer size, the ticks and the legend."""
        view, axis = self.view, self.view.y_axis
        self.y_ticks = axis_ticks(axis, _PLOT_AREA_HEIGHT / 36) if axis else ()
        labels = [tick_label(tick, axis) for tick in self.y_ticks] if axis else view.row_names
        self.left = max(map(text_width, labels), default=0.0) + 12
        self.right = self.left + view.width
        self.top = 6 if view.row_names else _TOP_MARGIN
        self.bottom = self.top + (sum(self.heights) if view.row_names else _PLOT_AREA_HEIGHT)
        curves = () if view.row_names else view.curves
        label_widths = [
            SIGN_WIDTH + NAME_HEIGHT + text_width(f"{curve.name} ↑") for curve in curves
        ]
        self.width = self.right + max(_RIGHT_MARGIN, *label_widths, 0)
        self.height = self.bottom + _BOTTOM_MARGIN
        if view.row_names and self.slots > 1:
            x, y = 0.0, self.height + 8
            for curve in view.curves:
                name_width = NAME_HEIGHT + text_width(curve.name) + 14
                if x and x + name_width > self.width:
                    x, y = 0.0, y + 20
                self.legend.append((x, y))
                x += name_width
            self.height = y + 12

    @property
    def view_box(self) -> str:
        return f"0 0 {coordinate_text(self.width)} {coordinate_text(self.height)}"

    def x_of(self, value: float) -> float:
        """The position of a value of the horizontal axis, from the left."""
        return self.left + (self.right - self.left) * self.view.x_axis.relative_position(value)

    def y_of(self, value: float) -> float:
        """The position of a value of the axis of values, from the top."""
        axis = self.view.y_axis or self.view.x_axis
        return self.bottom - (self.bottom - self.top) * axis.relative_position(value)

    def row_middle(self, row: int) -> float:
        """The middle of a row, from the top."""
        return self.top + sum(self.heights[:row]) + self.heights[row] / 2

    def locate(self, curve: plot.Curve, position: float, value: float | None) -> Position | None:
        """The position of a value at a row or x; None if the axes cannot show it."""
        view = self.view
        axis = view.x_axis if view.row_names else view.y_axis
        if value is None or axis is None or not axis.can_show(value):
            return None
        if not view.row_names:
            can_show = view.x_axis.can_show(position)
            return (self.x_of(position), self.y_of(value)) if can_show else None
        slot = self.order[curve.name] if self.slots > 1 else 0
        offset = (slot - (self.slots - 1) / 2) * _BAR_HEIGHT
        return self.x_of(value), self.row_middle(int(position)) + offset
