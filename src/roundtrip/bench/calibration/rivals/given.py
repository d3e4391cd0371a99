"""What every rival is given: the nights as the package's scan sees them from each beginning.

Spikes are dropped, each node set has its own level, residuals are winsorised, and the noise is the
pooled AR(1) estimate from the nights before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from roundtrip.stats.nights import noise, spikes
from roundtrip.stats.nights.scan import Pools
from roundtrip.stats.nights.series import Series, pack
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.window import STRIDE, around


@dataclass(frozen=True)
class Look:
    """The nights around `begin`, which is number `at` of them; only nights before tell the noise.

    `off` [series, nights] are distances from the level of the night's node set, in units of
    which `variance` [series] is that of the noise, with `dof`; `phi` is its autocorrelation.
    `member` [series, node sets, nights] is 1 on the set of a night, 0 where it has no level;
    `sets` [series, node sets] counts the nights behind each level.  `is_usable` [series] tells
    whether they are enough.
    """

    begin: int
    at: int
    off: np.ndarray
    member: np.ndarray
    sets: np.ndarray
    phi: np.ndarray
    variance: np.ndarray
    dof: np.ndarray
    is_usable: np.ndarray

    def is_there(self, night: np.ndarray | int) -> np.ndarray:
        """Mask of the series that are usable and were measured on `night`, counted as `at` is."""
        there = self.member[:, :, night].sum(axis=1) > 0
        return np.asarray(there.T & self.is_usable).T

    def of_levels(self, weights: np.ndarray) -> np.ndarray:
        """Variance that the levels add to sums of nights with `weights` [series, sets, ...]."""
        sets = np.maximum(self.sets, 1).reshape(*self.sets.shape, *[1] * (weights.ndim - 2))
        inflation = noise.inflation(self.phi).reshape(-1, *[1] * (weights.ndim - 2))
        return np.asarray((weights**2 / sets).sum(axis=1) * inflation)


def used(logs: np.ndarray, nodes: np.ndarray, settings: Settings) -> Series:
    """The series without their spikes; arguments as of `roundtrip.stats.nights.judge.judge`."""
    packed = pack(logs, nodes, settings.node_sets_most)
    return packed.keep(~spikes.find(packed, settings))


def looks(series: Series, settings: Settings) -> Iterator[Look]:
    """One look for each night that a step can begin on."""
    pools = Pools()
    start = settings.baseline_least
    none = np.zeros(len(series.values), dtype=int)
    for begin in range(start, series.values.shape[1]):
        if (begin - start) % STRIDE == 0:
            window = around(series.values, series.node_set, none, begin, settings)
        base = window.baseline(begin, settings)
        usable = (base.nights >= settings.baseline_least) & (base.variance > 0)
        phi = pools.shrink(base, begin, usable, settings.autocorrelation_most)
        member = np.diff(window.count, axis=2)
        off = (np.diff(window.total, axis=2) - member * base.means[:, :, None]).sum(axis=1)
        yield Look(
            begin,
            begin - window.first,
            off,
            member,
            base.sets,
            phi,
            base.variance * noise.bias(phi, base.nights, base.levels),
            noise.freedom(phi, base.nights),
            usable,
        )
