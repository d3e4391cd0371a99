"""How the nights of a quiet series resemble each other: a few models, and which of them a site has.

A level that wanders looks like a row of steps to whoever takes nights as independent.  So each
series is explained by several models of stationary noise, from white to nearly a random walk, with
and without change points, and the best explanation is believed.  All are known by their
autocorrelation, which makes white noise of them, also of what begins in the middle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

#: The most nights that are explained at once; a longer series is cut into stretches that overlap.
LONGEST = 512
_SHORTEST = 64
_ROUNDS = 15


@dataclass(frozen=True)
class Noise:
    """One model, for up to n nights; that of fewer nights is the leading part of each array.

    `whiten` [n, n] makes independent values of variance 1 from such noise; row t of `steps`
    [n, n] is a step of height 1 that begins in night t, made white alike, and `line` [n] is a line
    that rises by 1 a night.  `log_determinant` [n] is that of the covariance of so many nights.
    """

    name: str
    has_memory: bool
    is_slow: bool
    whiten: np.ndarray
    steps: np.ndarray
    line: np.ndarray
    log_determinant: np.ndarray


def models(nights: int) -> tuple[Noise, ...]:
    """The models for series of up to `nights` nights, white noise first."""
    size = _SHORTEST
    while size < min(nights, LONGEST):
        size *= 2
    return _models(size)


@cache
def _models(size: int) -> tuple[Noise, ...]:
    lag = np.arange(size)
    return tuple(_model(name, is_slow, law(lag)) for name, is_slow, law in _LAWS)


def _model(name: str, is_slow: bool, autocorrelation: np.ndarray) -> Noise:
    """By the Durbin-Levinson recursion: row t of `whiten` is night t less its best linear
    prediction from the nights before, over its standard deviation.

    It takes no LAPACK, whose threads wait in a loop for each other where a machine is busy.
    (P. J. Brockwell and R. A. Davis, Time Series: Theory and Methods, 1991, section 5.2.)
    """
    size = autocorrelation.size
    whiten, variances = np.zeros((size, size)), np.ones(size)
    whiten[0, 0] = 1
    weights = np.empty(0)  # of the nights before, the last night first
    for night in range(1, size):
        before = variances[night - 1]
        partial = (autocorrelation[night] - weights @ autocorrelation[night - 1 : 0 : -1]) / before
        weights = np.append(weights - partial * weights[::-1], partial)
        variances[night] = before * (1 - partial**2)
        whiten[night, : night + 1] = np.append(-weights[::-1], 1) / np.sqrt(variances[night])
    steps = np.ascontiguousarray(np.cumsum(whiten[:, ::-1], axis=1)[:, ::-1].T)
    line = whiten @ np.arange(size)
    return Noise(name, name != "white", is_slow, whiten, steps, line, np.cumsum(np.log(variances)))


def _autoregressive(phi: float) -> Callable[[np.ndarray], np.ndarray]:
    """Autocorrelation of AR(1): a night is `phi` times the last one, and white noise."""
    return lambda lag: phi**lag


def _fractional(d: float) -> Callable[[np.ndarray], np.ndarray]:
    """Of ARFIMA(0, d, 0): J. R. M. Hosking, Biometrika 68, 1981, theorem 1."""
    return lambda lag: np.cumprod(
        np.where(lag > 0, (lag - 1 + d) / np.where(lag > 0, lag - d, 1), 1)
    )


def _mixed(share: float, phi: float) -> Callable[[np.ndarray], np.ndarray]:
    """White noise, and a level that wanders as AR(1): `share` of the variance is the level's."""
    return lambda lag: share * phi**lag + (1 - share) * (lag == 0)


#: Name, whether the level itself wanders slowly, autocorrelation by lag.
_LAWS: tuple[tuple[str, bool, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("white", False, lambda lag: (lag == 0) * 1.0),
    *((f"AR(1) {phi}", False, _autoregressive(phi)) for phi in (0.2, 0.35, 0.5, 0.65, 0.8)),
    *((f"ARFIMA {d}", d > 0.3, _fractional(d)) for d in (0.2, 0.3, 0.4, 0.45)),
    *(
        (f"white and AR(1) {phi}, {share:.0%}", True, _mixed(share, phi))
        for share, phi in (
            (0.2, 0.9),
            (0.5, 0.9),
            (0.8, 0.95),
            (0.1, 0.98),
            (0.3, 0.98),
            (0.6, 0.98),
        )
    ),
)


def shares(criteria: np.ndarray, white_share: float, weight: float) -> np.ndarray:
    """How usual each model is among the series of a site [models], in parts of 1.

    `criteria` [series, models] are -2 log likelihoods with what change points cost.  An empirical
    Bayes estimate (H. Robbins, 1956) by expectation maximisation: what is believed before is
    `white_share` of white noise and equal parts of the rest, worth `weight` series.
    """
    count = criteria.shape[1]
    before = np.full(count, (1 - white_share) / (count - 1))
    before[0] = white_share
    likelihood = np.exp(-(criteria - criteria.min(axis=1, keepdims=True)) / 2)
    believed = before
    for _ in range(_ROUNDS):
        each = likelihood * believed
        each /= each.sum(axis=1, keepdims=True)
        believed = (weight * before + each.sum(axis=0)) / (weight + len(criteria))
    return believed
