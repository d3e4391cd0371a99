"""Launches between nodes: cost and scatter of healthy launches, and probabilities of others.

**Fit.**  Rounds, the step between switches, and one effect per node are fitted by iteratively
reweighted least squares with Huber's weights (P. J. Huber, Annals of Mathematical Statistics 35,
1964).  A weak prior shrinks effects to 0, so that a design of few rounds, which does not determine
effects, explains a slow node by one effect and not by many.

**Scores.**  Residuals of launches are clipped at some limit, so that a few disturbed launches make
no outlier.  The distribution of the sum of n scores of healthy launches is the n-fold convolution
of the distribution of healthy scores: no shape is assumed, and heavy-tailed, skewed or bimodal
noise raises the threshold.  Two scores are added, one at either limit, as permutation tests count
the observed value (B. Phipson and G. K. Smyth, Statistical Applications in Genetics and Molecular
Biology 9, 2010).  Narrow limits suit heavy tails, and wide ones bimodal noise: several are tried,
and the least probability is multiplied by their number.
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

#: Index of the other node of a launch on one node.
NO_SECOND_NODE = -1
#: Steps of a score from 0 to its limit.
_SCORE_STEPS_TO_CLIP = 50
#: Largest effect that is considered, in these steps.
_MAX_EFFECT_STEPS = 3 * _SCORE_STEPS_TO_CLIP
#: Probabilities are exact from this many standard deviations above the mean on, else normal.
_MIN_EXACT_TAIL_SD = 2.0
_HUBER_LIMIT, _FIT_ITERATIONS = 1.5, 12
#: Weight of the prior that effects are 0, in launches.
_PRIOR_WEIGHT_LAUNCHES = 0.5
#: A round with fewer launches has the level of its night instead of its own.
_MIN_ROUND_LAUNCHES = 4


@dataclass(frozen=True)
class NodeLaunches:
    """One measure of many launches; all arrays are by launch.

    `cost`: natural logarithm, more is worse.  `nodes` [launches, 2]: indices of `names`, or
    `NO_SECOND_NODE`.  `night` and `round` count from 0; launches of one round were near each other
    in time.  `switches`: the switch of each node, "" if not known.
    """

    names: Sequence[str]
    switches: Sequence[str]
    cost: np.ndarray
    nodes: np.ndarray
    night: np.ndarray
    round: np.ndarray

    def take(self, selection: np.ndarray) -> NodeLaunches:
        """The launches of `selection`, an index or a mask."""
        arrays = (array[selection] for array in (self.cost, self.nodes, self.night, self.round))
        return NodeLaunches(self.names, self.switches, *arrays)

    def newest(self, nights: int) -> NodeLaunches:
        """The launches of the newest `nights` nights that have launches."""
        return self.take(np.isin(self.night, np.unique(self.night)[-nights:]))

    @property
    def crosses_switches(self) -> np.ndarray:
        """Whether each launch was between nodes of two different, known switches."""
        switch = np.array([*self.switches, ""])[self.nodes]
        return np.asarray((switch[:, 0] != switch[:, 1]) & (switch != "").all(axis=1))

    def count(self) -> np.ndarray:
        """The number of launches of each node."""
        return np.bincount(self.nodes[self.nodes >= 0], minlength=len(self.names))

    @property
    def measured_names(self) -> dict[int, str]:
        """Name of each node that has launches, by its index."""
        return {node: self.names[node] for node in np.flatnonzero(self.count()).tolist()}


class UnitKind(StrEnum):
    """The kind of a unit that may be sick."""

    NODE = "node"
    SWITCH = "switch"
    LINK = "link"


@dataclass(frozen=True)
class Unit:
    """A unit that may be sick: a node, all nodes of a switch, or the link between two nodes."""

    kind: UnitKind
    name: str
    members: tuple[int, ...]

    def affected_launches(self, launches: NodeLaunches) -> np.ndarray:
        """Indices of the launches that contain its effect once."""
        is_member = np.isin(launches.nodes, self.members)
        if self.kind is UnitKind.LINK:
            return np.flatnonzero(is_member.all(axis=1))
        return np.flatnonzero(is_member.sum(axis=1) == 1)


def launched_units(launches: NodeLaunches) -> list[Unit]:
    """Every node, switch of several nodes, and pair of nodes that have launches."""
    names = launches.measured_names
    suspects = [Unit(UnitKind.NODE, name, (node,)) for node, name in names.items()]
    by_switch: dict[str, list[int]] = {}
    for node in names:
        by_switch.setdefault(launches.switches[node], []).append(node)
    suspects += [
        Unit(UnitKind.SWITCH, name, tuple(members))
        for name, members in sorted(by_switch.items())
        if name and 1 < len(members) < len(names)
    ]
    pairs = np.sort(launches.nodes[(launches.nodes >= 0).all(axis=1)], axis=1)
    for one, other in np.unique(pairs, axis=0).tolist():
        name = f"{launches.names[one]} - {launches.names[other]}"
        suspects.append(Unit(UnitKind.LINK, name, (one, other)))
    return suspects


class Scores:
    """Scores of healthy launches, given their `residuals` on the log scale.

    `sd` is the scatter of the residuals, `clips` are limits in standard deviations.
    """

    def __init__(self, residuals: np.ndarray, sd: float, clips: Sequence[float]) -> None:
        self._scores = [_ClippedScores(residuals, sd * clip) for clip in clips]

    def p(self, residuals: np.ndarray) -> float:
        """The probability that as many healthy launches reach the score sum of `residuals`."""
        return min(1.0, len(self._scores) * min(scores.p(residuals) for scores in self._scores))

    def detectable_effect(self, count: int, p: float, power: float) -> float | None:
        """The least effect, a logarithm, that `count` launches see at `p` with `power`, or None."""
        own_p = p / len(self._scores)
        effects = [scores.detectable_effect(count, own_p, power) for scores in self._scores]
        return min((effect for effect in effects if effect is not None), default=None)


class _ClippedScores:
    """Scores clipped at one limit; log scale."""

    def __init__(self, residuals: np.ndarray, limit: float) -> None:
        self._step = limit / _SCORE_STEPS_TO_CLIP
        self._steps = np.arange(-_SCORE_STEPS_TO_CLIP, _SCORE_STEPS_TO_CLIP + 1)
        scores = np.r_[self._clip_residuals(residuals), -_SCORE_STEPS_TO_CLIP, _SCORE_STEPS_TO_CLIP]
        self._pmf = (
            np.bincount(scores + _SCORE_STEPS_TO_CLIP, minlength=self._steps.size) / scores.size
        )
        self._mean = float(self._pmf @ self._steps)
        self._sd = float(np.sqrt(self._pmf @ (self._steps - self._mean) ** 2))
        self._tails = cache(self._tail_sums)

    def p(self, residuals: np.ndarray) -> float:
        total, count = int(self._clip_residuals(residuals).sum()), residuals.size
        z = (total - count * self._mean) / (self._sd * np.sqrt(count))
        if z < _MIN_EXACT_TAIL_SD:
            return float(scipy.special.ndtr(-z))
        return float(self._tails(count)[total + count * _SCORE_STEPS_TO_CLIP])

    def detectable_effect(self, count: int, p: float, power: float) -> float | None:
        """As that of `Scores`: an effect shifts all scores equally, up to the limit."""
        indices = np.flatnonzero(self._tails(count) <= p)
        if not indices.size:
            return None
        target = (indices[0] - count * _SCORE_STEPS_TO_CLIP) / count
        for shift in range(_MAX_EFFECT_STEPS):
            scores = np.minimum(self._steps + shift, _SCORE_STEPS_TO_CLIP)
            mean = float(self._pmf @ scores)
            sd = float(np.sqrt(self._pmf @ (scores - mean) ** 2))
            if mean - float(scipy.special.ndtri(power)) * sd / np.sqrt(count) >= target:
                return float(shift * self._step)
        return None

    def _clip_residuals(self, residuals: np.ndarray) -> np.ndarray:
        steps = np.clip(residuals / self._step, -_SCORE_STEPS_TO_CLIP, _SCORE_STEPS_TO_CLIP)
        return np.rint(steps).astype(np.int64)

    def _tail_sums(self, count: int) -> np.ndarray:
        """P(sum >= s) for every sum s of `count` scores, the lowest first."""
        pmf, power, rest = np.ones(1), self._pmf, count
        while rest:
            if rest & 1:
                pmf = scipy.signal.convolve(pmf, power)
            rest >>= 1
            power = scipy.signal.convolve(power, power) if rest else power
        # The FFT leaves rounding errors of 1e-16, of either sign.
        return np.cumsum(np.maximum(pmf, 0.0)[::-1])[::-1]


def fit_node_effects(
    launches: NodeLaunches, mask: np.ndarray, spread_least: float
) -> tuple[np.ndarray, np.ndarray]:
    """Fit the launches in `mask`; return costs less the effects, and effects [nodes].

    Both are on the log scale, costs also of launches outside `mask`; the median of the effects is
    0.  `spread_least` is a lower bound of the scatter.  A node without launches has effect 0.
    """
    count, nodes = launches.cost.size, len(launches.names)
    blocks = _level_blocks(launches, mask)
    base_design = np.zeros((count, blocks.max() + 2))
    base_design[np.arange(count), blocks] = 1.0
    base_design[:, -1] = launches.crosses_switches
    node_design = np.zeros((count, nodes + 1))
    np.add.at(node_design, (np.arange(count)[:, None], launches.nodes), 1.0)
    design = np.hstack([base_design, node_design[:, :nodes]])
    prior = np.r_[np.full(base_design.shape[1], 1e-9), np.full(nodes, _PRIOR_WEIGHT_LAUNCHES)]
    residuals = launches.cost - _block_medians(launches.cost, blocks, mask)
    for _ in range(_FIT_ITERATIONS):
        distance = np.maximum(np.abs(residuals), 1e-300)
        distance /= robust_spread(residuals[mask], spread_least)
        weight = mask * np.minimum(1.0, _HUBER_LIMIT / distance)
        normal = design.T @ (design * weight[:, None]) + np.diag(prior)
        solution = np.linalg.solve(normal, design.T @ (launches.cost * weight))
        residuals = launches.cost - design @ solution
    is_measured = launches.take(mask).count() > 0
    effect = solution[base_design.shape[1] :]
    effect = np.where(is_measured, effect - np.median(effect[is_measured]), 0.0)
    step = solution[base_design.shape[1] - 1] * launches.crosses_switches
    remainder = launches.cost - step - np.append(effect, 0.0)[launches.nodes].sum(axis=1)
    return step + _block_medians(remainder, blocks, mask), effect


def robust_spread(values: np.ndarray, least: float) -> float:
    """Standard deviation of `values` from their median absolute deviation, at least `least`."""
    return max(least, robust_sd(values)) if values.size else least


def _level_blocks(launches: NodeLaunches, mask: np.ndarray) -> np.ndarray:
    """The block of each launch: a round, or all small rounds of a night, at one level."""
    night_block = launches.night.astype(np.int64) * (launches.round.max(initial=0) + 2)
    round_block = night_block + launches.round + 1
    numbers, index = np.unique(round_block, return_inverse=True)
    is_large = np.bincount(index[mask], minlength=numbers.size)[index] >= _MIN_ROUND_LAUNCHES
    blocks = np.where(is_large, round_block, night_block)
    return np.asarray(np.unique(blocks, return_inverse=True)[1])


def _block_medians(values: np.ndarray, blocks: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The median of each value's block; the overall median if `mask` has none of the block."""
    medians = np.full(blocks.max() + 1, np.median(values[mask]))
    for block in np.unique(blocks[mask]):
        medians[block] = np.median(values[mask & (blocks == block)])
    return np.asarray(medians[blocks])


class HealthyLaunches:
    """The fit and the noise of `launches` without those of `excluded_units`."""

    def __init__(
        self, launches: NodeLaunches, excluded_units: Sequence[Unit], settings: NodeSettings
    ) -> None:
        self.launches, self._settings = launches, settings
        self._unit_masks = {}
        for unit in excluded_units:
            is_member = np.isin(launches.nodes, unit.members)
            contains = np.all if unit.kind is UnitKind.LINK else np.any
            self._unit_masks[unit] = contains(is_member, axis=1)
        self._mask: np.ndarray = ~self._excluded_mask(None)
        self._base, self._effect = fit_node_effects(launches, self._mask, settings.spread_least)

    def healthy_mask(self, unit: Unit) -> np.ndarray:
        """Whether each launch belongs to no excluded unit other than `unit`."""
        return self._mask if unit not in self._unit_masks else ~self._excluded_mask(unit)

    def residuals(self, unit: Unit, indices: np.ndarray) -> np.ndarray:
        """Log residuals of the launches `indices`, which keep the effect of `unit`."""
        members = () if unit.kind is UnitKind.LINK else unit.members
        effect = np.append(self._effect, 0.0)
        effect[list(members)] = 0.0
        residuals = self.launches.cost - self._base - effect[self.launches.nodes].sum(axis=1)
        return np.asarray(residuals[indices])

    @cached_property
    def scores(self) -> Scores:
        """Scores of all launches that are not excluded."""
        pool = self._pooled_residuals
        sd = robust_spread(pool, self._settings.spread_least)
        return Scores(pool - np.median(pool), sd, self._settings.clips_sd)

    @cached_property
    def effects(self) -> np.ndarray:
        """Effects of the nodes that have healthy launches, on the log scale."""
        return self._effect[self._counts > 0]

    @cached_property
    def spread(self) -> float:
        """Standard deviation of the nodes' effects that the noise of launches does not explain."""
        shares = float(np.mean(1 / self._counts[self._counts > 0]))
        noise = robust_spread(self._pooled_residuals, 0.0) ** 2 * shares
        return float(np.sqrt(max(0.0, robust_spread(self.effects, 0.0) ** 2 - noise)))

    @cached_property
    def _counts(self) -> np.ndarray:
        return self.launches.take(self._mask).count()

    @cached_property
    def _pooled_residuals(self) -> np.ndarray:
        """Residuals of the healthy launches, once for each node, whose effect they keep."""
        effect = np.append(self._effect, 0.0)[self.launches.nodes]
        rest = self.launches.cost - self._base - effect.sum(axis=1)
        mask = (self.launches.nodes != NO_SECOND_NODE) & self._mask[:, None]
        return np.asarray((rest[:, None] + effect)[mask])

    def _excluded_mask(self, exempt: Unit | None) -> np.ndarray:
        masks = [mask for unit, mask in self._unit_masks.items() if unit != exempt]
        return np.asarray(np.any([np.zeros(self.launches.cost.size, dtype=bool), *masks], axis=0))


def node_effects(
    launches: NodeLaunches, settings: NodeSettings, confidence: float
) -> dict[str, Interval]:
    """The median effect of each node over its launches, a logarithm, with its rank interval.

    Empty with fewer than `nodes_least` nodes, which do not determine whose effect it is.
    """
    names = launches.measured_names
    if len(names) < settings.nodes_least:
        return {}
    healthy, intervals = HealthyLaunches(launches, (), settings), {}
    for node, name in names.items():
        unit = Unit(UnitKind.NODE, name, (node,))
        residuals = healthy.residuals(unit, unit.affected_launches(launches))
        intervals[name] = median_interval(residuals.tolist(), confidence)
    return intervals
