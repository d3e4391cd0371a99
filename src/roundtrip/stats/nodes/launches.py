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
NO_NODE = -1
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

    `cost`: natural logarithm, more is worse.  `nodes` [launches, 2]: indices of `names`, `NO_NODE`
    for a launch on one node.  `night` and `round` count from 0; launches of one round of a night
    were near each other in time.  `switches`: that of each node, "" where it is not known.
    """

    names: Sequence[str]
    switches: Sequence[str]
    cost: np.ndarray
    nodes: np.ndarray
    night: np.ndarray
    round: np.ndarray

    def take(self, selection: np.ndarray) -> Launches:
        """The launches of `selection`, an index or a mask."""
        arrays = (array[selection] for array in (self.cost, self.nodes, self.night, self.round))
        return Launches(self.names, self.switches, *arrays)

    def newest(self, nights: int) -> Launches:
        """Those of the newest `nights` nights in which there are launches."""
        return self.take(np.isin(self.night, np.unique(self.night)[-nights:]))

    @property
    def crosses_switches(self) -> np.ndarray:
        """Whether a launch was between nodes of two switches that are known."""
        switch = np.array([*self.switches, ""])[self.nodes]
        return np.asarray((switch[:, 0] != switch[:, 1]) & (switch != "").all(axis=1))

    def count(self) -> np.ndarray:
        """Launches of each node."""
        return np.bincount(self.nodes[self.nodes >= 0], minlength=len(self.names))

    @property
    def measured_names(self) -> dict[int, str]:
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

    def affected_launches(self, launches: Launches) -> np.ndarray:
        """Indices of the launches that show its effect once."""
        is_member = np.isin(launches.nodes, self.members)
        if self.kind is Kind.LINK:
            return np.flatnonzero(is_member.all(axis=1))
        return np.flatnonzero(is_member.sum(axis=1) == 1)


def units(launches: Launches) -> list[Unit]:
    """Every node, switch of two or more nodes, and pair of nodes that launches were on."""
    names = launches.measured_names
    suspects = [Unit(Kind.NODE, name, (node,)) for node, name in names.items()]
    by_switch: dict[str, list[int]] = {}
    for node in names:
        by_switch.setdefault(launches.switches[node], []).append(node)
    suspects += [
        Unit(Kind.SWITCH, name, tuple(members))
        for name, members in sorted(by_switch.items())
        if name and 1 < len(members) < len(names)
    ]
    pairs = np.sort(launches.nodes[(launches.nodes >= 0).all(axis=1)], axis=1)
    for one, other in np.unique(pairs, axis=0).tolist():
        name = f"{launches.names[one]} - {launches.names[other]}"
        suspects.append(Unit(Kind.LINK, name, (one, other)))
    return suspects


@dataclass(frozen=True)
class Scores:
    """Scores of healthy launches; `residuals` are what is left of them, on the log scale.

    `sd` is their scatter, `clips` are limits in standard deviations.
    """

    residuals: np.ndarray
    sd: float
    clips: Sequence[float]

    def p(self, residuals: np.ndarray) -> float:
        """The probability that as many healthy launches have a sum as high as `residuals`."""
        return min(
            1.0, len(self.clips) * min(scores.p(residuals) for scores in self._clipped_scores)
        )

    def detectable_effect(self, count: int, p: float, power: float) -> float | None:
        """The effect by which `count` launches give `p` with this power; None if none does."""
        effect_sizes = [
            scores.detectable_effect(count, p / len(self.clips), power)
            for scores in self._clipped_scores
        ]
        return min((size for size in effect_sizes if size is not None), default=None)

    @cached_property
    def _clipped_scores(self) -> tuple[ClippedScores, ...]:
        return tuple(ClippedScores(self.residuals, self.sd * clip) for clip in self.clips)


class ClippedScores:
    """Scores with one limit, on the log scale."""

    def __init__(self, residuals: np.ndarray, limit: float) -> None:
        self._step = limit / _STEPS
        self._steps = np.arange(-_STEPS, _STEPS + 1)
        scores = np.r_[self._clip(residuals), -_STEPS, _STEPS]
        self._pmf = np.bincount(scores + _STEPS, minlength=self._steps.size) / scores.size
        self._mean = float(self._pmf @ self._steps)
        self._sd = float(np.sqrt(self._pmf @ (self._steps - self._mean) ** 2))
        self._tails = cache(self._tail_sums)

    def p(self, residuals: np.ndarray) -> float:
        """As `Scores.p`."""
        total, count = int(self._clip(residuals).sum()), residuals.size
        z = (total - count * self._mean) / (self._sd * np.sqrt(count))
        if z < _EXACT:
            return float(scipy.special.ndtr(-z))
        return float(self._tails(count)[total + count * _STEPS])

    def detectable_effect(self, count: int, p: float, power: float) -> float | None:
        """As in `Scores`: an effect moves every score by as much, up to the limit."""
        indices = np.flatnonzero(self._tails(count) <= p)
        if not indices.size:
            return None
        target = (indices[0] - count * _STEPS) / count
        for shift in range(_FARTHEST):
            scores = np.minimum(self._steps + shift, _STEPS)
            mean = float(self._pmf @ scores)
            sd = float(np.sqrt(self._pmf @ (scores - mean) ** 2))
            if mean - float(scipy.special.ndtri(power)) * sd / np.sqrt(count) >= target:
                return float(shift * self._step)
        return None

    def _clip(self, residuals: np.ndarray) -> np.ndarray:
        return np.rint(np.clip(residuals / self._step, -_STEPS, _STEPS)).astype(np.int64)

    def _tail_sums(self, count: int) -> np.ndarray:
        """P(sum >= s) for every sum s of `count` scores, the lowest first."""
        pmf, power, rest = np.ones(1), self._pmf, count
        while rest:
            if rest & 1:
                pmf = scipy.signal.convolve(pmf, power)
            rest >>= 1
            power = scipy.signal.convolve(power, power) if rest else power
        # The fast transform leaves errors of 1e-16, of either sign.
        return np.cumsum(np.maximum(pmf, 0.0)[::-1])[::-1]


@dataclass(frozen=True)
class Fit:
    """`base`: what each launch would cost without nodes' effects; `effect` of each node.

    Half of the nodes have an effect above 0; both are on the log scale.
    """

    base: np.ndarray
    effect: np.ndarray

    def residuals(self, launches: Launches, members: tuple[int, ...]) -> np.ndarray:
        """What is left of each launch's cost for the effect of `members`."""
        effect = np.append(self.effect, 0.0)
        effect[list(members)] = 0.0
        return np.asarray(launches.cost - self.base - effect[launches.nodes].sum(axis=1))


def fit(launches: Launches, mask: np.ndarray, spread_least: float) -> Fit:
    """The fit of the launches in `mask`, with a base for all `launches`.

    `spread_least` is the least scatter that is believed.  A node without launches has no effect.
    """
    count, nodes = launches.cost.size, len(launches.names)
    blocks = _blocks(launches, mask)
    base_design = np.zeros((count, blocks.max() + 2))
    base_design[np.arange(count), blocks] = 1.0
    base_design[:, -1] = launches.crosses_switches
    node_design = np.zeros((count, nodes + 1))
    np.add.at(node_design, (np.arange(count)[:, None], launches.nodes), 1.0)
    design = np.hstack([base_design, node_design[:, :nodes]])
    prior = np.r_[np.full(base_design.shape[1], 1e-9), np.full(nodes, _PRIOR)]
    residuals = launches.cost - _medians(launches.cost, blocks, mask)
    for _ in range(_ITERATIONS):
        weight = mask * _weights(residuals, mask, spread_least)
        normal = design.T @ (design * weight[:, None]) + np.diag(prior)
        solution = np.linalg.solve(normal, design.T @ (launches.cost * weight))
        residuals = launches.cost - design @ solution
    is_measured = launches.take(mask).count() > 0
    effect = solution[base_design.shape[1] :]
    effect = np.where(is_measured, effect - np.median(effect[is_measured]), 0.0)
    step = solution[base_design.shape[1] - 1] * launches.crosses_switches
    remainder = launches.cost - step - np.append(effect, 0.0)[launches.nodes].sum(axis=1)
    return Fit(step + _medians(remainder, blocks, mask), effect)


def robust_spread(values: np.ndarray, least: float) -> float:
    """The scatter of `values` by their median absolute deviation, as a standard deviation."""
    return max(least, robust_sd(values)) if values.size else least


def _weights(residuals: np.ndarray, mask: np.ndarray, least: float) -> np.ndarray:
    distance = np.maximum(np.abs(residuals), 1e-300) / robust_spread(residuals[mask], least)
    return np.asarray(np.minimum(1.0, _HUBER / distance))


def _blocks(launches: Launches, mask: np.ndarray) -> np.ndarray:
    """Numbers of what has a level of its own: a round of a night, or what is left of the night."""
    night_block = launches.night.astype(np.int64) * (launches.round.max(initial=0) + 2)
    round_block = night_block + launches.round + 1
    numbers, index = np.unique(round_block, return_inverse=True)
    is_large = np.bincount(index[mask], minlength=numbers.size)[index] >= _LEAST_OF_ROUND
    return np.asarray(
        np.unique(np.where(is_large, round_block, night_block), return_inverse=True)[1]
    )


def _medians(values: np.ndarray, blocks: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The median of its block, for each value; of a block with none in `mask`, that of all."""
    medians = np.full(blocks.max() + 1, np.median(values[mask]))
    for block in np.unique(blocks[mask]):
        medians[block] = np.median(values[mask & (blocks == block)])
    return np.asarray(medians[blocks])


class HealthyLaunches:
    """`launches` of which those of the units `excluded_units` are in no fit and in no noise."""

    def __init__(
        self, launches: Launches, excluded_units: Sequence[Unit], settings: NodeSettings
    ) -> None:
        self.launches, self._excluded_units, self._settings = launches, excluded_units, settings
        self._unit_masks = {unit: _unit_mask(launches, unit) for unit in excluded_units}
        self._mask: np.ndarray = ~self._excluded_mask(None)
        self._fit = fit(launches, self._mask, settings.spread_least)

    def healthy_mask(self, unit: Unit) -> np.ndarray:
        """Whether a launch is of no unit put aside but `unit`."""
        return self._mask if unit not in self._unit_masks else ~self._excluded_mask(unit)

    def residuals(self, unit: Unit, indices: np.ndarray) -> np.ndarray:
        """What is left of the launches `indices` for the effect of `unit`, on the log scale."""
        members = () if unit.kind is Kind.LINK else unit.members
        return np.asarray(self._fit.residuals(self.launches, members)[indices])

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
        return self.launches.take(self._mask).count()

    @cached_property
    def _pool(self) -> np.ndarray:
        """What is left of each launch for the effect of each of its nodes."""
        effect = np.append(self._fit.effect, 0.0)[self.launches.nodes]
        rest = self.launches.cost - self._fit.base - effect.sum(axis=1)
        mask = (self.launches.nodes != NO_NODE) & self._mask[:, None]
        return np.asarray((rest[:, None] + effect)[mask])

    def _excluded_mask(self, exempt: Unit | None) -> np.ndarray:
        masks = [mask for unit, mask in self._unit_masks.items() if unit != exempt]
        return np.asarray(np.any([np.zeros(self.launches.cost.size, dtype=bool), *masks], axis=0))


def _unit_mask(launches: Launches, unit: Unit) -> np.ndarray:
    is_member = np.isin(launches.nodes, unit.members)
    return np.asarray(is_member.all(axis=1) if unit.kind is Kind.LINK else is_member.any(axis=1))


def effects(launches: Launches, settings: NodeSettings, confidence: float) -> dict[str, Interval]:
    """By node: the median effect over its launches, a logarithm, with its rank interval.

    Nothing with fewer than `nodes_least` nodes: then nobody knows whose effect it is.
    """
    names = launches.measured_names
    if len(names) < settings.nodes_least:
        return {}
    healthy, intervals = HealthyLaunches(launches, (), settings), {}
    for node, name in names.items():
        unit = Unit(Kind.NODE, name, (node,))
        residuals = healthy.residuals(unit, unit.affected_launches(launches))
        intervals[name] = median_interval(residuals.tolist(), confidence)
    return intervals
