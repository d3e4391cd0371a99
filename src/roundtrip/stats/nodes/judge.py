"""Names the nodes, switches and links that are sick, over all measures together.

False discoveries are controlled by the method of Y. Benjamini and D. Yekutieli (Annals of
Statistics 29, 2001), because the effects of nodes of one launch, of windows that overlap and of
measures of the same launches depend on each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from roundtrip.stats.nodes.launches import Kind, Launches, Unit, units
from roundtrip.stats.nodes.outliers import Search
from roundtrip.stats.nodes.sight import sight
from roundtrip.stats.nodes.verdicts import Evidence, Judged, Named, Sight, Tested, TooFew
from roundtrip.stats.settings import NodeSettings


@dataclass(frozen=True)
class Measure:
    """A name, the launches, and the least effect of interest, on the log scale."""

    name: Hashable
    launches: Launches
    least: float


@dataclass(frozen=True)
class _Window:
    measure: Measure
    search: Search
    aside: list[Unit]
    tested: list[Tested]


def judge(measures: list[Measure], settings: NodeSettings, confidence: float) -> Judged:
    """What stands out in any of `measures`; `confidence` is the level of intervals.

    A measure with fewer than `nodes_least` nodes gives no verdict.
    """
    windows = [one for each in measures for one in _windows(each, settings, confidence)]
    every = [(one, tested) for one in windows for tested in one.tested]
    p = [tested.p for _, tested in every]
    q = scipy.stats.false_discovery_control(p, method="by") if p else []
    found: dict[tuple[Kind, str, tuple[str, ...]], dict[Hashable, Evidence]] = {}
    for (window, tested), chance in zip(every, q, strict=True):
        if chance > settings.false_discovery_level or not _still(tested, window.measure.least):
            continue
        names = tuple(window.search.launches.names[one] for one in tested.unit.members)
        mine = found.setdefault((tested.unit.kind, tested.unit.name, names), {})
        known = mine.get(window.measure.name)
        # The chance of a wide window may be as small, and its effect is known better.
        if known is None or (chance, -tested.launches) < (known.q, -known.tested.launches):
            mine[window.measure.name] = Evidence(window.measure.name, tested, float(chance))
    named = [
        Named(*key, tuple(sorted(mine.values(), key=_strength))) for key, mine in found.items()
    ]
    sights, too_few = _sights(windows, len(every))
    nodes = {
        windows_.search.launches.names[one] for windows_ in windows for one in _there(windows_)
    }
    return Judged(_without_echoes(named), too_few, sights, tuple(sorted(nodes)), len(every))


def _windows(measure: Measure, settings: NodeSettings, confidence: float) -> list[_Window]:
    """From the narrowest to the first that holds all nights."""
    if np.count_nonzero(measure.launches.count()) < settings.nodes_least:
        return []
    nights = np.unique(measure.launches.night).size
    found = []
    for width in settings.windows_nights:
        launches = measure.launches.newest(width)
        search = Search(launches, units(launches), measure.least, settings, confidence, width)
        aside = search.outliers()
        tested = [*search.convicted(aside), *search.tested(aside)]
        found.append(_Window(measure, search, aside, tested))
        if width >= nights:
            break
    return found


def _still(tested: Tested, least: float) -> bool:
    """Whether the effect is of interest, and was so when the unit was last measured."""
    return tested.effect > least and tested.newest > least


def _strength(one: Evidence) -> tuple[float, float]:
    return one.q, -one.tested.effect


def _without_echoes(named: list[Named]) -> tuple[Named, ...]:
    """Without nodes of a switch that is named, and links of a node that is; worst first."""
    switches = {m for one in named if one.kind is Kind.SWITCH for m in one.members}
    nodes = {m for one in named if one.kind is Kind.NODE for m in one.members}
    kept = [
        one
        for one in named
        if one.kind is Kind.SWITCH
        or (one.kind is Kind.NODE and not switches & set(one.members))
        or (one.kind is Kind.LINK and not (switches | nodes) & set(one.members))
    ]
    return tuple(sorted(kept, key=lambda one: (*_strength(one.evidence[0]), one.name)))


def _sights(
    windows: list[_Window], tests: int
) -> tuple[Mapping[Hashable, Sight], tuple[TooFew, ...]]:
    widest = {one.measure.name: one for one in windows}
    found: dict[Hashable, Sight] = {}
    too_few: dict[str, list[TooFew]] = {}
    for name, one in widest.items():
        found[name], silent = sight(one.search, one.aside, one.tested, tests)
        for each in silent:
            too_few.setdefault(each.name, []).append(each)
    # A node that any measure has enough launches of has a verdict.
    told = {one.unit.name for each in found.values() for one in each.effects}
    rest = [
        min(some, key=lambda one: one.rounds) for name, some in too_few.items() if name not in told
    ]
    return found, tuple(sorted(rest, key=lambda one: one.name))


def _there(window: _Window) -> np.ndarray:
    return np.flatnonzero(window.search.launches.count())
