"""Whether launches that were made again confirm that a series is worse than its nights before.

The rule.  The edge of a series is the worse end of what its nights before predict of one night
(`newest`).  The series is launched again n times in the same night, in rounds of random order
together with a control: a series that had not changed.  "Series is within what was predicted"
means that its launches have their median tonight inside the edge, so that each launch lies beyond
it with a probability of at most 1/2, whatever the distribution.  Then k of n launches beyond the
edge have the probability P(Binomial(n, 1/2) >= k) at most: the sign test (J. Arbuthnot 1710;
W. J. Conover, Practical Nonparametric Statistics, 1999, section 3.4).  Nine of nine have 1 in 512.
These p are corrected over all series that were worse last night (Y. Benjamini and Y. Hochberg,
1995), and told at the site's false discovery level.  n is planned before the first launch, and only
the time, never a value, makes it smaller.  The launches that showed the night worse take no part.

What lasts for this night alone, and slows everything, would confirm every series.  So the control
comes first: if more than half of its launches lie beyond its own edge, the machine is slower, and
nothing is said of the series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count

import scipy

from roundtrip.stats.verdicts import q_values


class Confirmation(StrEnum):
    """What launches that were made again say of a series that was worse last night."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    MACHINE = "the machine as a whole is slower"
    TOO_FEW = "too few launches to tell"
    NOT_LAUNCHED = "not launched again"


@dataclass(frozen=True)
class Beyond:
    """So many of a series' `launches` lie beyond its edge."""

    beyond: int
    launches: int

    def __post_init__(self) -> None:
        if not 0 <= self.beyond <= self.launches:
            raise ValueError(f"{self.beyond} of {self.launches} launches")

    @property
    def p(self) -> float:
        """The sign test's one-sided p-value of "the series is inside its edge"."""
        return float(scipy.stats.binom.sf(self.beyond - 1, self.launches, 0.5))

    @property
    def is_most(self) -> bool:
        """Whether more than half of them do."""
        return 2 * self.beyond > self.launches

    def __str__(self) -> str:
        return f"{self.beyond} of {self.launches}"


def fewest(series: int, level: float) -> int:
    """The fewest launches with which one worse series of so many can be confirmed."""
    return next(n for n in count(1) if max(1, series) * 0.5**n <= level)


def decide(
    worse: Sequence[Beyond], controls: Sequence[Beyond | None], level: float
) -> list[Confirmation]:
    """By the rule above, of each series that was worse last night.

    `controls` has the control of each; None without one.  `level`: false discoveries, of 1.
    """
    q_of = q_values([one.p for one in worse])
    least = fewest(len(worse), level)
    return [
        _of(one, control, q <= level, least)
        for one, control, q in zip(worse, controls, q_of, strict=True)
    ]


def _of(one: Beyond, control: Beyond | None, is_told: bool, least: int) -> Confirmation:
    if not one.launches:
        return Confirmation.NOT_LAUNCHED
    if control and control.is_most:
        return Confirmation.MACHINE
    if is_told:
        return Confirmation.CONFIRMED
    return Confirmation.TOO_FEW if one.launches < least else Confirmation.NOT_CONFIRMED
