"""A row of the history page: one series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from roundtrip.report import units
from roundtrip.report.nights import Line
from roundtrip.report.pages import packed, sparkline

#: So many changes of provenance are named in a row; the view of the series has all of them.
_NAMED = 2


@dataclass(frozen=True)
class Row:
    """A series with its picture, and its last value with the unit."""

    line: Line
    spark: Markup
    newest: str

    @property
    def away(self) -> str:
        """How far its step is from none, in logarithms; 0 without a step."""
        step = self.line.said.step
        return f"{abs(math.log(step.ratio)):.4f}" if step and step.ratio > 0 else "0"

    @property
    def would_see(self) -> str:
        """The least step that 10 more nights would show; "" where that is not known."""
        seen = self.line.said.would_see
        return "" if seen is None else units.percent(seen)

    @property
    def changed(self) -> str:
        """What changed near its step, shortly; "" for a series without one."""
        more = len(self.line.changes) - _NAMED
        if more <= 0:
            return self.line.changed
        named = "; ".join(str(change) for change in self.line.changes[:_NAMED])
        return f"{named}; and {more} more"


def of(line: Line, nights: Sequence[str]) -> Row:
    """The row of a line; `nights` are all nights of the history."""
    points = line.series.points
    values = dict(zip(points["night"], points["median"], strict=True))
    steps = [step.night for step in line.told.steps]
    spark = sparkline.draw([values.get(night) for night in nights], steps, line.told.spikes)
    factor, unit = packed.shown_in(points["median"], str(line.series.names["unit"]))
    return Row(line, spark, f"{units.number(points['median'][-1] * factor)} {unit}")
