"""Launches between nodes: what a healthy one costs, how they scatter, how unlikely the rest is.

**Fit.**  Rounds, the step between switches, and one effect a node, by iteratively reweighted least
squares with Huber's weights (P. J. Huber, Annals of Mathematical Statistics 35, 1964).  A weak
prior draws effects to 0, so that a design of few rounds, in which effects are not determined,
explains a slow node by one effect and not by many.

**Scores.**  A launch counts as no farther than some limit from the middle, so that one disturbed
launch, or a few, convict nobody.  What the sum of n scores of healthy launches is distributed like
follows from the scores of the healthy launches themselves, by n-fold convolution: no shape is
assumed, and heavy, skewed or two-peaked noise raises what is asked for.  Two scores are added to
theirs, one at either limit, as permutation tests count the observed value (B. Phipson and G. K.
Smyth, Statistical Applications in Genetics and Molecular Biology 9, 2010).  Narrow limits suit
heavy tails, and wide ones noise of two peaks: several are tried, and the least probability counts
that many times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property

import numpy as np
import scipy

from roundtrip.stats.settings import NodeSettings
from roundtrip.stats.summaries import Interval, median_interval, robust_sd

#: A launch on one node has this for its other node.
NOBODY = -1
#: Steps from the middle to a limit.
_STEPS = 50
#: No effect farther off is asked for, in steps.
_FARTHEST = 3 * _STEPS
#: Sums this many standard deviations above the mean are computed exactly.
_EXACT = 2.0
_HUBER, _ITERATIONS = 1.5, 12
#: The prior weighs as much as so many launches.
_PRIOR = 0.5
#: A round with fewer launches has no level of its own, but that of its night.
_LEAST_OF_ROUND = 4


@dataclass(frozen=True)
class Launches:
    """One measure of many launches; all arrays go by launch.

    `cost`: natural logarithm, more is worse.  `nodes` [launches, 2]: indices of `names`, `NOBODY`
    for a launch on one node.  `night` and `round` count from 0; launches of one round of a night
    were near each other in time.  `switches`: that of each node, "" where it is not known.
    """

    names: Sequence[str]
    switches: Sequence[str]
    cost: np.ndarray
    nodes: np.ndarray
    night: np.ndarray
    round: np.ndarray

    def take(self, which: np.ndarray) -> Launches:
        """The launches at `which`, an index or a mask."""
        kept = (one[which] for one in (self.cost, self.nodes, self.night, self.round))
        return Launches(self.names, self.switches, *kept)

    def newest(self, nights: int) -> Launches:
        """Those of the newest `nights` nights in which there are launches."""
        return self.take(np.isin(self.night, np.unique(self.night)[-nights:]))

    @property
    def crosses(self) -> np.ndarray:
        """Whether a launch was between nodes of two switches that are known."""
        switch = np.array([*self.switches, ""])[self.nodes]
        return np.asarray((switch[:, 0] != switch[:, 1]) & (switch != "").all(axis=1))

    def count(self) -> np.ndarray:
        """Launches of each node."""
        return np.bincount(self.nodes[self.nodes >= 0], minlength=len(self.names))

    @property
    def measured(self) -> dict[int, str]:
        """Name of each node that has launches, by its index."""
        return {node: self.names[node] for node in np.flatnonzero(self.count()).tolist()}


class Kind(StrEnum):
    """What may be sick."""

    NODE = "node"
    SWITCH = "switch"
    LINK = "link"


@dataclass(frozen=True)
class Unit:
    """What may be sick: a node, all nodes of a switch, or what is between two nodes."""

    kind: Kind
    name: str
    members: tuple[int, ...]

    def affected(self, launches: Launches) -> np.ndarray:
        """Indices of the launches that show its effect once."""
        inside = np.isin(launches.nodes, self.members)
        if self.kind is Kind.LINK:
            return np.flatnonzero(inside.all(axis=1))
        return np.flatnonzero(inside.sum(axis=1) == 1)


def units(launches: Launches) -> list[Unit]:
    """Every node, switch of two or more nodes, and pair of nodes that launches were on."""
    there = launches.measured
    found = [Unit(Kind.NODE, name, (node,)) for node, name in there.items()]
    by_switch: dict[str, list[int]] = {}
    for one in there:
        by_switch.setdefault(launches.switches[one], []).append(one)
    found += [
        Unit(Kind.SWITCH, name, tuple(members))
        for name, members in sorted(by_switch.items())
        if name and 1 < len(members) < len(there)
    ]
    pairs = np.sort(launches.nodes[(launches.nodes >= 0).all(axis=1)], axis=1)
    for one, other in np.unique(pairs, axis=0).tolist():
        name = f"{launches.names[one]} - {launches.names[other]}"
        found.append(Unit(Kind.LINK, name, (one, other)))
    return found


@dataclass(frozen=True)
class Scores:
    """Scores of healthy launches; `healthy` is what is left of them, on the log scale.

    `sd` is their scatter, `clips` are limits in standard deviations.
    """

    healthy: np.ndarray
    sd: float
    clips: Sequence[float]

    def p(self, left: np.ndarray) -> float:
        """The probability that as many healthy launches have a sum as high as those of `left`."""
        return min(1.0, len(self.clips) * min(one.p(left) for one in self._limited))

    def seen(self, count: int, p: float, power: float) -> float | None:
        """The effect by which `count` launches give `p` with this power; None if none does."""
        found = [one.seen(count, p / len(self.clips), power) for one in self._limited]
        return min((one for one in found if one is not None), default=None)

    @cached_property
    def _limited(self) -> tuple[ClippedScores, ...]:
        return tuple(ClippedScores(self.healthy, self.sd * clip) for clip in self.clips)


class ClippedScores:
    """Scores with one limit, on the log scale."""

    def __init__(self, healthy: np.ndarray, limit: float) -> None:
        self._step = limit / _STEPS
        self._steps = np.arange(-_STEPS, _STEPS + 1)
        scores = np.r_[self._clip(healthy), -_STEPS, _STEPS]
        self._one = np.bincount(scores + _STEPS, minlength=self._steps.size) / scores.size
        self._mean = float(self._one @ self._steps)
        self._sd = float(np.sqrt(self._one @ (self._steps - self._mean) ** 2))
        self._tails = cache(self._tail_sums)

    def p(self, left: np.ndarray) -> float:
        """As `Scores.p`."""
        total, count = int(self._clip(left).sum()), left.size
        z = (total - count * self._mean) / (self._sd * np.sqrt(count))
        if z < _EXACT:
            return float(scipy.special.ndtr(-z))
        return float(self._tails(count)[total + count * _STEPS])

    def seen(self, count: int, p: float, power: float) -> float | None:
        """As `Scores.seen`: an effect moves every score by as much, up to the limit."""
        at = np.flatnonzero(self._tails(count) <= p)
        if not at.size:
            return None
        wanted = (at[0] - count * _STEPS) / count
        for shift in range(_FARTHEST):
            moved = np.minimum(self._steps + shift, _STEPS)
            mean = float(self._one @ moved)
            sd = float(np.sqrt(self._one @ (moved - mean) ** 2))
            if mean - float(scipy.special.ndtri(power)) * sd / np.sqrt(count) >= wanted:
                return float(shift * self._step)
        return None

    def _clip(self, left: np.ndarray) -> np.ndarray:
        return np.rint(np.clip(left / self._step, -_STEPS, _STEPS)).astype(np.int64)

    def _tail_sums(self, count: int) -> np.ndarray:
        """P(sum >= s) for every sum s of `count` scores, the lowest first."""
        found, power, rest = np.ones(1), self._one, count
        while rest:
            if rest & 1:
                found = scipy.signal.convolve(found, power)
            rest >>= 1
            power = scipy.signal.convolve(power, power) if rest else power
        # The fast transform leaves errors of 1e-16, of either sign.
        return np.cumsum(np.maximum(found, 0.0)[::-1])[::-1]


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
        return np.asarray(launches.cost - self.base - own[launches.nodes].sum(axis=1))


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


def robust_spread(values: np.ndarray, least: float) -> float:
    """The scatter of `values` by their median absolute deviation, as a standard deviation."""
    return max(least, robust_sd(values)) if values.size else least


def _weights(left: np.ndarray, kept: np.ndarray, least: float) -> np.ndarray:
    away = np.maximum(np.abs(left), 1e-300) / robust_spread(left[kept], least)
    return np.asarray(np.minimum(1.0, _HUBER / away))


def _blocks(launches: Launches, kept: np.ndarray) -> np.ndarray:
    """Numbers of what has a level of its own: a round of a night, or what is left of the night."""
    apart = launches.night.astype(np.int64) * (launches.round.max(initial=0) + 2)
    of_round = apart + launches.round + 1
    numbers, index = np.unique(of_round, return_inverse=True)
    is_large = np.bincount(index[kept], minlength=numbers.size)[index] >= _LEAST_OF_ROUND
    return np.asarray(np.unique(np.where(is_large, of_round, apart), return_inverse=True)[1])


def _medians(values: np.ndarray, blocks: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The median of its block, for each value; of a block without launches kept, that of all."""
    found = np.full(blocks.max() + 1, np.median(values[kept]))
    for block in np.unique(blocks[kept]):
        found[block] = np.median(values[kept & (blocks == block)])
    return np.asarray(found[blocks])


class Healthy:
    """`launches` of which those of the units `aside` are in no fit and in no noise."""

    def __init__(self, launches: Launches, aside: Sequence[Unit], settings: NodeSettings) -> None:
        self.launches, self._aside, self._settings = launches, aside, settings
        self._touched = {one: _touched(launches, one) for one in aside}
        self._kept: np.ndarray = ~self._bad(None)
        self._fit = fit(launches, self._kept, settings.spread_least)

    def fits(self, unit: Unit) -> np.ndarray:
        """Whether a launch is of no unit put aside but `unit`."""
        return self._kept if unit not in self._touched else ~self._bad(unit)

    def left(self, unit: Unit, at: np.ndarray) -> np.ndarray:
        """What is left of the launches `at` for the effect of `unit`, on the log scale."""
        members = () if unit.kind is Kind.LINK else unit.members
        return np.asarray(self._fit.without(self.launches, members)[at])

    @cached_property
    def scores(self) -> Scores:
        """Scores of all launches that are not put aside."""
        pool = self._pool
        sd = robust_spread(pool, self._settings.spread_least)
        return Scores(pool - np.median(pool), sd, self._settings.clips_sd)

    @cached_property
    def effects(self) -> np.ndarray:
        """Effects of the nodes that have launches, on the log scale."""
        return self._fit.effect[self._counts > 0]

    @cached_property
    def spread(self) -> float:
        """How far the nodes' effects differ beyond what the noise of launches explains."""
        shares = float(np.mean(1 / self._counts[self._counts > 0]))
        noise = robust_spread(self._pool, 0.0) ** 2 * shares
        return float(np.sqrt(max(0.0, robust_spread(self.effects, 0.0) ** 2 - noise)))

    @cached_property
    def _counts(self) -> np.ndarray:
        return self.launches.take(self._kept).count()

    @cached_property
    def _pool(self) -> np.ndarray:
        """What is left of each launch for the effect of each of its nodes."""
        own = np.append(self._fit.effect, 0.0)[self.launches.nodes]
        rest = self.launches.cost - self._fit.base - own.sum(axis=1)
        is_there = (self.launches.nodes != NOBODY) & self._kept[:, None]
        return np.asarray((rest[:, None] + own)[is_there])

    def _bad(self, but: Unit | None) -> np.ndarray:
        bad = [touched for one, touched in self._touched.items() if one != but]
        return np.asarray(np.any([np.zeros(self.launches.cost.size, dtype=bool), *bad], axis=0))


def _touched(launches: Launches, unit: Unit) -> np.ndarray:
    inside = np.isin(launches.nodes, unit.members)
    return np.asarray(inside.all(axis=1) if unit.kind is Kind.LINK else inside.any(axis=1))


def effects(launches: Launches, settings: NodeSettings, confidence: float) -> dict[str, Interval]:
    """By node: the median effect over its launches, a logarithm, with its rank interval.

    Nothing with fewer than `nodes_least` nodes: then nobody knows whose effect it is.
    """
    there = launches.measured
    if len(there) < settings.nodes_least:
        return {}
    healthy, found = Healthy(launches, (), settings), {}
    for node, name in there.items():
        unit = Unit(Kind.NODE, name, (node,))
        left = healthy.left(unit, unit.affected(launches))
        found[name] = median_interval(left.tolist(), confidence)
    return found
