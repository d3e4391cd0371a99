"""Daemons that a night stands on, away for 40 s while it measures."""

import re
import time
from collections.abc import Callable, Iterator

import pytest
from faults.oracle import TALLY
from faults.storm import Fault, long_campaign, nodes_are_back, state_lost, storm
from faults.trial import Trial
from support.virtual import VirtualCluster, booted_cluster, campaign_text

from roundtrip.measure import scheduler


@pytest.fixture(scope="module")
def accounted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualCluster]:
    """With slurmdbd and MariaDB, which ReFrame's scheduler `slurm` asks."""
    with booted_cluster(tmp_path_factory, "acct", options=["--accounting"]) as cluster:
        yield cluster


def end(cluster: VirtualCluster, daemon: str) -> Callable[[], None]:
    """End a daemon; what is returned starts it again, by the same command."""
    pid = cluster.run_checked("exec", "pgrep", "-o", "-x", daemon).strip()
    command = cluster.run_checked("exec", "cat", f"/proc/{pid}/cmdline").split("\0")[:-1]
    folder = cluster.run_checked("exec", "readlink", f"/proc/{pid}/cwd").strip()
    cluster.run_checked("exec", "kill", "-KILL", pid)
    script = 'cd "$1" && shift && setsid "$@" >/dev/null 2>&1 </dev/null &'
    return lambda: cluster.run_checked("exec", "sh", "-c", script, "sh", folder, *command) and None


def away(daemon: str) -> Fault:
    """Ended, and started again 40 s later."""

    def fault(cluster: VirtualCluster, trial: Trial, job: str) -> None:
        start = end(cluster, daemon)
        time.sleep(40)
        start()
        nodes_are_back(cluster)

    fault.__name__ = f"{daemon}_away_for_40_s"
    return fault


@pytest.mark.parametrize("daemon", ["munged", "slurmdbd", "mariadbd"])
def test_daemon_away(accounted: VirtualCluster, daemon: str, is_whole: bool) -> None:
    faults = (2 if is_whole else 1) * [away(daemon)]
    trials = storm(accounted, accounted.share / daemon, faults, 7, 2)
    trees = [trial.oracle.tree for trial in trials if trial.oracle.tree]
    outages = [
        span for tree in trees for span in scheduler.merge_outages(scheduler.read_outages(tree))
    ]
    away_s = sum(end - start for start, end in outages) / len(faults)
    assert 25 < away_s < 80, "the run says for how long it was away: 40 s, and what it took to ask"


def ends_lost(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    """From now on the database keeps no end of a job, as one that crashed has lost the last."""
    trigger = "BEFORE UPDATE ON vgrid_job_table FOR EACH ROW SET NEW.state = 1, NEW.time_end = 0"
    cluster.run_checked(
        "exec", "mariadb", "slurm_acct_db", "-e", f"CREATE TRIGGER running {trigger}"
    )


def test_a_job_whose_end_the_database_lost(accounted: VirtualCluster) -> None:
    try:
        (trial,) = storm(accounted, accounted.share / "ends", [ends_lost], 7, 2)
    finally:
        accounted.run_checked(
            "exec", "mariadb", "slurm_acct_db", "-e", "DROP TRIGGER IF EXISTS running"
        )
    assert "its accounting stayed away or lost a job" in trial.log


def test_accounting_gone_for_good(accounted: VirtualCluster) -> None:
    """While slurmctld works, it says how jobs ended, and the run says so."""
    trial = Trial(accounted.share / "gone", campaign_text(2, cases=1), 2, cluster=accounted)
    start = end(accounted, "slurmdbd")
    try:
        trial.complete(TALLY["slurm: accounting gone for good"])
    finally:
        start()
    assert trial.oracle.tree
    silences = scheduler.read_outages(trial.oracle.tree)
    row = next(silence for silence in silences if silence.ended_by_fallback)
    assert row.end is not None and row.end - row.start >= 60
    assert "its accounting stayed away" in trial.log


def test_accounting_that_says_for_ever_that_a_lost_job_runs(accounted: VirtualCluster) -> None:
    folder, text = accounted.share / "forgotten", long_campaign(2)
    (trial,) = storm(accounted, folder, [state_lost], 6, 2, text)
    # One fault; the launch that is repeated was seen to be lost as well.
    assert re.search(r"[(]\d+ lost by a controller that restarted without its state[)]", trial.log)
