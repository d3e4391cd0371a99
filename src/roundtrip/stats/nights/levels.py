"""The levels of a series between its steps, per node set, and what is left without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from roundtrip.stats.nights import noise
from roundtrip.stats.nights.settings import Settings


@dataclass(frozen=True)
class Levels:
    """One row: `group` numbers the pairs of segment and node set, -1 if too few nights tell one.

    `residual` is the distance from the level of the night's group, NaN where there is none;
    `segment` counts the steps before a night.
    """

    segment: np.ndarray
    group: np.ndarray
    residual: np.ndarray


def of(
    values: np.ndarray, node_set: np.ndarray, begins: Sequence[int], settings: Settings
) -> Levels:
    """The levels of a row without holes, whose steps began at `begins`."""
    segment = np.searchsorted(np.asarray(begins, dtype=int), np.arange(values.size), side="right")
    sets = int(node_set.max(initial=0)) + 1
    key = np.where(node_set >= 0, segment * sets + node_set, -1)
    group = np.full(values.size, -1)
    residual = np.full(values.size, np.nan)
    least = settings.node_set_nights if sets > 1 else 1
    for number, one in enumerate(np.unique(key[key >= 0])):
        there = key == one
        if there.sum() < least:
            continue
        group[there] = number
        off = values[there] - np.median(values[there])
        scale = noise.spread(off, np.ones(off.size, bool), settings.spread_least)
        middle = np.clip(off / scale, -settings.clip_sd, settings.clip_sd).mean() * scale
        residual[there] = off - middle
    return Levels(segment, group, residual)


@dataclass(frozen=True)
class Scatter:
    """The noise of a row: standard deviation, lag-1 autocorrelation, and nights that tell them."""

    sd: float
    phi: float
    nights: int

    @property
    def freedom(self) -> float:
        """Degrees of freedom of `sd`."""
        return float(noise.freedom(np.asarray(self.phi), np.asarray(self.nights)))

    @property
    def inflation(self) -> float:
        """By how much the variance of a mean of many nights exceeds that of independent ones."""
        return float(noise.inflation(np.asarray(self.phi)))

    def quantile(self, level: float) -> float:
        """Two-sided quantile of Student's t at confidence `level`."""
        return float(stats.t.ppf((1 + level) / 2, self.freedom))


def raw_scatter(residual: np.ndarray, settings: Settings) -> Scatter:
    """The noise of residuals in the order of nights (NaN: none); phi unbiased, not yet pooled."""
    kept = residual[np.isfinite(residual)][-settings.baseline_most :]
    if kept.size < 2:
        return Scatter(settings.spread_least, 0.0, int(kept.size))
    scale = noise.spread(kept, np.ones(kept.size, bool), settings.spread_least)
    z = np.clip(kept / scale, -settings.clip_sd, settings.clip_sd)
    squares = float((z * z).sum())
    phi = float((z[1:] * z[:-1]).sum()) / squares if squares else 0.0
    unbiased = noise.unbiased(np.asarray(phi), np.asarray(kept.size))
    sd = float(scale) * np.sqrt(squares / (kept.size - 1))
    return Scatter(max(float(sd), settings.spread_least), float(unbiased), int(kept.size))


def size(
    values: np.ndarray,
    node_set: np.ndarray,
    found: Levels,
    which: int,
    scatter: Scatter,
    level: float,
) -> tuple[float, float, float]:
    """(size, low, high) of step number `which` >= 1, in logarithms, with its interval at `level`.

    Compared on node sets that both segments used; the interval is Student's, with the variance of
    both means under AR(1) noise.  Without a common set the size is NaN.
    """
    phi = np.asarray(scatter.phi)
    total = weight = variance = 0.0
    for number in np.unique(node_set[found.segment == which]):
        after = values[(found.segment == which) & (node_set == number)]
        before = values[(found.segment == which - 1) & (node_set == number)]
        if number < 0 or not before.size:
            continue
        total += after.size * (_middle(after, scatter.sd) - _middle(before, scatter.sd))
        spread = noise.inflation(phi) / before.size + noise.of_mean(phi, np.asarray(after.size))
        variance += after.size**2 * float(spread)
        weight += after.size
    if not weight:
        return float("nan"), float("nan"), float("nan")
    half = scatter.quantile(level) * scatter.sd * np.sqrt(variance) / weight
    return total / weight, total / weight - half, total / weight + half


def _middle(values: np.ndarray, sd: float) -> float:
    """Mean, winsorised around the median."""
    middle = float(np.median(values))
    return middle + float(np.clip(values - middle, -3 * sd, 3 * sd).mean())
