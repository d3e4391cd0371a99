"""Which nodes have a clock that disagrees with those of other nodes, from comparisons in pairs."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class ClockComparison:
    """Two nodes of a launch: by how much the clock of `other` exceeds that of `reference`.

    `excess` is wrong by `error` at most; both have the unit of the limit that they are held to.
    """

    reference: str
    other: str
    excess: float
    error: float


@dataclass(frozen=True)
class OddClock:
    """A clock that exceeds those of `partners` nodes by `excess`, their median.

    With `other` there was only this pair, or neither stands out: either of the two may be wrong.
    """

    node: str
    excess: float
    partners: int
    other: str = ""


def odd_clocks(comparisons: Iterable[ClockComparison], limit: float) -> list[OddClock]:
    """The nodes whose clocks differ from others by more than `limit`, the worst first.

    Of each pair the most exact comparison counts.  The node that differs from most others is named
    and put aside, so that it makes none of them look wrong, as long as some differ from fewer.
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
