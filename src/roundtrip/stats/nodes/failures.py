"""Which nodes fail more launches than the others, by all launches of the newest nights.

A failed launch counts against each of its nodes.  The node that explains failures best is put aside
with all its launches, then the next one, as in `judge`: so the partners of a flaky node are
judged by their other launches.  A node is flaky if two tests say so:

* its failures are too many for the rate at which the other nodes failed in all nights: the
  posterior predictive of that rate, a beta-binomial with Jeffreys' prior (H. Jeffreys, Proceedings
  of the Royal Society A 186, 1946);
* they are too many for the failures of each night alone, which launches had by chance: the sum of
  hypergeometric counts, exact given what failed each night (N. Mantel and W. Haenszel, Journal of
  the National Cancer Institute 22, 1959).  In a night in which much failed this is the stronger
  demand, and the rate of all nights means nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
import scipy

from roundtrip.stats.nodes.judge import MOST_ASIDE, PATIENCE
from roundtrip.stats.settings import NodeSettings

#: Jeffreys' prior of a rate.
_PRIOR = 0.5
#: Rates of healthy nodes differ by 1/sqrt(3) of their mean, as if even from 0 to twice as much.
_SHAPE = 3.0
#: Below this probability of so many launches since the last failure, a node fails no longer.
_RECOVERED = 0.05


_Count = int | np.ndarray
_Value = TypeVar("_Value", str, tuple[str, str])


@dataclass(frozen=True)
class Outcomes:
    """Launches that passed or failed.  `failed` and `night` go by launch, `night` counts from 0.

    `stratum` numbers, within nights, launches that are alike.  `launch` and `node` go by pairs of a
    launch and a node of it; `node` is an index of `names`.
    """

    names: tuple[str, ...]
    failed: np.ndarray
    night: np.ndarray
    stratum: np.ndarray
    launch: np.ndarray
    node: np.ndarray

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[Collection[str], bool, str, str]]) -> Outcomes:
        """From the nodes of each launch, whether it failed, its night, and what it is like."""
        known = list(rows)
        names = sorted({name for nodes, *_ in known for name in nodes})
        at = {name: number for number, name in enumerate(names)}
        on = [(row, at[name]) for row, (nodes, *_) in enumerate(known) for name in set(nodes)]
        pairs = np.array(on, dtype=np.int64).reshape(-1, 2)
        return cls(
            tuple(names),
            np.array([bool(failed) for _, failed, *_ in known], dtype=bool),
            _numbers([night for *_, night, _ in known]),
            _numbers([(night, kind) for *_, night, kind in known]),
            pairs[:, 0],
            pairs[:, 1],
        )


@dataclass(frozen=True)
class Flaky:
    """`names` of a node, or of two that failed only together, so that nobody knows which.

    (failed, all) of the launches `here` and, in the same nights, of those on nodes that are not
    flaky.  `chance`: the probability of such a node by chance, over all nodes and windows.
    """

    names: tuple[str, ...]
    here: tuple[int, int]
    elsewhere: tuple[int, int]
    nights: int
    chance: float


def flaky(outcomes: Outcomes, settings: NodeSettings) -> tuple[Flaky, ...]:
    """The flaky nodes, the least likely by chance first."""
    if not outcomes.failed.any():
        return ()
    nights = int(outcomes.night.max()) + 1
    widths = [width for width in settings.windows_nights if width < nights]
    widths += [min(nights, max(settings.windows_nights))]
    windows = (
        _Window(outcomes, nights - width, nights - widths[-1], settings, len(widths))
        for width in widths
    )
    every = [one for window in windows for one in window.flaky()]
    best: dict[frozenset[str], Flaky] = {}
    for one in sorted(every, key=lambda one: one.chance):
        best.setdefault(frozenset(one.names), one)
    decided = {one.names[0] for one in best.values() if len(one.names) == 1}
    kept = [one for one in best.values() if len(one.names) == 1 or not decided & set(one.names)]
    return tuple(sorted(kept, key=lambda one: (one.chance, one.names)))


@dataclass(frozen=True)
class _Window:
    """Nights from `first` on, one of `windows`; the rate elsewhere is of nights from `since` on."""

    outcomes: Outcomes
    first: int
    since: int
    settings: NodeSettings
    windows: int

    def flaky(self) -> list[Flaky]:
        """The last node put aside that is flaky ends the list, as in the test of many outliers."""
        groups: list[tuple[int, ...]] = []
        found = patience = 0
        most = int(MOST_ASIDE * len(self.outcomes.names))
        while patience < PATIENCE and len(groups) < most:
            aside = [node for group in groups for node in group]
            group = self._most_likely(aside)
            if not group:
                break
            is_flaky = self._tested(group, aside) is not None
            groups.append(group)
            found, patience = (len(groups), 0) if is_flaky else (found, patience + 1)
        verdicts = []
        for group in groups[:found]:
            others = [node for one in groups[:found] if one != group for node in one]
            verdicts.append(self._tested(group, others))
        return [one for one in verdicts if one]

    def _most_likely(self, aside: Sequence[int]) -> tuple[int, ...]:
        """The node whose failures the others' rate explains least, and who shares them all."""
        kept = self._without(aside)
        window = kept & (self.outcomes.night >= self.first)
        bad = self._count(window & self.outcomes.failed)
        if not bad.any():
            return ()
        every = self._count(window)
        nights = kept & (self.outcomes.night >= self.since)
        wrong = nights & self.outcomes.failed
        away = int(wrong.sum()) - self._count(wrong)
        well = int(nights.sum()) - self._count(nights) - away
        chance = _chance(bad, every, away, well)
        worst = int(np.argmin(np.where(bad > 0, chance, np.inf)))
        failed = window & self.outcomes.failed & self._on(worst)
        shared = self._count(failed)
        twins = np.flatnonzero((shared == bad[worst]) & (bad == bad[worst]))
        return tuple(int(one) for one in twins) if len(twins) <= 2 else (worst,)

    def _tested(self, group: tuple[int, ...], aside: Sequence[int]) -> Flaky | None:
        """The node or nodes of `group`, if flaky by both tests against all but `aside`."""
        outcomes, settings, node = self.outcomes, self.settings, group[0]
        kept = self._without([one for one in aside if one not in group])
        on_node = self._on(node)
        window = kept & (outcomes.night >= self.first)
        bad, every = _counts(outcomes.failed[window & on_node])
        away, rest = _counts(outcomes.failed[kept & ~on_node & (outcomes.night >= self.since)])
        if not bad or bad / every - away / max(1, rest) < settings.failures_least:
            return None
        last = outcomes.night[window & on_node & outcomes.failed].max()
        calm = int((window & on_node & (outcomes.night > last)).sum())
        if calm and (1 - bad / (every - calm)) ** calm < _RECOVERED:
            return None
        tests = len(outcomes.names) * self.windows
        chance = tests * float(_chance(bad, every, away, rest - away)[0])
        if chance > settings.failures_level:
            return None
        by_night = tests * self._by_night(bad, window, on_node)
        if by_night > settings.failures_night_level:
            return None
        nights = np.unique(outcomes.night[window & on_node]).size
        names = tuple(outcomes.names[one] for one in group)
        elsewhere = _counts(outcomes.failed[window & ~on_node])
        return Flaky(names, (bad, every), elsewhere, nights, min(1.0, chance))

    def _by_night(self, bad: int, window: np.ndarray, on_node: np.ndarray) -> float:
        """The probability of `bad` failures or more, given what failed in each stratum."""
        total = np.ones(1)
        strata = self.outcomes.stratum
        for stratum in np.unique(strata[window & on_node]):
            inside = window & (strata == stratum)
            wrong, every = _counts(self.outcomes.failed[inside])
            total = np.convolve(total, _hypergeometric(every, wrong, int((inside & on_node).sum())))
        return float(total[bad:].sum())

    def _without(self, aside: Sequence[int]) -> np.ndarray:
        """A mask of the launches on no node of `aside`."""
        kept = np.ones(self.outcomes.failed.size, dtype=bool)
        kept[self.outcomes.launch[np.isin(self.outcomes.node, aside)]] = False
        return kept

    def _on(self, node: int) -> np.ndarray:
        on_node = np.zeros(self.outcomes.failed.size, dtype=bool)
        on_node[self.outcomes.launch[self.outcomes.node == node]] = True
        return on_node

    def _count(self, launches: np.ndarray) -> np.ndarray:
        """Of the launches in this mask, how many were on each node."""
        weights = launches[self.outcomes.launch]
        return np.bincount(self.outcomes.node[weights], minlength=len(self.outcomes.names))


def _chance(bad: _Count, every: _Count, away: _Count, well: _Count) -> np.ndarray:
    """The probability of `bad` failures or more, where `away` launches failed and `well` did not.

    However many these are, healthy nodes differ: their rates scatter by a beta of `_SHAPE`.
    """
    share = np.minimum(1.0, _SHAPE / (np.asarray(away) + _PRIOR))
    rates = share * (away + _PRIOR), share * (well + _PRIOR)
    # The upper tail itself: 1 minus the lower one is as small as its rounding error.
    counts = np.arange(np.max(every) + 1)[:, None]
    each = scipy.stats.betabinom.pmf(counts, np.atleast_1d(every), *map(np.atleast_1d, rates))
    return np.asarray(np.where(counts >= bad, each, 0.0).sum(axis=0))


def _numbers(values: list[_Value]) -> np.ndarray:
    """The number of each value among those that differ, in their order."""
    numbers = {value: number for number, value in enumerate(sorted(set(values)))}
    return np.array([numbers[value] for value in values], dtype=np.int64)


def _counts(failed: np.ndarray) -> tuple[int, int]:
    return int(failed.sum()), int(failed.size)


@cache
def _hypergeometric(launches: int, failed: int, drawn: int) -> np.ndarray:
    counts = np.arange(min(failed, drawn) + 1)
    return np.asarray(scipy.stats.hypergeom.pmf(counts, launches, failed, drawn))
