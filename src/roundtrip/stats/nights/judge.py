"""Judge the nights of many series: change points, drifts, incidents and the newest night."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy

from roundtrip.stats.nights import segments
from roundtrip.stats.nights.noise import MAX_NIGHTS, change_of_mode_shares, noise_models, shares
from roundtrip.stats.nights.segments import SegmentFit
from roundtrip.stats.nights.series import (
    CleanSeries,
    SeriesRow,
    clean_rows,
    rows,
    usual_excursion_sizes,
)
from roundtrip.stats.nights.verdicts import (
    Flapping,
    Incident,
    LevelDrift,
    NewestNight,
    Segment,
    SeriesHistory,
    Step,
)
from roundtrip.stats.settings import NightSettings

#: Most rounds in which excursions that a fit took for levels are removed.
_MAX_EXCURSION_ROUNDS = 4
#: A wandering level moves by more than so many spreads, and by more than the least effect.
_WANDER_FACTOR = 1.5
#: Least distance of a change point from an end of its stretch that is not an end of the row.
_MIN_STRETCH_MARGIN = 64
#: Newest nights of each series from which the error bound of the site is estimated.
_RECENT_NIGHTS = 120
#: The newest night is usual if more than `_MIN_USUAL_NIGHTS_SHARE` of nights had
#: `_USUAL_ERROR_SHARE` of its error.
_USUAL_ERROR_SHARE, _MIN_USUAL_NIGHTS_SHARE = 0.5, 0.01
#: Least error of odd nights; most odd nights, with the last one, that are one event.
_ODD_NIGHT_SD, _MAX_ODD_RUN = 2.5, 4
#: Fewest runs of odd nights that are flapping.
_MIN_ODD_RUNS = 3


@dataclass(frozen=True)
class FittedStretch:
    """A stretch of a row from index `first` on, cleaned, with the selected fit."""

    row: SeriesRow
    first: int
    series: CleanSeries
    fit: SegmentFit


def judge_nights(
    logs: np.ndarray,
    nodes: np.ndarray,
    settings: NightSettings,
    least_effects: np.ndarray | None = None,
    days: np.ndarray | None = None,
) -> list[SeriesHistory]:
    """Return the history of each series as of its newest night.

    `logs` [series, nights]: natural logarithms of nightly medians; not finite where not measured,
    or left out.  `nodes`, of the same shape: the number of the node set, -1 if not known.
    `least_effects`: one per series, relative; by default that of `settings`.  `days`: as in `rows`.
    Pass all series of a site in one call: they share the estimate of their noise.
    """
    if least_effects is None:
        least_effects = np.full(len(logs), settings.minimum_effect)
    series_rows = list(rows(logs, nodes, settings, days))
    stretches = fit_stretches(series_rows, settings)
    predictions = [_predict_nights(parts[-1]) if parts else None for parts in stretches]
    bound = _error_bound([prediction for prediction in predictions if prediction], settings)
    table = zip(series_rows, stretches, predictions, least_effects.tolist(), strict=True)
    return [
        _series_history(row, parts, prediction, bound, effect, logs.shape[1], settings)
        for row, parts, prediction, effect in table
    ]


def fit_stretches(
    all_rows: Sequence[SeriesRow], settings: NightSettings
) -> list[list[FittedStretch]]:
    """The fitted stretches of each row, which overlap by half; none with too few nights."""
    parts: list[tuple[int, int, SeriesRow]] = []
    for number, row in enumerate(all_rows):
        comparable = row.comparable_nights
        if comparable.values.size >= settings.nights_least:
            last = max(0, comparable.values.size - MAX_NIGHTS)
            for first in sorted({*range(0, max(1, last), MAX_NIGHTS // 2), last}):
                parts.append((number, first, comparable.take(slice(first, first + MAX_NIGHTS))))
    if not parts:
        return [[] for _ in all_rows]
    clean_parts = clean_rows([part for _, _, part in parts], settings)
    usual_sizes = usual_excursion_sizes(clean_parts, settings)
    clean_parts = [replace(series, usual_sizes=usual_sizes) for series in clean_parts]
    fits = segments.fit_all_series(clean_parts, settings)
    for _ in range(_MAX_EXCURSION_ROUNDS):
        criteria = np.array([[fit.criterion for fit in model_fits] for model_fits in fits])
        model_shares = shares(criteria, settings.white_share, settings.share_weight)
        best = np.argmin(criteria - 2 * np.log(model_shares), axis=1)
        is_changed = False
        for number, series in enumerate(clean_parts):
            points = fits[number][best[number]].points
            if (excursion := segments.find_excursion(series, points, settings)) is not None:
                clean_parts[number] = series.without(*excursion)
                fits[number] = segments.fit_all_series([clean_parts[number]], settings)[0]
                is_changed = True
        if not is_changed:
            break
    result: list[list[FittedStretch]] = [[] for _ in all_rows]
    for (number, first, part), series, model_fits in zip(parts, clean_parts, fits, strict=True):
        model = int(np.argmin([fit.criterion for fit in model_fits] - 2 * np.log(model_shares)))
        result[number].append(FittedStretch(part, first, series, model_fits[model]))
    return result


def _series_history(
    row: SeriesRow,
    parts: Sequence[FittedStretch],
    prediction: _Predictions | None,
    bound: float,
    least_effect: float,
    nights: int,
    settings: NightSettings,
) -> SeriesHistory:
    count = row.comparable_nights.values.size
    if not parts or prediction is None:
        reason = f"{count} of the {settings.nights_least} nights that a verdict needs"
        return SeriesHistory(count, reason=reason, least_effect=least_effect)
    last = parts[-1]
    drift, points = _find_drift(last, settings)
    if drift is not None and points != last.fit.points:
        last = replace(last, fit=segments.fit_levels(last.series, points, last.fit.noise, settings))
        parts = [*parts[:-1], last]
    steps = tuple(_steps_of_stretches(parts, settings))
    begin = int(np.searchsorted(last.row.night, steps[-1].night)) if steps else 0
    recent_sets = row.node_set[-settings.segment_least :]
    reason = "the newest {} nights ran on nodes that no earlier nights compare with"
    modes, silent_nights = last.series.modes, nights - 1 - int(last.row.night[-1])
    return SeriesHistory(
        count,
        steps,
        tuple(_row_segments(row.comparable_nights, steps)),
        tuple(_row_incidents(parts)),
        drift,
        _is_wandering(last, least_effect),
        None if silent_nights else _judge_newest(prediction, bound),
        tuple(_find_flapping(prediction, settings)),
        _detectable_step(last, last.row.values.size - begin, settings),
        reason.format(recent_sets.size) if (recent_sets < 0).all() else "",
        least_effect,
        settings.news_nights,
        silent_nights,
        change_of_mode_shares(modes, settings) if modes and not silent_nights else None,
    )


def _steps_of_stretches(parts: Sequence[FittedStretch], settings: NightSettings) -> list[Step]:
    """The change points of all stretches, oldest first.

    Of two change points of different stretches within `incident_nights`, the one farther from the
    ends of its stretch counts; one too near to an end that is no end of the row does not.
    """
    quantile = float(scipy.stats.norm.ppf((1 + settings.confidence_level) / 2))
    candidates: list[tuple[float, int, int, Step]] = []
    for index, part in enumerate(parts):
        fit, spread = part.fit, part.series.spread
        errors = fit.errors * segments.standard_error_factors(part.series, fit.points)[0]
        ends = [*fit.points[1:], part.series.nights]
        for number, point in enumerate(fit.points):
            begin_margin = point if index else math.inf
            end_margin = part.series.nights - point if part is not parts[-1] else math.inf
            margin = min(begin_margin, end_margin)
            size, half = fit.sizes[number], quantile * errors[number]
            step = Step(
                int(part.row.night[point]),
                math.exp(spread * size),
                math.exp(spread * (size - half)),
                math.exp(spread * (size + half)),
                float(math.copysign(fit.evidence[number], size)),
                float(fit.thresholds[number]),
                int(ends[number] - point),
            )
            if margin >= _MIN_STRETCH_MARGIN:
                candidates.append((margin, part.first + point, index, step))
    steps: dict[int, tuple[int, Step]] = {}
    for _, place, index, step in sorted(candidates, key=lambda candidate: -candidate[0]):
        if all(
            index == other_index or abs(place - other_place) >= settings.incident_nights
            for other_place, (other_index, _) in steps.items()
        ):
            steps[place] = index, step
    return [steps[place][1] for place in sorted(steps)]


def _row_segments(row: SeriesRow, steps: Sequence[Step]) -> Iterator[Segment]:
    begins = np.searchsorted(row.night, [step.night for step in steps]).tolist()
    for begin, end in pairwise([0, *begins, row.values.size]):
        if begin < end:
            level = math.exp(float(np.median(row.values[begin:end])))
            yield Segment(int(row.night[begin]), int(row.night[end - 1]) + 1, level)


def _row_incidents(parts: Sequence[FittedStretch]) -> Iterator[Incident]:
    """Yield the incidents in the middle of each stretch, and at the ends of the row."""
    margin = MAX_NIGHTS // 4
    for index, part in enumerate(parts):
        low = parts[index - 1].first + MAX_NIGHTS - margin if index else 0
        high = part.first + MAX_NIGHTS - (margin if index < len(parts) - 1 else 0)
        for excursion in sorted(part.series.excursions, key=lambda excursion: excursion.begin):
            if low <= part.first + excursion.begin < high and excursion.end < part.series.nights:
                nights = slice(excursion.begin, excursion.end)
                deviation = np.median(part.series.raw[nights] - part.series.values[nights])
                ratio = math.exp(part.series.spread * float(deviation))
                first, last = part.row.night[excursion.begin], part.row.night[excursion.end - 1]
                yield Incident(int(first), int(last), ratio)


def _find_drift(
    part: FittedStretch, settings: NightSettings
) -> tuple[LevelDrift | None, tuple[int, ...]]:
    """Return the drift, if a line through all nights fits best, and the change points beside it."""
    series, fit = part.series, part.fit
    third = series.nights // 3
    first, last = series.values[:third], series.values[-third:]
    error = math.sqrt((first.var() + last.var()) / third)
    is_steep = abs(last.mean() - first.mean()) > 3 * error
    if series.nights < settings.drift_nights or not (fit.points or is_steep):
        return None, fit.points
    candidates = (
        segments.fit_levels(series, points, noise, settings, line=True, response=response)
        for noise in noise_models(series.nights)
        for response in [noise.whiten[: series.nights, : series.nights] @ series.values]
        for points in {(), fit.points}
    )
    best = min(candidates, key=lambda candidate: candidate.criterion)
    if best.criterion + settings.drift_evidence**2 >= fit.criterion:
        return None, fit.points
    days = float(part.row.day[-1] - part.row.day[0])
    half = float(scipy.stats.norm.ppf((1 + settings.confidence_level) / 2)) * best.slope_error
    year_scale = series.spread * 365.25 / days
    values = (math.exp(year_scale * (best.slope + offset)) for offset in (0.0, -half, half))
    return LevelDrift(*values), best.points


def _is_wandering(part: FittedStretch, least_effect: float) -> bool:
    """Whether the level moves slowly, farther than the nights around it scatter."""
    if not part.fit.noise.is_slow or part.fit.points:
        return False
    count = max(1, part.series.nights // 15)
    levels = [float(np.median(block)) for block in np.array_split(part.series.values, count)]
    span = max(levels) - min(levels)
    return span > _WANDER_FACTOR and part.series.spread * span > least_effect


def _detectable_step(part: FittedStretch, level_nights: int, settings: NightSettings) -> float:
    """The relative step that `sight_nights` new nights show with probability `sight_power`."""
    new, noise = settings.sight_nights, part.fit.noise
    old = min(max(level_nights, settings.segment_least), MAX_NIGHTS // 2 - new)
    nights = old + new
    model = next(model for model in noise_models(nights) if model.name == noise.name)
    design = model.steps[[0, old], :nights]
    error = part.fit.sd * math.sqrt(float(np.linalg.inv(design @ design.T)[1, 1]))
    total = part.series.nights + new
    bar = settings.threshold(total, new, is_newest=True, has_memory=noise.has_memory)
    critical_value = math.sqrt(total * math.expm1(bar**2 / total))
    target = critical_value + float(scipy.stats.norm.ppf(settings.sight_power))
    return math.expm1(target * error * part.series.spread)


@dataclass(frozen=True)
class _Predictions:
    """Every night of a series and its best linear prediction from the nights before, cleaned.

    `errors` [nights] are in standard deviations of the prediction, `distances` [nights] are from
    the level of the night in units of `sd`.  The newest night is `value` over its level; `centre`
    +- `unit` times the allowed error is its prediction.  `sd`, `value`, `centre` and `unit` are
    logarithms.  The spread has `freedom` degrees of freedom.
    """

    errors: np.ndarray
    distances: np.ndarray
    value: float
    centre: float
    unit: float
    sd: float
    freedom: int


def _predict_nights(part: FittedStretch) -> _Predictions:
    """Predict the nights of a stretch under the noise of its fit.

    Levels and spread are estimated without the last night and equally odd nights just before it,
    which may be the same event.  Box and Jenkins, Time Series Analysis, 1970, section 5.1.
    """
    n = part.series.nights
    predictions = _predict_from(part, n - 1)
    is_odd = np.sign(predictions.errors[-1]) * predictions.errors > _ODD_NIGHT_SD
    usual_nights = np.flatnonzero(~is_odd)
    length = int(usual_nights[-1]) + 1 if usual_nights.size else 0
    return _predict_from(part, length) if n - _MAX_ODD_RUN <= length < n - 1 else predictions


def _predict_from(part: FittedStretch, length: int) -> _Predictions:
    """Predict with levels and spread from the first `length` nights."""
    series, fit, n = part.series, part.fit, part.series.nights
    whiten = fit.noise.whiten[:n, :n]
    steps = np.array([0, *(point for point in fit.points if point < length)])
    design = np.hstack([fit.noise.steps[steps, :n].T, whiten @ series.sets])
    response = whiten @ series.values
    inverse = np.linalg.pinv(design[:length].T @ design[:length])
    solution = inverse @ (design[:length].T @ response[:length])
    diagonal = np.diag(whiten)
    residuals = response - design @ solution
    freedom = max(1, length - int(np.linalg.matrix_rank(design[:length])))
    sd = max(math.sqrt(float(residuals[:length] @ residuals[:length]) / freedom), 1e-9)
    residuals += diagonal * (series.raw - series.values)
    level = (np.arange(n)[:, None] >= steps) @ solution[: steps.size]
    level += series.sets @ solution[steps.size :]
    error = sd * math.sqrt(1 + float(design[-1] @ inverse @ design[-1]))
    errors = residuals / sd
    errors[-1] = residuals[-1] / error
    unit = error / float(diagonal[-1])
    value = float(series.raw[-1] - level[-1])
    centre = value - float(errors[-1]) * unit
    scale = series.spread
    distances = (series.raw - level) / sd
    value, centre, unit, sd = (scale * part for part in (value, centre, unit, sd))
    return _Predictions(errors, distances, value, centre, unit, sd, freedom)


def _error_bound(predictions: Sequence[_Predictions], settings: NightSettings) -> float:
    """The allowed error of a night of this site, in standard deviations of its prediction.

    At most `newest_share` of recent nights had a larger error; within the limits of `settings`.
    """
    if not predictions:
        return settings.newest_sd
    errors = np.abs(np.concatenate([each.errors[-_RECENT_NIGHTS:-1] for each in predictions]))
    bound = float(np.quantile(errors, 1 - settings.newest_share)) if errors.size else 0.0
    return min(max(bound, settings.newest_sd), settings.newest_sd_most)


def _judge_newest(predictions: _Predictions, bound: float) -> NewestNight:
    """Judge the newest night; `bound` is for a known spread, so use Student's distribution."""
    bound = float(scipy.stats.t.isf(scipy.stats.norm.sf(bound), predictions.freedom))
    error = float(predictions.errors[-1])
    is_far = np.sign(error) * predictions.errors[:-1] >= _USUAL_ERROR_SHARE * abs(error)
    run = np.flatnonzero(~is_far)  # far nights after the last other night do not count
    far_count = is_far[: run[-1] if run.size else 0].sum()
    is_usual = far_count > _MIN_USUAL_NIGHTS_SHARE * predictions.errors.size
    half = bound * predictions.unit
    return NewestNight(
        _ratio_from_log(predictions.value),
        _ratio_from_log(predictions.centre - half),
        _ratio_from_log(predictions.centre + half),
        abs(error) > bound and not is_usual,
    )


def _find_flapping(predictions: _Predictions, settings: NightSettings) -> Iterator[Flapping]:
    """Yield odd nights that come and go more often than before, by Fisher's exact test."""
    n = predictions.distances.size
    for side in (1.0, -1.0):
        is_odd = side * predictions.distances > settings.newest_sd
        begins = np.flatnonzero(np.diff(is_odd.astype(int), prepend=0) == 1)
        total = int(is_odd.sum())
        for begin in begins[begins >= n - settings.flapping_nights]:
            window = n - int(begin)
            odd_count, comings = int(is_odd[begin:].sum()), int((begins >= begin).sum())
            if comings < _MIN_ODD_RUNS or window > n // 2:
                continue
            p = float(scipy.stats.hypergeom.sf(odd_count - 1, n, total, window))
            if p < settings.flapping_level:
                share_before = (total - odd_count) / (n - window)
                middle = float(np.median(predictions.distances[is_odd]))
                ratio = _ratio_from_log(middle * predictions.sd)
                yield Flapping(window, odd_count / window, share_before, ratio)
                break


def _ratio_from_log(logarithm: float) -> float:
    return math.exp(min(max(logarithm, -50.0), 50.0))
