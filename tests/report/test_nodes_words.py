"""Sick nodes in words: whom a node could meet, and what names it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from stats.nodes.planted import LEAST, SETTINGS, launches

from roundtrip.history.nodes import MeasureName
from roundtrip.report import nodes as words
from roundtrip.report.sections import nodes
from roundtrip.report.units import printable
from roundtrip.stats.nodes.judge import NodeMeasure, judge_nodes
from roundtrip.stats.nodes.launches import NodeLaunches


def measure(place: str, sample: NodeLaunches) -> NodeMeasure:
    name = MeasureName("netpipe", place, "openmpi", "latency", False, 1e-6, "s")
    return NodeMeasure(
        name, replace(sample, names=[f"{place}-{node}" for node in sample.names]), LEAST
    )


def test_a_node_meets_those_of_its_partition_alone() -> None:
    full_measure = measure("a", launches(nodes=8, nights=2, each=4, effects={3: 1.0}))
    partial_measure = measure("b", launches(seed=2, nodes=16, nights=2, each=4, effects={5: 1.0}))
    verdicts = judge_nodes([full_measure, partial_measure], SETTINGS, 0.95)
    assert len(verdicts.nodes) == 24
    sentences = {
        outlier.name: words.describe_outlier(outlier, verdicts) for outlier in verdicts.outliers
    }
    assert sentences.keys() == {"a-n03", "b-n05"}
    assert " with all 7 partners, " in sentences["a-n03"]
    assert " with 8 of 15 partners, " in sentences["b-n05"]


def test_an_interval_that_holds_no_effect_is_said_not_to_name() -> None:
    regular = launches(nodes=16, nights=2, each=4, effects={5: 1.0})
    first = np.flatnonzero((regular.nodes == 5).any(axis=1))[0]
    cost = regular.cost.copy()
    cost[first] -= 1.4
    for sample, holds_zero in ((regular, False), (replace(regular, cost=cost), True)):
        verdicts = judge_nodes([measure("a", sample)], SETTINGS, 0.95)
        (outlier,) = verdicts.outliers
        assert (
            "not the interval, names it" in words.describe_outlier(outlier, verdicts)
        ) is holds_zero
        assert words.interval_holds_zero(outlier.evidence[0]) is holds_zero


@pytest.mark.parametrize(
    ("level", "unit", "text"),
    [
        (1.5e-6, "s", "1.50 µs"),
        (900.0, "MB/s", "900 MB/s"),
        (1.25, "1", "mean over median 1.25"),
    ],
)
def test_a_level_has_its_unit_or_says_what_it_is(level: float, unit: str, text: str) -> None:
    name = MeasureName("netpipe", "smp", "openmpi", "latency", False, level, unit)
    assert printable(nodes._usual_level_text(name)) == text
