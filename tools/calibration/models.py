"""Quiet series: the kinds of noise on which detection is counted.

Each model makes a table [series, nights] in units of its standard deviation from night to night,
which is 1 % of the level (2 % where the name says so).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import signal

Rng = np.random.Generator
Model = Callable[[Rng, int, int], np.ndarray]

SD = 0.01
_WARM_UP = 600


def gauss(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Independent and normal."""
    return rng.standard_normal((series, nights))


def lognormal(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Independent and skewed, with twice the spread."""
    return np.asarray(np.expm1(2 * SD * rng.standard_normal((series, nights))) / SD)


def student(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Student's t with 3 degrees of freedom, of variance 1."""
    return np.asarray(rng.standard_t(3, (series, nights)) / np.sqrt(3))


def autoregressive(phi: float) -> Model:
    """AR(1): a night is `phi` times the last one, and normal noise."""

    def model(rng: Rng, series: int, nights: int) -> np.ndarray:
        noise = rng.standard_normal((series, nights + _WARM_UP)) * np.sqrt(1 - phi**2)
        return np.asarray(signal.lfilter([1.0], [1.0, -phi], noise, axis=1)[:, _WARM_UP:])

    return model


def fractional(d: float) -> Model:
    """ARFIMA(0, d, 0), truncated: noise whose memory has no end."""

    def model(rng: Rng, series: int, nights: int) -> np.ndarray:
        lag = np.arange(1, _WARM_UP)
        weights = np.concatenate([[1], np.cumprod((lag - 1 + d) / lag)])
        noise = rng.standard_normal((series, nights + _WARM_UP))
        moved = signal.fftconvolve(noise, weights[None], axes=1)[:, _WARM_UP : _WARM_UP + nights]
        return np.asarray(moved / np.sqrt((weights**2).sum()))

    return model


def modes(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Each night in one of two modes, 5 deviations apart."""
    return np.asarray(gauss(rng, series, nights) + 5 * (rng.random((series, nights)) < 0.5))


def rare_mode(rng: Rng, series: int, nights: int) -> np.ndarray:
    """One night of ten is 6 deviations off."""
    return np.asarray(gauss(rng, series, nights) + 6 * (rng.random((series, nights)) < 0.1))


def sticky(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Two modes, 5 deviations apart, each for 5 nights in a row on average (a sticky node)."""
    moves = rng.random((series, nights)) > 0.8
    moves[:, 0] = rng.random(series) < 0.5
    return np.asarray(gauss(rng, series, nights) + 5 * (np.cumsum(moves, axis=1) % 2))


def weekday(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Two nights of seven are 2 deviations off."""
    day = (np.arange(nights)[None] + rng.integers(0, 7, (series, 1))) % 7
    return np.asarray(gauss(rng, series, nights) + 2 * (day >= 5))


def season(rng: Rng, series: int, nights: int) -> np.ndarray:
    """A wave of a year, 1.5 deviations to either side."""
    phase = np.arange(nights)[None] / 365 + rng.random((series, 1))
    return np.asarray(gauss(rng, series, nights) + 1.5 * np.sin(2 * np.pi * phase))


def quantised(grid: float) -> Model:
    """Normal, rounded to a grid of so many deviations."""

    def model(rng: Rng, series: int, nights: int) -> np.ndarray:
        place = rng.random((series, 1))
        return np.asarray(grid * np.round(gauss(rng, series, nights) / grid + place))

    return model


def bursts(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Three times the spread for a week, every 40 nights on average."""
    begins = rng.random((series, nights)) < 1 / 40
    within = signal.lfilter(np.ones(7), [1.0], begins.astype(float), axis=1) > 0.5
    return np.asarray(np.where(within, 3.0, 1.0) * gauss(rng, series, nights))


def incidents(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Two to four nights, 6 deviations off, every 90 nights on average."""
    values = gauss(rng, series, nights)
    for row, night in zip(*np.nonzero(rng.random((series, nights)) < 1 / 90), strict=True):
        values[row, night : night + rng.integers(2, 5)] += 6
    return values


#: Name, model, and how many of 500 quiet series may have a change point after 90 and 365 nights.
MODELS: dict[str, tuple[Model, tuple[int, int]]] = {
    "Gauss": (gauss, (1, 2)),
    "log-normal 2 %": (lognormal, (1, 2)),
    "Student t3": (student, (1, 2)),
    "AR(1) 0.3": (autoregressive(0.3), (1, 2)),
    "AR(1) 0.5": (autoregressive(0.5), (1, 2)),
    "ARFIMA 0.3": (fractional(0.3), (1, 2)),
    "weekday": (weekday, (1, 2)),
    "quantised, 1 sd": (quantised(1.0), (1, 2)),
    "quantised, 3 sd": (quantised(3.0), (1, 2)),
    "two modes": (modes, (1, 2)),
    "sticky node": (sticky, (1, 2)),
    "ARFIMA 0.45": (fractional(0.45), (5, 5)),
    "bursts": (bursts, (5, 5)),
    "season": (season, (5, 5)),
    "rare mode": (rare_mode, (5, 5)),
    "incidents": (incidents, (2, 2)),
}
