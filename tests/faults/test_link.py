"""The link changed, cut or flapping under a launch: no such launch may pass."""

from __future__ import annotations

import time

import pytest
from faults.storm import Fault, storm
from faults.trial import Trial
from support.virtual import Virtual, campaign

from roundtrip.measure.launches import scan


def link_changed(cluster: Virtual, trial: Trial, job: str) -> None:
    """To another delay, and back by whoever leases it next."""
    cluster.ok("wan", "--rtt", "4ms", "--force", "--no-self-test")


def link_cut(cluster: Virtual, trial: Trial, job: str) -> None:
    cluster.ok("wan", "--cut", "5s", "--force", "--no-self-test")


def link_flapping(cluster: Virtual, trial: Trial, job: str) -> None:
    for _ in range(5):
        cluster.ok("wan", "--cut", "5ms", "--force", "--no-self-test")
        time.sleep(0.05)


def link_throttled(cluster: Virtual, trial: Trial, job: str) -> None:
    """To a twentieth of its rate, by somebody else."""
    cluster.ok("wan", "--rate", "50Mbit/s", "--force", "--no-self-test")


def over_the_link(cluster: Virtual, name: str, faults: list[Fault], seed: int, n: int) -> None:
    text = campaign(n, over_link=True, budget=2)
    runs = storm(cluster, cluster.share / name, faults, seed, n, text)
    launches = [item for run in runs if run.oracle.tree for item in scan(run.oracle.tree)]
    reasons = [item.reason for item in launches if item.status == "failed"]
    link_reasons = [reason for reason in reasons if "link changed" in reason]
    assert len(link_reasons) >= len(faults) / 2, reasons  # one may end before it is struck


@pytest.mark.usefixtures("whole_drill")
def test_storm_over_the_link(cluster: Virtual) -> None:
    over_the_link(
        cluster, "link", 2 * [link_changed, link_cut, link_flapping, link_throttled], 2, 3
    )


def test_a_link_changed_under_a_launch(cluster: Virtual) -> None:
    over_the_link(cluster, "changed", [link_changed, link_throttled, link_flapping], 6, 1)
