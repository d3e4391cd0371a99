"""What the nights of one series tell.  All ratios are of raw values: over the level before.

Nights are counted from 0, in the order of the series; those that were left out count too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What is said of a series; which direction is better, its metric says."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    UNCHANGED = "unchanged"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Step:
    """A change of level that began at `night`: `ratio` is the level since over the level before.

    `low` and `high` are its interval.  `evidence` is the statistic, above `threshold` in absolute
    value; `nights` is the number of nights since that were used.
    """

    night: int
    ratio: float
    low: float
    high: float
    evidence: float
    threshold: float
    nights: int


@dataclass(frozen=True)
class Drift:
    """A slow change: the level of a year later over that of today, with its interval."""

    a_year: float
    low: float
    high: float


@dataclass(frozen=True)
class Newest:
    """The newest night beside what the nights before predict: ratios over their level.

    `low` and `high` bound what one night without a change is expected to show.  `is_outside` is
    corrected for the number of series that were judged together.
    """

    ratio: float
    low: float
    high: float
    is_outside: bool


@dataclass(frozen=True)
class Told:
    """Of one series: every step, oldest first; a drift; nights that stand alone (spikes).

    `recent` is the step that the newest nights still belong to, if detection began lately enough
    to be news.  `would_see` is the least relative step that 10 new nights would show with a
    probability of 90 %; None with too few nights.  `why` says what is missing where nothing can be
    told.
    """

    used: int
    steps: tuple[Step, ...] = ()
    recent: Step | None = None
    drift: Drift | None = None
    spikes: tuple[int, ...] = ()
    newest: Newest | None = None
    would_see: float | None = None
    why: str = ""

    def outcome(self, *, lower_is_better: bool) -> Outcome:
        """The verdict on the series; a series that drifts has no verdict on steps."""
        if self.recent is not None:
            is_better = (self.recent.ratio < 1) == lower_is_better
            return Outcome.IMPROVED if is_better else Outcome.REGRESSED
        return Outcome.CANNOT_TELL if self.why or self.drift is not None else Outcome.UNCHANGED
