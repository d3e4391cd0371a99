"""Find the sick nodes, switches and links, over all measures together.

In one measure and window the most extreme unit is excluded with all its launches, then the next
one, as in the generalized test of many outliers (B. Rosner, Technometrics 25, 1983): the last
significant step gives the number of outliers.  So several sick nodes do not hide each other, and no
launch with a sick node counts against its healthy partner.

False discoveries are controlled by the method of Y. Benjamini and D. Yekutieli (Annals of
Statistics 29, 2001), because the effects of nodes of one launch, of windows that overlap and of
measures of the same launches depend on each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy

from roundtrip.stats.nodes.launches import (
    NO_SECOND_NODE,
    HealthyLaunches,
    NodeLaunches,
    Unit,
    UnitKind,
    launched_units,
)
from roundtrip.stats.settings import NodeSettings
from roundtrip.stats.summaries import median_interval

#: Largest share of the nodes that is excluded: with more, the sick part is unknown.
MAX_EXCLUDED_SHARE = 1 / 3
#: Number of successive steps without significance after which exclusion ends.
MAX_STEPS_WITHOUT_OUTLIER = 2
#: A unit with a p below this looks sick.
_MAX_SUSPECT_P = 0.1
#: All p below this count as equal.
_MIN_P = 1e-12
#: Most launches that are advised; a node that needs more has no effect of interest.
_MAX_ADVISED_LAUNCHES = 64


@dataclass(frozen=True)
class NodeMeasure:
    """A measure of nodes: its name, its launches, and its least effect of interest (log scale)."""

    name: Hashable
    launches: NodeLaunches
    least_effect: float


@dataclass(frozen=True)
class UnitEffect:
    """The effect of a unit in a window: `effect`, `low` and `high` are logarithms, more is worse.

    `low` and `high` are None with too few launches.  `p` is the probability that healthy launches
    are as bad.  `newest_effect` is the effect in the newest night that measured the unit.
    """

    unit: Unit
    effect: float
    low: float | None
    high: float | None
    p: float
    launches: int
    partners: int
    nights: int
    newest_effect: float


@dataclass(frozen=True)
class Evidence:
    """Evidence against a unit in one measure, by the window with the least `q`."""

    measure: Hashable
    unit_effect: UnitEffect
    q: float


@dataclass(frozen=True)
class Outlier:
    """A node, switch or link that stands out; the strongest evidence comes first."""

    kind: UnitKind
    name: str
    members: tuple[str, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class UnjudgedNode:
    """A node with too few launches for a verdict, and the number of further rounds it needs."""

    name: str
    launches: int
    extra_rounds: int


@dataclass(frozen=True)
class Sensitivity:
    """The power of one measure, for all nodes in all nights of the widest window.

    `detectable_effect`: the effect of a node, a logarithm, that is detected with the required
    power; None with too few launches, and then `extra_rounds` more are enough.  `spread`: how far
    healthy nodes differ, a logarithm.  `node_count` includes those with too few.
    """

    observed_effects: tuple[UnitEffect, ...]
    detectable_effect: float | None
    extra_rounds: int
    spread: float
    node_count: int


@dataclass(frozen=True)
class NodeVerdicts:
    """All verdicts, the `nodes` that were measured, and the number of `tests`."""

    outliers: tuple[Outlier, ...]
    unjudged_nodes: tuple[UnjudgedNode, ...]
    sensitivities: Mapping[Hashable, Sensitivity]
    nodes: tuple[str, ...]
    tests: int

    @property
    def can_detect_effect(self) -> bool:
        """Whether any measure detects some effect of a node with the required power."""
        return any(each.detectable_effect is not None for each in self.sensitivities.values())


def judge_nodes(
    measures: list[NodeMeasure], settings: NodeSettings, confidence: float
) -> NodeVerdicts:
    """Find the units that stand out in any of `measures`; `confidence` is the level of intervals.

    A measure with fewer than `nodes_least` nodes gives no verdict.
    """
    searches: list[OutlierSearch] = []
    for measure in measures:
        searches += _window_searches(measure, settings, confidence)
    tests = [(search, effect) for search in searches for effect in search.effects]
    p = [effect.p for _, effect in tests]
    q = scipy.stats.false_discovery_control(p, method="by") if p else []
    by_unit: dict[tuple[UnitKind, str, tuple[str, ...]], dict[Hashable, Evidence]] = {}
    for (search, effect), chance in zip(tests, q, strict=True):
        # The effect is of interest, also in the newest night that measured the unit.
        is_large = min(effect.effect, effect.newest_effect) > search.measure.least_effect
        if chance > settings.false_discovery_level or not is_large:
            continue
        names = tuple(search.launches.names[member] for member in effect.unit.members)
        evidence = by_unit.setdefault((effect.unit.kind, effect.unit.name, names), {})
        best = evidence.get(search.measure.name)
        # Of windows with equal q, the one with most launches gives the best estimate.
        if best is None or (chance, -effect.launches) < (best.q, -best.unit_effect.launches):
            evidence[search.measure.name] = Evidence(search.measure.name, effect, float(chance))
    outliers = [
        Outlier(*unit, tuple(sorted(evidence.values(), key=_evidence_sort_key)))
        for unit, evidence in by_unit.items()
    ]
    widest = {search.measure.name: search for search in searches}
    sensitivities = {name: search.detection_power(len(tests)) for name, search in widest.items()}
    # A node has a verdict if any measure has enough launches of it.
    all_effects = [effect for each in sensitivities.values() for effect in each.observed_effects]
    judged_names = {effect.unit.name for effect in all_effects}
    unjudged_nodes: dict[str, UnjudgedNode] = {}
    for search in widest.values():
        for node in search.unjudged_nodes():
            known = unjudged_nodes.setdefault(node.name, node)
            if node.extra_rounds < known.extra_rounds:
                unjudged_nodes[node.name] = node
    measured_names = {
        name for search in searches for name in search.launches.measured_names.values()
    }
    return NodeVerdicts(
        _drop_implied_outliers(outliers),
        tuple(unjudged_nodes[name] for name in sorted(unjudged_nodes.keys() - judged_names)),
        sensitivities,
        tuple(sorted(measured_names)),
        len(tests),
    )


def _window_searches(
    measure: NodeMeasure, settings: NodeSettings, confidence: float
) -> Iterator[OutlierSearch]:
    """Yield a search for each window, from the narrowest to the first that holds all nights."""
    if len(measure.launches.measured_names) < settings.nodes_least:
        return
    nights = np.unique(measure.launches.night).size
    for width in settings.windows_nights:
        yield OutlierSearch(measure, measure.launches.newest(width), settings, confidence)
        if width >= nights:
            break


def _evidence_sort_key(evidence: Evidence) -> tuple[float, float]:
    return evidence.q, -evidence.unit_effect.effect


def _drop_implied_outliers(outliers: list[Outlier]) -> tuple[Outlier, ...]:
    """Drop nodes of an outlying switch, and links of an outlying node or switch; worst first."""
    members: dict[UnitKind, set[str]] = {kind: set() for kind in UnitKind}
    for outlier in outliers:
        members[outlier.kind] |= set(outlier.members)
    explained_by = {
        UnitKind.SWITCH: set(),
        UnitKind.NODE: members[UnitKind.SWITCH],
        UnitKind.LINK: members[UnitKind.SWITCH] | members[UnitKind.NODE],
    }
    survivors = [o for o in outliers if not explained_by[o.kind] & set(o.members)]
    return tuple(sorted(survivors, key=lambda o: (*_evidence_sort_key(o.evidence[0]), o.name)))


@dataclass(frozen=True)
class OutlierSearch:
    """The search for units that stand out in the `launches` of a window of a measure."""

    measure: NodeMeasure
    launches: NodeLaunches
    settings: NodeSettings
    confidence: float
    _healthy_cache: dict[tuple[Unit, ...], HealthyLaunches] = field(default_factory=dict)

    @cached_property
    def effects(self) -> list[UnitEffect]:
        """Effects of all units with enough launches, outliers first."""
        healthy = self._healthy_launches(self.outliers)
        outlier_effects = [self._effect(unit, healthy) for unit in self.outliers]
        return [*filter(None, outlier_effects), *self._other_effects(self.outliers)]

    @cached_property
    def outliers(self) -> list[Unit]:
        """The units that stand out, the most extreme first."""
        excluded_units: list[Unit] = []
        members: set[int] = set()
        outlier_count = patience = 0
        limit = int(MAX_EXCLUDED_SHARE * len(self.launches.measured_names))
        while patience < MAX_STEPS_WITHOUT_OUTLIER and (
            effects := self._other_effects(excluded_units)
        ):
            worst = min(effects, key=_effect_sort_key)
            members |= set(worst.unit.members)
            chance = worst.p * len(effects)
            if chance > 1 or (len(members) > limit and worst.unit.kind is not UnitKind.SWITCH):
                break
            excluded_units.append(worst.unit)
            is_significant = chance <= self.settings.false_discovery_level
            patience += 1
            if is_significant:
                outlier_count, patience = len(excluded_units), 0
        return excluded_units[:outlier_count]

    def detection_power(self, tests: int) -> Sensitivity:
        """The power of the window, if `tests` is the number of all tests."""
        tests = max(1, tests)
        healthy = self._healthy_launches(self.outliers)
        minimum = self._minimum_effect(healthy)
        harmonic = float(np.sum(1 / np.arange(1, tests + 1)))
        p = self.settings.false_discovery_level / (tests * harmonic)

        def detectable_effect(launches: int) -> float | None:
            effect = healthy.scores.detectable_effect(launches, p, self.settings.sight_power)
            return None if effect is None else minimum + effect

        counts = self.launches.count()
        typical, least = int(np.median(counts[counts > 0])), self.settings.launches_least
        fewest = next(
            (n for n in range(least, _MAX_ADVISED_LAUNCHES) if detectable_effect(n) is not None),
            _MAX_ADVISED_LAUNCHES,
        )
        return Sensitivity(
            tuple(effect for effect in self.effects if effect.unit.kind is UnitKind.NODE),
            detectable_effect(typical) if typical >= least else None,
            max(0, fewest - typical),
            healthy.spread,
            int(np.count_nonzero(counts)),
        )

    def unjudged_nodes(self) -> Iterator[UnjudgedNode]:
        """The nodes with too few launches for a verdict."""
        node_units = [effect.unit for effect in self.effects if effect.unit.kind is UnitKind.NODE]
        judged_nodes = {member for unit in [*node_units, *self.outliers] for member in unit.members}
        for node, count in enumerate(self.launches.count().tolist()):
            if count and node not in judged_nodes:
                rounds = max(1, self.settings.launches_least - count)
                yield UnjudgedNode(self.launches.names[node], count, rounds)

    @cached_property
    def _unit_launches(self) -> dict[Unit, np.ndarray]:
        """The launches of each unit that has enough launches."""
        least = self.settings.launches_least
        units = launched_units(self.launches)
        launches = {unit: unit.affected_launches(self.launches) for unit in units}
        return {unit: indices for unit, indices in launches.items() if indices.size >= least}

    def _other_effects(self, excluded_units: Sequence[Unit]) -> list[UnitEffect]:
        """Effects of the units with enough launches that have no part in `excluded_units`.

        A unit that looks sick is excluded as well while it is tested, so that neither the noise nor
        the effects of its partners contain a part of its own effect.
        """
        wholes = [unit for unit in excluded_units if unit.kind is not UnitKind.LINK]
        nodes = {member for unit in wholes for member in unit.members}
        effects = []
        for unit in self._unit_launches:
            if unit in excluded_units or nodes & set(unit.members):
                continue
            effect = self._effect(unit, self._healthy_launches(excluded_units))
            if effect and effect.p < _MAX_SUSPECT_P:
                effect = self._effect(unit, self._healthy_launches((*excluded_units, unit)))
            if effect:
                effects.append(effect)
        return effects

    def _healthy_launches(self, excluded_units: Sequence[Unit]) -> HealthyLaunches:
        """The launches without those of `excluded_units`; cached."""
        key = tuple(excluded_units)
        if key not in self._healthy_cache:
            self._healthy_cache[key] = HealthyLaunches(self.launches, key, self.settings)
        return self._healthy_cache[key]

    def _minimum_effect(self, healthy: HealthyLaunches) -> float:
        """The larger of the least effect of interest and the bound from healthy nodes' spread."""
        return max(self.measure.least_effect, self.settings.own_spread_sd * healthy.spread)

    def _effect(self, unit: Unit, healthy: HealthyLaunches) -> UnitEffect | None:
        """The effect of a unit; None with too few launches, or too few partners to attribute it."""
        minimum = self._minimum_effect(healthy)
        indices = self._unit_launches[unit]
        indices = indices[healthy.healthy_mask(unit)[indices]]
        if indices.size < self.settings.launches_least:
            return None
        pairs = self.launches.nodes[indices]
        partners = np.unique(pairs[~np.isin(pairs, unit.members) & (pairs != NO_SECOND_NODE)])
        is_between = unit.kind is not UnitKind.LINK and bool((pairs != NO_SECOND_NODE).all())
        if is_between and partners.size < self.settings.partners_least:
            return None
        residuals = healthy.residuals(unit, indices)
        is_whole = unit.kind is not UnitKind.SWITCH or _is_switch_slow(unit, healthy, minimum)
        interval = median_interval(residuals.tolist(), self.confidence)
        nights = self.launches.night[indices]
        return UnitEffect(
            unit=unit,
            effect=interval.median,
            low=interval.low,
            high=interval.high,
            p=healthy.scores.p(residuals - minimum) if is_whole else 1.0,
            launches=indices.size,
            partners=partners.size,
            nights=np.unique(nights).size,
            newest_effect=float(np.median(residuals[nights == nights.max()])),
        )


def _effect_sort_key(effect: UnitEffect) -> tuple[float, int, float, str]:
    """Sort by p; of equal p, a switch comes before its nodes, and a node before its links."""
    kind = (UnitKind.SWITCH, UnitKind.NODE, UnitKind.LINK).index(effect.unit.kind)
    return max(effect.p, _MIN_P), kind, -effect.effect, effect.unit.name


def _is_switch_slow(unit: Unit, healthy: HealthyLaunches, minimum: float) -> bool:
    """Whether most nodes of a switch are slow: one sick node makes no sick switch."""
    slow_count = 0
    for member in unit.members:
        node = Unit(UnitKind.NODE, "", (member,))
        indices = node.affected_launches(healthy.launches)
        indices = indices[healthy.healthy_mask(unit)[indices]]
        if indices.size and np.median(healthy.residuals(node, indices)) > minimum / 2:
            slow_count += 1
    return slow_count > len(unit.members) / 2
