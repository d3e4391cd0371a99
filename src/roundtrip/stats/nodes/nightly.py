"""What one night tells of each node: its effect, as a point of a history."""

from __future__ import annotations

import numpy as np

from roundtrip.stats.nodes.healthy import Healthy
from roundtrip.stats.nodes.launches import Kind, Launches, Unit
from roundtrip.stats.settings import NodeSettings
from roundtrip.stats.summaries import Interval, median_interval


def effects(launches: Launches, settings: NodeSettings, confidence: float) -> dict[str, Interval]:
    """By node: the median effect over its launches, a logarithm, with its rank interval.

    Nothing with fewer than `nodes_least` nodes: then nobody knows whose effect it is.
    """
    there = np.flatnonzero(launches.count()).tolist()
    if len(there) < settings.nodes_least:
        return {}
    healthy, found = Healthy(launches, (), settings), {}
    for node in there:
        unit = Unit(Kind.NODE, launches.names[node], (node,))
        left = healthy.left(unit, unit.of(launches))
        found[unit.name] = median_interval(left.tolist(), confidence)
    return found
