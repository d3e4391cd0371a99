"""Which units stand out in one measure and window, and how likely each is by chance.

The most extreme unit is put aside with all its launches, then the next one, as in the generalized
test of many outliers (B. Rosner, Technometrics 25, 1983): the last step that is significant tells
how many outliers there are.  So several sick nodes hide neither each other nor themselves, and no
launch with a sick node counts against its healthy partner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from roundtrip.stats.nodes.healthy import Healthy
from roundtrip.stats.nodes.launches import NOBODY, Kind, Launches, Unit
from roundtrip.stats.nodes.verdicts import Tested
from roundtrip.stats.settings import NodeSettings
from roundtrip.stats.summaries import median_interval

#: At most this share of the nodes is put aside: with more, nobody knows which part is sick.
_MOST_ASIDE = 1 / 3
#: After so many steps that are not significant, no more is put aside.
_PATIENCE = 2


#: Below this, a unit looks sick.
_UNLIKELY = 0.1
#: Below this, chances are as good as equal.
_NO_CHANCE = 1e-12


def _order(one: Tested) -> tuple[float, int, float, str]:
    """Of two as unlikely, a switch goes before its nodes, and a node before its links."""
    kinds = (Kind.SWITCH, Kind.NODE, Kind.LINK)
    return max(one.p, _NO_CHANCE), kinds.index(one.unit.kind), -one.effect, one.unit.name


@dataclass(frozen=True)
class Search:
    """Of the launches of a window, `units` that stand out by more than `least`, a logarithm.

    `confidence` is the level of intervals.
    """

    launches: Launches
    units: Sequence[Unit]
    least: float
    settings: NodeSettings
    confidence: float
    window: int

    @cached_property
    def _of(self) -> dict[Unit, np.ndarray]:
        """The launches of each unit that has enough of them."""
        every = ((one, one.of(self.launches)) for one in self.units)
        return {one: at for one, at in every if at.size >= self.settings.launches_least}

    def outliers(self) -> list[Unit]:
        """The units that stand out, the most extreme first."""
        aside: list[Unit] = []
        members: set[int] = set()
        found = patience = 0
        most = int(_MOST_ASIDE * np.count_nonzero(self.launches.count()))
        while patience < _PATIENCE:
            tested = self.tested(aside)
            if not tested:
                break
            worst = min(tested, key=_order)
            members |= set(worst.unit.members)
            chance = worst.p * len(tested)
            if chance > 1 or (len(members) > most and worst.unit.kind is not Kind.SWITCH):
                break
            aside.append(worst.unit)
            is_told = chance <= self.settings.false_discovery_level
            found, patience = (len(aside), 0) if is_told else (found, patience + 1)
        return aside[:found]

    def tested(self, aside: Sequence[Unit]) -> list[Tested]:
        """Every unit with enough launches that is in none of `aside`, which are put aside.

        One that looks sick is put aside as well while it is tested, so that neither the noise nor
        the effects of its partners hold a part of its own effect.
        """
        gone = {m for one in aside if one.kind is not Kind.LINK for m in one.members}
        left = [one for one in self._of if one not in aside and not gone & set(one.members)]
        found = (self._one(one, self.healthy(aside)) for one in left)
        suspects = (
            self._one(one.unit, self.healthy((*aside, one.unit))) if one.p < _UNLIKELY else one
            for one in found
            if one
        )
        return [one for one in suspects if one]

    def convicted(self, aside: Sequence[Unit]) -> list[Tested]:
        """The units `aside`, each against what is healthy."""
        found = (self._one(one, self.healthy(aside)) for one in aside)
        return [one for one in found if one]

    def healthy(self, aside: Sequence[Unit]) -> Healthy:
        """The launches without those of the units `aside`."""
        known = tuple(aside)
        if known not in self._known:
            self._known[known] = Healthy(self.launches, known, self.settings)
        return self._known[known]

    @cached_property
    def _known(self) -> dict[tuple[Unit, ...], Healthy]:
        return {}

    def needed(self, healthy: Healthy) -> float:
        """What an effect must exceed: the least of interest, and what healthy nodes differ by."""
        return max(self.least, self.settings.own_spread_sd * healthy.spread)

    def _one(self, unit: Unit, healthy: Healthy) -> Tested | None:
        """None with too few launches, or too few partners to tell whose effect it is."""
        needed = self.needed(healthy)
        at = self._of[unit][healthy.fits(unit)[self._of[unit]]]
        if at.size < self.settings.launches_least:
            return None
        pairs = self.launches.nodes[at]
        others = np.unique(pairs[~np.isin(pairs, unit.members) & (pairs != NOBODY)])
        is_between = unit.kind is not Kind.LINK and bool((pairs != NOBODY).all())
        if is_between and others.size < self.settings.partners_least:
            return None
        left = healthy.left(unit, at)
        is_whole = unit.kind is not Kind.SWITCH or self._is_most(unit, healthy, needed)
        interval = median_interval(left.tolist(), self.confidence)
        nights = self.launches.night[at]
        return Tested(
            unit=unit,
            effect=interval.median,
            low=interval.low,
            high=interval.high,
            p=healthy.scores.p(left - needed) if is_whole else 1.0,
            launches=at.size,
            partners=others.size,
            nights=np.unique(nights).size,
            window=self.window,
            newest=float(np.median(left[nights == nights.max()])),
        )

    @staticmethod
    def _is_most(unit: Unit, healthy: Healthy, needed: float) -> bool:
        """Whether most nodes of a switch are slow: one sick node makes no sick switch."""
        slow = 0
        for member in unit.members:
            one = Unit(Kind.NODE, "", (member,))
            at = one.of(healthy.launches)
            at = at[healthy.fits(unit)[at]]
            slow += bool(at.size) and float(np.median(healthy.left(one, at))) > needed / 2
        return slow > len(unit.members) / 2
