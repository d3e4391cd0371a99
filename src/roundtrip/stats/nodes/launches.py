"""Launches between nodes as arrays, the units that may be sick, and what is found of these."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

#: A launch on one node has this for its other node.
NOBODY = -1


@dataclass(frozen=True)
class Launches:
    """One measure of many launches; all arrays go by launch.

    `cost`: natural logarithm, more is worse.  `nodes` [launches, 2]: indices of `names`, `NOBODY`
    for a launch on one node.  `night` and `round` count from 0; launches of one round of a night
    were near each other in time.  `switches`: that of each node, "" where it is not known.
    """

    names: Sequence[str]
    switches: Sequence[str]
    cost: np.ndarray
    nodes: np.ndarray
    night: np.ndarray
    round: np.ndarray

    def take(self, which: np.ndarray) -> Launches:
        """The launches at `which`, an index or a mask."""
        kept = (one[which] for one in (self.cost, self.nodes, self.night, self.round))
        return Launches(self.names, self.switches, *kept)

    def newest(self, nights: int) -> Launches:
        """Those of the newest `nights` nights in which there are launches."""
        return self.take(np.isin(self.night, np.unique(self.night)[-nights:]))

    @property
    def crosses(self) -> np.ndarray:
        """Whether a launch was between nodes of two switches that are known."""
        switch = np.array([*self.switches, ""])[self.nodes]
        return np.asarray((switch[:, 0] != switch[:, 1]) & (switch != "").all(axis=1))

    def count(self) -> np.ndarray:
        """Launches of each node."""
        return np.bincount(self.nodes[self.nodes >= 0], minlength=len(self.names))

    @property
    def measured(self) -> dict[int, str]:
        """Name of each node that has launches, by its index."""
        return {node: self.names[node] for node in np.flatnonzero(self.count()).tolist()}


class Kind(StrEnum):
    """What may be sick."""

    NODE = "node"
    SWITCH = "switch"
    LINK = "link"


@dataclass(frozen=True)
class Unit:
    """What may be sick: a node, all nodes of a switch, or what is between two nodes."""

    kind: Kind
    name: str
    members: tuple[int, ...]

    def affected(self, launches: Launches) -> np.ndarray:
        """Indices of the launches that show its effect once."""
        inside = np.isin(launches.nodes, self.members)
        if self.kind is Kind.LINK:
            return np.flatnonzero(inside.all(axis=1))
        return np.flatnonzero(inside.sum(axis=1) == 1)


def units(launches: Launches) -> list[Unit]:
    """Every node, switch of two or more nodes, and pair of nodes that launches were on."""
    there = launches.measured
    found = [Unit(Kind.NODE, name, (node,)) for node, name in there.items()]
    by_switch: dict[str, list[int]] = {}
    for one in there:
        by_switch.setdefault(launches.switches[one], []).append(one)
    found += [
        Unit(Kind.SWITCH, name, tuple(members))
        for name, members in sorted(by_switch.items())
        if name and 1 < len(members) < len(there)
    ]
    pairs = np.sort(launches.nodes[(launches.nodes >= 0).all(axis=1)], axis=1)
    for one, other in np.unique(pairs, axis=0).tolist():
        name = f"{launches.names[one]} - {launches.names[other]}"
        found.append(Unit(Kind.LINK, name, (one, other)))
    return found


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
