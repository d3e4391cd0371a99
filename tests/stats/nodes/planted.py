"""Launches between nodes whose truth is known: rounds of pairs, noise of several kinds, effects."""

from collections.abc import Mapping, Sequence

import numpy as np

from roundtrip.measure import analysis
from roundtrip.stats.nodes.judge import NodeMeasure, NodeVerdicts, judge_nodes
from roundtrip.stats.nodes.launches import NodeLaunches
from tools.calibration.nodes import pair_launches

SETTINGS = analysis.default_settings().nodes
LEAST = SETTINGS.min_effect(is_tail=False)


def launches(
    seed: int = 1,
    nodes: int = 16,
    nights: int = 2,
    each: int = 4,
    effects: Mapping[int, float] | None = None,
    noise: float = 0.1,
    switches: Sequence[str] | None = None,
    from_night: int = 0,
) -> NodeLaunches:
    """`each` rounds a night; `effects` of nodes on the log scale, from a night on.

    The level of each round and of each launch between two switches is its own.
    """
    rng = np.random.default_rng(seed)
    pairs, night, round_ = pair_launches(nights, nodes, each)
    node_costs = rng.normal(0, 0.01, nodes)
    cost = rng.normal(0, 0.3, (nights, each))[night, round_] + node_costs[pairs].sum(axis=1)
    for node, effect in (effects or {}).items():
        cost += effect * (pairs == node).any(axis=1) * (night >= from_night)
    cost += noise * rng.standard_normal(cost.size)
    names = [f"n{node:02d}" for node in range(nodes)]
    flat = NodeLaunches(names, switches or [""] * nodes, cost, pairs, night, round_)
    cost += 0.4 * flat.crosses_switches
    return NodeLaunches(names, flat.switches, cost, pairs, night, round_)


def judged(*launch_sets: NodeLaunches) -> NodeVerdicts:
    """The verdicts on launches, each a measure with a number for a name."""
    measures = [NodeMeasure(number, each, LEAST) for number, each in enumerate(launch_sets)]
    return judge_nodes(measures, SETTINGS, 0.95)


def names(verdicts: NodeVerdicts) -> set[str]:
    return {outlier.name for outlier in verdicts.outliers}
