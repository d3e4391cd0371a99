"""A row of the history page: one series."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from roundtrip.report import units
from roundtrip.report.pages.changes import Change
from roundtrip.report.pages.series import Series
from roundtrip.report.pages.verdict import Said

#: So many changes of provenance are named in a row; the view of the series has all of them.
_NAMED = 2


@dataclass(frozen=True)
class Row:
    """A series with its verdict, the night of its step, and what changed near that night.

    `near` is the night whose recorded facts changed, `newest` the last value with its unit.
    """

    series: Series
    said: Said
    night: str | None
    near: str | None
    changes: tuple[Change, ...]
    spark: Markup
    newest: str

    @property
    def order(self) -> tuple[int, bool, float, str, str]:
        """By verdict, then by evidence, then always the same."""
        return (*self.said.rank, self.series.place, self.series.title)

    @property
    def away(self) -> str:
        """How far its step is from none, in logarithms; 0 without a step."""
        step = self.said.step
        return f"{abs(math.log(step.ratio)):.4f}" if step and step.ratio > 0 else "0"

    @property
    def would_see(self) -> str:
        """The least step that 10 more nights would show; "" where that is not known."""
        return "" if self.said.would_see is None else units.percent(self.said.would_see)

    @property
    def changed(self) -> str:
        """What changed near its step, shortly; "" for a series without one."""
        if self.night is None:
            return ""
        if not self.changes:
            return "nothing that is recorded"
        named = "; ".join(str(change) for change in self.changes[:_NAMED])
        more = len(self.changes) - _NAMED
        return f"{named}; and {more} more" if more > 0 else named
