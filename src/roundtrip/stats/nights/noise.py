"""What of a quiet series is no change: how nights resemble each other, and two modes in turn.

A level that wanders looks like a row of steps to whoever takes nights as independent.  So each
series is explained by several models of stationary noise, from white to nearly a random walk, with
and without change points, and the best explanation is believed.  All are known by their
autocorrelation, which makes white noise of them, also of what begins in the middle.

A node that is handed out now and then, or a page that is huge on some nights, gives a series two
levels.  Visits of a mode are noise; what they hide are the nights within a mode, which scatter much
less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from roundtrip.stats.nights.verdicts import Shares
from roundtrip.stats.settings import NightSettings
from roundtrip.stats.summaries import MAD

#: The most nights that are explained at once; a longer series is cut into stretches that overlap.
LONGEST = 512
_SHORTEST = 64
_ROUNDS = 15
#: Runs up to this length are visits of a mode, and so many make one.
_VISIT, _VISITS = 12, 3
#: Modes lie at least so many standard deviations of their nights apart, and the rarer has at least
#: this share of the nights.
_LEAST_GAP, _LEAST_SHARE = 4.0, 0.15
#: They lie at least so far apart where most series of the site have modes.
_LEAST_GAP_USUAL = 3.5
#: A visit reaches its mode up to this part of what lies between the modes.
_REACH = 2.5
#: A change of shares is looked for in so many of the newest nights, at least and at most.
_LEAST_NEWEST, _MOST_NEWEST = 5, 60
#: What all series of a site say of its visits is worth so many visits of each, if all have modes.
_SITE_VISITS = 8


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
        variance = variances[night - 1]
        partial = (
            autocorrelation[night] - weights @ autocorrelation[night - 1 : 0 : -1]
        ) / variance
        weights = np.append(weights - partial * weights[::-1], partial)
        variances[night] = variance * (1 - partial**2)
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
    prior = np.full(count, (1 - white_share) / (count - 1))
    prior[0] = white_share
    likelihood = np.exp(-(criteria - criteria.min(axis=1, keepdims=True)) / 2)
    posterior = prior
    for _ in range(_ROUNDS):
        responsibilities = likelihood * posterior
        responsibilities /= responsibilities.sum(axis=1, keepdims=True)
        posterior = (weight * prior + responsibilities.sum(axis=0)) / (weight + len(criteria))
    return posterior


@dataclass(frozen=True)
class Modes:
    """The nights in the higher mode [nights], and how far it lies above the lower (logarithms)."""

    is_high: np.ndarray
    gap: float

    @property
    def lengths(self) -> np.ndarray:
        """The nights of each run of either mode."""
        return np.concatenate([_lengths(self.is_high), _lengths(~self.is_high)])


@dataclass(frozen=True)
class ModePrior:
    """What is believed of the visits of a series before any is seen: a beta law, first Jeffreys'.

    `stays` nights were followed by another night in the same mode, and `leaves` were not.
    """

    stays: float = 0.5
    leaves: float = 0.5

    @property
    def visits(self) -> float:
        """So many visits of a series of its own the site's are worth."""
        return self.leaves - ModePrior.leaves


def site_prior(all_modes: Sequence[Modes | None]) -> ModePrior:
    """What the series of a site say together, if most have modes; None is one without."""
    lengths = [modes.lengths for modes in all_modes if modes is not None]
    if 2 * len(lengths) <= len(all_modes):
        return ModePrior()
    runs = np.concatenate(lengths)
    visits = max(1, int((runs <= _VISIT).sum()))
    stays = (np.minimum(runs, _VISIT + 1).sum() - runs.size) / visits
    weight = _SITE_VISITS * (2 * len(lengths) / len(all_modes) - 1)
    return ModePrior(ModePrior.stays + weight * stays, ModePrior.leaves + weight)


def _runs(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first nights of the runs of nights in `mask`, and the first nights after them."""
    change = np.diff(np.concatenate([[0], mask.astype(int), [0]]))
    return np.flatnonzero(change == 1), np.flatnonzero(change == -1)


def _lengths(mask: np.ndarray) -> np.ndarray:
    first, last = _runs(mask)
    return np.asarray(last - first)


def _are_visits(lengths: np.ndarray, prior: ModePrior, settings: NightSettings) -> np.ndarray:
    """Which runs of a mode, of `lengths` nights, may be visits as the other runs are.

    A night stays in a mode with a probability that the visits show (a Markov chain of two states;
    a longer run says only that it lasted so far).  So long a run is predicted by a beta-geometric
    law, and as often as there were visits that could have been the longest: few visits say little.
    """
    is_short = lengths <= _VISIT
    nights = np.minimum(lengths, _VISIT + 1) - 1
    visits = is_short.sum() - is_short
    stays, leaves = prior.stays + nights.sum() - nights, prior.leaves + visits
    log_p = scipy.special.betaln(stays + lengths - 1, leaves)
    log_p -= scipy.special.betaln(stays, leaves)
    is_usual = -log_p - np.log(visits + 1) < settings.mode_evidence
    return np.asarray((visits + prior.visits >= _VISITS) & is_usual)


def find_modes(
    logs: np.ndarray, spread_least: float, prior: ModePrior, settings: NightSettings
) -> Modes | None:
    """The two modes of a series, if it visits each again and again for a few nights.

    Most nights of the rarer mode belong to visits: a level that lasts is no mode.  A stay of more
    than `_VISIT` nights is a visit only if most series of the site have modes, and stay so long.

    The cut between them leaves the least variance within (N. Otsu, IEEE Transactions on Systems,
    Man, and Cybernetics 9, 1979).  `spread_least`: the spread is not below this.
    """
    sorted_logs = np.sort(logs)
    count = np.arange(1, logs.size)
    low = np.cumsum(sorted_logs)[:-1]
    high = sorted_logs.sum() - low
    between_variance = count * count[::-1] * (high / count[::-1] - low / count) ** 2
    is_high = logs > sorted_logs[int(np.argmax(between_variance))]
    share = float(is_high.mean())
    if min(share, 1 - share) < _LEAST_SHARE:
        return None
    centres = np.where(is_high, np.median(logs[is_high]), np.median(logs[~is_high]))
    gap = float(centres.max() - centres.min())
    spread = max(MAD * float(np.median(np.abs(logs - centres))), spread_least)
    is_usual = prior != ModePrior()
    if gap < (_LEAST_GAP_USUAL if is_usual else _LEAST_GAP) * spread:
        return None
    is_high = is_high ^ _is_scatter(logs, is_high, centres, gap)
    rare_nights, usual_nights = (is_high, ~is_high) if 2 * share < 1 else (~is_high, is_high)
    lengths, between_visits = _lengths(rare_nights), _lengths(usual_nights)
    are_visits = lengths <= _VISIT
    visits = min(are_visits.sum(), (between_visits <= _VISIT).sum())
    is_rare = visits + prior.visits < _VISITS
    if is_usual:
        are_visits = _are_visits(lengths, prior, settings)
    if is_rare or 2 * lengths[are_visits].sum() < lengths.sum():
        return None
    return Modes(is_high, gap)


def _is_scatter(
    logs: np.ndarray, is_high: np.ndarray, centres: np.ndarray, gap: float
) -> np.ndarray:
    """The nights of runs that only scatter across the cut, and do not reach the other mode."""
    deviations = np.where(is_high, centres - logs, logs - centres)
    result = np.zeros(logs.size, dtype=bool)
    for mask in (is_high, ~is_high):
        for begin, end in zip(*_runs(mask), strict=True):
            result[begin:end] = _REACH * np.median(deviations[begin:end]) > gap
    return result


def offsets_of_visits(modes: Modes, prior: ModePrior, settings: NightSettings) -> np.ndarray:
    """By how much each night is off because it visits the mode that is the rarer one [nights].

    A run that is too long for a visit is a level.
    """
    is_mostly_high = bool(2 * modes.is_high.sum() > modes.is_high.size)
    first, last = _runs(modes.is_high != is_mostly_high)
    offsets = np.zeros(modes.is_high.size)
    are_visits = _are_visits(last - first, prior, settings)
    for begin, end in zip(first[are_visits], last[are_visits], strict=True):
        offsets[begin:end] = -modes.gap if is_mostly_high else modes.gap
    return offsets


def change_of_shares(modes: Modes, settings: NightSettings) -> Shares | None:
    """The change of the shares of both modes in the newest nights, if it is no chance.

    Fisher's exact test of the nights since each change of mode against those before.  Nights that
    resemble those before count as fewer: the variance of a share is that of a Markov chain of two
    states (P. Billingsley, Annals of Mathematical Statistics 32, 1961).
    """
    n, high = modes.is_high.size, modes.is_high
    begins = np.flatnonzero(np.diff(high.astype(int))) + 1
    begins = begins[(begins >= max(n // 2, n - _MOST_NEWEST)) & (begins <= n - _LEAST_NEWEST)]
    if not begins.size:
        return None
    worth = _worth(high)
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
    return Shares(n - begin, before, after, math.exp(modes.gap))


def _worth(high: np.ndarray) -> float:
    """So many independent nights a night is worth."""
    leaves = [
        (np.sum(mask[:-1] & ~mask[1:]) + 0.5) / (mask[:-1].sum() + 1) for mask in (high, ~high)
    ]
    autocorrelation = min(max(1 - float(sum(leaves)), 0.0), 0.99)
    return (1 - autocorrelation) / (1 + autocorrelation)
