"""Find nodes whose clocks disagree with those of other nodes, from pairwise comparisons."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class ClockComparison:
    """Two nodes of a launch: `excess` is the clock of `other` minus the clock of `reference`.

    The error of `excess` is at most `error`; both have the unit of the `limit` of `odd_clocks`.
    """

    reference: str
    other: str
    excess: float
    error: float


@dataclass(frozen=True)
class OddClock:
    """A clock that exceeds the clocks of `partners` nodes by `excess`, the median difference.

    If `other` is set, only the pair is known to differ: either clock may be wrong.
    """

    node: str
    excess: float
    partners: int
    other: str = ""


def odd_clocks(comparisons: Iterable[ClockComparison], limit: float) -> list[OddClock]:
    """Return the nodes whose clocks differ from others by more than `limit`, the worst first.

    The most exact comparison of each pair counts.  Report the node that differs from most others,
    drop its pairs, and repeat.  When all nodes differ from equally many others, report their pairs.
    """
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for item in comparisons:
        pair = (min(item.reference, item.other), max(item.reference, item.other))
        excess = item.excess if item.other == pair[1] else -item.excess
        if pair[0] != pair[1] and item.error < best.get(pair, (0.0, float("inf")))[1]:
            best[pair] = (excess, item.error)
    differences = {
        pair: excess for pair, (excess, error) in best.items() if abs(excess) - error > limit
    }
    clocks: list[OddClock] = []
    while differences:
        excesses: dict[str, list[float]] = defaultdict(list)
        for (one, other), excess in differences.items():
            excesses[one].append(-excess)
            excesses[other].append(excess)
        counts = {len(values) for values in excesses.values()}
        if len(counts) == 1:
            clocks += [
                OddClock(other, excess, 1, one)
                for (one, other), excess in sorted(differences.items())
            ]
            break
        node = max(sorted(excesses), key=lambda name: len(excesses[name]))
        clocks.append(OddClock(node, statistics.median(excesses[node]), len(excesses[node])))
        differences = {pair: excess for pair, excess in differences.items() if node not in pair}
    return sorted(clocks, key=lambda item: -abs(item.excess))
