"""The levels of a series: its change points under each model of its noise.

A kernel segmentation proposes many change points (Z. Harchaoui and O. Cappe, IEEE SSP 2007; S.
Arlot, A. Celisse and Z. Harchaoui, JMLR 20, 2019).  Under each model of noise they are tested
together by generalised least squares, and the weakest is dropped until each has enough evidence.
Each remaining change point must also be significant against the spread of its own two segments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress, pairwise

import numpy as np
import scipy

from roundtrip.stats.nights.noise import NoiseModel, noise_models
from roundtrip.stats.nights.series import CleanSeries, Excursion
from roundtrip.stats.settings import NightSettings
from roundtrip.stats.summaries import robust_sd

#: Penalties of the proposal, in variances times log(nights).  The second replaces the first if that
#: gives more than one change point per `_NIGHTS_PER_POINT`.
_POINT_PENALTY, _MANY_POINTS_PENALTY, _NIGHTS_PER_POINT = 2.5, 8.0, 6
#: Most nights on either side that give the spread beside a change point.
_MAX_SIDE_NIGHTS = 60
#: Deviations of nights from their segment are clipped at so many robust standard deviations.
_CLIP_SD = 4.0
#: Confidence of the test whether a segment scatters more than the series.
_VARIANCE_CONFIDENCE = 0.99
#: Levels before and after an excursion differ by less than this share of its size.
_MAX_RETURN_SHARE = 0.5
#: Of a plain change point: least spread of the nights beside it, in spreads of the series; least
#: area under the ROC curve; greatest distance from a fit's change point, nights.
_MIN_PLAIN_SPREAD, _MIN_PLAIN_SEPARATION, _MAX_NEAR_NIGHTS = 0.5, 0.95, 5
_RIDGE_TERM = 1e-9
_MIN_VARIANCE = 1e-12


@dataclass(frozen=True)
class SegmentFit:
    """A series explained by `noise` and levels that begin in night 0 and at `change_points`.

    `criterion` is -2 log likelihood plus the penalties of change points.  `step_sizes`,
    `standard_errors` (in units of the series' spread), `evidence` and `thresholds` (in standard
    normal deviates) have one value per change point.  `sd` is the standard deviation from night to
    night.  `line_rise` is the rise of the level from the first night to the last; 0 without a line.
    """

    noise: NoiseModel
    criterion: float
    change_points: tuple[int, ...]
    sd: float
    step_sizes: np.ndarray
    standard_errors: np.ndarray
    evidence: np.ndarray
    thresholds: np.ndarray
    line_rise: float = 0.0
    line_rise_error: float = math.inf


def fit_all_series(
    all_series: Sequence[CleanSeries], settings: NightSettings
) -> list[list[SegmentFit]]:
    """The best fit of each series under each model of noise: [series][models]."""
    series_fits: list[list[SegmentFit]] = [[] for _ in all_series]
    for nights in {series.nights for series in all_series}:
        numbers = [number for number, series in enumerate(all_series) if series.nights == nights]
        proposals = [_ProposedChangePoints(all_series[number], settings) for number in numbers]
        values = np.array([all_series[number].values for number in numbers])
        for noise in noise_models(nights):
            # One product for all series reads the matrix once.
            responses = values @ noise.whitening_matrix[:nights, :nights].T
            for number, proposal, response in zip(numbers, proposals, responses, strict=True):
                series_fits[number].append(proposal.fit(noise, response))
    return series_fits


def fit_levels(
    series: CleanSeries,
    points: Sequence[int],
    noise: NoiseModel,
    settings: NightSettings,
    *,
    has_line: bool = False,
    whitened: np.ndarray | None = None,
) -> SegmentFit:
    """Drop the weakest of `points` until each remaining one has enough evidence; return the fit.

    With `has_line`, also fit a line through all nights.  `whitened`: the series, whitened.
    """
    n = series.nights
    whiten = noise.whitening_matrix[:n, :n]
    if whitened is None:
        whitened = whiten @ series.values
    change_points = list(points)
    columns = [noise.whitened_steps[:1, :n]]
    if series.node_set_indicators.size:
        columns.append((whiten @ series.node_set_indicators).T)
    if has_line:
        columns.append(noise.whitened_line[None, :n] / (n - 1) - columns[0] / 2)
    first = 1 + series.node_set_indicators.shape[1] + has_line
    design = np.concatenate([*columns, noise.whitened_steps[change_points, :n]])
    gram = design @ design.T
    gram.flat[:: len(gram) + 1] += _RIDGE_TERM * n
    cross = design @ whitened
    total = float(whitened @ whitened)
    while True:
        inverse = np.linalg.inv(gram)
        solution = inverse @ cross
        rss = max(total - float(cross @ solution), _MIN_VARIANCE * n)
        squares = solution[first:] ** 2 / inverse.diagonal()[first:]
        gain = n * np.log1p(squares / rss)
        penalties = np.square(_evidence_thresholds(series, change_points, noise, settings))
        if not change_points:
            break
        weakest = int(np.argmax(penalties - gain))
        if gain[weakest] >= penalties[weakest]:
            break
        del change_points[weakest]
        indices = np.delete(np.arange(len(cross)), first + weakest)
        gram, cross = gram[np.ix_(indices, indices)], cross[indices]
    variance = rss / max(1, n - len(cross))
    errors = np.sqrt(variance * inverse.diagonal())
    return SegmentFit(
        noise,
        n * math.log(rss) + float(noise.log_determinant[n - 1]) + float(penalties.sum()),
        tuple(change_points),
        math.sqrt(variance),
        solution[first:],
        errors[first:],
        np.sqrt(gain),
        np.sqrt(penalties),
        float(solution[first - 1]) if has_line else 0.0,
        float(errors[first - 1]) if has_line else math.inf,
    )


def find_excursion(
    series: CleanSeries, points: Sequence[int], settings: NightSettings
) -> tuple[Excursion, float] | None:
    """Return an excursion, a segment that is no level, and the level around it; None without one.

    It is too short for a level; either the level returns after it, or it begins the series, so that
    the level before is unknown.  The newest nights are one if they look like earlier excursions of
    the series or its site: they are then compared with their prediction.
    """

    def level(first: int, last: int) -> float:
        return float(np.median(series.values[first:last]))

    if not points:
        return None
    bounds = [0, *points, series.nights]
    before, begin, end = bounds[-3:]
    if end - begin < min(settings.segment_least, begin - before):
        level_before = level(max(before, begin - _MAX_SIDE_NIGHTS), begin)
        size = abs(float(np.median(series.raw[begin:])) - level_before)
        if _is_usual_excursion(series, end - begin, size):
            return Excursion(begin, end, size), level_before
    if points[0] < settings.incident_nights:
        level_inside, level_after = level(0, bounds[1]), level(bounds[1], bounds[2])
        return Excursion(0, points[0], abs(level_inside - level_after)), level_after
    for index in range(len(bounds) - 3):
        spans = list(pairwise(bounds[index : index + 4]))
        begin, end = spans[1]
        if end - begin >= settings.incident_nights:
            continue
        level_before, level_inside, level_after = (level(*span) for span in spans)
        size = min(abs(level_inside - level_before), abs(level_inside - level_after))
        if abs(level_after - level_before) < _MAX_RETURN_SHARE * size:
            return Excursion(begin, end, size), (level_before + level_after) / 2
    return None


class _ProposedChangePoints:
    """The proposed change points of a series, and statistics of the nights beside them."""

    def __init__(self, series: CleanSeries, settings: NightSettings) -> None:
        import ruptures  # takes a second to load; a site with few nights does not need it

        self._series, self._settings, n = series, settings, series.nights
        search = ruptures.KernelCPD(kernel="linear", min_size=2).fit(series.values[:, None])
        points = search.predict(pen=_POINT_PENALTY * math.log(n))
        if len(points) > n / _NIGHTS_PER_POINT:
            points = search.predict(pen=_MANY_POINTS_PENALTY * math.log(n))
        self._points = [int(point) for point in points[:-1]]
        self._plain_points = list(_plain_change_points(series, self._points, settings))
        self._statistics: dict[tuple[int, ...], tuple[np.ndarray, ...]] = {}

    def fit(self, noise: NoiseModel, response: np.ndarray) -> SegmentFit:
        """Return a fit whose change points are also supported by the nights beside each of them.

        Its criterion is worse for each plain change point without one of its own nearby.
        """
        points: Sequence[int] = self._points
        while True:
            candidate = fit_levels(self._series, points, noise, self._settings, whitened=response)
            if not candidate.change_points:
                break
            points = list(compress(candidate.change_points, self._is_supported(candidate)))
            if len(points) == len(candidate.change_points):
                break
        misses = sum(
            all(abs(point - plain_point) > _MAX_NEAR_NIGHTS for point in candidate.change_points)
            for plain_point in self._plain_points
        )
        cost = self._settings.plain_cost * misses
        return replace(candidate, criterion=candidate.criterion + cost)

    def _is_supported(self, fit: SegmentFit) -> np.ndarray:
        """Whether the scatter and overlap of the nights beside each change point support it."""
        # Models of noise often give the same change points.
        if fit.change_points not in self._statistics:
            sides = _side_nights(self._series, fit.change_points)
            areas = np.array([roc_separation(*side) for side in sides])
            factors, freedom = standard_error_factors(self._series, fit.change_points)
            self._statistics[fit.change_points] = factors, freedom, areas
        factors, freedom, areas = self._statistics[fit.change_points]
        nights = self._series.nights
        squares = np.expm1(fit.evidence**2 / nights) / factors**2
        evidence = np.sqrt(nights * np.log1p(squares))
        welch_evidence = -scipy.special.ndtri(scipy.special.stdtr(freedom, -evidence))
        evidence = np.where(np.isinf(freedom), evidence, np.minimum(welch_evidence, evidence))
        is_enough = evidence >= fit.thresholds - _MIN_VARIANCE
        return np.asarray(is_enough & (areas >= self._settings.separation_least))


def _side_nights(
    series: CleanSeries, points: Sequence[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield nights before and after each change point, up to `_MAX_SIDE_NIGHTS` per segment."""
    bounds = [0, *points, series.nights]
    for index, point in enumerate(points):
        first = max(bounds[index], point - _MAX_SIDE_NIGHTS)
        last = min(bounds[index + 2], point + _MAX_SIDE_NIGHTS)
        yield series.raw[first:point], series.raw[point:last]


def _plain_change_points(
    series: CleanSeries, points: Sequence[int], settings: NightSettings
) -> Iterator[int]:
    """Yield the plain ones of the proposed change points: slow noise has no such steps.

    The medians of `plain_nights` on either side differ by more than `plain_sd` of their own robust
    standard deviations, and hardly any night is on the wrong side.
    """
    for point in points:
        before = series.values[max(0, point - settings.plain_nights) : point]
        after = series.values[point : point + settings.plain_nights]
        if min(before.size, after.size) < settings.incident_nights:
            continue
        size = abs(float(np.median(after) - np.median(before)))
        spread = max(_MIN_PLAIN_SPREAD, *(robust_sd(part) for part in (before, after)))
        is_large = size > settings.plain_sd * spread
        if is_large and roc_separation(before, after) > _MIN_PLAIN_SEPARATION:
            yield point


def _evidence_thresholds(
    series: CleanSeries, points: Sequence[int], noise: NoiseModel, settings: NightSettings
) -> np.ndarray:
    bounds = [0, *points, series.nights]
    result = np.empty(len(points))
    for index, point in enumerate(points):
        before, after = point - bounds[index], bounds[index + 2] - point
        is_newest = index == len(points) - 1 and after < before
        result[index] = settings.threshold(
            series.nights,
            min(before, after),
            is_newest=is_newest,
            is_autocorrelated=noise.is_autocorrelated,
        )
    return result


def _is_usual_excursion(series: CleanSeries, nights: int, size: float) -> bool:
    """Whether excursions of about `nights` nights and of half of `size` are known.

    One in the series is enough; the site needs as many as in `usual_excursion_sizes`.
    """
    return size <= 2 * series.usual_excursion_sizes.get(nights, 0.0) or any(
        excursion.end - excursion.begin >= nights - 1 and excursion.size >= size / 2
        for excursion in series.excursions
    )


def standard_error_factors(
    series: CleanSeries, points: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Factors for the standard errors of change points, at least 1, and their degrees of freedom.

    A factor is the scatter of the nights beside a change point over that of all; the degrees of
    freedom (B. L. Welch, Biometrika 34, 1947) are infinite where it is 1.  The variance on either
    side is its own if that is larger with confidence `_VARIANCE_CONFIDENCE` (chi-square), else that
    of all nights: few nights that scatter more or less by chance do not count.
    """
    factors, freedom = np.ones(len(points)), np.full(len(points), math.inf)
    if not points:
        return factors, freedom
    parts = np.split(series.values, points)
    squares = sum(float(part.var()) * part.size for part in parts)
    pooled_var = max(squares / max(1, series.nights - len(parts)), _MIN_VARIANCE)
    for index, sides in enumerate(_side_nights(series, points)):
        expected = actual = doubt = 0.0
        for part in sides:
            variance, degrees = _side_variance(part, pooled_var)
            expected += pooled_var / part.size
            actual += variance / part.size
            doubt += (variance / part.size) ** 2 / degrees
        if doubt:
            factors[index], freedom[index] = math.sqrt(actual / expected), actual**2 / doubt
    return factors, freedom


def _side_variance(side_nights: np.ndarray, pooled_variance: float) -> tuple[float, float]:
    """Variance of the nights and its degrees of freedom; the pooled one unless clearly less.

    Outliers are clipped.
    """
    deviations = side_nights - np.median(side_nights)
    bound = _CLIP_SD * max(robust_sd(side_nights), math.sqrt(pooled_variance))
    deviations = np.clip(deviations, -bound, bound)
    squares = float(deviations.var()) * deviations.size
    if squares > pooled_variance * _max_sum_of_squares(side_nights.size):
        return squares / (side_nights.size - 1), side_nights.size - 1
    return pooled_variance, math.inf


@cache
def _max_sum_of_squares(nights: int) -> float:
    """The largest sum of squares of `nights` nights by chance, over the variance."""
    return float(scipy.stats.chi2.ppf(_VARIANCE_CONFIDENCE, nights - 1)) if nights > 1 else math.inf


def roc_separation(before: np.ndarray, after: np.ndarray) -> float:
    """Area under the ROC curve between two sets of nights, from 0.5 to 1."""
    ordered = np.sort(before)
    ranks = np.searchsorted(ordered, after, "left") + np.searchsorted(ordered, after, "right")
    area = float(ranks.mean()) / 2 / before.size
    return max(area, 1 - area)
