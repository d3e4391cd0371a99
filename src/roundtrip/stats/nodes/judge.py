"""Names the nodes, switches and links that are sick, over all measures together.

In one measure and window the most extreme unit is put aside with all its launches, then the next
one, as in the generalized test of many outliers (B. Rosner, Technometrics 25, 1983): the last step
that is significant tells how many outliers there are.  So several sick nodes hide neither each
other nor themselves, and no launch with a sick node counts against its healthy partner.

False discoveries are controlled by the method of Y. Benjamini and D. Yekutieli (Annals of
Statistics 29, 2001), because the effects of nodes of one launch, of windows that overlap and of
measures of the same launches depend on each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from roundtrip.stats.nodes.launches import NOBODY, Healthy, Kind, Launches, Unit, units
from roundtrip.stats.settings import NodeSettings
from roundtrip.stats.summaries import median_interval

#: At most this share of the nodes is put aside: with more, nobody knows which part is sick.
MOST_ASIDE = 1 / 3
#: After so many steps that are not significant, no more is put aside.
PATIENCE = 2
#: Below this, a unit looks sick.
_UNLIKELY = 0.1
#: Below this, chances are as good as equal.
_NO_CHANCE = 1e-12
#: More launches are never advised; a node that needs more has no effect of interest.
_MOST = 64


@dataclass(frozen=True)
class Measure:
    """A name, the launches, and the least effect of interest, on the log scale."""

    name: Hashable
    launches: Launches
    least: float


@dataclass(frozen=True)
class UnitEffect:
    """One unit in one window of nights.  `effect`, `low`, `high`: logarithms, more is worse.

    `low` and `high` are None with too few launches for an interval.  `p`: how likely healthy
    launches alone are so bad; `newest`: the median effect in the newest night in which it was
    measured.  `nights` were used, of the `window`.
    """

    unit: Unit
    effect: float
    low: float | None
    high: float | None
    p: float
    launches: int
    partners: int
    nights: int
    window: int
    newest: float


@dataclass(frozen=True)
class Evidence:
    """Why a unit is named in one measure: its window with the least `q`."""

    measure: Hashable
    tested: UnitEffect
    q: float


@dataclass(frozen=True)
class Outlier:
    """A node, switch or link that stands out; the strongest evidence comes first."""

    kind: Kind
    name: str
    members: tuple[str, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class TooFew:
    """A node with too few launches for a verdict, and how many more rounds would do."""

    name: str
    launches: int
    rounds: int


@dataclass(frozen=True)
class Sensitivity:
    """What one measure can show: all nodes in all nights of the widest window.

    `effects` by node, with their intervals.  `would_see`: the effect of a node, a logarithm, that
    would be detected with the power asked for; None if these launches can show none, and then
    `rounds` more would do.  `spread`: how far healthy nodes differ, a logarithm.  `measured`: the
    number of nodes with launches, also those with too few for a verdict.
    """

    effects: tuple[UnitEffect, ...]
    would_see: float | None
    rounds: int
    spread: float
    measured: int


@dataclass(frozen=True)
class NodeVerdicts:
    """All that is found.  `nodes` were measured, `tests` were made."""

    named: tuple[Outlier, ...]
    too_few: tuple[TooFew, ...]
    sight: Mapping[Hashable, Sensitivity]
    nodes: tuple[str, ...]
    tests: int


def judge(measures: list[Measure], settings: NodeSettings, confidence: float) -> NodeVerdicts:
    """What stands out in any of `measures`; `confidence` is the level of intervals.

    A measure with fewer than `nodes_least` nodes gives no verdict.
    """
    searches = [one for each in measures for one in _searches(each, settings, confidence)]
    every = [(search, effect) for search in searches for effect in search.effects]
    p = [effect.p for _, effect in every]
    q = scipy.stats.false_discovery_control(p, method="by") if p else []
    by_unit: dict[tuple[Kind, str, tuple[str, ...]], dict[Hashable, Evidence]] = {}
    for (search, effect), chance in zip(every, q, strict=True):
        # The effect is of interest, and was so when the unit was last measured.
        is_large = min(effect.effect, effect.newest) > search.measure.least
        if chance > settings.false_discovery_level or not is_large:
            continue
        names = tuple(search.launches.names[one] for one in effect.unit.members)
        evidence = by_unit.setdefault((effect.unit.kind, effect.unit.name, names), {})
        known = evidence.get(search.measure.name)
        # The chance of a wide window may be as small, and its effect is known better.
        if known is None or (chance, -effect.launches) < (known.q, -known.tested.launches):
            evidence[search.measure.name] = Evidence(search.measure.name, effect, float(chance))
    named = [
        Outlier(*unit, tuple(sorted(evidence.values(), key=_strength)))
        for unit, evidence in by_unit.items()
    ]
    widest = {one.measure.name: one for one in searches}
    sensitivities = {name: one.sensitivity(len(every)) for name, one in widest.items()}
    # A node that any measure has enough launches of has a verdict.
    judged = {one.unit.name for each in sensitivities.values() for one in each.effects}
    too_few: dict[str, TooFew] = {}
    for one in (one for search in widest.values() for one in search.too_few()):
        if one.name not in judged:
            too_few[one.name] = min(too_few.get(one.name, one), one, key=lambda one: one.rounds)
    return NodeVerdicts(
        _without_echoes(named),
        tuple(too_few[name] for name in sorted(too_few)),
        sensitivities,
        tuple(sorted({name for search in searches for name in search.launches.measured.values()})),
        len(every),
    )


def _searches(measure: Measure, settings: NodeSettings, confidence: float) -> Iterator[Search]:
    """In windows from the narrowest to the first that holds all nights."""
    if len(measure.launches.measured) < settings.nodes_least:
        return
    nights = np.unique(measure.launches.night).size
    for width in settings.windows_nights:
        yield Search(measure, measure.launches.newest(width), settings, confidence, width)
        if width >= nights:
            break


def _strength(one: Evidence) -> tuple[float, float]:
    return one.q, -one.tested.effect


def _without_echoes(named: list[Outlier]) -> tuple[Outlier, ...]:
    """Without nodes of a switch that is named, and links of a node that is; worst first."""
    switches = {m for one in named if one.kind is Kind.SWITCH for m in one.members}
    nodes = {m for one in named if one.kind is Kind.NODE for m in one.members}
    explained: dict[Kind, set[str]] = {Kind.NODE: switches, Kind.LINK: switches | nodes}
    kept = [one for one in named if not explained.get(one.kind, set()) & set(one.members)]
    return tuple(sorted(kept, key=lambda one: (*_strength(one.evidence[0]), one.name)))


@dataclass(frozen=True)
class Search:
    """The search for units that stand out in the `launches` of a window of a measure.

    `confidence` is the level of intervals; `window` counts nights.
    """

    measure: Measure
    launches: Launches
    settings: NodeSettings
    confidence: float
    window: int

    @cached_property
    def effects(self) -> list[UnitEffect]:
        """Of every unit with enough launches, those that stand out first."""
        convicted = (self._effect(one, self._healthy(self.outliers)) for one in self.outliers)
        return [*(one for one in convicted if one), *self._others(self.outliers)]

    @cached_property
    def outliers(self) -> list[Unit]:
        """The units that stand out, the most extreme first."""
        aside: list[Unit] = []
        members: set[int] = set()
        found = patience = 0
        most = int(MOST_ASIDE * len(self.launches.measured))
        while patience < PATIENCE and (effects := self._others(aside)):
            worst = min(effects, key=_order)
            members |= set(worst.unit.members)
            chance = worst.p * len(effects)
            if chance > 1 or (len(members) > most and worst.unit.kind is not Kind.SWITCH):
                break
            aside.append(worst.unit)
            is_significant = chance <= self.settings.false_discovery_level
            found, patience = (len(aside), 0) if is_significant else (found, patience + 1)
        return aside[:found]

    def sensitivity(self, tests: int) -> Sensitivity:
        """What the window can show, where `tests` were made in all."""
        tests = max(1, tests)
        healthy = self._healthy(self.outliers)
        needed = self._needed(healthy)
        harmonic = float(np.sum(1 / np.arange(1, tests + 1)))
        p = self.settings.false_discovery_level / (tests * harmonic)

        def seen(launches: int) -> float | None:
            effect = healthy.scores.seen(launches, p, self.settings.sight_power)
            return None if effect is None else needed + effect

        counts = self.launches.count()
        typical, least = int(np.median(counts[counts > 0])), self.settings.launches_least
        enough = next((n for n in range(least, _MOST) if seen(n) is not None), _MOST)
        return Sensitivity(
            tuple(one for one in self.effects if one.unit.kind is Kind.NODE),
            seen(typical) if typical >= least else None,
            max(0, enough - typical),
            healthy.spread,
            int(np.count_nonzero(counts)),
        )

    def too_few(self) -> Iterator[TooFew]:
        """The nodes with too few launches for a verdict."""
        judged = {m for one in self.effects if one.unit.kind is Kind.NODE for m in one.unit.members}
        judged |= {member for unit in self.outliers for member in unit.members}
        for node, count in enumerate(self.launches.count().tolist()):
            if count and node not in judged:
                rounds = max(1, self.settings.launches_least - count)
                yield TooFew(self.launches.names[node], count, rounds)

    @cached_property
    def _of(self) -> dict[Unit, np.ndarray]:
        """The launches of each unit that has enough of them."""
        every = ((one, one.affected(self.launches)) for one in units(self.launches))
        return {one: at for one, at in every if at.size >= self.settings.launches_least}

    def _others(self, aside: Sequence[Unit]) -> list[UnitEffect]:
        """Every unit with enough launches that is in none of `aside`, which are put aside.

        One that looks sick is put aside as well while it is tested, so that neither the noise nor
        the effects of its partners hold a part of its own effect.
        """
        gone = {m for one in aside if one.kind is not Kind.LINK for m in one.members}
        left = [one for one in self._of if one not in aside and not gone & set(one.members)]
        effects = (self._effect(one, self._healthy(aside)) for one in left)
        again = (
            self._effect(one.unit, self._healthy((*aside, one.unit))) if one.p < _UNLIKELY else one
            for one in effects
            if one
        )
        return [one for one in again if one]

    def _healthy(self, aside: Sequence[Unit]) -> Healthy:
        """The launches without those of the units `aside`."""
        known = tuple(aside)
        if known not in self._known:
            self._known[known] = Healthy(self.launches, known, self.settings)
        return self._known[known]

    @cached_property
    def _known(self) -> dict[tuple[Unit, ...], Healthy]:
        return {}

    def _needed(self, healthy: Healthy) -> float:
        """What an effect must exceed: the least of interest, and what healthy nodes differ by."""
        return max(self.measure.least, self.settings.own_spread_sd * healthy.spread)

    def _effect(self, unit: Unit, healthy: Healthy) -> UnitEffect | None:
        """None with too few launches, or too few partners to tell whose effect it is."""
        needed = self._needed(healthy)
        at = self._of[unit][healthy.fits(unit)[self._of[unit]]]
        if at.size < self.settings.launches_least:
            return None
        pairs = self.launches.nodes[at]
        others = np.unique(pairs[~np.isin(pairs, unit.members) & (pairs != NOBODY)])
        is_between = unit.kind is not Kind.LINK and bool((pairs != NOBODY).all())
        if is_between and others.size < self.settings.partners_least:
            return None
        left = healthy.left(unit, at)
        is_whole = unit.kind is not Kind.SWITCH or _is_most(unit, healthy, needed)
        interval = median_interval(left.tolist(), self.confidence)
        nights = self.launches.night[at]
        return UnitEffect(
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


def _order(one: UnitEffect) -> tuple[float, int, float, str]:
    """Of two as unlikely, a switch goes before its nodes, and a node before its links."""
    kinds = (Kind.SWITCH, Kind.NODE, Kind.LINK)
    return max(one.p, _NO_CHANCE), kinds.index(one.unit.kind), -one.effect, one.unit.name


def _is_most(unit: Unit, healthy: Healthy, needed: float) -> bool:
    """Whether most nodes of a switch are slow: one sick node makes no sick switch."""
    slow = 0
    for member in unit.members:
        one = Unit(Kind.NODE, "", (member,))
        at = one.affected(healthy.launches)
        at = at[healthy.fits(unit)[at]]
        slow += bool(at.size) and float(np.median(healthy.left(one, at))) > needed / 2
    return slow > len(unit.members) / 2
