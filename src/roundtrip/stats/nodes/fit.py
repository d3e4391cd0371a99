"""The robust additive fit: rounds, the step between switches, and one effect a node.

Iteratively reweighted least squares with Huber's weights (P. J. Huber, Annals of Mathematical
Statistics 35, 1964).  A weak prior draws effects to 0, so that a design of few rounds, in which
effects are not determined, explains a slow node by one effect and not by many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roundtrip.stats.nodes.launches import Launches

_HUBER = 1.5
_ITERATIONS = 12
#: The prior weighs as much as so many launches.
_PRIOR = 0.5
#: A round with fewer launches has no level of its own, but that of its night.
_LEAST_OF_ROUND = 4
_TO_SD = 1.4826


@dataclass(frozen=True)
class Fit:
    """`base`: what each launch would cost without nodes' effects; `effect` of each node.

    Half of the nodes have an effect above 0; both are on the log scale.
    """

    base: np.ndarray
    effect: np.ndarray

    def without(self, launches: Launches, members: tuple[int, ...]) -> np.ndarray:
        """What is left of each launch's cost for the effect of `members`."""
        own = np.append(self.effect, 0.0)
        own[list(members)] = 0.0
        rest: np.ndarray = launches.cost - self.base - own[launches.nodes].sum(axis=1)
        return rest


def fit(launches: Launches, kept: np.ndarray, spread_least: float) -> Fit:
    """The fit of the launches `kept`, a mask, with a base for all `launches`.

    `spread_least` is the least scatter that is believed.  A node without launches has no effect.
    """
    count, nodes = launches.cost.size, len(launches.names)
    blocks = _blocks(launches, kept)
    fixed = np.zeros((count, blocks.max() + 2))
    fixed[np.arange(count), blocks] = 1.0
    fixed[:, -1] = launches.crosses
    own = np.zeros((count, nodes + 1))
    np.add.at(own, (np.arange(count)[:, None], launches.nodes), 1.0)
    design = np.hstack([fixed, own[:, :nodes]])
    prior = np.r_[np.full(fixed.shape[1], 1e-9), np.full(nodes, _PRIOR)]
    left = launches.cost - _medians(launches.cost, blocks, kept)
    for _ in range(_ITERATIONS):
        weight = kept * _weights(left, kept, spread_least)
        normal = design.T @ (design * weight[:, None]) + np.diag(prior)
        found = np.linalg.solve(normal, design.T @ (launches.cost * weight))
        left = launches.cost - design @ found
    there = launches.take(kept).count() > 0
    effect = found[fixed.shape[1] :]
    effect = np.where(there, effect - np.median(effect[there]), 0.0)
    crossing = found[fixed.shape[1] - 1] * launches.crosses
    alone = launches.cost - crossing - np.append(effect, 0.0)[launches.nodes].sum(axis=1)
    return Fit(crossing + _medians(alone, blocks, kept), effect)


def spread(values: np.ndarray, least: float) -> float:
    """The scatter of `values` by their median absolute deviation, as a standard deviation."""
    if not values.size:
        return least
    away = np.abs(values - np.median(values))
    return max(least, _TO_SD * float(np.median(away)))


def _weights(left: np.ndarray, kept: np.ndarray, least: float) -> np.ndarray:
    away = np.maximum(np.abs(left), 1e-300) / spread(left[kept], least)
    found: np.ndarray = np.minimum(1.0, _HUBER / away)
    return found


def _blocks(launches: Launches, kept: np.ndarray) -> np.ndarray:
    """Numbers of what has a level of its own: a round of a night, or what is left of the night."""
    apart = launches.night.astype(np.int64) * (launches.round.max(initial=0) + 2)
    of_round = apart + launches.round + 1
    numbers, index = np.unique(of_round, return_inverse=True)
    is_large = np.bincount(index[kept], minlength=numbers.size)[index] >= _LEAST_OF_ROUND
    found: np.ndarray = np.unique(np.where(is_large, of_round, apart), return_inverse=True)[1]
    return found


def _medians(values: np.ndarray, blocks: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The median of its block, for each value; of a block without launches kept, that of all."""
    found = np.full(blocks.max() + 1, np.median(values[kept]))
    for block in np.unique(blocks[kept]):
        found[block] = np.median(values[kept & (blocks == block)])
    of_each: np.ndarray = found[blocks]
    return of_each
