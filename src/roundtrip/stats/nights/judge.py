"""Judge the nights of many series: change points, drifts, incidents and the newest night."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy

from roundtrip.stats.nights import segments
from roundtrip.stats.nights.noise import MAX_NIGHTS, mode_share_change, noise_models, noise_shares
from roundtrip.stats.nights.segments import SegmentFit
from roundtrip.stats.nights.series import (
    CleanSeries,
    SeriesRow,
    clean_rows,
    series_rows,
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

#: Most rounds of removing excursions that a fit took for levels.
_MAX_EXCURSION_ROUNDS = 4
#: A wandering level moves by more than so many spreads, and by more than the least effect.
_MIN_WANDER_SPREADS = 1.5
#: Least distance of a change point from an end of its window that is not an end of the row.
_MIN_WINDOW_MARGIN_NIGHTS = 64
#: Newest nights of each series from which the control limit of the site is estimated.
_CONTROL_LIMIT_NIGHTS = 120
#: The newest night is usual if more than `_MIN_USUAL_NIGHTS_SHARE` of nights had
#: `_USUAL_ERROR_SHARE` of its error.
_USUAL_ERROR_SHARE, _MIN_USUAL_NIGHTS_SHARE = 0.5, 0.01
#: Least error of outlying nights; most outlying nights, with the last one, that are one event.
_MIN_OUTLIER_ERROR_SD, _MAX_OUTLIER_RUN_NIGHTS = 2.5, 4
_MIN_OUTLIER_RUNS = 3  # that are flapping


@dataclass(frozen=True)
class FittedWindow:
    """A row's nights from index `first_index` on, cleaned, and their best fit."""

    row: SeriesRow
    first_index: int
    series: CleanSeries
    fit: SegmentFit


def judge_nights(
    logs: np.ndarray,
    nodes: np.ndarray,
    settings: NightSettings,
    min_effects: np.ndarray | None = None,
    days: np.ndarray | None = None,
) -> list[SeriesHistory]:
    """Return the history of each series as of its newest night.

    `logs` [series, nights] are natural logarithms of nightly medians; not finite where not
    measured, or left out.  `nodes` [series, nights] are numbers of node sets, -1 if not known.
    `min_effects` [series] are relative; by default that of `settings`.  `days` are as in
    `series_rows`.  Pass all series of a site in one call: they share the estimate of their noise.
    """
    if min_effects is None:
        min_effects = np.full(len(logs), settings.minimum_effect)
    all_rows = list(series_rows(logs, nodes, settings, days))
    windows_by_row = fit_windows(all_rows, settings)
    predictions = [_predict_nights(fitted[-1]) if fitted else None for fitted in windows_by_row]
    limit_sd = _control_limit_sd([prediction for prediction in predictions if prediction], settings)
    table = zip(all_rows, windows_by_row, predictions, min_effects.tolist(), strict=True)
    return [
        _series_history(row, windows, prediction, limit_sd, effect, logs.shape[1], settings)
        for row, windows, prediction, effect in table
    ]


def fit_windows(all_rows: Sequence[SeriesRow], settings: NightSettings) -> list[list[FittedWindow]]:
    """Fit each row in windows that overlap by half or more; [] with too few nights."""
    windows: list[tuple[int, int, SeriesRow]] = []
    for number, row in enumerate(all_rows):
        comparable = row.comparable_nights
        if comparable.values.size >= settings.nights_least:
            last = max(0, comparable.values.size - MAX_NIGHTS)
            for first in sorted({*range(0, max(1, last), MAX_NIGHTS // 2), last}):
                window_row = comparable.take(slice(first, first + MAX_NIGHTS))
                windows.append((number, first, window_row))
    if not windows:
        return [[] for _ in all_rows]
    all_series = clean_rows([row for _, _, row in windows], settings)
    usual_sizes = usual_excursion_sizes(all_series, settings)
    all_series = [replace(series, usual_excursion_sizes=usual_sizes) for series in all_series]
    fits = segments.fit_all_series(all_series, settings)
    for _ in range(_MAX_EXCURSION_ROUNDS):
        criteria = np.array([[fit.criterion for fit in model_fits] for model_fits in fits])
        model_shares = noise_shares(criteria, settings.white_share, settings.share_weight)
        best = np.argmin(criteria - 2 * np.log(model_shares), axis=1)
        is_changed = False
        for number, series in enumerate(all_series):
            points = fits[number][best[number]].change_points
            if (excursion := segments.find_excursion(series, points, settings)) is not None:
                all_series[number] = series.without_excursion(*excursion)
                fits[number] = segments.fit_all_series([all_series[number]], settings)[0]
                is_changed = True
        if not is_changed:
            break
    result: list[list[FittedWindow]] = [[] for _ in all_rows]
    for (number, first, row), series, model_fits in zip(windows, all_series, fits, strict=True):
        model = int(np.argmin([fit.criterion for fit in model_fits] - 2 * np.log(model_shares)))
        result[number].append(FittedWindow(row, first, series, model_fits[model]))
    return result


def _series_history(
    row: SeriesRow,
    windows: Sequence[FittedWindow],
    prediction: _Predictions | None,
    control_limit_sd: float,
    min_effect: float,
    nights: int,
    settings: NightSettings,
) -> SeriesHistory:
    count = row.comparable_nights.values.size
    if not windows or prediction is None:
        reason = f"{count} of the {settings.nights_least} nights that a verdict needs"
        return SeriesHistory(count, reason=reason, min_effect=min_effect)
    last = windows[-1]
    drift, points = _find_drift(last, settings)
    if drift is not None and points != last.fit.change_points:
        last = replace(last, fit=segments.fit_levels(last.series, points, last.fit.noise, settings))
        windows = [*windows[:-1], last]
    steps = tuple(_steps_of_windows(windows, settings))
    begin = int(np.searchsorted(last.row.night, steps[-1].night)) if steps else 0
    recent_sets = row.node_set[-settings.segment_least :]
    reason = "the newest {} nights ran on nodes that no earlier nights compare with"
    modes, nights_without_value = last.series.modes, nights - 1 - int(last.row.night[-1])
    return SeriesHistory(
        count,
        steps,
        tuple(_row_segments(row.comparable_nights, steps)),
        tuple(_row_incidents(windows)),
        drift if drift and drift.is_effect(min_effect) else None,
        _is_wandering(last, min_effect),
        None if nights_without_value else _judge_newest(prediction, control_limit_sd),
        tuple(_find_flapping(prediction, settings)),
        _detectable_step(last, last.row.values.size - begin, settings),
        reason.format(recent_sets.size) if (recent_sets < 0).all() else "",
        min_effect,
        settings.news_nights,
        nights_without_value,
        mode_share_change(modes, settings) if modes and not nights_without_value else None,
    )


def _steps_of_windows(windows: Sequence[FittedWindow], settings: NightSettings) -> list[Step]:
    """The change points of all windows, oldest first.

    Of change points of different windows within `incident_nights`, that farthest from the ends of
    its window counts.  None counts near an end of its window inside the row.
    """
    quantile = float(scipy.stats.norm.ppf((1 + settings.confidence_level) / 2))
    candidates: list[tuple[float, int, int, Step]] = []
    for index, window in enumerate(windows):
        fit, spread = window.fit, window.series.spread
        factors, _ = segments.standard_error_factors(window.series, fit.change_points)
        half_widths = quantile * fit.standard_errors * factors
        ends = [*fit.change_points[1:], window.series.nights]
        for number, point in enumerate(fit.change_points):
            begin_margin = point if index else math.inf
            end_margin = window.series.nights - point if window is not windows[-1] else math.inf
            margin = min(begin_margin, end_margin)
            size, half = fit.step_sizes[number], half_widths[number]
            step = Step(
                int(window.row.night[point]),
                math.exp(spread * size),
                math.exp(spread * (size - half)),
                math.exp(spread * (size + half)),
                float(math.copysign(fit.evidence[number], size)),
                float(fit.thresholds[number]),
                int(ends[number] - point),
            )
            if margin >= _MIN_WINDOW_MARGIN_NIGHTS:
                candidates.append((margin, window.first_index + point, index, step))
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


def _row_incidents(windows: Sequence[FittedWindow]) -> Iterator[Incident]:
    """Yield the incidents in the middle of each window, and at the ends of the row."""
    margin = MAX_NIGHTS // 4
    for index, window in enumerate(windows):
        low = windows[index - 1].first_index + MAX_NIGHTS - margin if index else 0
        high = window.first_index + MAX_NIGHTS - (margin if index < len(windows) - 1 else 0)
        for excursion in sorted(window.series.excursions, key=lambda excursion: excursion.begin):
            is_inside = low <= window.first_index + excursion.begin < high
            if is_inside and excursion.end < window.series.nights:
                nights = slice(excursion.begin, excursion.end)
                deviation = np.median(window.series.raw[nights] - window.series.values[nights])
                ratio = math.exp(window.series.spread * float(deviation))
                first, last = window.row.night[[excursion.begin, excursion.end - 1]].tolist()
                yield Incident(first, last, ratio)


def _find_drift(
    window: FittedWindow, settings: NightSettings
) -> tuple[LevelDrift | None, tuple[int, ...]]:
    """The drift and the change points beside it; no drift unless a line fits best."""
    series, fit = window.series, window.fit
    third = series.nights // 3
    first, last = series.values[:third], series.values[-third:]
    error = math.sqrt((first.var() + last.var()) / third)
    is_steep = abs(last.mean() - first.mean()) > 3 * error
    if series.nights < settings.drift_nights or not (fit.change_points or is_steep):
        return None, fit.change_points
    candidates = (
        segments.fit_levels(series, points, noise, settings, has_line=True, whitened=whitened)
        for noise in noise_models(series.nights)
        for whitened in [noise.whitening_matrix[: series.nights, : series.nights] @ series.values]
        for points in {(), fit.change_points}
    )
    best = min(candidates, key=lambda candidate: candidate.criterion)
    if best.criterion + settings.drift_evidence**2 >= fit.criterion:
        return None, fit.change_points
    days = float(window.row.day[-1] - window.row.day[0])
    half = float(scipy.stats.norm.ppf((1 + settings.confidence_level) / 2)) * best.line_rise_error
    year_scale = series.spread * 365.25 / days
    values = (math.exp(year_scale * (best.line_rise + offset)) for offset in (0.0, -half, half))
    return LevelDrift(*values), best.change_points


def _is_wandering(window: FittedWindow, min_effect: float) -> bool:
    """Whether the level moves slowly, farther than the nights around it scatter."""
    if not window.fit.noise.has_wandering_level or window.fit.change_points:
        return False
    count = max(1, window.series.nights // 15)
    levels = [float(np.median(block)) for block in np.array_split(window.series.values, count)]
    span = max(levels) - min(levels)
    return span > _MIN_WANDER_SPREADS and window.series.spread * span > min_effect


def _detectable_step(window: FittedWindow, level_nights: int, settings: NightSettings) -> float:
    """The relative step that `sight_nights` new nights show with probability `sight_power`."""
    new, noise = settings.sight_nights, window.fit.noise
    old = min(max(level_nights, settings.segment_least), MAX_NIGHTS // 2 - new)
    nights = old + new
    model = next(model for model in noise_models(nights) if model.name == noise.name)
    design = model.whitened_steps[[0, old], :nights]
    error = window.fit.sd * math.sqrt(float(np.linalg.inv(design @ design.T)[1, 1]))
    total = window.series.nights + new
    bar = settings.threshold(total, new, is_newest=True, is_autocorrelated=noise.is_autocorrelated)
    critical_value = math.sqrt(total * math.expm1(bar**2 / total))
    target = critical_value + float(scipy.stats.norm.ppf(settings.sight_power))
    return math.expm1(target * error * window.series.spread)


@dataclass(frozen=True)
class _Predictions:
    """Each night of a window, and its best linear prediction from the cleaned nights before.

    `errors_sd` [nights] are the deviations from the prediction, in its standard deviations.
    `level_deviations_sd` [nights] are the deviations from the level, in units of `noise_sd`.  The
    newest night lies `newest_deviation` above its level; predicted was `predicted_deviation` +- the
    control limit times `prediction_error`.  `noise_sd`, `newest_deviation`, `predicted_deviation`
    and `prediction_error` are logarithms.  `degrees_of_freedom` are those of the spread.
    """

    errors_sd: np.ndarray
    level_deviations_sd: np.ndarray
    newest_deviation: float
    predicted_deviation: float
    prediction_error: float
    noise_sd: float
    degrees_of_freedom: int


def _predict_nights(window: FittedWindow) -> _Predictions:
    """Predict the nights of a window under the noise of its fit.

    Levels and spread are estimated without the last night and equally outlying nights just before
    it, which may be the same event.  Box and Jenkins, Time Series Analysis, 1970, section 5.1.
    """
    n = window.series.nights
    predictions = _predict_from_first(window, n - 1)
    is_outlier = np.sign(predictions.errors_sd[-1]) * predictions.errors_sd > _MIN_OUTLIER_ERROR_SD
    usual_nights = np.flatnonzero(~is_outlier)
    length = int(usual_nights[-1]) + 1 if usual_nights.size else 0
    has_outliers = n - _MAX_OUTLIER_RUN_NIGHTS <= length < n - 1
    return _predict_from_first(window, length) if has_outliers else predictions


def _predict_from_first(window: FittedWindow, nights: int) -> _Predictions:
    """Predict; levels and spread are those of the first `nights` nights."""
    series, fit, n = window.series, window.fit, window.series.nights
    whiten = fit.noise.whitening_matrix[:n, :n]
    steps = np.array([0, *(point for point in fit.change_points if point < nights)])
    design = np.hstack([fit.noise.whitened_steps[steps, :n].T, whiten @ series.node_set_indicators])
    response = whiten @ series.values
    inverse = np.linalg.pinv(design[:nights].T @ design[:nights])
    solution = inverse @ (design[:nights].T @ response[:nights])
    diagonal = np.diag(whiten)
    residuals = response - design @ solution
    freedom = max(1, nights - int(np.linalg.matrix_rank(design[:nights])))
    sd = max(math.sqrt(float(residuals[:nights] @ residuals[:nights]) / freedom), 1e-9)
    residuals += diagonal * (series.raw - series.values)
    level = (np.arange(n)[:, None] >= steps) @ solution[: steps.size]
    level += series.node_set_indicators @ solution[steps.size :]
    error = sd * math.sqrt(1 + float(design[-1] @ inverse @ design[-1]))
    errors = residuals / sd
    errors[-1] = residuals[-1] / error
    unit = error / float(diagonal[-1])
    value = float(series.raw[-1] - level[-1])
    centre = value - float(errors[-1]) * unit
    scale = series.spread
    distances = (series.raw - level) / sd
    value, centre, unit, sd = (scale * length for length in (value, centre, unit, sd))
    return _Predictions(errors, distances, value, centre, unit, sd, freedom)


def _control_limit_sd(predictions: Sequence[_Predictions], settings: NightSettings) -> float:
    """The error above which a night is far off, in standard deviations of its prediction.

    `newest_share` of recent errors exceed it, if it is within [`newest_sd`, `newest_sd_most`].
    """
    if not predictions:
        return settings.newest_sd
    recent_errors = [each.errors_sd[-_CONTROL_LIMIT_NIGHTS:-1] for each in predictions]
    errors = np.abs(np.concatenate(recent_errors))
    limit = float(np.quantile(errors, 1 - settings.newest_share)) if errors.size else 0.0
    return min(max(limit, settings.newest_sd), settings.newest_sd_most)


def _judge_newest(predictions: _Predictions, control_limit_sd: float) -> NewestNight:
    """Judge the newest night; Student's distribution, because its spread is an estimate."""
    normal_p = scipy.stats.norm.sf(control_limit_sd)
    limit = float(scipy.stats.t.isf(normal_p, predictions.degrees_of_freedom))
    error = float(predictions.errors_sd[-1])
    is_far = np.sign(error) * predictions.errors_sd[:-1] >= _USUAL_ERROR_SHARE * abs(error)
    run = np.flatnonzero(~is_far)  # far nights after the last other night do not count
    far_count = is_far[: run[-1] if run.size else 0].sum()
    is_usual = far_count > _MIN_USUAL_NIGHTS_SHARE * predictions.errors_sd.size
    half = limit * predictions.prediction_error
    return NewestNight(
        _ratio_from_log(predictions.newest_deviation),
        _ratio_from_log(predictions.predicted_deviation - half),
        _ratio_from_log(predictions.predicted_deviation + half),
        abs(error) > limit and not is_usual,
    )


def _find_flapping(predictions: _Predictions, settings: NightSettings) -> Iterator[Flapping]:
    """Yield outlying nights that come and go more often than before (Fisher's exact test)."""
    n = predictions.level_deviations_sd.size
    for side in (1.0, -1.0):
        is_outlier = side * predictions.level_deviations_sd > settings.newest_sd
        begins = np.flatnonzero(np.diff(is_outlier.astype(int), prepend=0) == 1)
        total = int(is_outlier.sum())
        for begin in begins[begins >= n - settings.flapping_nights]:
            window = n - int(begin)
            outlier_count, run_count = int(is_outlier[begin:].sum()), int((begins >= begin).sum())
            if run_count < _MIN_OUTLIER_RUNS or window > n // 2:
                continue
            p = float(scipy.stats.hypergeom.sf(outlier_count - 1, n, total, window))
            if p < settings.flapping_level:
                share_before = (total - outlier_count) / (n - window)
                middle = float(np.median(predictions.level_deviations_sd[is_outlier]))
                ratio = _ratio_from_log(middle * predictions.noise_sd)
                yield Flapping(window, outlier_count / window, share_before, ratio)
                break


def _ratio_from_log(logarithm: float) -> float:
    return math.exp(min(max(logarithm, -50.0), 50.0))
