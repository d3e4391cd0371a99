"""The nights around some possible beginnings of a step, as running sums: everything a scan needs.

Residuals are taken from the level of the night's node set and winsorised; a night on a set of which
too few nights are known has no weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roundtrip.stats.nights import noise
from roundtrip.stats.nights.settings import Settings

#: Beginnings that share levels and a scale to winsorise by, of the nights before the first of them.
STRIDE = 5


@dataclass(frozen=True)
class Moments:
    """What the nights of a baseline say, one value a row.

    `variance` is in units of the scale squared, about the means of `levels` node sets; `phi` is
    without bias.  `sets` [series, node sets] holds the number of nights of each set since the level
    began, `means` their mean residuals.
    """

    nights: np.ndarray
    variance: np.ndarray
    phi: np.ndarray
    levels: np.ndarray
    sets: np.ndarray
    means: np.ndarray


@dataclass(frozen=True)
class Window:
    """Running sums over the nights from `first` on; index 0 is the sum of none.

    `total` and `count` [series, node sets, nights + 1] are of the residuals and of the nights of
    each set; `squares`, `lagged`, `times`, `times_squared`, `times_residual` are over all sets.
    `scale` is the standard deviation by which residuals are divided.  `level_first` is the place
    of the first night of the present level.
    """

    first: int
    scale: np.ndarray
    total: np.ndarray
    count: np.ndarray
    squares: np.ndarray
    lagged: np.ndarray
    times: np.ndarray
    times_squared: np.ndarray
    times_residual: np.ndarray
    level_first: np.ndarray

    def baseline(self, begin: int, settings: Settings) -> Moments:
        """Of the nights before night `begin`; `phi` is without bias, and not yet pooled."""
        end, start = begin - self.first, max(0, begin - settings.baseline_most - self.first)
        n = np.maximum((self.count[:, :, end] - self.count[:, :, start]).sum(axis=1), 1)
        sums = self.total[:, :, end] - self.total[:, :, start]
        counts = np.maximum(self.count[:, :, end] - self.count[:, :, start], 1)
        explained = (sums**2 / counts).sum(axis=1)
        used = ((self.count[:, :, end] - self.count[:, :, start]) > 0).sum(axis=1)
        squares = self.squares[:, end] - self.squares[:, start] - explained
        lagged = self.lagged[:, end] - self.lagged[:, start] - explained
        variance = np.maximum(squares, 0) / np.maximum(n - used, 1)
        with np.errstate(all="ignore"):
            phi = np.where(squares > 0, np.clip(lagged / squares, -1, 1), 0.0)
        rows = np.arange(len(n))
        level = np.clip(self.level_first, start, end)
        sets = self.count[:, :, end] - self.count[rows, :, level]
        means = (self.total[:, :, end] - self.total[rows, :, level]) / np.maximum(sets, 1)
        floor = (settings.spread_least / self.scale) ** 2
        return Moments(n, np.maximum(variance, floor), noise.unbiased(phi, n), used, sets, means)


def around(
    values: np.ndarray,
    node_set: np.ndarray,
    level_first: np.ndarray,
    begin: int,
    settings: Settings,
) -> Window:
    """The window for steps that begin at night `begin` or up to `STRIDE` - 1 nights later.

    `values` [series, nights] are logarithms, NaN only at the end of a row; `level_first` [series]
    is the night since which the level of each row is its present one.
    """
    first = max(0, begin - settings.baseline_most)
    last = min(values.shape[1], begin + STRIDE + int(settings.lengths()[-1]))
    cells, numbers = values[:, first:last], node_set[:, first:last]
    before = begin - first
    in_set = numbers[:, None, :] == np.arange(int(node_set.max(initial=0)) + 1)[None, :, None]
    in_set &= np.isfinite(cells)[:, None, :]
    if in_set.shape[1] > 1:
        in_set &= in_set[:, :, :before].sum(axis=2, keepdims=True) >= settings.node_set_nights
    level = noise.median(np.where(in_set, cells[:, None, :], 0)[..., :before], in_set[..., :before])
    weight = in_set.any(axis=1)
    own = (in_set * np.nan_to_num(level)[:, :, None]).sum(axis=1)
    residual = np.where(weight, cells - own, 0.0)
    scale = noise.spread(residual[:, :before], weight[:, :before], settings.spread_least)
    z = np.clip(residual / scale[:, None], -settings.clip_sd, settings.clip_sd)
    time = np.arange(last - first) - before
    return Window(
        first,
        scale,
        _sums(in_set * z[:, None, :]),
        _sums(in_set.astype(float)),
        _sums(z * z),
        _sums(z * np.concatenate([np.zeros((len(z), 1)), z[:, :-1]], axis=1)),
        _sums(weight * time),
        _sums(weight * time**2),
        _sums(z * time),
        np.maximum(level_first - first, 0),
    )


def _sums(cells: np.ndarray) -> np.ndarray:
    start = np.zeros((*cells.shape[:-1], 1))
    return np.concatenate([start, np.cumsum(cells, axis=-1)], axis=-1)
