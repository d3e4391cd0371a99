"""The newest night against its prediction, flapping, and confirmation of worse series.

**Confirmation.**  The edge of a series is the worse end of what its earlier nights predict for one
night.  The series is launched again n times in the same night, in rounds of random order together
with a control: a series that had not changed.  The null hypothesis is that the median of its
launches tonight is inside the edge, so that each launch lies beyond it with a probability of at
most 1/2, whatever the distribution.  Then k or more of n launches lie beyond the edge with a
probability of at most P(Binomial(n, 1/2) >= k): the sign test (J. Arbuthnot 1710; W. J. Conover,
Practical Nonparametric Statistics, 1999, section 3.4).  For nine of nine it is 1 in 512.  These p
are corrected over all series that were worse last night (Y. Benjamini and Y. Hochberg, 1995), at
the site's false discovery level.  n is planned before the first launch; only lack of time reduces
it, never a value.  The launches that showed the night worse are not used.

A disturbance of this night that slows everything would confirm every series.  So the control is
tested first: if more than half of its launches lie beyond its own edge, the machine is slower, and
the series get no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count

import numpy as np
import scipy

from roundtrip.stats.nights.segments import SegmentFit
from roundtrip.stats.nights.series import CleanSeries
from roundtrip.stats.nights.verdicts import Flapping, NewestNight
from roundtrip.stats.settings import NightSettings
from roundtrip.stats.verdicts import q_values

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
class Predictions:
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


def predict_nights(series: CleanSeries, fit: SegmentFit) -> Predictions:
    """Predict the nights of a series under the noise of its fit.

    Levels and spread are estimated without the last night and equally odd nights just before it,
    which may be the same event.  Box and Jenkins, Time Series Analysis, 1970, section 5.1.
    """
    n = series.nights
    predictions = _predict_from(series, fit, n - 1)
    is_odd = np.sign(predictions.errors[-1]) * predictions.errors > _ODD_NIGHT_SD
    usual_nights = np.flatnonzero(~is_odd)
    length = int(usual_nights[-1]) + 1 if usual_nights.size else 0
    return _predict_from(series, fit, length) if n - _MAX_ODD_RUN <= length < n - 1 else predictions


def _predict_from(series: CleanSeries, fit: SegmentFit, length: int) -> Predictions:
    """Predict with levels and spread from the first `length` nights."""
    n = series.nights
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
    return Predictions(
        errors, distances, value * scale, centre * scale, unit * scale, sd * scale, freedom
    )


def error_bound(predictions: Sequence[Predictions], settings: NightSettings) -> float:
    """The allowed error of a night of this site, in standard deviations of its prediction.

    At most `newest_share` of recent nights had a larger error; within the limits of `settings`.
    """
    if not predictions:
        return settings.newest_sd
    errors = np.concatenate(
        [np.abs(prediction.errors[-_RECENT_NIGHTS:-1]) for prediction in predictions]
    )
    bound = float(np.quantile(errors, 1 - settings.newest_share)) if errors.size else 0.0
    return min(max(bound, settings.newest_sd), settings.newest_sd_most)


def judge_newest(predictions: Predictions, bound: float) -> NewestNight:
    """Judge the newest night; `bound` is the `error_bound` of its site.

    The bound is for a known spread; for a spread from few nights, use Student's distribution.
    """
    bound = float(scipy.stats.t.isf(scipy.stats.norm.sf(bound), predictions.freedom))
    error = float(predictions.errors[-1])
    is_far = np.sign(error) * predictions.errors[:-1] >= _USUAL_ERROR_SHARE * abs(error)
    run = np.flatnonzero(~is_far)  # far nights after the last other night do not count
    is_usual = (
        is_far[: run[-1] if run.size else 0].sum()
        > _MIN_USUAL_NIGHTS_SHARE * predictions.errors.size
    )
    half = bound * predictions.unit
    return NewestNight(
        _ratio_from_log(predictions.value),
        _ratio_from_log(predictions.centre - half),
        _ratio_from_log(predictions.centre + half),
        abs(error) > bound and not is_usual,
    )


def find_flapping(predictions: Predictions, settings: NightSettings) -> Iterator[Flapping]:
    """Yield odd nights above and below the level that come and go more often than before.

    Fisher's exact test of the newest nights against those before.
    """
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


class Confirmation(StrEnum):
    """The result of new launches of a series that was worse last night."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    MACHINE = "the machine as a whole is slower"
    TOO_FEW = "too few launches to tell"
    NOT_LAUNCHED = "not launched again"


@dataclass(frozen=True)
class SignTest:
    """`beyond` of a series' `launches` lie beyond its edge."""

    beyond: int
    launches: int

    @property
    def p(self) -> float:
        """The sign test's one-sided p-value of "the series is inside its edge"."""
        return float(scipy.stats.binom.sf(self.beyond - 1, self.launches, 0.5))

    @property
    def is_majority(self) -> bool:
        """Whether more than half of the launches lie beyond the edge."""
        return 2 * self.beyond > self.launches

    def __str__(self) -> str:
        return f"{self.beyond} of {self.launches}"


def min_launches_to_confirm(series: int, level: float) -> int:
    """The fewest launches that can confirm one of `series` worse series at `level`."""
    return next(n for n in count(1) if max(1, series) * 0.5**n <= level)


def judge_repetitions(
    tests: Sequence[SignTest], controls: Sequence[SignTest | None], level: float
) -> list[Confirmation]:
    """Apply the rule of this module to each series that was worse last night.

    `controls` has the control of each; None without one.  `level`: false discovery level.
    """
    least = min_launches_to_confirm(len(tests), level)
    result = []
    for test, control, q in zip(tests, controls, q_values([test.p for test in tests]), strict=True):
        if not test.launches:
            result.append(Confirmation.NOT_LAUNCHED)
        elif control and control.is_majority:
            result.append(Confirmation.MACHINE)
        elif q <= level:
            result.append(Confirmation.CONFIRMED)
        else:
            is_few = test.launches < least
            result.append(Confirmation.TOO_FEW if is_few else Confirmation.NOT_CONFIRMED)
    return result
