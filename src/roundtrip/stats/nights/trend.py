"""Slow drifts: a straight line through what is left when steps and node sets are taken away.

The slope is fitted by least squares to winsorised residuals, three times (P. J. Huber, Robust
Statistics, 1981, section 7); its variance is that under AR(1) noise.  A single step that was too
small to be told looks like a drift, and the other way round: what fits better is believed, and only
a line that beats every single step is called a drift.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roundtrip.stats.nights import noise
from roundtrip.stats.nights.levels import Scatter, raw_scatter
from roundtrip.stats.nights.settings import Settings

_ROUNDS = 3


@dataclass(frozen=True)
class Line:
    """Slope of a row a night (logarithm), and the noise around the line.

    `times` is the sum of the squares of the centred times; `residual` [nights] is what the line
    leaves, NaN where the row had no level.
    """

    slope: float
    times: float
    scatter: Scatter
    residual: np.ndarray

    @property
    def error(self) -> float:
        """Standard error of the slope under AR(1) noise."""
        variance = self.scatter.inflation / self.times if self.times > 0 else np.inf
        return self.scatter.sd * float(np.sqrt(variance))


def fit(night: np.ndarray, residual: np.ndarray, group: np.ndarray, settings: Settings) -> Line:
    """The line through `residual` over `night`, within each `group` of segment and node set.

    The autocorrelation of its `scatter` is not yet pooled.
    """
    used = np.flatnonzero((group >= 0) & np.isfinite(residual))
    y, time = residual[used], centred(night[used].astype(float), group[used])
    of_time = float((time**2).sum())
    slope, left = 0.0, y
    for _ in range(_ROUNDS if of_time > 0 else 0):
        scale = noise.spread(left, np.ones(left.size, bool), settings.spread_least)
        bounded = np.clip(left, -settings.clip_sd * scale, settings.clip_sd * scale)
        slope += float((time * centred(bounded, group[used])).sum()) / of_time
        left = y - slope * time
    scatter = raw_scatter(left, settings)
    filled = np.full(residual.shape, np.nan)
    filled[used] = left
    return Line(slope, of_time, scatter, filled)


def is_drift(
    line: Line, night: np.ndarray, residual: np.ndarray, group: np.ndarray, settings: Settings
) -> bool:
    """Whether the line, its autocorrelation pooled, is steep beyond chance and beats every step."""
    used = np.flatnonzero((group >= 0) & np.isfinite(residual))
    if used.size < settings.drift_nights or not np.isfinite(line.error):
        return False
    t = np.asarray(line.slope / line.error)
    if abs(noise.to_normal(t, np.asarray(line.scatter.freedom))) < settings.drift_threshold:
        return False
    bound = settings.clip_sd * line.scatter.sd + np.abs(residual[used] - line.residual[used])
    y = centred(np.clip(residual[used], -bound, bound), group[used])
    time = centred(night[used].astype(float), group[used])
    by_line = float(y @ time) ** 2 / float((time**2).sum())
    margin = settings.drift_margin * line.scatter.sd**2 * line.scatter.inflation
    return by_line - _by_a_step(y, group[used], settings.step_least) >= margin


def _by_a_step(y: np.ndarray, group: np.ndarray, edge: int) -> float:
    """The most of the squares of `y` [nights], centred in each group, that one step explains."""
    member = (group[:, None] == np.unique(group)).astype(float)
    left = np.cumsum(member, axis=0)
    size = (left * (left[-1] - left) / left[-1]).sum(axis=1)[edge:-edge]
    return float((np.cumsum(y)[edge:-edge] ** 2 / np.maximum(size, 1e-9)).max())


def centred(cells: np.ndarray, group: np.ndarray) -> np.ndarray:
    """`cells` [nights, ...] less their mean over each group."""
    member = (group[:, None] == np.unique(group)).astype(float)
    means: np.ndarray = (member / member.sum(axis=0)).T @ cells
    return np.asarray(cells - member @ means)
