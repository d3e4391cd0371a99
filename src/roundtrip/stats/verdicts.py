"""What may be said of a ratio: faster, slower, on par, or cannot tell.

"Faster" and "slower" need an interval that excludes 1, *and* a median beyond the minimum effect,
*and* a q-value (Benjamini-Hochberg over all claims of the report) below the level.  "On par" is a
claim of its own, not the lack of another: the whole interval must lie within the equivalence
margin (the confidence-interval form of two one-sided tests: D. J. Schuirmann, J. Pharmacokinetics
and Biopharmaceutics 15, 1987).  Margins are symmetric for a ratio: 1/(1+d) .. 1+d.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from roundtrip.stats.intervals import Interval, median_interval
from roundtrip.stats.levels import Levels
from roundtrip.stats.significance import q_values, signed_rank_p

Key = TypeVar("Key", bound=Hashable)


class Verdict(StrEnum):
    """Of a ratio of rates: above 1 is faster."""

    FASTER = "faster"
    SLOWER = "slower"
    ON_PAR = "on par"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Judged:
    """A claim with what it rests on: interval over launches, p, q."""

    interval: Interval
    p: float
    q: float
    verdict: Verdict


def decide(interval: Interval, q: float, levels: Levels) -> Verdict:
    """The verdict on one ratio."""
    if interval.excludes(1.0) and q < levels.false_discovery_level:
        if interval.median >= 1 + levels.minimum_effect:
            return Verdict.FASTER
        if interval.median <= 1 / (1 + levels.minimum_effect):
            return Verdict.SLOWER
    margin = 1 + levels.equivalence_margin
    return Verdict.ON_PAR if interval.within(1 / margin, margin) else Verdict.CANNOT_TELL


def judge(claims: Mapping[Key, Sequence[float]], levels: Levels) -> dict[Key, Judged]:
    """Judge all claims of a report together.

    Parameters
    ----------
    claims
        For each claim the ratios, one a launch, each formed within its launch.  A claim with too
        few launches for an interval gets none, and takes no part in the correction: its p and q
        are 1.
    """
    intervals = {
        key: median_interval(ratios, levels.confidence_level) for key, ratios in claims.items()
    }
    testable = [key for key, interval in intervals.items() if interval.exists]
    p_values = [signed_rank_p(claims[key]) for key in testable]
    p_of = dict(zip(testable, p_values, strict=True))
    q_of = dict(zip(testable, q_values(p_values), strict=True))
    return {
        key: Judged(
            interval,
            p_of.get(key, 1.0),
            q_of.get(key, 1.0),
            decide(interval, q_of.get(key, 1.0), levels),
        )
        for key, interval in intervals.items()
    }
