"""The levels of a series: where change points are, given each model of its noise.

A kernel segmentation proposes many change points (Z. Harchaoui and O. Cappe, IEEE SSP 2007; S.
Arlot, A. Celisse and Z. Harchaoui, JMLR 20, 2019).  Under each model of noise they are tested
together by generalised least squares, and the weakest is dropped until each has its evidence.  What
remains must also hold against the spread of its own two segments, and must be no mode that the
series visits anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import ruptures

from roundtrip.stats.nights.noise import Noise, models
from roundtrip.stats.nights.series import MAD, Clean, Excursion
from roundtrip.stats.nights.settings import NEVER, Settings

#: Penalties of the proposal, in variances times log(nights), and how many nights a change point
#: may cost before the second is taken.
_PENALTY, _PENALTY_MANY, _MANY = 2.5, 8.0, 6
#: So many nights on either side say what the spread beside a change point is.
_BESIDE = 60
#: The spread of all nights counts as so many nights of a segment.
_WORTH = 4.0
#: Runs up to this length are visits of a mode, and so many make one.
_VISIT, _VISITS = 12, 3
#: An excursion went back if the levels on both sides of it differ by less than this part of it.
_BACK = 0.5
#: The nights beside a plain change point scatter at least by this part of the series' spread, and
#: so much of the area under the ROC curve is theirs; it is found within so many nights.
_LEAST_SPREAD, _CLEAR, _NEAR = 0.5, 0.95, 5
_RIDGE = 1e-9
_TINY = 1e-12


@dataclass(frozen=True)
class Fit:
    """A series explained by `noise` and levels that begin in night 0 and at `points`.

    `criterion` is -2 log likelihood and what the change points cost.  `sizes`, `errors`,
    `evidence` and `thresholds` are one a change point, in units of the series' spread and in
    standard normal deviates.  `sd` is the standard deviation from night to night.  `slope` is by
    which the level rises from the first night to the last; 0 unless a line was asked for.
    """

    noise: Noise
    criterion: float
    points: tuple[int, ...]
    sd: float
    sizes: np.ndarray
    errors: np.ndarray
    evidence: np.ndarray
    thresholds: np.ndarray
    slope: float = 0.0
    slope_error: float = math.inf

    def bounds(self, nights: int) -> list[int]:
        """First nights of the segments, then the number of all nights."""
        return [0, *self.points, nights]


def fits(series: Clean, settings: Settings) -> list[Fit]:
    """The best explanation of a series by each model of noise."""
    proposed = _proposed(series)
    clear = list(_plain(series, proposed, settings))
    return [
        _with_cost(_supported(series, proposed, noise, settings), clear, settings)
        for noise in models(series.nights)
    ]


def fit(
    series: Clean, points: Sequence[int], noise: Noise, settings: Settings, *, line: bool = False
) -> Fit:
    """Drop the weakest of `points` until each that remains has the evidence that it needs.

    With `line`, a straight line through all nights is fitted beside them.
    """
    n = series.nights
    whiten = noise.whiten[:n, :n]
    kept = [noise.steps[:n, :1], whiten @ series.sets]
    if line:
        kept.append(whiten @ np.linspace(-0.5, 0.5, n)[:, None])
    first = 1 + series.sets.shape[1] + line
    remaining = list(points)
    design = np.hstack([*kept, noise.steps[:n][:, remaining]])
    response = whiten @ series.values
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += _RIDGE * n
    cross = design.T @ response
    total = float(response @ response)
    while True:
        inverse = np.linalg.inv(gram)
        solution = inverse @ cross
        left = max(total - float(cross @ solution), _TINY * n)
        squares = solution[first:] ** 2 / np.diag(inverse)[first:]
        gain = n * np.log1p(squares / left)
        needed = np.square(_thresholds(series, remaining, noise, settings))
        if not remaining:
            break
        weakest = int(np.argmax(needed - gain))
        if gain[weakest] >= needed[weakest]:
            break
        del remaining[weakest]
        keep = np.delete(np.arange(len(cross)), first + weakest)
        gram, cross = gram[np.ix_(keep, keep)], cross[keep]
    variance = left / max(1, n - len(cross))
    errors = np.sqrt(variance * np.diag(inverse))
    return Fit(
        noise,
        n * math.log(left) + float(noise.log_determinant[n - 1]) + float(needed.sum()),
        tuple(remaining),
        math.sqrt(variance),
        solution[first:],
        errors[first:],
        np.sqrt(gain),
        np.sqrt(needed),
        float(solution[first - 1]) if line else 0.0,
        float(errors[first - 1]) if line else math.inf,
    )


def excursion(
    series: Clean, points: Sequence[int], settings: Settings
) -> tuple[Excursion, float] | None:
    """The first segment too short for a level that went back to where it came from, and that level.

    None if there is none.
    """
    bounds = [0, *points, series.nights]
    for at in range(len(bounds) - 3):
        before, begin, end, after = bounds[at : at + 4]
        if end - begin >= settings.incident_nights:
            continue
        old, here, new = (
            float(np.median(series.values[first:last]))
            for first, last in ((before, begin), (begin, end), (end, after))
        )
        off = min(abs(here - old), abs(here - new))
        if abs(new - old) < _BACK * off:
            return Excursion(begin, end, off), (old + new) / 2
    return None


def _proposed(series: Clean) -> list[int]:
    n = series.nights
    search = ruptures.KernelCPD(kernel="linear", min_size=2).fit(series.values[:, None])
    proposed = search.predict(pen=_PENALTY * math.log(n))
    if len(proposed) > n / _MANY:
        proposed = search.predict(pen=_PENALTY_MANY * math.log(n))
    return [int(point) for point in proposed[:-1]]


def _supported(series: Clean, points: Sequence[int], noise: Noise, settings: Settings) -> Fit:
    """The fit whose every change point is supported by the nights beside it, too."""
    while True:
        found = fit(series, points, noise, settings)
        holds = list(_hold(series, found, settings))
        kept = [point for point, does in zip(found.points, holds, strict=True) if does]
        if len(kept) == len(found.points):
            return found
        points = kept


def _plain(series: Clean, proposed: Sequence[int], settings: Settings) -> Iterator[int]:
    """Of the proposed change points, those that anyone sees: no slow noise moves so far at once.

    The medians of `plain_nights` on either side differ by more than `plain_sd` of their own robust
    standard deviations, and hardly a night is on the wrong side.
    """
    for point in proposed:
        before = series.values[max(0, point - settings.plain_nights) : point]
        since = series.values[point : point + settings.plain_nights]
        if min(before.size, since.size) < settings.incident_nights:
            continue
        size = abs(float(np.median(since) - np.median(before)))
        own = max(_LEAST_SPREAD, *(_robust(part) for part in (before, since)))
        if size > settings.plain_sd * own and separation(before, since) > _CLEAR:
            yield point


def _with_cost(found: Fit, plain: Sequence[int], settings: Settings) -> Fit:
    """The fit, whose criterion is worse for each plain change point that it does not have."""
    missing = sum(all(abs(one - point) > _NEAR for one in found.points) for point in plain)
    return replace(found, criterion=found.criterion + settings.plain_cost * missing)


def _robust(values: np.ndarray) -> float:
    return MAD * float(np.median(np.abs(values - np.median(values))))


def _thresholds(
    series: Clean, points: Sequence[int], noise: Noise, settings: Settings
) -> np.ndarray:
    bounds = [0, *points, series.nights]
    result = np.empty(len(points))
    for index, point in enumerate(points):
        before, since = point - bounds[index], bounds[index + 2] - point
        is_newest = index == len(points) - 1 and since < before
        if is_newest and since < settings.segment_least and _was_seen(series, bounds[index], point):
            result[index] = NEVER
            continue
        result[index] = settings.threshold(
            series.nights, min(before, since), is_newest=is_newest, has_memory=noise.has_memory
        )
    return result


def _was_seen(series: Clean, before: int, point: int) -> bool:
    """Whether an earlier excursion was about as long and as large as the nights since `point`."""
    since = series.nights - point
    level = np.median(series.values[max(before, point - _BESIDE) : point])
    off = abs(float(np.median(series.raw[point:]) - level))
    return any(
        one.end - one.begin >= since - 1 and one.size >= off / 2 for one in series.excursions
    )


def _hold(series: Clean, found: Fit, settings: Settings) -> Iterator[bool]:
    """Of each change point, whether the nights beside it support it."""
    bounds = found.bounds(series.nights)
    ratios = found.sizes / (found.errors * inflation(series, found))
    for index, point in enumerate(found.points):
        first = max(bounds[index], point - _BESIDE)
        last = min(bounds[index + 2], point + _BESIDE)
        apart = separation(series.raw[first:point], series.raw[point:last])
        t = ratios[index] ** 2 / series.nights
        yield (
            math.sqrt(series.nights * math.log1p(t)) >= found.thresholds[index]
            and apart >= settings.separation_least
            and not _is_visit(series.raw, bounds[index], point, bounds[index + 2], settings)
        )


def inflation(series: Clean, found: Fit) -> np.ndarray:
    """By how much the nights beside each change point scatter more than all nights do, at least 1.

    A factor of its standard error (B. L. Welch, Biometrika 34, 1947), where the spread of all
    nights counts as so many nights as `_WORTH` says.
    """
    if not found.points:
        return np.empty(0)
    parts = np.split(series.values, found.points)
    squares = sum(float(part.var()) * part.size for part in parts)
    pooled = max(squares / max(1, series.nights - len(parts)), _TINY)
    bounds = found.bounds(series.nights)
    result = np.empty(len(found.points))
    for index, point in enumerate(found.points):
        expected = actual = 0.0
        first, last = max(bounds[index], point - _BESIDE), min(bounds[index + 2], point + _BESIDE)
        for part in (series.values[first:point], series.values[point:last]):
            own = _WORTH * pooled + float(part.var()) * part.size
            expected += pooled / part.size
            actual += max(own / (_WORTH + part.size - 1), pooled) / part.size
        result[index] = math.sqrt(actual / expected)
    return result


def separation(before: np.ndarray, after: np.ndarray) -> float:
    """Area under the ROC curve between two sets of nights, from 0.5 to 1."""
    ordered = np.sort(before)
    below = np.searchsorted(ordered, after, "left") + np.searchsorted(ordered, after, "right")
    area = float(below.mean()) / 2 / before.size
    return max(area, 1 - area)


def _is_visit(raw: np.ndarray, first: int, point: int, last: int, settings: Settings) -> bool:
    """Whether the segment before or after `point` is as long as visits of a mode happen to be.

    Modes are those on either side of the middle between both levels.  Visits elsewhere in the
    series say with which probability a night stays in the mode (a Markov chain of two states).
    """
    before, after = np.median(raw[first:point]), np.median(raw[point:last])
    middle = (before + after) / 2
    is_high = after > before
    for length, elsewhere, high in (
        (last - point, raw[:point], is_high),
        (point - first, raw[point:], not is_high),
    ):
        there = np.concatenate([[0], (elsewhere > middle) == high, [0]]).astype(int)
        change = np.diff(there)
        runs = np.flatnonzero(change == -1) - np.flatnonzero(change == 1)
        runs = runs[runs <= _VISIT]
        if runs.size < _VISITS:
            continue
        stay = (runs.sum() - runs.size + 0.5) / (runs.sum() + 1)
        if -length * math.log(stay) < settings.mode_evidence:
            return True
    return False
