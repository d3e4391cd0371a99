"""How many more rounds an open claim will need, if rounds go on as those so far did.

The rounds to come are drawn from those that are there, and judged as `sequential` judges; the
answer is the median over several such futures.  It is a forecast, and nothing is claimed by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from roundtrip.stats.levels import Levels
from roundtrip.stats.sequential import log_wealth

#: Futures that are drawn, and how far they reach, in rounds.
_FUTURES, FARTHEST = 25, 200
#: Fewer rounds than this say too little about the next ones.
_FEWEST = 4
_SEED = 1


def rounds_to_come(
    ratios: Sequence[float], levels: Levels, claims: int = 1, told: int = 0
) -> int | None:
    """Rounds until the claim is faster, slower or on par, at least 1.

    ``FARTHEST + 1`` if half of the futures need more than `FARTHEST`; None if there are too few
    rounds to say.

    Parameters
    ----------
    ratios
        One positive ratio for each round so far.
    levels
        What the claim must reach.
    claims
        The number of claims of its family.
    told
        How many of them are called faster or slower already, which lowers the bar for the next.
    """
    if len(ratios) < _FEWEST:
        return None
    past = np.log(np.asarray(ratios, dtype=float))
    drawn = np.random.default_rng(_SEED).choice(past, (_FUTURES, FARTHEST))
    logs = np.concatenate([np.broadcast_to(past, (_FUTURES, past.size)), drawn], axis=1)
    margin = math.log1p(levels.equivalence_margin)
    wealth = log_wealth(logs, np.array([0.0, -margin, margin]))[..., past.size :]
    bar = math.log(claims / ((told + 1) * levels.false_discovery_level))
    limit = -math.log(1 - levels.confidence_level)
    size = np.abs(np.median(logs, axis=1))[:, None]
    differs = (wealth[:, 0] >= max(bar, limit)) & (size >= math.log1p(levels.minimum_effect))
    decided = differs | ((wealth[:, 1:].min(axis=1) >= limit) & (size < margin))
    first = np.where(decided.any(axis=1), decided.argmax(axis=1) + 1, FARTHEST + 1)
    return int(np.median(first))
