"""Where a drawing of a view has what: its axes, rows and values, in pixels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from roundtrip.report import svg, ticks
from roundtrip.report.plot import Curve, View
from roundtrip.report.svg import Place, number

#: The height of curves, in pixels; a row's height, and that of one of several in it.
_HEIGHT = 240
_ROW, _SLOT, _PART = 24, 13, 17
_TOP, _BOTTOM, _RIGHT = 28, 46, 22
#: Room for a name at the end of a curve: where its sign begins, and where its words do.
SIGN, NAME = 10, 21


@dataclass(frozen=True)
class Frame:
    """Where things are in the drawing of a view; all numbers are pixels."""

    name: str
    view: View

    @cached_property
    def x_ticks(self) -> tuple[float, ...]:
        """Values of the horizontal axis that are labelled."""
        return ticks.ticks(self.view.x, self.view.width / 72)

    @cached_property
    def y_ticks(self) -> tuple[float, ...]:
        """Values of the vertical axis that are labelled; none with rows."""
        return ticks.ticks(self.view.y, _HEIGHT / 36) if self.view.y else ()

    @cached_property
    def left(self) -> float:
        """The left edge of the drawing area, right of all labels."""
        axis = self.view.y
        names = [ticks.label(one, axis) for one in self.y_ticks] if axis else self.view.rows
        return max((svg.width(name) for name in names), default=0.0) + 12

    @cached_property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.view.width

    @cached_property
    def top(self) -> float:
        """Its upper edge."""
        return 6 if self.view.rows else _TOP

    @cached_property
    def bottom(self) -> float:
        """Its lower edge."""
        view = self.view
        return self.top + (sum(self._heights) if view.rows else _HEIGHT)

    @cached_property
    def width(self) -> float:
        """Of the whole drawing, with the names of curves."""
        names = () if self.view.rows else self.view.curves
        room = [SIGN + NAME + svg.width(f"{one.name} ↑") for one in names]
        return self.right + max(_RIGHT, *room, 0)

    @cached_property
    def height(self) -> float:
        """Of the whole drawing, with its axis and legend."""
        return self.bottom + _BOTTOM + self.legend[1]

    def box(self, above: float) -> str:
        """The view box, with so much room above."""
        return f"0 {number(-above)} {number(self.width)} {number(self.height + above)}"

    @cached_property
    def _heights(self) -> list[float]:
        """Of each row: a row with several curves is higher, the parts of a bar share one."""
        view = self.view
        there = {point[0] for curve in view.curves for point in curve.points}
        one = _PART if view.is_stacked else max(_ROW, self._slots * _SLOT + 6)
        return [one if row in there else _ROW for row in range(len(view.rows))]

    @cached_property
    def _slots(self) -> int:
        """How many curves stand under each other in a row: 1 where each row has one of its own."""
        curves = self.view.curves
        rows = [point[0] for curve in curves for point in curve.points]
        return len(curves) if len(set(rows)) < len(rows) else 1

    @cached_property
    def _order(self) -> dict[str, int]:
        return {curve.name: at for at, curve in enumerate(self.view.curves)}

    def across(self, value: float) -> float:
        """Where a value of the horizontal axis is, from the left."""
        return self.left + (self.right - self.left) * self.view.x.part(value)

    def up(self, value: float) -> float:
        """Where a value of the axis of values is, from the top."""
        axis = self.view.y or self.view.x
        return self.bottom - (self.bottom - self.top) * axis.part(value)

    def middle(self, row: int) -> float:
        """The middle of a row, from the top."""
        return self.top + sum(self._heights[:row]) + self._heights[row] / 2

    def place(self, curve: Curve, place: float, value: float | None) -> Place | None:
        """Where a value is; None if the axes cannot show it."""
        view = self.view
        axis = view.x if view.rows else view.y
        if value is None or axis is None or not axis.has_place(value):
            return None
        if not view.rows:
            return (self.across(place), self.up(value)) if view.x.has_place(place) else None
        slot = self._order[curve.name] if self._slots > 1 else 0
        aside = (slot - (self._slots - 1) / 2) * _SLOT
        return self.across(value), self.middle(int(place)) + aside

    @cached_property
    def legend(self) -> tuple[list[Place], float]:
        """Where the names of several curves begin under a figure of rows, and their height."""
        if self._slots == 1 or not self.view.rows:
            return [], 0.0
        places, x, y = [], 0.0, self.bottom + _BOTTOM + 8
        for curve in self.view.curves:
            wide = NAME + svg.width(curve.name) + 14
            if x and x + wide > self.width:
                x, y = 0.0, y + 20
            places.append((x, y))
            x += wide
        return places, y + 12 - self.bottom - _BOTTOM
