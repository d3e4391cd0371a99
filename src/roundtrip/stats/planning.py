"""How many launches a family of claims needs before it can speak.

The strongest evidence that n launches can give is that their ratios all lie on one side of 1: the
exact two-sided signed-rank p is then 2 / 2^n, and no difference, however large, makes it smaller.
Benjamini-Hochberg multiplies the p of the only true claim among m by m.  So what is promised is
the worst case: *a single true claim among m must be able to reach the level*, m 2^(1-n) < level.
With fewer launches claims reach it only together, k of m at the floor if 2^(1-n) m / k < level.
Besides, n launches must give an interval at all (see `intervals`).

The number to recommend is at least the first whose interval leaves the least and the largest value
out: with as few as 8 launches the interval at 95 % is min..max, so that one launch spoils it; with
9 it is that of ranks 2..8.
"""

from __future__ import annotations

from enum import Enum
from itertools import count

from roundtrip.stats.intervals import lower_rank
from roundtrip.stats.levels import Levels


class Reach(Enum):
    """Who of a family can reach the level: each claim alone, several at once only, or none."""

    ALONE = "alone"
    TOGETHER = "together"
    MUTE = "mute"


def least_p(launches: int) -> float:
    """The smallest two-sided p that so many ratios can give, by signed ranks as by signs."""
    return float(2.0 ** (1 - launches)) if launches > 0 else 1.0


def reach(launches: int, claims: int, levels: Levels) -> Reach:
    """What `launches` allow a family of `claims` to say."""
    floor = least_p(launches)
    if not lower_rank(launches, levels.confidence_level) or floor >= levels.false_discovery_level:
        return Reach.MUTE
    return Reach.ALONE if claims * floor < levels.false_discovery_level else Reach.TOGETHER


def fewest_launches(claims: int, levels: Levels) -> int:
    """The fewest with which any one of `claims` can reach the level, whatever the others do."""
    return next(n for n in count(1) if reach(n, max(1, claims), levels) is Reach.ALONE)


def recommended_launches(claims: int, levels: Levels) -> int:
    """No fewer than that, and enough for an interval that one odd launch cannot spoil."""
    inner = next(n for n in count(1) if lower_rank(n, levels.confidence_level) > 1)
    return max(inner, fewest_launches(claims, levels))


def needed_together(launches: int, claims: int, levels: Levels) -> int | None:
    """How many of `claims` must be at the floor at once to be said; None if none ever can."""
    if reach(launches, claims, levels) is Reach.MUTE:
        return None
    floor = least_p(launches)
    return next(k for k in count(1) if floor * claims / k < levels.false_discovery_level)
