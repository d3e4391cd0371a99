"""The measured nights of one series, cleaned of incidents and odd nights, which are no levels.

Nights that were not measured, or were left out, are dropped.  The time between two nights matters
only for weekdays and drifts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import scipy

from roundtrip.stats.nights.noise import ModePrior, Modes, find_modes, site_prior, visit_offsets
from roundtrip.stats.settings import NightSettings
from roundtrip.stats.summaries import SD_PER_MAD

#: Ratio of a normal distribution's standard deviation to that of the difference of two nights.
_SD_PER_DIFFERENCE_SD = 2**-0.5
#: Half-width of the running median in nights.
_MEDIAN_HALF_WIDTH_NIGHTS = 7
#: A run of at most `_MAX_EXCURSION_NIGHTS` nights farther off than `_FAR_NIGHT_SD`, one of them
#: beyond `clip_sd`, is an incident, found without a fit.  If more than `_MAX_INCIDENT_SHARE` of all
#: nights are in incidents, the series has two modes, and they are its noise.
_FAR_NIGHT_SD, _MAX_EXCURSION_NIGHTS, _MAX_INCIDENT_SHARE = 2.5, 4, 0.15
#: Factor of a spread estimated from differences: nights may alternate.
_DIFFERENCE_SPREAD_FACTOR = 0.8
#: Fewest weeks for a test of weekdays, and the p-value up to which weekdays differ.
_MIN_WEEKS, _WEEKDAY_P = 5, 1e-5
#: Error probability of the lower confidence bound of a rate.
_RATE_BOUND_ERROR = 0.05
#: Standard deviation of a clock's rounding error over its resolution, with a margin.
_ROUNDING_SD_PER_RESOLUTION = 0.4


@dataclass(frozen=True)
class SeriesRow:
    """One series, arrays by night: log values, index among the site's nights, day, node set.

    Node sets are numbered from 0, the most frequent first; -1 is a night that is comparable with no
    other.
    """

    values: np.ndarray
    night: np.ndarray
    day: np.ndarray
    node_set: np.ndarray

    @property
    def comparable_nights(self) -> SeriesRow:
        """The row without the nights of node set -1."""
        return self.take(self.node_set >= 0)

    def take(self, nights: np.ndarray | slice) -> SeriesRow:
        """The row with only `nights`, a mask or a slice."""
        arrays = (self.values, self.night, self.day, self.node_set)
        return SeriesRow(*(array[nights] for array in arrays))


@dataclass(frozen=True)
class Excursion:
    """Nights `begin` to `end` (exclusive), `size` spreads off the level, which then returned."""

    begin: int
    end: int
    size: float


@dataclass(frozen=True)
class CleanSeries:
    """A row minus its `middle`, in units of its `spread` (both of logarithms).

    `raw` has all nights; `values` has the level in place of `excursions`, and no night farther than
    `clip_sd` from the nights around it.  `node_set_indicators` [nights, node sets - 1] marks the
    nights of each node set except the first.  First estimates of the effects of node sets, weekdays
    and the visits of `modes` are subtracted.  `usual_excursion_sizes` are those of the whole site.
    """

    raw: np.ndarray
    values: np.ndarray
    spread: float
    middle: float
    node_set_indicators: np.ndarray
    excursions: tuple[Excursion, ...]
    modes: Modes | None = None
    usual_excursion_sizes: Mapping[int, float] = field(default_factory=dict)

    @property
    def nights(self) -> int:
        return int(self.raw.size)

    def without_excursion(self, excursion: Excursion, level: float) -> CleanSeries:
        """A copy with one more excursion, whose nights get the `level` around them."""
        values = self.values.copy()
        values[excursion.begin : excursion.end] = level
        return replace(self, values=values, excursions=(*self.excursions, excursion))


def series_rows(
    logs: np.ndarray, nodes: np.ndarray, settings: NightSettings, days: np.ndarray | None = None
) -> Iterator[SeriesRow]:
    """Yield the rows of a table [series, nights] of logarithms; only finite values count.

    `days` [nights]: when each night began, days from any midnight; by default one night a day.

    The `node_sets_most` most frequent node sets of a row are distinguished, of equals those seen
    first; "not known" (-1 in `nodes`) is one set.  Sets with fewer than `node_set_nights` nights
    are not comparable.  If more than half of the nights are on rare sets, the site assigns nodes at
    random: then the row has one set, and differences between nodes are part of its noise.
    """
    days = np.arange(float(logs.shape[1])) if days is None else days
    for values, numbers in zip(logs, nodes, strict=True):
        nights = np.flatnonzero(np.isfinite(values))
        _, first, place, count = np.unique(
            numbers[nights], return_index=True, return_inverse=True, return_counts=True
        )
        rank = np.empty(count.size, dtype=int)
        rank[np.lexsort((first, -count))] = np.arange(count.size)
        node_set = rank[place]
        is_rare = (node_set >= settings.node_sets_most) | (count[place] < settings.node_set_nights)
        if count.size < 2 or is_rare.mean() > 0.5:
            node_set = np.zeros(nights.size, dtype=int)
        else:
            node_set = np.where(is_rare, -1, node_set)
        yield SeriesRow(values[nights], nights, days[nights], node_set)


def clean_rows(all_rows: Sequence[SeriesRow], settings: NightSettings) -> list[CleanSeries]:
    """The nights (one or more) of each row of a site, cleaned, in units of their spread."""
    first_pass = [_clean_row(row, ModePrior(), settings) for row in all_rows]
    prior = site_prior([series.modes for series in first_pass])
    if prior == ModePrior():  # few series have modes
        return first_pass
    return [_clean_row(row, prior, settings) for row in all_rows]


def _clean_row(row: SeriesRow, prior: ModePrior, settings: NightSettings) -> CleanSeries:
    sets = (row.node_set[:, None] == np.arange(1, row.node_set.max(initial=0) + 1)).astype(float)
    logs = row.values - _node_set_offsets(row)
    logs = logs - _weekday_effects(logs, row.day)
    spread_least = max(_ROUNDING_SD_PER_RESOLUTION * _clock_resolution(logs), settings.spread_least)
    modes = find_modes(logs, spread_least, prior, settings)
    if modes is not None:
        logs = logs - visit_offsets(modes, prior, settings)
    level = running_median(logs)
    spread = _night_to_night_sd(logs, logs - level, settings.spread_least)
    mirror_level = running_median(logs, "mirror")  # the newest nights form no level here
    excursions = tuple(_short_excursions(logs / spread, mirror_level / spread, settings.clip_sd))
    bound = settings.clip_sd * spread
    low, high = np.minimum(level, mirror_level) - bound, np.maximum(level, mirror_level) + bound
    values = np.clip(logs, low, high)
    if sum(odd.end - odd.begin for odd in excursions) > _MAX_INCIDENT_SHARE * logs.size:
        excursions, values = (), logs
    for excursion in excursions:
        values[excursion.begin : excursion.end] = mirror_level[excursion.begin : excursion.end]
    middle = float(np.median(values))
    raw, values = (logs - middle) / spread, (values - middle) / spread
    return CleanSeries(raw, values, spread, middle, sets, excursions, modes)


def usual_excursion_sizes(
    all_series: Sequence[CleanSeries], settings: NightSettings
) -> dict[int, float]:
    """The largest size of usual excursions of a site, by their minimum number of nights.

    Excursions are usual if they begin in more than `newest_share` of all nights, by the lower
    confidence bound of a Poisson rate (F. Garwood, Biometrika 28, 1936); one or two are not enough.
    While such nights last, they may be the next excursion.  A length without usual excursions is
    missing in the result.
    """
    nights = sum(series.nights for series in all_series)
    excursions = [excursion for series in all_series for excursion in series.excursions]
    sizes: dict[int, float] = {}
    for length in range(1, settings.segment_least):
        sorted_sizes = sorted(odd.size for odd in excursions if odd.end - odd.begin >= length)
        counts = np.arange(len(sorted_sizes), 0, -1)
        rates = scipy.stats.chi2.ppf(_RATE_BOUND_ERROR, 2 * counts) / 2 / max(nights, 1)
        indices = np.flatnonzero(rates > settings.newest_share)
        if indices.size:
            sizes[length] = sorted_sizes[indices[-1]]
    return sizes


def running_median(
    values: np.ndarray, edge_mode: Literal["nearest", "mirror"] = "nearest"
) -> np.ndarray:
    """The median of the nights around each night; `edge_mode` extends the series at its ends."""
    reach = min(_MEDIAN_HALF_WIDTH_NIGHTS, max(1, (values.size - 1) // 4))
    return np.asarray(scipy.ndimage.median_filter(values, 2 * reach + 1, mode=edge_mode))


def _node_set_offsets(row: SeriesRow) -> np.ndarray:
    """A first estimate of what each night's node set adds to the most frequent one [nights]."""
    offsets = np.zeros(row.values.size)
    if not row.node_set.any():
        return offsets
    first = np.flatnonzero(row.node_set == 0)
    level = running_median(row.values[first])
    for number in range(1, int(row.node_set.max(initial=0)) + 1):
        nights = np.flatnonzero(row.node_set == number)
        reference = np.interp(nights, first, level)
        offsets[nights] = np.median(row.values[nights] - reference)
    return offsets


def _weekday_effects(logs: np.ndarray, day: np.ndarray) -> np.ndarray:
    """The effect of the weekday of each night [nights]; 0 if weekdays do not differ.

    An analysis of variance of deviations from the running median (R. A. Fisher 1925).  A weekday
    with few nights has no effect.
    """
    no_effects = np.zeros(logs.size)
    if logs.size < _MIN_WEEKS * 7:
        return no_effects
    deviations = logs - running_median(logs)
    bound = 4 * SD_PER_MAD * float(np.median(np.abs(deviations)))
    deviations = np.clip(deviations, -bound, bound)
    weekday = np.floor(day).astype(int) % 7
    all_groups = {number: deviations[weekday == number] for number in range(7)}
    groups = {number: group for number, group in all_groups.items() if group.size >= _MIN_WEEKS - 1}
    if len(groups) < 2 or not np.ptp(deviations):
        return no_effects
    if scipy.stats.f_oneway(*groups.values()).pvalue > _WEEKDAY_P:
        return no_effects
    effects = np.zeros(7)
    effects[list(groups)] = [group.mean() for group in groups.values()]
    effects[list(groups)] -= np.median(effects[list(groups)])
    return np.asarray(effects[weekday])


def _night_to_night_sd(logs: np.ndarray, deviations: np.ndarray, min_spread: float) -> float:
    """Robust night-to-night standard deviation, at least that of the clock's rounding."""
    sd = (
        SD_PER_MAD * float(np.median(np.abs(deviations))) / 0.95
    )  # the running median follows part of it
    steps = np.diff(logs)
    steps = np.abs(steps - np.median(steps)) if steps.size else np.zeros(1)
    step_sd = (
        _DIFFERENCE_SPREAD_FACTOR * _SD_PER_DIFFERENCE_SD * SD_PER_MAD * float(np.median(steps))
    )
    return max(sd, step_sd, _ROUNDING_SD_PER_RESOLUTION * _clock_resolution(logs), min_spread)


def _clock_resolution(logs: np.ndarray) -> float:
    """Relative step of the clock; 0 if values hardly repeat."""
    unique_values = np.unique(np.round(logs, 9))
    if unique_values.size < 2 or unique_values.size > logs.size / 2:
        return 0.0
    return float(np.median(np.diff(unique_values)))


def _short_excursions(values: np.ndarray, level: np.ndarray, clip_sd: float) -> Iterator[Excursion]:
    """Yield short runs of nights far from the level, on one side; a last run does not count.

    After a run among the newest nights, the next night must be nearer to the level before the run
    than to the run: too few nights show the level after it.
    """
    deviations = values - level
    side = np.where(np.abs(deviations) > _FAR_NIGHT_SD, np.sign(deviations), 0)
    bounds = [0, *(np.flatnonzero(np.diff(side)) + 1).tolist(), side.size]
    for begin, end in pairwise(bounds):
        size = np.abs(deviations[begin:end])
        is_short = end - begin <= _MAX_EXCURSION_NIGHTS and end < side.size
        if side[begin] and is_short and size.max() > clip_sd:
            values_before = values[max(begin - _MEDIAN_HALF_WIDTH_NIGHTS, 0) : max(begin, 1)]
            begin_distance, end_distance = np.abs(values[[begin, end]] - np.median(values_before))
            is_early = end + _MEDIAN_HALF_WIDTH_NIGHTS < side.size or not begin
            if is_early or 2 * end_distance < begin_distance:
                yield Excursion(begin, end, float(np.median(size)))
