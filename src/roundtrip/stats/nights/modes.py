"""Two modes that a series visits in turn: which nights are visits, and how their shares change.

A node that is handed out now and then, or a page that is huge on some nights, gives a series two
levels.  Visits are noise; what they hide are the nights within a mode, which scatter much less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import betaln

from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.verdicts import Shares

#: MAD of a normal distribution to its standard deviation.
MAD = 1.4826
#: Runs up to this length are visits of a mode, and so many make one.
_VISIT, _VISITS = 12, 3
#: Modes lie at least so many standard deviations of their nights apart, and the rarer has at least
#: this share of the nights.
_APART, _OFTEN = 4.0, 0.15
#: A change of shares is looked for in so many of the newest nights, at least and at most.
_NEWEST, _LATE = 5, 60


@dataclass(frozen=True)
class Modes:
    """The nights in the higher mode [nights], and how far it lies above the lower (logarithms)."""

    is_high: np.ndarray
    gap: float


def _runs(there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first nights of the runs of nights that are `there`, and the first nights after them."""
    change = np.diff(np.concatenate([[0], there.astype(int), [0]]))
    return np.flatnonzero(change == 1), np.flatnonzero(change == -1)


def _is_visit(length: int, lengths: np.ndarray, settings: Settings) -> bool:
    """Whether a run of `length` nights may be a visit of a mode as those of `lengths` are.

    A night stays in a mode with a probability that the visits show (a Markov chain of two states;
    a longer run says only that it lasted so far).  So long a run is predicted by a beta-geometric
    law with Jeffreys' prior, and as often as there were visits that could have been the longest:
    few visits say little.
    """
    visits = int((lengths <= _VISIT).sum())
    if visits < _VISITS:
        return False
    stays, leaves = int(np.minimum(lengths, _VISIT + 1).sum()) - lengths.size + 0.5, visits + 0.5
    longer = betaln(stays + length - 1, leaves) - betaln(stays, leaves)
    return bool(-longer - math.log(visits + 1) < settings.mode_evidence)


def modes(logs: np.ndarray, least: float) -> Modes | None:
    """The two modes of a series, if it visits each again and again for a few nights.

    Most nights of the rarer mode belong to visits: a level that lasts is no mode.

    The cut between them leaves the least variance within (N. Otsu, IEEE Transactions on Systems,
    Man, and Cybernetics 9, 1979).  `least`: the spread is not below this.
    """
    ordered = np.sort(logs)
    count = np.arange(1, logs.size)
    low = np.cumsum(ordered)[:-1]
    high = ordered.sum() - low
    between = count * count[::-1] * (high / count[::-1] - low / count) ** 2
    is_high = logs > ordered[int(np.argmax(between))]
    share = float(is_high.mean())
    if min(share, 1 - share) < _OFTEN:
        return None
    centres = np.where(is_high, np.median(logs[is_high]), np.median(logs[~is_high]))
    gap = float(centres.max() - centres.min())
    within = max(MAD * float(np.median(np.abs(logs - centres))), least)
    rare, usual = (is_high, ~is_high) if 2 * share < 1 else (~is_high, is_high)
    lengths, between_visits = (last - first for first, last in (_runs(rare), _runs(usual)))
    short = lengths[lengths <= _VISIT]
    if (
        gap < _APART * within
        or min(short.size, (between_visits <= _VISIT).sum()) < _VISITS
        or 2 * short.sum() < lengths.sum()
    ):
        return None
    return Modes(is_high, gap)


def visits(found: Modes, settings: Settings) -> np.ndarray:
    """By how much each night is off because it visits the mode that is the rarer one [nights].

    A run that is too long for a visit is a level.
    """
    is_mostly_high = bool(2 * found.is_high.sum() > found.is_high.size)
    first, last = _runs(found.is_high != is_mostly_high)
    off = np.zeros(found.is_high.size)
    for number, (begin, end) in enumerate(zip(first, last, strict=True)):
        if _is_visit(int(end - begin), np.delete(last - first, number), settings):
            off[begin:end] = -found.gap if is_mostly_high else found.gap
    return off


def shares(found: Modes, settings: Settings) -> Shares | None:
    """The change of the shares of both modes in the newest nights, if it is no chance.

    Fisher's exact test of the nights since each change of mode against those before.  Nights that
    resemble those before count as fewer: the variance of a share is that of a Markov chain of two
    states (P. Billingsley, Annals of Mathematical Statistics 32, 1961).
    """
    n, high = found.is_high.size, found.is_high
    begins = np.flatnonzero(np.diff(high.astype(int))) + 1
    begins = begins[(begins >= max(n // 2, n - _LATE)) & (begins <= n - _NEWEST)]
    if not begins.size:
        return None
    worth = _worth(high)
    late = np.cumsum(high[::-1])[::-1][begins]
    law = [np.rint(worth * one).astype(int) for one in (n, high.sum(), n - begins)]
    counts = np.rint(worth * late).astype(int)
    below = scipy.stats.hypergeom.cdf(counts, *law)
    above = scipy.stats.hypergeom.sf(counts - 1, *law)
    p = 2 * np.minimum(below, above)
    if p.min() >= settings.flapping_level:
        return None
    begin = int(begins[np.argmin(p)])
    before, after = float(high[:begin].mean()), float(high[begin:].mean())
    return Shares(n - begin, before, after, math.exp(found.gap))


def _worth(high: np.ndarray) -> float:
    """So many independent nights a night is worth."""
    leaves = [(np.sum(one[:-1] & ~one[1:]) + 0.5) / (one[:-1].sum() + 1) for one in (high, ~high)]
    alike = min(max(1 - float(sum(leaves)), 0.0), 0.99)
    return (1 - alike) / (1 + alike)
