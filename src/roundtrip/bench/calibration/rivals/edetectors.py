"""E-detectors: sums of e-processes, one begun each night; the average run length is guaranteed.

J. Shin, A. Ramdas and A. Rinaldo, E-detectors: a nonparametric framework for sequential change
detection, 2022 (arXiv 2203.03532).  Evidence is the logarithm of the e-detector: an alarm at
log(1 / alpha) has an average run length of at least 1 / alpha nights.  Here that is exact only for
normal noise whose variance and autocorrelation are known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr

from roundtrip.bench.calibration.rivals.given import looks
from roundtrip.stats.nights import noise
from roundtrip.stats.nights.series import Series
from roundtrip.stats.nights.settings import Settings

#: Tilts of the baseline increments, in standard deviations of an innovation; equal weights.
TILTS = (1.0, 1.5, 2.0)
#: Standard deviations of the normal mixture over sizes of a step, in those of a night.
SIZES = (0.5, 1.0, 2.0)


def _increments(
    series: Series, settings: Settings, restart: Callable[..., np.ndarray]
) -> np.ndarray:
    """Evidence [series, nights, 1] of exp(tilt z - tilt^2 / 2), multiplied up from each restart.

    z is what a night adds to what the nights before predict, as a normal deviate; winsorised, it
    remains sub-Gaussian, so the increments remain e-values.
    """
    tilts = np.array([*TILTS, *(-tilt for tilt in TILTS)])
    wealth = np.full((len(series.values), tilts.size), -np.inf)
    evidence = np.zeros((*series.values.shape, 1))
    for look in looks(series, settings):
        last = look.at - 1
        weights = look.member[:, :, look.at] - look.phi[:, None] * look.member[:, :, last]
        error = look.variance * (1 - look.phi**2 + look.of_levels(weights))
        innovation = look.off[:, look.at] - look.phi * look.off[:, last]
        z = noise.to_normal(innovation / np.sqrt(np.where(error > 0, error, np.inf)), look.dof)
        z = np.clip(z, -settings.clip_sd, settings.clip_sd)
        there = look.is_there(look.at)
        gained = restart(wealth, 0.0) + tilts * z[:, None] - tilts**2 / 2
        wealth = np.where(there[:, None], gained, wealth)
        evidence[there, look.begin, 0] = _signed(wealth, tilts > 0)[there]
    return evidence


def shiryaev_roberts(series: Series, settings: Settings) -> np.ndarray:
    """The e-SR detector: all beginnings are summed."""
    return _increments(series, settings, np.logaddexp)


def cusum(series: Series, settings: Settings) -> np.ndarray:
    """The e-CUSUM detector: the best beginning of each tilt."""
    return _increments(series, settings, np.maximum)


def frozen(series: Series, settings: Settings) -> np.ndarray:
    """Evidence [series, nights, 1] of the e-SR detector whose e-processes keep the levels before.

    The e-process begun at a night compares all nights since with the nights before, by the mixture
    of H. Robbins, Ann. Math. Stat. 41, 1970, over normal sizes of a step, half of it upwards.
    """
    nights = series.values.shape[1]
    total = np.full((len(series.values), nights, 2), -np.inf)
    for look in looks(series, settings):
        length = np.arange(settings.step_least, min(settings.step_most, nights - look.begin) + 1)
        ends = look.at + length
        count = np.cumsum(look.member[:, :, look.at :], axis=2)[:, :, length - 1]
        n = np.maximum(count.sum(axis=1), 1)
        phi = look.phi[:, None]
        innovations = look.off[:, look.at :] - phi * look.off[:, look.at - 1 : -1]
        rest = np.cumsum(innovations, axis=1)[:, length - 1] - innovations[:, :1]
        step = (innovations[:, :1] + (1 - phi) * rest) / (1 + (n - 1) * (1 - phi) ** 2)
        variance, enters = noise.of_step(phi, n)
        variance = variance + enters**2 * look.of_levels(count / n[:, None, :])
        scale = np.sqrt(np.where(look.is_usable, look.variance, np.inf))[:, None]
        z = noise.to_normal(step / scale / np.sqrt(variance), look.dof[:, None])
        there = look.is_there(ends - 1)
        at = slice(look.begin + length[0] - 1, look.begin + length[-1]) if length.size else slice(0)
        for size in SIZES:
            share = size**2 / (size**2 + variance)
            both = 0.5 * (np.log1p(-share) + z**2 * share) - np.log(len(SIZES))
            halves = both[..., None] + log_ndtr(np.stack([z, -z], -1) * np.sqrt(share)[..., None])
            halves = np.where(there[..., None], halves, -np.inf)
            total[:, at] = np.logaddexp(total[:, at], halves)
    return _signed(total + np.log(2), np.array([True, False]))[..., None]


def _signed(wealth: np.ndarray, is_up: np.ndarray) -> np.ndarray:
    """Logarithm of the mean of `wealth` (logarithms, last axis), negative for a step downwards.

    At most 0 where the mean is below 1.
    """
    up, down = (np.logaddexp.reduce(wealth[..., side], axis=-1) for side in (is_up, ~is_up))
    mean = np.logaddexp(up, down) - np.log(is_up.size)
    return np.asarray(np.where(up >= down, 1, -1) * np.maximum(mean, 0.0))
