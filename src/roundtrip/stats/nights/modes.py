"""Two modes that a series visits in turn: which nights are visits, and how their shares change.

A node that is handed out now and then, or a page that is huge on some nights, gives a series two
levels.  Visits are noise; what they hide are the nights within a mode, which scatter much less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
#: They lie at least so far apart where most series of the site have modes.
_APART_USUAL = 3.5
#: A visit reaches its mode up to this part of what lies between the modes.
_REACHED = 2.5
#: A change of shares is looked for in so many of the newest nights, at least and at most.
_NEWEST, _LATE = 5, 60
#: What all series of a site say of its visits is worth so many visits of each, if all have modes.
_OF_SITE = 8


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
class Habit:
    """What is believed of the visits of a series before any is seen: a beta law, first Jeffreys'.

    `stays` nights were followed by another night in the same mode, and `leaves` were not.
    """

    stays: float = 0.5
    leaves: float = 0.5

    @property
    def visits(self) -> float:
        """So many visits of a series of its own the site's are worth."""
        return self.leaves - Habit.leaves


def habit(every: Sequence[Modes | None]) -> Habit:
    """What the series of a site say together, if most have modes; None is one without."""
    lengths = [one.lengths for one in every if one is not None]
    if 2 * len(lengths) <= len(every):
        return Habit()
    runs = np.concatenate(lengths)
    visits = max(1, int((runs <= _VISIT).sum()))
    stays = (np.minimum(runs, _VISIT + 1).sum() - runs.size) / visits
    weight = _OF_SITE * (2 * len(lengths) / len(every) - 1)
    return Habit(Habit.stays + weight * stays, Habit.leaves + weight)


def _runs(there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first nights of the runs of nights that are `there`, and the first nights after them."""
    change = np.diff(np.concatenate([[0], there.astype(int), [0]]))
    return np.flatnonzero(change == 1), np.flatnonzero(change == -1)


def _lengths(there: np.ndarray) -> np.ndarray:
    first, last = _runs(there)
    return np.asarray(last - first)


def _are_visits(lengths: np.ndarray, of_site: Habit, settings: Settings) -> np.ndarray:
    """Which runs of a mode, of `lengths` nights, may be visits as the other runs are.

    A night stays in a mode with a probability that the visits show (a Markov chain of two states;
    a longer run says only that it lasted so far).  So long a run is predicted by a beta-geometric
    law, and as often as there were visits that could have been the longest: few visits say little.
    """
    is_short = lengths <= _VISIT
    nights = np.minimum(lengths, _VISIT + 1) - 1
    visits = is_short.sum() - is_short
    stays, leaves = of_site.stays + nights.sum() - nights, of_site.leaves + visits
    longer = betaln(stays + lengths - 1, leaves) - betaln(stays, leaves)
    is_usual = -longer - np.log(visits + 1) < settings.mode_evidence
    return np.asarray((visits + of_site.visits >= _VISITS) & is_usual)


def modes(logs: np.ndarray, least: float, of_site: Habit, settings: Settings) -> Modes | None:
    """The two modes of a series, if it visits each again and again for a few nights.

    Most nights of the rarer mode belong to visits: a level that lasts is no mode.  A stay of more
    than `_VISIT` nights is a visit only if most series of the site have modes, and stay so long.

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
    is_usual = of_site != Habit()
    if gap < (_APART_USUAL if is_usual else _APART) * within:
        return None
    is_high = is_high ^ _is_scatter(logs, is_high, centres, gap)
    rare, usual = (is_high, ~is_high) if 2 * share < 1 else (~is_high, is_high)
    lengths, between_visits = _lengths(rare), _lengths(usual)
    are_visits = lengths <= _VISIT
    both = min(are_visits.sum(), (between_visits <= _VISIT).sum())
    is_rare = both + of_site.visits < _VISITS
    if is_usual:
        are_visits = _are_visits(lengths, of_site, settings)
    if is_rare or 2 * lengths[are_visits].sum() < lengths.sum():
        return None
    return Modes(is_high, gap)


def _is_scatter(
    logs: np.ndarray, is_high: np.ndarray, centres: np.ndarray, gap: float
) -> np.ndarray:
    """The nights of runs that only scatter across the cut, and do not reach the other mode."""
    off = np.where(is_high, centres - logs, logs - centres)
    result = np.zeros(logs.size, dtype=bool)
    for there in (is_high, ~is_high):
        for begin, end in zip(*_runs(there), strict=True):
            result[begin:end] = _REACHED * np.median(off[begin:end]) > gap
    return result


def visits(found: Modes, of_site: Habit, settings: Settings) -> np.ndarray:
    """By how much each night is off because it visits the mode that is the rarer one [nights].

    A run that is too long for a visit is a level.
    """
    is_mostly_high = bool(2 * found.is_high.sum() > found.is_high.size)
    first, last = _runs(found.is_high != is_mostly_high)
    off = np.zeros(found.is_high.size)
    are_visits = _are_visits(last - first, of_site, settings)
    for begin, end in zip(first[are_visits], last[are_visits], strict=True):
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
