"""All steps of each series, in the order in which a site would have been told of them.

After an alarm the step is placed where two levels fit the nights around it best, the level begins
anew there, and the scan goes on.  The nights before are moved onto the new level: they still say
how the series scatters, but not what its level is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roundtrip.stats.nights import noise
from roundtrip.stats.nights.scan import Pools, first_alarms
from roundtrip.stats.nights.series import Series
from roundtrip.stats.nights.settings import Settings

#: So many series that changed say of themselves how much a night resembles the last one.
_MANY = 30


@dataclass(frozen=True)
class Found:
    """A step of one row: it began at `begin` and was told after night `told` (places in the row).

    `statistic`, `threshold` and `nights` are those of the first alarm.
    """

    begin: int
    told: int
    statistic: float
    threshold: float
    nights: int


def find(series: Series, settings: Settings) -> list[list[Found]]:
    """The steps of every row, oldest first."""
    steps: list[list[Found]] = [[] for _ in series.values]
    pools = Pools()
    active = np.arange(len(steps))
    level_first = np.zeros(len(steps), dtype=int)
    moved = series
    while active.size:
        alarms = first_alarms(moved, level_first, pools, settings)
        told = np.flatnonzero(alarms.night >= 0)
        begins = level_first.copy()
        values = moved.values.copy()
        for row in told:
            night = int(alarms.night[row])
            begin, size = _place(
                moved.rows(np.array([row])),
                int(level_first[row]),
                int(alarms.begin[row]),
                night,
                settings,
            )
            values[row, :begin] += size
            begins[row] = begin
            steps[active[row]].append(
                Found(
                    begin,
                    night,
                    float(alarms.statistic[row]),
                    float(alarms.threshold[row]),
                    int(alarms.nights[row]),
                )
            )
        active, level_first = active[told], begins[told]
        if active.size >= min(_MANY, len(steps) / 2):  # what changed a whole site is in its pools
            pools = Pools()
        moved = Series(values, moved.night, moved.node_set).rows(told)
    return steps


def _place(
    one: Series, level_first: int, begin: int, told: int, settings: Settings
) -> tuple[int, float]:
    """Where the step of a row began, and its size, from up to `sight_nights` after the alarm.

    The least squares split into two levels, between which nights are not winsorised; it is a
    maximum-likelihood estimate for normal noise (D. V. Hinkley, Biometrika 57, 1970).
    """
    end = min(int(one.lengths[0]), told + 1 + settings.sight_nights)
    first = max(level_first, begin - settings.baseline_most)
    off = _above(one.values[0, first:end], one.node_set[0, first:end], begin - first)
    place = first + np.flatnonzero(np.isfinite(off))
    off = off[np.isfinite(off)]
    before = off[place < begin]
    bound = settings.clip_sd * float(
        noise.spread(before, np.ones(before.size, bool), settings.spread_least)
    )
    shift = float(np.median(off[(place >= begin) & (place <= told)]))
    z = np.clip(off, min(0.0, shift) - bound, max(0.0, shift) + bound)
    split = np.arange(1, z.size)
    left = np.cumsum(z)[:-1] / split
    right = (z.sum() - np.cumsum(z)[:-1]) / (z.size - split)
    fit = (right - left) ** 2 * split * (z.size - split)
    edge = settings.step_least // 2
    near = (place[1:] >= begin - settings.baseline_least) & (place[1:] <= told)
    near &= (split >= edge) & (split <= z.size - edge)
    best = int(np.argmax(np.where(near, fit, -1.0)))
    start = int(place[1:][best])
    size = _above(one.values[0, first:end], one.node_set[0, first:end], start - first)
    return start, float(np.nanmedian(size[start - first :]))


def _above(values: np.ndarray, sets: np.ndarray, begin: int) -> np.ndarray:
    """Distance of each night from the median of the nights before `begin` on the same nodes.

    NaN where no night before was on these nodes.
    """
    off = np.full(values.size, np.nan)
    for number in np.unique(sets[sets >= 0]):
        there = sets == number
        if there[:begin].any():
            off[there] = values[there] - np.median(values[:begin][there[:begin]])
    return off
