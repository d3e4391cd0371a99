"""slurmdbd and MariaDB: sacct remembers, also after a down and an up."""

from __future__ import annotations

import time

import pytest
from vclusterlib import UserError, tools

pytestmark = [pytest.mark.nightly, pytest.mark.live]


@pytest.fixture(scope="module")
def accounted(home, vcluster):
    try:
        tools.require(tools.ACCOUNTING)
    except UserError as error:
        pytest.skip(str(error))
    cluster = vcluster(home, "accounted")
    try:
        cluster.ok("up", "--nodes", "1+1", "--accounting", timeout=240)
        yield cluster
    finally:
        cluster.run("down")


def jobs(cluster, expected):
    """Lines ``id|state|exit code``, once there are `expected` of them that ended."""
    deadline = time.monotonic() + 20
    while True:
        lines = cluster.ok("exec", "sacct", "-nXP", "-o", "jobid,state,exitcode").split()
        final_lines = [line for line in lines if "RUNNING" not in line and "PENDING" not in line]
        if len(final_lines) >= expected:
            return final_lines
        assert time.monotonic() < deadline, lines
        time.sleep(0.2)


def test_sacct_shows_jobs_of_this_and_of_earlier_boots(accounted):
    accounted.ok("exec", "srun", "-N2", "true")
    assert accounted.run("exec", "srun", "-N1", "sh", "-c", "exit 3").returncode == 3
    assert jobs(accounted, 2) == ["1|COMPLETED|0:0", "2|FAILED|3:0"]
    assert accounted.status()["daemons"] == dict.fromkeys(
        ("munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd", "roundtrip-link"), True
    )
    accounted.ok("down")
    accounted.ok("up", "--nodes", "1+1", "--accounting")
    accounted.ok("exec", "srun", "-N2", "true")
    assert jobs(accounted, 3)[2] == "100001|COMPLETED|0:0"
    log = (accounted.state / "log" / "mariadbd.out").read_text()
    assert "crash recovery" not in log.lower()
