"""Draws a view in its frame: axes, rows, curves and names.

The page's script moves the shapes when a reader zooms, so every shape is a path through points
``x,y``, a circle or a transformed point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import ClassVar

from markupsafe import Markup

from roundtrip import units
from roundtrip.content.plot import (
    CHANGE,
    CIRCLE,
    NOTE,
    STEP,
    TRIANGLE_LEFT,
    TRIANGLE_RIGHT,
    Curve,
    Plot,
    View,
)
from roundtrip.report import svg
from roundtrip.report.svg import NAME_HEIGHT, SIGN_WIDTH, Frame, Position, coordinate_text, element

#: Colours of a light page, for programs without CSS variables; `figure.css` has the others.
INK, MUTED, GRID, STRIP, PAPER = "#1c2430", "#5b6675", "#dfe3e9", "#e7f4ec", "#ffffff"
#: Colour (of a light page) and line style of each kind of event.
STYLE_BY_EVENT_KIND: dict[str, tuple[str, dict[str, object]]] = {
    CHANGE: ("#0b4f94", {"stroke-width": 2}),
    NOTE: ("#1d6b43", {"stroke-width": 1.5, "stroke-dasharray": "1 3"}),
    STEP: ("#0b4f94", {"stroke-dasharray": "4 3"}),
}
_CHANGE_TICK, _FAR_Y = 7.0, 2000.0  # length of the mark of a change; a y below every frame
_MIN_PATH_POINTS = 40  # from this number on, points are drawn as one path
_MAX_MARKED_POINTS = 12  # at most this many points of a line are marked
_MIN_UNJOINED_POINT_RADIUS = 2.5  # least half-width of a point without a line
#: Rules extend beyond the frame, by widths of it, for readers who zoom out.
_REFERENCE_LINE_OVERHANG = 9.0
_DASH_PATTERN = "6 4"
_TEXT_LINE_HEIGHT = 16  # distance between two lines of words
_THUMBNAIL_MARGIN = 4.0  # margin of a small drawing
_MIN_ROW_POINT_RADIUS = 4.0  # least half-width of a point in a row


def colour_group(
    colour: tuple[str, str], *children: Markup, extra_attributes: Mapping[str, object] | None = None
) -> Markup:
    """A group in `colour` (of a light and of a dark page), with `extra_attributes`."""
    light, dark = colour
    attributes = {"class": "curve", **(extra_attributes or {}), "fill": light, "stroke": light}
    return element("g", {**attributes, "style": f"--light:{light};--dark:{dark}"}, *children)


class Drawing(Frame):
    """The SVG elements of a view, from back to front."""

    #: Extra width of a page-coloured line behind each line, which keeps crossing lines visible.
    casing_width: ClassVar[float] = 1.2

    def elements(self) -> Iterator[Markup]:
        """All elements, from back to front."""
        yield element("g", {"class": "frame"}, *self._axes())
        if self.view.row_names:
            yield element("g", {"class": "rows"}, *self._row_names())
        area = svg.rect_element(self.left, self.top, self.right - self.left, self.bottom - self.top)
        clip = f"clip-{self.name}"
        yield element("clipPath", {"id": clip}, area)
        yield element("g", {"class": "marks", "clip-path": f"url(#{clip})"}, *self.marks())
        names = self._legend() if self.view.row_names else self._names_at_curve_ends()
        yield element("g", {"class": "names"}, *names)

    def _axes(self) -> Iterator[Markup]:
        view = self.view

        def line(x1: float, y1: float, x2: float, y2: float, kind: str, stroke: str) -> Markup:
            ends = svg.path_data(((x1, y1), (x2, y2)))
            return element("path", {"class": kind, "stroke": stroke, "d": ends})

        for value in svg.axis_ticks(view.x_axis, view.width / 72):
            x = self.x_of(value)
            yield line(x, self.top, x, self.bottom, "grid", GRID)
            words = svg.tick_label(value, view.x_axis)
            label_x = max(x, svg.text_width(words) / 2) if view.y_axis else x
            yield svg.text_element(words, label_x, self.bottom + 19, text_anchor="middle")
        middle = (self.left + self.right) / 2
        ink = {"class_": "ink", "fill": INK}
        title, y = view.x_axis.title, self.bottom + 39
        yield svg.text_element(title, middle, y, text_anchor="middle", **ink)
        if view.y_axis:
            for value in self.y_ticks:
                y = self.y_of(value)
                yield line(self.left, y, self.right, y, "grid", GRID)
                label = svg.tick_label(value, view.y_axis)
                yield svg.text_element(label, self.left - 8, y + 4.5, text_anchor="end")
            yield svg.text_element(view.y_axis.title, 0, 13, **ink)
        yield line(self.left, self.top, self.left, self.bottom, "axis", MUTED)
        yield line(self.left, self.bottom, self.right, self.bottom, "axis", MUTED)

    def _row_names(self) -> Iterator[Markup]:
        head = {"font_weight": 600, "class_": "ink", "fill": INK}
        for row, name in enumerate(self.view.row_names):
            bold = head if row in self.view.header_rows else {}
            y = self.row_middle(row) + 4.5
            yield svg.text_element(name, self.left - 8, y, text_anchor="end", **bold)
        for row in sorted(self.view.bracketed_rows):
            x, ends = self.left - 5, (self.row_middle(row - 1) - 6, self.row_middle(row) + 6)
            paint = {"class": "axis", "stroke": MUTED, "stroke-width": 2}
            yield element("path", {**paint, "d": svg.path_data((x, y) for y in ends)})

    def marks(self) -> Iterator[Markup]:
        """What a zoom moves, from back to front: range, lines, events, intervals, curves."""
        view = self.view
        axis = view.x_axis if view.row_names else view.y_axis
        if view.shaded_range and axis:
            one, other = map(self._reference_line_ends, view.shaded_range)
            corners = svg.path_data((*one, *reversed(other)))
            yield element("path", {"class": "strip", "fill": STRIP, "d": f"{corners}Z"})
        for rule in view.reference_lines:
            if axis and axis.can_show(rule.value):
                ends = svg.path_data(self._reference_line_ends(rule.value))
                yield element("path", {"class": "rule", "stroke": MUTED, "d": ends})
        if view.is_stacked:
            yield from self._stacked_bars()
            return
        if view.events:
            yield element("g", {"class": "events"}, *self._events())
        for kind in (self._interval_marks, self._line_and_points):
            for index, curve in enumerate(view.curves):
                if shapes := list(kind(curve)):
                    yield self._curve_group(index, curve, *shapes)
        if view.row_names:
            for index, curve in enumerate(view.curves):
                if shapes := list(self._out_of_axis_values(curve)):
                    yield self._curve_group(index, curve, *shapes)

    def _events(self) -> Iterator[Markup]:
        """Vertical lines with texts at their tops; the page's script moves them only sideways."""
        right, line = 0.0, 0
        for kind in (CHANGE, NOTE, STEP):
            low = self.top + _CHANGE_TICK if kind == CHANGE else _FAR_Y
            events = [event for event in self.view.events if event.event_kind == kind]
            if places := [self.x_of(event.position) for event in events]:
                ends = "".join(svg.path_data(((x, self.top), (x, low))) for x in places)
                colour, dash = STYLE_BY_EVENT_KIND[kind]
                paint = {"class": kind, "stroke": colour, "fill": "none", "d": ends}
                yield element("path", paint | dash)
        for event in sorted(self.view.events, key=lambda event: event.position):
            if not event.text:
                continue
            x, text_width = self.x_of(event.position) + 4, svg.text_width(event.text)
            is_left = x + text_width > self.right
            line = 1 - line if (x - text_width - 8 if is_left else x) < right else 0
            x, right = (x - 8, x) if is_left else (x, x + text_width + 8)
            anchor = {"text_anchor": "end"} if is_left else {}
            y = self.top + 12 + _TEXT_LINE_HEIGHT * line
            yield svg.text_element(event.text, x, y, class_="ink", fill=INK, **anchor)

    def _reference_line_ends(self, value: float) -> tuple[Position, Position]:
        if self.view.row_names:
            x = self.x_of(value)
            return (x, self.top), (x, self.bottom)
        y, overhang = self.y_of(value), _REFERENCE_LINE_OVERHANG * (self.right - self.left)
        return (self.left - overhang, y), (self.right + overhang, y)

    def _curve_group(self, index: int, curve: Curve, *shapes: Markup) -> Markup:
        return colour_group(curve.colour, *shapes, extra_attributes={"data-curve": index})

    def _interval_marks(self, curve: Curve) -> Iterator[Markup]:
        runs: list[list[tuple[Position, Position]]] = [[]]
        for place, _, low, high, _ in curve.points:
            ends = self.locate(curve, place, low), self.locate(curve, place, high)
            if ends[0] and ends[1]:
                runs[-1].append((ends[0], ends[1]))
            elif runs[-1]:
                runs.append([])
        if self.view.row_names or self.view.has_interval_bars:
            bars = "".join(svg.path_data(ends) for run in runs for ends in run)
            if bars:
                yield element("path", {"class": "bars", "stroke-width": 2, "d": bars})
            return
        areas = [[*(high for _, high in run), *(low for low, _ in reversed(run))] for run in runs]
        outlines = "".join(f"{svg.path_data(area)}Z" for area in areas if area)
        if outlines:
            fill = {"class": "band", "stroke": "none", "fill-opacity": ".22"}
            yield element("path", {**fill, "d": outlines})

    def _line_and_points(self, curve: Curve) -> Iterator[Markup]:
        spots = [self.locate(curve, place, value) for place, value, *_ in curve.points]
        runs = [list(filter(None, run)) for is_shown, run in groupby(spots, bool) if is_shown]
        places = [spot for run in runs for spot in run]
        is_line = bool(curve.line_width) and not self.view.row_names and len(places) > 1
        if is_line:
            is_dashed = curve.is_dashed or curve.bound_name
            dash = {"stroke-dasharray": _DASH_PATTERN} if is_dashed else {}
            attributes = {"fill": "none", **dash, "d": "".join(map(svg.path_data, runs))}
            if self.casing_width:
                width = curve.line_width + self.casing_width
                edge = {"class": "casing", "stroke": PAPER, "stroke-width": width}
                yield element("path", {**edge, **attributes})
            yield element("path", {"class": "line", "stroke-width": curve.line_width, **attributes})
        if curve.level_segments and self.view.y_axis:
            ends = [
                ((self.x_of(first), self.y_of(value)), (self.x_of(last), self.y_of(value)))
                for first, last, value in curve.level_segments
            ]
            shape = {"class": "level", "fill": "none", "d": "".join(map(svg.path_data, ends))}
            yield element("path", {**shape, "stroke-width": 1.5, "stroke-opacity": ".7"})
        yield from self._point_shapes(curve, places, is_line)

    def _point_shapes(
        self, curve: Curve, positions: list[Position], is_line: bool
    ) -> Iterator[Markup]:
        """The points of a curve; many points without a line form one path of dots or squares.

        Of a line only some are marked, others for each curve: overlapping curves stay visible.
        """
        if not (size := self._point_radius(curve, is_line)):
            return
        if is_line:
            step = -(-len(positions) // _MAX_MARKED_POINTS)
            positions = positions[self.order[curve.name] * step // len(self.order) :: step]
        if len(positions) < _MIN_PATH_POINTS:
            yield from (svg.point_element(curve.point_shape, x, y, size) for x, y in positions)
            return
        cap = "round" if curve.point_shape == CIRCLE else "square"
        dots = "".join(f"M{coordinate_text(x)},{coordinate_text(y)}h0" for x, y in positions)
        paint = {"class": "dots", "fill": "none", "stroke-linecap": cap}
        yield element("path", {**paint, "stroke-width": coordinate_text(2 * size), "d": dots})

    def _point_radius(self, curve: Curve, is_line: bool) -> float:
        if self.view.row_names:
            return max(curve.point_radius, _MIN_ROW_POINT_RADIUS)
        return max(curve.point_radius, 0.0 if is_line else _MIN_UNJOINED_POINT_RADIUS)

    def _out_of_axis_values(self, curve: Curve) -> Iterator[Markup]:
        """A triangle and a number at the end of the axis for each value beyond it."""
        for row, value, *_ in curve.points:
            spot = self.locate(curve, row, value)
            if not spot or 0 <= self.view.x_axis.relative_position(value) <= 1:
                continue
            is_low = self.view.x_axis.relative_position(value) < 0
            x, side = (self.left, 1) if is_low else (self.right, -1)
            shape = TRIANGLE_LEFT if is_low else TRIANGLE_RIGHT
            yield svg.point_element(shape, x + 6 * side, spot[1], _MIN_ROW_POINT_RADIUS)
            words = str(units.pure_number(value))
            place = x + 14 * side, spot[1] + 4.5
            anchor = "start" if is_low else "end"
            yield svg.text_element(words, *place, text_anchor=anchor, stroke="none")

    def _stacked_bars(self) -> Iterator[Markup]:
        """Stacked bars, from the axis on, and in front of them the interval of each whole bar."""
        bar_ends: dict[float, float] = {}
        for index, curve in enumerate(self.view.curves):
            areas = ""
            for row, value, *_ in curve.points:
                start = bar_ends.get(row, 0.0)
                bar_ends[row] = start + value
                x1, x2 = self.x_of(start), self.x_of(bar_ends[row])
                y = self.row_middle(int(row))
                areas += f"{svg.path_data(((x1, y - 6), (x2, y - 6), (x2, y + 6), (x1, y + 6)))}Z"
            yield self._curve_group(index, curve, element("path", {"stroke": "none", "d": areas}))
        for curve in self.view.curves:
            bars = ""
            for row, _, low, high, _ in curve.points:
                if low is not None and high is not None:
                    y = self.row_middle(int(row))
                    bars += svg.path_data(((self.x_of(low), y), (self.x_of(high), y)))
            if bars:
                stroke = {"class": "whole", "stroke": INK, "stroke-width": 1.5}
                yield element("path", {**stroke, "d": bars})

    def _legend_symbol(self, index: int, curve: Curve) -> Markup:
        """The symbol before the name of a curve: a piece of its line, with a point on it."""
        shapes = []
        if curve.line_width and not self.view.row_names:
            dash = {"stroke-dasharray": "5 3"} if curve.is_dashed or curve.bound_name else {}
            width = min(max(curve.line_width, 1.6), 4.5)
            attributes = {"fill": "none", "stroke-width": width, **dash}
            shapes.append(element("path", {**attributes, "d": "M0,0L16,0"}))
        if self.view.is_stacked:
            shapes.append(element("path", {"stroke": "none", "d": "M2,-5L14,-5L14,5L2,5Z"}))
        elif curve.point_radius:
            size = self._point_radius(curve, bool(curve.line_width))
            shapes.append(svg.point_element(curve.point_shape, 8, 0, size))
        return self._curve_group(index, curve, *shapes)

    def _names_at_curve_ends(self) -> Iterator[Markup]:
        """Names right of the last points, spaced out; an arrow where a curve leaves the axis."""
        ends: dict[int, tuple[Curve, float, float, str]] = {}
        for index, curve in enumerate(self.view.curves):
            spots = [self.locate(curve, place, value) for place, value, *_ in curve.points]
            if spot := next(filter(None, reversed(spots)), None):
                x, y = spot
                arrow = " ↑" if y < self.top - 0.5 else " ↓" if y > self.bottom + 0.5 else ""
                y = min(max(y, self.top), self.bottom)
                ends[index] = (curve, x - self.right, y, arrow)
        heights = {index: end[2] for index, end in ends.items()}
        label_ys = svg.space_out(heights, _TEXT_LINE_HEIGHT, self.top + 2, self.bottom - 2)
        for index, (curve, x, y, arrow) in ends.items():
            label_y = label_ys[index]
            line = svg.path_data(((x + 3 - SIGN_WIDTH, y - label_y), (-2.0, 0.0)))
            tie = {"class": "tie", "stroke": MUTED, "stroke-dasharray": "1 3", "d": line}
            place = self.right + SIGN_WIDTH, label_y
            yield self._curve_label(index, curve, arrow, *place, element("path", tie))

    def _curve_label(
        self, index: int, curve: Curve, arrow: str, x: float, y: float, *before: Markup
    ) -> Markup:
        place = f"translate({coordinate_text(x)},{coordinate_text(y)})"
        attributes = {"data-curve": index, "transform": place}
        words = svg.text_element(f"{curve.name}{arrow}", NAME_HEIGHT, 4.5, class_="ink", fill=INK)
        return element("g", attributes, *before, self._legend_symbol(index, curve), words)

    def _legend(self) -> Iterator[Markup]:
        for index, (x, y) in enumerate(self.legend):
            yield self._curve_label(index, self.view.curves[index], "", x, y)


def plot_drawings(name: str, plot: Plot) -> list[Markup]:
    """The SVG of each view, for a page on which the figure's `name` is unique."""
    drawings = []
    for index, view in enumerate(plot.views):
        frame = Drawing(f"{name}-{index}", view)
        edges = (frame.left, frame.top, frame.right, frame.bottom)
        attributes = {
            "class": "figure",
            "role": "img",
            "viewBox": frame.view_box,
            "style": f"max-width:{round(frame.width)}px",
            "data-frame": " ".join(map(coordinate_text, edges)),
            "aria-label": plot.describe_view(view),
        }
        drawings.append(element("svg", attributes, *frame.elements()))
    return drawings


class ThumbnailDrawing(Drawing):
    """The marks of a view without axes and names, all inside `size` (width, height) in pixels."""

    casing_width: ClassVar[float] = 0.0

    def __init__(self, view: View, size: tuple[float, float]) -> None:
        self.width, self.height = size
        super().__init__("", view)

    def thumbnail(self) -> Markup:
        """The SVG of only the marks, for a page that has the values beside it."""
        attributes = {"class": "figure small", "viewBox": self.view_box, "aria-hidden": "true"}
        return element("svg", attributes, *self.marks())

    def lay_out(self) -> None:
        """Set the edges: a margin on all sides, and no space for text."""
        self.left = self.top = _THUMBNAIL_MARGIN
        self.right, self.bottom = self.width - _THUMBNAIL_MARGIN, self.height - _THUMBNAIL_MARGIN

    def x_of(self, value: float) -> float:
        """The x of a value, limited to the drawing area."""
        return min(max(super().x_of(value), self.left), self.right)

    def y_of(self, value: float) -> float:
        """The y of a value, limited to the drawing area."""
        return min(max(super().y_of(value), self.top), self.bottom)
