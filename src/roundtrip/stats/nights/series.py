"""The nights of one series, without holes, cleaned of what is no level: incidents and odd nights.

Nights that were not measured, or were left out, are dropped, and the rest moves together: how many
nights lie between two measurements plays no part but in drifts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import scipy

from roundtrip.stats.nights.noise import (
    ModePrior,
    Modes,
    find_modes,
    offsets_of_visits,
    site_prior,
)
from roundtrip.stats.settings import NightSettings
from roundtrip.stats.summaries import MAD

#: The difference of two nights of a normal distribution to its standard deviation.
_DIFFERENCE = 2**-0.5
#: A running median follows a level after so many nights, on either side.
_REACH = 7
#: A night farther off than `_FAR_SD` belongs to an incident that has one beyond `clip_sd`; an
#: incident that is no more than `_SHORT_NIGHTS` nights long is seen without a fit.  If more than
#: `_ODD_SHARE` of all nights are such, the series has two modes, and they are its noise.
_FAR_SD, _SHORT_NIGHTS, _ODD_SHARE = 2.5, 4, 0.15
#: A spread estimated from differences is believed to this part: nights may alternate.
_CAUTION = 0.8
#: Weekdays differ if so many weeks or more would show it by chance less often than this.
_WEEKS, _WEEKDAY = 5, 1e-5
#: A rate is believed to be above its confidence bound but for this probability.
_DOUBT = 0.05
#: The standard deviation of a clock's rounding in parts of its resolution, with a margin.
_ROUNDING = 0.4


@dataclass(frozen=True)
class Row:
    """One series: logarithms, places in the order of the site's nights, and node sets [nights].

    Node sets are numbered from 0, the most usual first; -1 is a night that no other is comparable
    with.
    """

    values: np.ndarray
    night: np.ndarray
    node_set: np.ndarray

    @property
    def comparable(self) -> Row:
        """Without the nights of node set -1."""
        mask = self.node_set >= 0
        return Row(self.values[mask], self.night[mask], self.node_set[mask])

    def part(self, begin: int, end: int) -> Row:
        """Only the nights `begin` to `end`, which is the first that is not taken."""
        return Row(self.values[begin:end], self.night[begin:end], self.node_set[begin:end])


@dataclass(frozen=True)
class Excursion:
    """Nights `begin` to `end` (not taken) that were `size` deviations off and went back."""

    begin: int
    end: int
    size: float


@dataclass(frozen=True)
class CleanSeries:
    """A row in units of its `spread` (of logarithms), less its `middle`.

    `raw` has every night as it was, `values` without `excursions`, and no night farther than
    `clip_sd` from the nights around it.  `sets` [nights, node sets - 1] marks the nights of each
    node set but the first.  Node sets, weekdays and the nights of two `modes` are brought to one
    level, by a first estimate.  `usual_sizes`: by number of nights, what `usual_excursion_sizes`
    says of the site.
    """

    raw: np.ndarray
    values: np.ndarray
    spread: float
    middle: float
    sets: np.ndarray
    excursions: tuple[Excursion, ...]
    modes: Modes | None = None
    usual_sizes: Mapping[int, float] = field(default_factory=dict)

    @property
    def nights(self) -> int:
        """How many nights there are."""
        return int(self.raw.size)

    def without(self, excursion: Excursion, level: float) -> CleanSeries:
        """The same with one excursion more, whose nights get the `level` around them."""
        values = self.values.copy()
        values[excursion.begin : excursion.end] = level
        return replace(self, values=values, excursions=(*self.excursions, excursion))


def rows(logs: np.ndarray, nodes: np.ndarray, settings: NightSettings) -> Iterator[Row]:
    """The rows of a table [series, nights] of logarithms: what is not finite does not count.

    The `node_sets_most` node sets that a row used most often are kept apart, the first seen first
    among equals; "not known" (-1 in `nodes`) counts as one of them.  Sets with fewer than
    `node_set_nights` nights are not comparable.  If more than half of the nights are on rare sets,
    the site hands out nodes at random: then the row has one set, and what differs between nodes is
    part of its noise.
    """
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
        yield Row(values[nights], nights, node_set)


def clean(all_rows: Sequence[Row], settings: NightSettings) -> list[CleanSeries]:
    """The comparable nights of each row of a site, at least one, in units of their spread.

    Where series have modes, what is known of their visits counts for all.
    """
    first_pass = [_clean(row, ModePrior(), settings) for row in all_rows]
    prior = site_prior([series.modes for series in first_pass])
    if prior == ModePrior():
        return first_pass
    return [_clean(row, prior, settings) for row in all_rows]


def _clean(row: Row, prior: ModePrior, settings: NightSettings) -> CleanSeries:
    sets = (row.node_set[:, None] == np.arange(1, row.node_set.max(initial=0) + 1)).astype(float)
    logs = row.values - _offsets(row)
    logs = logs - _weekdays(logs, row.night)
    modes = find_modes(
        logs, max(_ROUNDING * _resolution(logs), settings.spread_least), prior, settings
    )
    if modes is not None:
        logs = logs - offsets_of_visits(modes, prior, settings)
    level = running_median(logs)
    deviations = logs - level
    spread = _spread(logs, deviations, settings.spread_least)
    mirror_level = running_median(logs, "mirror")  # that no newest night makes a level of its own
    excursions = tuple(_short_excursions(logs / spread, mirror_level / spread, settings.clip_sd))
    bound = settings.clip_sd * spread
    values = np.clip(
        logs, np.minimum(level, mirror_level) - bound, np.maximum(level, mirror_level) + bound
    )
    if sum(excursion.end - excursion.begin for excursion in excursions) > _ODD_SHARE * logs.size:
        excursions, values = (), logs
    for excursion in excursions:
        values[excursion.begin : excursion.end] = mirror_level[excursion.begin : excursion.end]
    middle = float(np.median(values))
    raw, values = (logs - middle) / spread, (values - middle) / spread
    return CleanSeries(raw, values, spread, middle, sets, excursions, modes)


def usual_excursion_sizes(
    all_series: Sequence[CleanSeries], settings: NightSettings
) -> dict[int, float]:
    """How large excursions of a site are that last for so many nights, or longer, and are usual.

    Usual is what begins in more than `newest_share` of all nights, by the lower confidence bound of
    a Poisson rate (F. Garwood, Biometrika 28, 1936): no site says so after one or two.  While such
    nights last nobody knows whether they are the next excursion.  Nothing is usual of lengths that
    the result does not have.
    """
    nights = sum(series.nights for series in all_series)
    excursions = [excursion for series in all_series for excursion in series.excursions]
    sizes: dict[int, float] = {}
    for length in range(1, settings.segment_least):
        sorted_sizes = sorted(
            excursion.size for excursion in excursions if excursion.end - excursion.begin >= length
        )
        counts = np.arange(len(sorted_sizes), 0, -1)
        rates = scipy.stats.chi2.ppf(_DOUBT, 2 * counts) / 2 / max(nights, 1)
        indices = np.flatnonzero(rates > settings.newest_share)
        if indices.size:
            sizes[length] = sorted_sizes[indices[-1]]
    return sizes


def running_median(
    values: np.ndarray, ends: Literal["nearest", "mirror"] = "nearest"
) -> np.ndarray:
    """The median of the nights around each night; the ends go on for ever, or backwards."""
    reach = min(_REACH, max(1, (values.size - 1) // 4))
    return np.asarray(scipy.ndimage.median_filter(values, 2 * reach + 1, mode=ends))


def _offsets(row: Row) -> np.ndarray:
    """By how much the node set of each night differs from the first: a first estimate [nights]."""
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


def _weekdays(logs: np.ndarray, night: np.ndarray) -> np.ndarray:
    """By how much each night is off because of its weekday, where weekdays differ [nights].

    An analysis of variance of what lies off the running median (R. A. Fisher 1925).
    """
    deviations = logs - running_median(logs)
    if logs.size < _WEEKS * 7:
        return np.zeros(logs.size)
    bound = 4 * MAD * float(np.median(np.abs(deviations)))
    deviations = np.clip(deviations, -bound, bound)
    day = night % 7
    groups = [deviations[day == weekday] for weekday in range(7)]
    if min(group.size for group in groups) < _WEEKS - 1 or not np.ptp(deviations):
        return np.zeros(logs.size)
    if scipy.stats.f_oneway(*groups).pvalue > _WEEKDAY:
        return np.zeros(logs.size)
    means = np.array([group.mean() for group in groups])
    return np.asarray((means - np.median(means))[day])


def _spread(logs: np.ndarray, deviations: np.ndarray, spread_least: float) -> float:
    """Robust standard deviation from night to night, never below what the resolution allows."""
    sd = MAD * float(np.median(np.abs(deviations))) / 0.95  # the running median takes part of it
    steps = np.diff(logs)
    steps = np.abs(steps - np.median(steps)) if steps.size else np.zeros(1)
    step_sd = _CAUTION * _DIFFERENCE * MAD * float(np.median(steps))
    return max(sd, step_sd, _ROUNDING * _resolution(logs), spread_least)


def _resolution(logs: np.ndarray) -> float:
    """Relative step of the clock, 0 if values hardly repeat."""
    unique_values = np.unique(np.round(logs, 9))
    if unique_values.size < 2 or unique_values.size > logs.size / 2:
        return 0.0
    return float(np.median(np.diff(unique_values)))


def _short_excursions(values: np.ndarray, level: np.ndarray, clip_sd: float) -> Iterator[Excursion]:
    """Few nights in a row that are far off the level on one side, and are followed by others.

    Of the newest nights the next one must be nearer to the level before them than to theirs: no
    nights say where the level is then.
    """
    deviations = values - level
    side = np.where(np.abs(deviations) > _FAR_SD, np.sign(deviations), 0)
    ends = [*np.flatnonzero(np.diff(side)) + 1, side.size]
    begin = 0
    for end in map(int, ends):
        size = np.abs(deviations[begin:end])
        if (
            side[begin]
            and end - begin <= _SHORT_NIGHTS
            and end < side.size
            and size.max() > clip_sd
        ):
            values_before = values[max(begin - _REACH, 0) : max(begin, 1)]
            begin_distance, end_distance = np.abs(values[[begin, end]] - np.median(values_before))
            if end + _REACH < side.size or not begin or 2 * end_distance < begin_distance:
                yield Excursion(begin, end, float(np.median(size)))
        begin = end
