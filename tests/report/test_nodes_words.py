"""Sick nodes in words: whom a node could meet, and what names it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from stats.nodes.planted import LEAST, SETTINGS, launches

from roundtrip.history.nodes import MeasureName
from roundtrip.report import nodes as words
from roundtrip.stats.nodes.judge import Measure, judge
from roundtrip.stats.nodes.launches import Launches


def measure(place: str, some: Launches) -> Measure:
    name = MeasureName("netpipe", place, "openmpi", "latency", False, 1e-6, "s")
    return Measure(name, replace(some, names=[f"{place}-{one}" for one in some.names]), LEAST)


def test_a_node_meets_those_of_its_partition_alone() -> None:
    every = measure("a", launches(nodes=8, nights=2, each=4, effects={3: 1.0}))
    some = measure("b", launches(seed=2, nodes=16, nights=2, each=4, effects={5: 1.0}))
    found = judge([every, some], SETTINGS, 0.95)
    assert len(found.nodes) == 24
    sentences = {one.name: words.describe_outlier(one, found) for one in found.outliers}
    assert sentences.keys() == {"a-n03", "b-n05"}
    assert " with all 7 partners, " in sentences["a-n03"]
    assert " with 8 of 15 partners, " in sentences["b-n05"]


def test_an_interval_that_holds_no_effect_is_said_not_to_name() -> None:
    regular = launches(nodes=16, nights=2, each=4, effects={5: 1.0})
    first = np.flatnonzero((regular.nodes == 5).any(axis=1))[0]
    cost = regular.cost.copy()
    cost[first] -= 1.4
    for one, is_said in ((regular, False), (replace(regular, cost=cost), True)):
        found = judge([measure("a", one)], SETTINGS, 0.95)
        (named,) = found.outliers
        assert ("not the interval, names it" in words.describe_outlier(named, found)) is is_said
        assert words.interval_holds_zero(named.evidence[0]) is is_said
