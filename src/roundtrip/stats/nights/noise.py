"""Noise of a series without changes: autocorrelation of nights, and visits of two modes.

A wandering level looks like a series of steps if nights are taken as independent.  So each series
is fitted with several models of stationary noise, from white to nearly a random walk, with and
without change points, and the best fit counts.  Each model is given by its autocorrelation, which
whitens the noise, and also steps that begin in any night.

A node that is allocated now and then, or huge pages on some nights, give a series two levels.
Visits of a mode are noise; within a mode, nights scatter much less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from roundtrip.stats.nights.verdicts import ModeShares
from roundtrip.stats.settings import NightSettings
from roundtrip.stats.summaries import SD_PER_MAD

#: Most nights of one fit; a longer series is cut into windows that overlap.
MAX_NIGHTS = 512
_MIN_MODEL_NIGHTS = 64
_EM_ITERATIONS = 15
#: Most nights of a visit of a mode, and fewest visits that make a mode.
_MAX_VISIT_NIGHTS, _MIN_VISITS = 12, 3
#: Least distance of modes, in standard deviations of their nights, and least share of the nights in
#: the rarer mode.
_MIN_MODE_GAP_SD, _MIN_MODE_SHARE = 4.0, 0.15
#: Least distance of modes if most series of the site have modes.
_MIN_USUAL_MODE_GAP_SD = 3.5
#: A visit's median is nearer to its own mode than the distance of the modes over this.
_MAX_VISIT_DISTANCE_DIVISOR = 2.5
#: Least and most of the newest nights in which a change of shares is searched for.
_MIN_NEWEST_NIGHTS, _MAX_NEWEST_NIGHTS = 5, 60
#: Weight of the site's prior, in visits of one series, if all series have modes.
_SITE_PRIOR_WEIGHT_VISITS = 8


@dataclass(frozen=True)
class NoiseModel:
    """A model for up to n nights; the leading part of each array is the model for fewer nights.

    `whitening_matrix` [n, n] turns this noise into independent values of variance 1; row t of
    `whitened_steps` [n, n] is a whitened step of height 1 that begins in night t, and
    `whitened_line` [n] is a whitened line that rises by 1 per night.  `log_determinant` [n] has at
    t the log determinant of the covariance of nights 0 to t.
    """

    name: str
    is_autocorrelated: bool
    has_wandering_level: bool
    whitening_matrix: np.ndarray
    whitened_steps: np.ndarray
    whitened_line: np.ndarray
    log_determinant: np.ndarray


def noise_models(nights: int) -> tuple[NoiseModel, ...]:
    """The `NoiseModel`s for series of up to `nights` nights, white noise first."""
    size = _MIN_MODEL_NIGHTS
    while size < min(nights, MAX_NIGHTS):
        size *= 2
    return _cached_noise_models(size)


@cache
def _cached_noise_models(size: int) -> tuple[NoiseModel, ...]:
    lag, white = np.arange(size), np.zeros(size)
    white[0] = 1.0
    # Name, whether the level itself wanders slowly, autocorrelation by lag.
    laws: list[tuple[str, bool, np.ndarray]] = [("white", False, white)]
    # AR(1): a night is phi times the night before, plus white noise.
    laws += [(f"AR(1) {phi}", False, phi**lag) for phi in (0.2, 0.35, 0.5, 0.65, 0.8)]
    # ARFIMA(0, d, 0): J. R. M. Hosking, Biometrika 68, 1981, theorem 1.
    for d in (0.2, 0.3, 0.4, 0.45):
        law = np.cumprod(np.append(1.0, (lag[1:] - 1 + d) / (lag[1:] - d)))
        laws.append((f"ARFIMA {d}", d > 0.3, law))
    # White noise plus an AR(1) level with a share of the variance.
    for share, phi in ((0.2, 0.9), (0.5, 0.9), (0.8, 0.95), (0.1, 0.98), (0.3, 0.98), (0.6, 0.98)):
        law = share * phi**lag + (1 - share) * white
        laws.append((f"white and AR(1) {phi}, {share:.0%}", True, law))
    return tuple(_build_noise_model(*law) for law in laws)


def _build_noise_model(
    name: str, has_wandering_level: bool, autocorrelation: np.ndarray
) -> NoiseModel:
    """Build a model from its autocorrelation by the Durbin-Levinson recursion.

    Row t of `whiten` is night t minus its best linear prediction from the nights before, over its
    standard deviation (P. J. Brockwell and R. A. Davis, Time Series: Theory and Methods, 1991,
    section 5.2).  This avoids LAPACK, whose threads busy-wait for each other on a loaded machine.
    """
    size = autocorrelation.size
    whiten, variances = np.zeros((size, size)), np.ones(size)
    whiten[0, 0] = 1
    weights = np.empty(0)  # of the nights before, the latest first
    for night in range(1, size):
        variance = variances[night - 1]
        rest = autocorrelation[night] - weights @ autocorrelation[night - 1 : 0 : -1]
        partial = rest / variance
        weights = np.append(weights - partial * weights[::-1], partial)
        variances[night] = variance * (1 - partial**2)
        whiten[night, : night + 1] = np.append(-weights[::-1], 1) / np.sqrt(variances[night])
    steps = np.ascontiguousarray(np.cumsum(whiten[:, ::-1], axis=1)[:, ::-1].T)
    line = whiten @ np.arange(size)
    determinants = np.cumsum(np.log(variances))
    return NoiseModel(name, name != "white", has_wandering_level, whiten, steps, line, determinants)


def noise_shares(criteria: np.ndarray, white_share: float, weight: float) -> np.ndarray:
    """The share of each model among the series of a site [models], fractions of 1.

    `criteria` [series, models] are -2 log likelihoods plus penalties of change points.  An
    empirical Bayes estimate (H. Robbins, 1956) by expectation maximisation: the prior, as heavy as
    `weight` series, is `white_share` for white noise and equal parts for the rest.
    """
    count = criteria.shape[1]
    prior = np.full(count, (1 - white_share) / (count - 1))
    prior[0] = white_share
    likelihood = np.exp(-(criteria - criteria.min(axis=1, keepdims=True)) / 2)
    posterior = prior
    for _ in range(_EM_ITERATIONS):
        responsibilities = likelihood * posterior
        responsibilities /= responsibilities.sum(axis=1, keepdims=True)
        posterior = (weight * prior + responsibilities.sum(axis=0)) / (weight + len(criteria))
    return posterior


@dataclass(frozen=True)
class Modes:
    """The nights in the higher mode [nights], and how far it lies above the lower (logarithms)."""

    is_high: np.ndarray
    log_gap: float


@dataclass(frozen=True)
class ModePrior:
    """Prior of the probability to stay in a mode: beta, by default Jeffreys'.

    `stay_count` nights were followed by another night in the same mode, and `leave_count` were not.
    """

    stay_count: float = 0.5
    leave_count: float = 0.5

    @property
    def weight_in_visits(self) -> float:
        """The weight of the prior in visits of one series."""
        return self.leave_count - ModePrior.leave_count


def site_prior(all_modes: Sequence[Modes | None]) -> ModePrior:
    """The prior from all series of a site if most have modes (not None), else that of Jeffreys."""
    masks = [modes.is_high for modes in all_modes if modes is not None]
    if 2 * len(masks) <= len(all_modes):
        return ModePrior()
    runs = np.concatenate([_run_lengths(mask) for high in masks for mask in (high, ~high)])
    visits = max(1, int((runs <= _MAX_VISIT_NIGHTS).sum()))
    stays = (np.minimum(runs, _MAX_VISIT_NIGHTS + 1).sum() - runs.size) / visits
    weight = _SITE_PRIOR_WEIGHT_VISITS * (2 * len(masks) / len(all_modes) - 1)
    return ModePrior(ModePrior.stay_count + weight * stays, ModePrior.leave_count + weight)


def _run_bounds(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first nights of the runs of nights in `mask`, and the first nights after them."""
    change = np.diff(np.concatenate([[0], mask.astype(int), [0]]))
    return np.flatnonzero(change == 1), np.flatnonzero(change == -1)


def _run_lengths(mask: np.ndarray) -> np.ndarray:
    first, last = _run_bounds(mask)
    return np.asarray(last - first)


def _visit_mask(run_lengths: np.ndarray, prior: ModePrior, settings: NightSettings) -> np.ndarray:
    """Mask of the runs of a mode, of `run_lengths` nights, that may be visits like the others.

    The visits give the probability that a night stays in a mode (a Markov chain of two states; runs
    too long for a visit are censored).  A beta-geometric distribution gives that of so long a run,
    times the number of visits that could be the longest: few visits are weak evidence.
    """
    is_short = run_lengths <= _MAX_VISIT_NIGHTS
    nights = np.minimum(run_lengths, _MAX_VISIT_NIGHTS + 1) - 1
    visits = is_short.sum() - is_short
    stays, leaves = prior.stay_count + nights.sum() - nights, prior.leave_count + visits
    log_p = scipy.special.betaln(stays + run_lengths - 1, leaves)
    log_p -= scipy.special.betaln(stays, leaves)
    is_usual = -log_p - np.log(visits + 1) < settings.mode_evidence
    return np.asarray((visits + prior.weight_in_visits >= _MIN_VISITS) & is_usual)


def find_modes(
    logs: np.ndarray, min_spread: float, prior: ModePrior, settings: NightSettings
) -> Modes | None:
    """The two modes of a series that visits each repeatedly for a few nights; else None.

    Most nights of the rarer mode belong to visits: a level that lasts is no mode.  A stay of over
    `_MAX_VISIT_NIGHTS` nights is a visit only if most series of the site have modes and stay so
    long.

    The cut between the modes minimises the variance within them (N. Otsu, IEEE Transactions on
    Systems, Man, and Cybernetics 9, 1979).  `min_spread`: a lower bound of the spread.
    """
    sorted_logs = np.sort(logs)
    count = np.arange(1, logs.size)
    low = np.cumsum(sorted_logs)[:-1]
    high = sorted_logs.sum() - low
    between_variance = count * count[::-1] * (high / count[::-1] - low / count) ** 2
    is_high = logs > sorted_logs[int(np.argmax(between_variance))]
    share = float(is_high.mean())
    if min(share, 1 - share) < _MIN_MODE_SHARE:
        return None
    centres = np.where(is_high, np.median(logs[is_high]), np.median(logs[~is_high]))
    gap = float(centres.max() - centres.min())
    spread = max(SD_PER_MAD * float(np.median(np.abs(logs - centres))), min_spread)
    is_usual = prior != ModePrior()
    if gap < (_MIN_USUAL_MODE_GAP_SD if is_usual else _MIN_MODE_GAP_SD) * spread:
        return None
    is_high = is_high ^ _scatter_mask(logs, is_high, centres, gap)
    rare_nights, usual_nights = (is_high, ~is_high) if 2 * share < 1 else (~is_high, is_high)
    lengths, between_visits = _run_lengths(rare_nights), _run_lengths(usual_nights)
    are_visits = lengths <= _MAX_VISIT_NIGHTS
    visits = min(are_visits.sum(), (between_visits <= _MAX_VISIT_NIGHTS).sum())
    is_rare = visits + prior.weight_in_visits < _MIN_VISITS
    if is_usual:
        are_visits = _visit_mask(lengths, prior, settings)
    if is_rare or 2 * lengths[are_visits].sum() < lengths.sum():
        return None
    return Modes(is_high, gap)


def _scatter_mask(
    logs: np.ndarray, is_high: np.ndarray, centres: np.ndarray, gap: float
) -> np.ndarray:
    """Mask of nights in runs that scatter across the cut but do not reach the other mode."""
    deviations = np.where(is_high, centres - logs, logs - centres)
    result = np.zeros(logs.size, dtype=bool)
    for mask in (is_high, ~is_high):
        for begin, end in zip(*_run_bounds(mask), strict=True):
            result[begin:end] = _MAX_VISIT_DISTANCE_DIVISOR * np.median(deviations[begin:end]) > gap
    return result


def visit_offsets(modes: Modes, prior: ModePrior, settings: NightSettings) -> np.ndarray:
    """The offset of each night that visits the rarer mode, else 0 [nights].

    A run that is too long for a visit is a level.
    """
    is_mostly_high = bool(2 * modes.is_high.sum() > modes.is_high.size)
    first, last = _run_bounds(modes.is_high != is_mostly_high)
    offsets = np.zeros(modes.is_high.size)
    are_visits = _visit_mask(last - first, prior, settings)
    for begin, end in zip(first[are_visits], last[are_visits], strict=True):
        offsets[begin:end] = -modes.log_gap if is_mostly_high else modes.log_gap
    return offsets


def mode_share_change(modes: Modes, settings: NightSettings) -> ModeShares | None:
    """The change of the shares of both modes in the newest nights, if significant; else None.

    Fisher's exact test of the nights since each change of mode against those before.
    Autocorrelated nights count as fewer: the variance of a share is that of a Markov chain of two
    states (P. Billingsley, Annals of Mathematical Statistics 32, 1961).
    """
    n, high = modes.is_high.size, modes.is_high
    begins = np.flatnonzero(np.diff(high.astype(int))) + 1
    earliest, latest = max(n // 2, n - _MAX_NEWEST_NIGHTS), n - _MIN_NEWEST_NIGHTS
    begins = begins[(begins >= earliest) & (begins <= latest)]
    if not begins.size:
        return None
    leaves = [
        (np.sum(mask[:-1] & ~mask[1:]) + 0.5) / (mask[:-1].sum() + 1) for mask in (high, ~high)
    ]
    autocorrelation = min(max(1 - float(sum(leaves)), 0.0), 0.99)
    worth = (1 - autocorrelation) / (1 + autocorrelation)  # of a night, in independent nights
    high_nights = np.cumsum(high[::-1])[::-1][begins]
    law = [np.rint(worth * size).astype(int) for size in (n, high.sum(), n - begins)]
    counts = np.rint(worth * high_nights).astype(int)
    lower_p = scipy.stats.hypergeom.cdf(counts, *law)
    upper_p = scipy.stats.hypergeom.sf(counts - 1, *law)
    p = 2 * np.minimum(lower_p, upper_p)
    if p.min() >= settings.flapping_level:
        return None
    begin = int(begins[np.argmin(p)])
    before, after = float(high[:begin].mean()), float(high[begin:].mean())
    return ModeShares(n - begin, before, after, math.exp(modes.log_gap))
