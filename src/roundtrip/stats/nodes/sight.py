"""What launches can show: the least effect that would have been told, and what more would do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roundtrip.stats.nodes.launches import Kind, Unit
from roundtrip.stats.nodes.outliers import Search
from roundtrip.stats.nodes.verdicts import Sight, Tested, TooFew

#: More launches are never advised; a node that needs more has no effect of interest.
_MOST = 64


def sight(
    search: Search, aside: Sequence[Unit], effects: Sequence[Tested], tests: int
) -> tuple[Sight, list[TooFew]]:
    """Of the widest window; `tests` were made in all, so `aside` had to be that unlikely."""
    healthy = search.healthy(aside)
    tests = max(1, tests)
    needed = search.needed(healthy)
    p = search.settings.false_discovery_level / (tests * _harmonic(tests))

    def seen(launches: int) -> float | None:
        effect = healthy.scores.seen(launches, p, search.settings.sight_power)
        return None if effect is None else needed + effect

    counts = search.launches.count()
    typical = int(np.median(counts[counts > 0]))
    least = search.settings.launches_least
    enough = next((n for n in range(least, _MOST) if seen(n) is not None), _MOST)
    tested = {one.unit.members[0] for one in effects if one.unit.kind is Kind.NODE}
    too_few = [
        TooFew(search.launches.names[one], int(counts[one]), max(1, least - int(counts[one])))
        for one in np.flatnonzero(counts).tolist()
        if one not in tested and not any(one in unit.members for unit in aside)
    ]
    would_see = seen(typical) if typical >= least else None
    nodes = tuple(one for one in effects if one.unit.kind is Kind.NODE)
    measured = int(np.count_nonzero(counts))
    return Sight(nodes, would_see, max(0, enough - typical), healthy.spread, measured), too_few


def _harmonic(count: int) -> float:
    return float(np.sum(1 / np.arange(1, count + 1)))
