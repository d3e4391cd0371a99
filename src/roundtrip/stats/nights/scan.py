"""The scan: are the newest nights on another level than those before them?

For each beginning b and each number of nights k, the mean of nights b to b + k - 1 is compared with
that of the nights before b, on the same node sets, in units of its standard deviation under AR(1)
noise.  Only nights up to b + k - 1 play a part, so a pair (b, k) that exceeds its threshold is what
the site would have been told after that night; a scan over all pairs is the union of all nightly
looks.  Scans over beginnings and lengths: H. P. Chan and G. Walther, Statistica Sinica 23, 2013.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from roundtrip.stats.nights import noise
from roundtrip.stats.nights.series import Series
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.slope import Slopes
from roundtrip.stats.nights.window import STRIDE, Moments, Window, around


@dataclass
class Alarms:
    """The first alarm of each row: `night` on which it is told (-1: none), `begin`, `statistic`,
    `threshold` and `nights` since the beginning that were used.
    """

    night: np.ndarray
    begin: np.ndarray
    statistic: np.ndarray
    threshold: np.ndarray
    nights: np.ndarray


@dataclass
class Pools:
    """What the series of a site say of the autocorrelation, night by night; kept for rescans."""

    by_night: dict[int, noise.Pool] = field(default_factory=dict)

    def shrink(self, moments: Moments, night: int, enough: np.ndarray, most: float) -> np.ndarray:
        """Each row's autocorrelation; the rows with `enough` nights make the pool."""
        if night not in self.by_night:
            self.by_night[night] = noise.pool(moments.phi[enough], moments.nights[enough])
        return noise.shrunk(moments.phi, moments.nights, self.by_night[night], most)


def first_alarms(
    series: Series, level_first: np.ndarray, pools: Pools, settings: Settings
) -> Alarms:
    """The first alarm of each row after its level began at night `level_first` [series]."""
    rows, width = series.values.shape
    never = np.full(rows, -1)
    found = Alarms(never, never.copy(), np.zeros(rows), np.zeros(rows), np.zeros(rows, int))
    waiting = np.where(level_first > 0, level_first + settings.segment_least, 0)
    start = max(settings.baseline_least, int(waiting.min(initial=width)))
    for begin in range(start, width - settings.step_least + 1):
        if (begin - start) % STRIDE == 0:
            window = around(series.values, series.node_set, level_first, begin, settings)
        _look(window, begin, pools, settings, found)
    return found


def _look(window: Window, begin: int, pools: Pools, settings: Settings, found: Alarms) -> None:
    """Compare all lengths from `begin` on, and keep what is told earlier than what was found."""
    base = window.baseline(begin, settings)
    enough = (base.nights >= settings.baseline_least) & (base.variance > 0)
    phi = pools.shrink(base, begin, enough, settings.autocorrelation_most)
    at = begin - window.first
    lengths = settings.lengths()
    lengths = lengths[at + lengths < window.squares.shape[1]]
    ends = at + lengths
    count = window.count[:, :, ends] - window.count[:, :, at, None]
    nights = count.sum(axis=1)
    is_new = window.count[:, :, ends].sum(axis=1) > window.count[:, :, ends - 1].sum(axis=1)
    known = base.sets.sum(axis=1) >= settings.segment_least
    looked = (enough & known)[:, None] & (nights >= settings.step_least) & is_new
    if not looked.any():
        return
    used = np.maximum(nights, 1)
    share = count / used[:, None, :]
    of_levels = (share**2 / np.maximum(base.sets, 1)[:, :, None]).sum(axis=1)
    of_step, enters = noise.of_step(phi[:, None], used)
    variance = of_step + noise.inflation(phi)[:, None] * of_levels * enters**2
    change = _change(window, at, ends, base.means, phi[:, None], used)
    dof = noise.freedom(phi, base.nights)[:, None]
    of_noise = base.variance * noise.bias(phi, base.nights, base.levels)
    statistic = noise.to_normal(change / np.sqrt(of_noise[:, None] * variance), dof)
    threshold = settings.threshold((begin + lengths)[None, :], used)
    told = looked & (np.abs(statistic) >= threshold)
    night = begin + lengths - 1
    told &= (found.night[:, None] < 0) | (night[None, :] < found.night[:, None])
    row, which = np.nonzero(told)
    if not row.size:
        return
    slopes = Slopes(window, row, of_noise[row], phi[row], dof[row, 0])
    z, limit = statistic[row, which], threshold[row, which]
    kept = slopes.are_steps(begin, ends[which], z, limit, settings)
    row, first = np.unique(row[kept], return_index=True)
    which, z, limit = which[kept][first], z[kept][first], limit[kept][first]
    found.night[row], found.begin[row] = night[which], begin
    found.statistic[row], found.threshold[row] = z, limit
    found.nights[row] = nights[row, which]


def _change(
    window: Window,
    at: int,
    ends: np.ndarray,
    means: np.ndarray,
    phi: np.ndarray,
    nights: np.ndarray,
) -> np.ndarray:
    """The step [series, lengths] that fits best the innovations of the nights from `at` to `ends`.

    By generalised least squares: see `noise.of_step`.
    """

    def off(start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Sum of the nights' distances from the mean of their node set before."""
        count = window.count[:, :, end] - window.count[:, :, start]
        total = window.total[:, :, end] - window.total[:, :, start]
        return np.asarray((total - count * means[:, :, None]).sum(axis=1))

    here = np.array([at])
    first = off(here, here + 1) - phi * off(here - 1, here)
    others = off(here + 1, ends) - phi * off(here, ends - 1)
    rest = 1 - phi
    return np.asarray((first + rest * others) / (1 + (nights - 1) * rest**2))
