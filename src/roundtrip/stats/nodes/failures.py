"""Find nodes that fail more launches than the others, from all launches of the newest nights.

A failed launch counts against each of its nodes.  The node that explains failures best is excluded
with all its launches, then the next one, as in `judge`: so the partners of a flaky node are judged
by their other launches.  A node is flaky if it is significant in two tests:

* Its failures are too many for the rate at which the other nodes failed in all nights: the
  posterior predictive of that rate, a beta-binomial with Jeffreys' prior (H. Jeffreys, Proceedings
  of the Royal Society A 186, 1946).
* Its failures are too many given the failures of each night, if chance distributes them among
  launches: the sum of hypergeometric counts, exact given the failures of each night (N. Mantel and
  W. Haenszel, Journal of the National Cancer Institute 22, 1959).  In a night with many failures
  this test is the stricter one, and the rate of all nights means nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from roundtrip.stats.nodes.judge import MAX_EXCLUDED_SHARE, MAX_STEPS_WITHOUT_OUTLIER
from roundtrip.stats.settings import NodeSettings

#: Jeffreys' prior of a rate.
_JEFFREYS_PRIOR = 0.5
#: Rates of healthy nodes scatter by 1/sqrt(3) of their mean, as if uniform from 0 to twice it.
_MAX_OTHER_FAILURES_COUNTED = 3.0
#: A node has recovered if so many passes since its last failure are less probable than this.
_MAX_RECOVERY_P = 0.05


@dataclass(frozen=True)
class Outcomes:
    """Launches that passed or failed.  `failed`, `night` (from 0) and `stratum` are by launch.

    `stratum` numbers groups of similar launches within nights.  `launch` and `node` are by pairs of
    a launch and one of its nodes; `node` is an index of `names`.
    """

    names: tuple[str, ...]
    failed: np.ndarray
    night: np.ndarray
    stratum: np.ndarray
    launch: np.ndarray
    node: np.ndarray

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[Collection[str], bool, str, str]]) -> Outcomes:
        """Convert rows: the nodes of each launch, whether it failed, its night, and its kind."""
        launches = list(rows)
        names = sorted({name for nodes, *_ in launches for name in nodes})
        numbers = {name: number for number, name in enumerate(names)}
        launch_nodes = [
            (row, numbers[name]) for row, (nodes, *_) in enumerate(launches) for name in set(nodes)
        ]
        pairs = np.array(launch_nodes, dtype=np.int64).reshape(-1, 2)
        return cls(
            tuple(names),
            np.array([bool(failed) for _, failed, *_ in launches], dtype=bool),
            np.unique([night for *_, night, _ in launches], return_inverse=True)[1],
            np.unique([f"{night}\n{kind}" for *_, night, kind in launches], return_inverse=True)[1],
            pairs[:, 0],
            pairs[:, 1],
        )


@dataclass(frozen=True)
class FlakyNode:
    """A flaky node, or two that failed only together and cannot be distinguished, by their `names`.

    `counts` are (failed, all) launches on it, `other_counts` those on other nodes in the same
    nights.  `chance` is the probability of such a node by chance, over all nodes and windows.
    """

    names: tuple[str, ...]
    counts: tuple[int, int]
    other_counts: tuple[int, int]
    nights: int
    chance: float


def find_flaky_nodes(outcomes: Outcomes, settings: NodeSettings) -> tuple[FlakyNode, ...]:
    """The flaky nodes, the least likely by chance first."""
    if not outcomes.failed.any():
        return ()
    nights = int(outcomes.night.max()) + 1
    widths = [width for width in settings.windows_nights if width < nights]
    widths += [min(nights, max(settings.windows_nights))]
    candidates: list[FlakyNode] = []
    for width in widths:
        window = _FailureWindow(
            outcomes, nights - width, nights - widths[-1], settings, len(widths)
        )
        candidates += window.flaky_nodes()
    best: dict[frozenset[str], FlakyNode] = {}
    for node in sorted(candidates, key=lambda node: node.chance):
        best.setdefault(frozenset(node.names), node)
    singles = {node.names[0] for node in best.values() if len(node.names) == 1}
    flaky_nodes = [
        node for node in best.values() if len(node.names) == 1 or not singles & set(node.names)
    ]
    return tuple(sorted(flaky_nodes, key=lambda node: (node.chance, node.names)))


@dataclass(frozen=True)
class _FailureWindow:
    """Failures of a node from night `first` on, against the rate of the others from `since` on.

    `windows`: how many windows are tested, for the correction.
    """

    outcomes: Outcomes
    first: int
    since: int
    settings: NodeSettings
    windows: int

    def flaky_nodes(self) -> list[FlakyNode]:
        """The flaky nodes, excluded in turn; the last flaky one ends the list."""
        groups: list[tuple[int, ...]] = []
        flaky_count = patience = 0
        limit = int(MAX_EXCLUDED_SHARE * len(self.outcomes.names))
        while patience < MAX_STEPS_WITHOUT_OUTLIER and len(groups) < limit:
            excluded_nodes = [node for group in groups for node in group]
            group = self._most_likely_flaky(excluded_nodes)
            if not group:
                break
            is_flaky = self._test_group(group, excluded_nodes) is not None
            groups.append(group)
            flaky_count, patience = (len(groups), 0) if is_flaky else (flaky_count, patience + 1)
        verdicts = []
        for group in groups[:flaky_count]:
            others = [node for other in groups[:flaky_count] if other != group for node in other]
            verdicts.append(self._test_group(group, others))
        return [verdict for verdict in verdicts if verdict]

    def _most_likely_flaky(self, excluded_nodes: Sequence[int]) -> tuple[int, ...]:
        """The node, or two inseparable ones, whose failures the others' rate explains least."""
        mask = self._mask_without(excluded_nodes)
        window = mask & (self.outcomes.night >= self.first)
        failures = self._launches_per_node(window & self.outcomes.failed)
        if not failures.any():
            return ()
        launches = self._launches_per_node(window)
        nights = mask & (self.outcomes.night >= self.since)
        failed = nights & self.outcomes.failed
        other_failures = int(failed.sum()) - self._launches_per_node(failed)
        other_passes = int(nights.sum()) - self._launches_per_node(nights) - other_failures
        chance = _tail_probability(failures, launches, other_failures, other_passes)
        worst = int(np.argmin(np.where(failures > 0, chance, np.inf)))
        worst_failed = window & self.outcomes.failed & ~self._mask_without([worst])
        shared_failures = self._launches_per_node(worst_failed)
        twins = np.flatnonzero((shared_failures == failures[worst]) & (failures == failures[worst]))
        return tuple(int(node) for node in twins) if len(twins) <= 2 else (worst,)

    def _test_group(
        self, group: tuple[int, ...], excluded_nodes: Sequence[int]
    ) -> FlakyNode | None:
        """`group` if it fails more often than the others, over all launches and within strata.

        Else, or if it has recovered, None.  Launches on `excluded_nodes` do not count.
        """
        outcomes, settings, node = self.outcomes, self.settings, group[0]
        mask = self._mask_without([other for other in excluded_nodes if other not in group])
        on_node = ~self._mask_without([node])
        window = mask & (outcomes.night >= self.first)
        failures, launches = _failed_and_all(outcomes.failed[window & on_node])
        others = mask & ~on_node & (outcomes.night >= self.since)
        other_failures, other_launches = _failed_and_all(outcomes.failed[others])
        excess = failures / max(1, launches) - other_failures / max(1, other_launches)
        if not failures or excess < settings.failures_least:
            return None
        last = outcomes.night[window & on_node & outcomes.failed].max()
        streak = int((window & on_node & (outcomes.night > last)).sum())
        if streak and (1 - failures / (launches - streak)) ** streak < _MAX_RECOVERY_P:
            return None
        tests = len(outcomes.names) * self.windows
        other_passes = other_launches - other_failures
        tail = _tail_probability(failures, launches, other_failures, other_passes)
        chance = tests * float(tail[0])
        if chance > settings.failures_level:
            return None
        night_chance = tests * self._night_probability(failures, window, on_node)
        if night_chance > settings.failures_night_level:
            return None
        nights = np.unique(outcomes.night[window & on_node]).size
        names = tuple(outcomes.names[member] for member in group)
        other_counts = _failed_and_all(outcomes.failed[window & ~on_node])
        return FlakyNode(names, (failures, launches), other_counts, nights, min(1.0, chance))

    def _night_probability(self, failures: int, window: np.ndarray, on_node: np.ndarray) -> float:
        """The probability of at least `failures` failures, given the failures of each stratum."""
        pmf = np.ones(1)
        strata = self.outcomes.stratum
        for stratum in np.unique(strata[window & on_node]):
            in_stratum = window & (strata == stratum)
            stratum_failures, launches = _failed_and_all(self.outcomes.failed[in_stratum])
            draws = int((in_stratum & on_node).sum())
            pmf = np.convolve(pmf, _hypergeometric(launches, stratum_failures, draws))
        return float(pmf[failures:].sum())

    def _mask_without(self, excluded_nodes: Sequence[int]) -> np.ndarray:
        """A mask of the launches on no node of `excluded_nodes`."""
        mask = np.ones(self.outcomes.failed.size, dtype=bool)
        mask[self.outcomes.launch[np.isin(self.outcomes.node, excluded_nodes)]] = False
        return mask

    def _launches_per_node(self, launches: np.ndarray) -> np.ndarray:
        """The number of launches in a mask on each node."""
        weights = launches[self.outcomes.launch]
        return np.bincount(self.outcomes.node[weights], minlength=len(self.outcomes.names))


def _tail_probability(*counts: int | np.ndarray) -> np.ndarray:
    """The probability of so many failures among launches, or more, given those of other nodes.

    `counts`: failures, launches, failures of the others, passes of the others.  The rates of
    healthy nodes differ, so at most `_MAX_OTHER_FAILURES_COUNTED` failures of the others count.
    """
    failures, launches, other_failures, other_passes = map(np.atleast_1d, counts)
    share = np.minimum(1.0, _MAX_OTHER_FAILURES_COUNTED / (other_failures + _JEFFREYS_PRIOR))
    rates = share * (other_failures + _JEFFREYS_PRIOR), share * (other_passes + _JEFFREYS_PRIOR)
    # Sum the upper tail: 1 minus the lower tail can be as small as its rounding error.
    tail = np.arange(launches.max() + 1)[:, None]
    pmf = scipy.stats.betabinom.pmf(tail, launches, *rates)
    return np.asarray(np.where(tail >= failures, pmf, 0.0).sum(axis=0))


def _failed_and_all(failed: np.ndarray) -> tuple[int, int]:
    return int(failed.sum()), int(failed.size)


@cache
def _hypergeometric(launches: int, failures: int, draws: int) -> np.ndarray:
    counts = np.arange(min(failures, draws) + 1)
    return np.asarray(scipy.stats.hypergeom.pmf(counts, launches, failures, draws))
