"""Launches with some units put aside: what is left of each for one unit, and what noise is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from roundtrip.stats.nodes.evidence import Scores
from roundtrip.stats.nodes.fit import fit, spread
from roundtrip.stats.nodes.launches import NOBODY, Kind, Launches, Unit
from roundtrip.stats.settings import NodeSettings


class Healthy:
    """`launches` of which those of the units `aside` are in no fit and in no noise."""

    def __init__(self, launches: Launches, aside: Sequence[Unit], settings: NodeSettings) -> None:
        self.launches, self._aside, self._settings = launches, aside, settings
        self._touched = {one: _touched(launches, one) for one in aside}
        self._kept: np.ndarray = ~self._bad(None)
        self._fit = fit(launches, self._kept, settings.spread_least)

    def fits(self, unit: Unit) -> np.ndarray:
        """Whether a launch is of no unit put aside but `unit`."""
        found: np.ndarray = self._kept if unit not in self._touched else ~self._bad(unit)
        return found

    def left(self, unit: Unit, at: np.ndarray) -> np.ndarray:
        """What is left of the launches `at` for the effect of `unit`, on the log scale."""
        members = () if unit.kind is Kind.LINK else unit.members
        rest = self._fit.without(self.launches, members)
        found: np.ndarray = rest[at]
        return found

    @cached_property
    def scores(self) -> Scores:
        """Scores of all launches that are not put aside."""
        pool = self._pool
        sd = spread(pool, self._settings.spread_least)
        return Scores(pool - np.median(pool), sd, self._settings.clips_sd)

    @cached_property
    def effects(self) -> np.ndarray:
        """Effects of the nodes that have launches, on the log scale."""
        return self._fit.effect[self._counts > 0]

    @cached_property
    def spread(self) -> float:
        """How far the nodes' effects differ beyond what the noise of launches explains."""
        noise = spread(self._pool, 0.0) ** 2 * float(np.mean(1 / self._counts[self._counts > 0]))
        return float(np.sqrt(max(0.0, spread(self.effects, 0.0) ** 2 - noise)))

    @cached_property
    def _counts(self) -> np.ndarray:
        return self.launches.take(self._kept).count()

    @cached_property
    def _pool(self) -> np.ndarray:
        """What is left of each launch for the effect of each of its nodes."""
        own = np.append(self._fit.effect, 0.0)[self.launches.nodes]
        rest = self.launches.cost - self._fit.base - own.sum(axis=1)
        found: np.ndarray = (rest[:, None] + own)[
            (self.launches.nodes != NOBODY) & self._kept[:, None]
        ]
        return found

    def _bad(self, but: Unit | None) -> np.ndarray:
        found: np.ndarray = np.zeros(self.launches.cost.size, dtype=bool)
        for one, touched in self._touched.items():
            if one != but:
                np.logical_or(found, touched, out=found)
        return found


def _touched(launches: Launches, unit: Unit) -> np.ndarray:
    inside = np.isin(launches.nodes, unit.members)
    found: np.ndarray = (np.all if unit.kind is Kind.LINK else np.any)(inside, axis=1)
    return found
