"""Nights that stand alone: far from the nights before them, and not the first of a new level.

A night beyond `spike_sd` robust standard deviations from the nights before on the same nodes is a
spike, unless more than `spike_run_most` of the last `spike_run` nights are beyond on that side:
then it is a level, and all of that run count.  Whether a night is a spike depends on nights before
it, and on at most `spike_run` after it.
"""

from __future__ import annotations

import numpy as np

from roundtrip.stats.nights.noise import MAD, median
from roundtrip.stats.nights.series import Series
from roundtrip.stats.nights.settings import Settings


def find(series: Series, settings: Settings) -> np.ndarray:
    """Mask [series, nights] of the spikes, each node set of a row judged for itself."""
    found = np.zeros(series.values.shape, dtype=bool)
    for number in range(int(series.node_set.max(initial=-1)) + 1):
        chosen = series.node_set == number
        rows = np.flatnonzero(chosen.sum(axis=1) >= settings.spike_history_least)
        if not rows.size:
            continue
        places = Series(series.values, np.arange(chosen.shape[1]) + 0 * series.night, chosen)
        one = places.rows(rows).keep(chosen[rows])
        row, column = np.nonzero(_beyond(one.values, settings))
        found[rows[row], one.night[row, column]] = True
    return found


def _beyond(values: np.ndarray, settings: Settings) -> np.ndarray:
    """Spikes of rows without holes."""
    start = settings.spike_history_least
    side = np.zeros(values.shape, dtype=np.int8)
    level = np.zeros(values.shape, dtype=bool)
    side[:, :start] = _sides(values[:, :start], values[:, :start], settings)
    used = values.copy()
    used[:, :start] = np.where(side[:, :start] != 0, np.nan, used[:, :start])
    for t in range(start, values.shape[1]):
        before = used[:, max(0, t - settings.spike_history_most) : t]
        side[:, t] = _sides(values[:, t : t + 1], before, settings)[:, 0]
        run = side[:, max(0, t + 1 - settings.spike_run) : t + 1]
        alike = (run == side[:, t : t + 1]) & (side[:, t : t + 1] != 0)
        is_level = alike.sum(axis=1) > settings.spike_run_most
        level[:, t + 1 - run.shape[1] : t + 1] |= alike & is_level[:, None]
        used[:, t] = np.where((side[:, t] != 0) & ~is_level, np.nan, values[:, t])
    spikes: np.ndarray = (side != 0) & ~level
    return spikes


def _sides(values: np.ndarray, before: np.ndarray, settings: Settings) -> np.ndarray:
    """+1, 0, -1: on which side of the nights `before` (NaN: not used) the values are far off."""
    with np.errstate(all="ignore"):
        there = np.isfinite(before)
        middle = median(before, there)[:, None]
        scale = MAD * median(np.abs(before - middle), there)[:, None]
        off = (values - middle) / np.maximum(scale, settings.spread_least)
    return np.where(np.abs(off) > settings.spike_sd, np.sign(off), 0).astype(np.int8)
