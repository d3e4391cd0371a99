"""How many launches a family of claims needs before a claim of it can be told.

The strongest evidence that n launches can give is that their ratios all lie on one side of 1: the
exact two-sided signed-rank p is then 2 / 2^n, and no difference, however large, makes it smaller.
Benjamini-Hochberg multiplies the p of the only true claim among m by m.  So what is promised is
the worst case: *a single true claim among m must be able to reach the level*, m 2^(1-n) < level.
With fewer launches, claims reach the level only together: k of m must have the smallest p, such
that 2^(1-n) m / k < level.  Besides, n launches must give an interval at all (see `intervals`).

The recommended number is at least the first one whose interval leaves out the smallest and the
largest value.  With 8 launches the interval at 95 % is min..max, so that one launch can spoil it;
with 9 it reaches from rank 2 to rank 8.
"""

from __future__ import annotations

from enum import Enum
from itertools import count

from roundtrip.stats.levels import Levels
from roundtrip.stats.summaries import lower_rank


class Reach(Enum):
    """Which claims of a family can reach the level: each alone, only several at once, or none."""

    ALONE = "alone"
    TOGETHER = "together"
    MUTE = "mute"


def least_p(launches: int) -> float:
    """The smallest two-sided p that `launches` ratios can give, by signed ranks or by signs."""
    return float(2.0 ** (1 - launches)) if launches > 0 else 1.0


def reach(launches: int, claims: int, levels: Levels) -> Reach:
    """Which of a family of `claims` can reach the level with `launches`."""
    floor = least_p(launches)
    if not lower_rank(launches, levels.confidence_level) or floor >= levels.false_discovery_level:
        return Reach.MUTE
    return Reach.ALONE if claims * floor < levels.false_discovery_level else Reach.TOGETHER


def fewest_launches(claims: int, levels: Levels) -> int:
    """The fewest launches with which a single claim among `claims` can reach the level."""
    return next(n for n in count(1) if reach(n, max(1, claims), levels) is Reach.ALONE)


def recommended_launches(claims: int, levels: Levels) -> int:
    """At least `fewest_launches`, and enough for an interval that one launch cannot spoil."""
    inner = next(n for n in count(1) if lower_rank(n, levels.confidence_level) > 1)
    return max(inner, fewest_launches(claims, levels))


def needed_together(launches: int, claims: int, levels: Levels) -> int | None:
    """How many of `claims` must have the smallest p at once to be told; None if none can be."""
    if reach(launches, claims, levels) is Reach.MUTE:
        return None
    floor = least_p(launches)
    return next(k for k in count(1) if floor * claims / k < levels.false_discovery_level)
