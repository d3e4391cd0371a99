"""Faults of Slurm, its nodes and the link between them, injected while a campaign measures.

No launch may pass under which the link changed, was cut or flapped.
"""

import random
import subprocess
import time

import pytest
from faults.oracle import TALLY
from faults.storm import Fault, long_campaign, nodes_are_back, slurm, state_lost, storm
from faults.trial import Trial, processes
from support.virtual import VirtualCluster, await_true, campaign_text

from roundtrip.measure.launches import scan_launches


def _last_node(cluster: VirtualCluster, job: str) -> str:
    nodes = slurm(cluster, "squeue", "-h", "-j", job, "-o", "%N")
    return (slurm(cluster, "scontrol", "show", "hostnames", nodes.strip()).split() or ["a1"])[-1]


def slurmd_killed(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    """The daemon of a node that the job uses dies, and is started again 2 s later."""
    node = _last_node(cluster, job)
    cluster.run("node", node, "pkill", "-9", "-x", "slurmd")
    time.sleep(2)
    cluster.run_checked("node", node, "slurmd", "-N", node)
    nodes_are_back(cluster)


def slurmctld_killed(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    cluster.run("exec", "pkill", "-9", "-x", "slurmctld")
    time.sleep(3)
    cluster.run_checked("exec", "slurmctld")
    # What the controller had not written down, it takes for a fault of the node.
    await_true(lambda: cluster.run("exec", "scontrol", "ping").returncode == 0, 30)
    nodes_are_back(cluster)


def over_time_limit(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    """A workload that hangs, until Slurm ends it at its time limit."""
    for pid in processes(trial.runs, "workload"):
        subprocess.run(["kill", "-STOP", str(pid)], check=False)
    slurm(cluster, "scontrol", "update", f"JobId={job}", "TimeLimit=1")
    assert await_true(lambda: not _queued(cluster, job), 150)


def held(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    """Sent back to the queue and held there for 2 s."""
    slurm(cluster, "scontrol", "update", f"JobId={job}", "Requeue=1")
    slurm(cluster, "scontrol", "requeuehold", job)
    time.sleep(2)
    slurm(cluster, "scontrol", "release", job)
    _start_now(cluster, job)


def requeued(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    slurm(cluster, "scontrol", "update", f"JobId={job}", "Requeue=1")
    slurm(cluster, "scontrol", "requeue", job)
    _start_now(cluster, job)


def cancelled(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    slurm(cluster, "scancel", job)


def node_off(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    """A node that the job uses loses its power for 3 s."""
    node = _last_node(cluster, job)
    cluster.run_checked("power", node, "off")
    time.sleep(3)
    cluster.run_checked("power", node, "on")
    nodes_are_back(cluster)


def workload_killed(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    for pid in processes(trial.runs, "workload")[:1]:
        subprocess.run(["kill", "-9", str(pid)], check=False)


def _queued(cluster: VirtualCluster, job: str) -> bool:
    return job in {id_ for id_, _, _ in cluster.jobs()}


def _start_now(cluster: VirtualCluster, job: str) -> None:
    """Slurm lets a requeued job wait for two minutes."""
    await_true(lambda: "PENDING" in slurm(cluster, "squeue", "-h", "-j", job, "-o", "%T"), 10)
    slurm(cluster, "scontrol", "update", f"JobId={job}", "StartTime=now")


@pytest.mark.usefixtures("whole_drill")
def test_storm_inside_a_cluster(cluster: VirtualCluster) -> None:
    kinds: list[Fault] = [
        slurmd_killed, slurmctld_killed, held, requeued, cancelled, workload_killed, node_off,
    ]  # fmt: skip
    faults = 5 * kinds
    random.Random(1).shuffle(faults)
    storm(cluster, cluster.share / "storm", faults, 1)


@pytest.mark.usefixtures("whole_drill")
def test_a_job_over_its_time_limit(cluster: VirtualCluster) -> None:
    storm(cluster, cluster.share / "limit", [over_time_limit], 3)


def test_a_few_faults_of_slurm(cluster: VirtualCluster) -> None:
    faults: list[Fault] = [slurmctld_killed, cancelled, slurmd_killed]
    storm(cluster, cluster.share / "few", faults, 4, launches=2)


def test_a_controller_that_lost_its_state(cluster: VirtualCluster) -> None:
    """It does not know the job of the launch, which is repeated and not blamed."""
    folder, text = cluster.share / "forgotten", long_campaign(2)
    (trial,) = storm(cluster, folder, [state_lost], 5, 2, text)
    outcome = "(1 lost by a controller that restarted without its state)"
    assert outcome in trial.log, trial.log
    assert "failed 1 x" not in trial.log, trial.log


def measuring(trial: Trial, cluster: VirtualCluster) -> tuple[subprocess.Popen[bytes], str]:
    """Begin the run, until its first job measures: the process, and the job."""
    process = trial.resume()
    assert await_true(lambda: len(processes(trial.runs, "workload")) == 2, 120)
    (job,) = (id_ for id_, _, state in cluster.jobs() if state == "RUNNING")
    return process, job


def test_a_launch_that_slurm_suspends_says_so(cluster: VirtualCluster) -> None:
    row = TALLY["slurm: suspended"]
    trial = Trial(cluster.share / "suspended", long_campaign(1), 1, cluster=cluster)
    process, job = measuring(trial, cluster)
    time.sleep(2)  # it measures by then
    cluster.run_checked("exec", "scontrol", "suspend", job)
    row.injected += 1
    time.sleep(4)
    cluster.run_checked("exec", "scontrol", "resume", job)
    trial.complete(row, process)
    assert trial.oracle.tree
    (launch,) = scan_launches(trial.oracle.tree)
    assert launch.status == "passed"
    assert any(reason.startswith("suspended: ") for reason in launch.disturbance_reasons)
    assert "suspended: " in trial.log


def test_a_node_that_slurm_takes_for_down_is_blamed_and_not_its_partner(
    cluster: VirtualCluster,
) -> None:
    row = TALLY["slurm: node down"]
    trial = Trial(cluster.share / "down", long_campaign(1), 1, cluster=cluster)
    process, job = measuring(trial, cluster)
    node = _last_node(cluster, job)
    cluster.run_checked("power", node, "off")
    row.injected += 1
    try:
        assert await_true(lambda: not _queued(cluster, job), 240, 1)
    finally:
        cluster.run_checked("power", node, "on")
    nodes_are_back(cluster)
    trial.complete(row, process)
    assert trial.oracle.tree
    (failure,) = (
        launch for launch in scan_launches(trial.oracle.tree) if launch.status == "failed"
    )
    assert failure.nodes_down == (node,)
    assert f"node {node} failed (Slurm: down, or its step gone)" in trial.log


def link_changed(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    """To another delay, and back by whoever leases it next."""
    cluster.run_checked("wan", "--rtt", "4ms", "--force", "--no-self-test")


def link_cut(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    cluster.run_checked("wan", "--cut", "5s", "--force", "--no-self-test")


def link_flapping(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    for _ in range(5):
        cluster.run_checked("wan", "--cut", "5ms", "--force", "--no-self-test")
        time.sleep(0.05)


def link_throttled(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    """To a twentieth of its rate, by somebody else."""
    cluster.run_checked("wan", "--rate", "50Mbit/s", "--force", "--no-self-test")


def over_the_link(
    cluster: VirtualCluster, name: str, faults: list[Fault], seed: int, n: int
) -> None:
    text = campaign_text(n, over_link=True, budget=2)
    runs = storm(cluster, cluster.share / name, faults, seed, n, text)
    launches = [item for run in runs if run.oracle.tree for item in scan_launches(run.oracle.tree)]
    reasons = [item.reason for item in launches if item.status == "failed"]
    link_reasons = [reason for reason in reasons if "link changed" in reason]
    assert len(link_reasons) >= len(faults) / 2, reasons  # one may end before it is struck


@pytest.mark.usefixtures("whole_drill")
def test_storm_over_the_link(cluster: VirtualCluster) -> None:
    over_the_link(
        cluster, "link", 2 * [link_changed, link_cut, link_flapping, link_throttled], 2, 3
    )


def test_a_link_changed_under_a_launch(cluster: VirtualCluster) -> None:
    over_the_link(cluster, "changed", [link_changed, link_throttled, link_flapping], 6, 1)
