"""The simulation of flaky nodes: its sites fail as they say, and what it counts is right."""

from __future__ import annotations

import numpy as np
import pytest

from roundtrip.measure import analysis
from tools.calibration import nodes

SETTINGS = analysis.default().nodes


@pytest.mark.parametrize(
    ("site", "share"),
    [
        (nodes.Site(0.0), 0.0),
        (nodes.Site(0.03), 0.03),
        # A launch on two nodes of 1.5 % each, or on one: 2.5 % of all.
        (nodes.Site(0.03, is_per_node=True), 0.025),
        (nodes.Site(0.0, bad_night_share=0.2), 0.02),
    ],
)
def test_launches_of_a_site_fail_as_often_as_it_says(site: nodes.Site, share: float) -> None:
    outcomes = nodes._outcomes(site, 400, {}, np.random.default_rng(1))
    assert outcomes.failed.size == 400 * (4 * nodes.NODES // 2 + nodes.NODES)
    assert outcomes.failed.mean() == pytest.approx(share, rel=0.25)
    node_counts = np.bincount(outcomes.launch, minlength=outcomes.failed.size)
    assert set(node_counts[outcomes.stratum % 2 == 0]) == {2} and set(
        node_counts[outcomes.stratum % 2 == 1]
    ) == {1}


def test_a_dead_node_is_named_and_a_site_without_failures_names_nobody() -> None:
    assert nodes.count_falsely_flaky(nodes.Site(0.0), SETTINGS, 1) == 0
    assert nodes.is_named(1.0, 1, nodes.Site(0.01), SETTINGS, 1)
    assert not nodes.is_named(0.0, 2, nodes.Site(0.0), SETTINGS, 1)
