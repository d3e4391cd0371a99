"""Launches between nodes as arrays, and the units whose effects are asked for."""

from __future__ import annotations

from collections.abc import Sequence
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
        found: np.ndarray = (switch[:, 0] != switch[:, 1]) & (switch != "").all(axis=1)
        return found

    def count(self) -> np.ndarray:
        """Launches of each node."""
        return np.bincount(self.nodes[self.nodes >= 0], minlength=len(self.names))


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

    def of(self, launches: Launches) -> np.ndarray:
        """Indices of the launches that show its effect once."""
        inside = np.isin(launches.nodes, self.members)
        if self.kind is Kind.LINK:
            return np.flatnonzero(inside.all(axis=1))
        return np.flatnonzero(inside.sum(axis=1) == 1)


def units(launches: Launches) -> list[Unit]:
    """Every node, switch of two or more nodes, and pair of nodes that launches were on."""
    there = np.flatnonzero(launches.count()).tolist()
    found = [Unit(Kind.NODE, launches.names[one], (one,)) for one in there]
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
