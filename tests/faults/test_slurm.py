"""Faults of Slurm, its nodes and the link, injected while a campaign measures."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from faults.tally import TALLY
from faults.trial import Trial, numbered, processes
from support.virtual import Virtual, await_true, campaign

LAUNCHES = 6
Fault = Callable[[Virtual, Trial, str], None]


def slurm(cluster: Virtual, *command: str) -> str:
    return cluster.run("exec", *command).stdout


def _serves(state: str) -> bool:
    return state in ("idle", "mixed", "allocated", "completing")


@contextmanager
def operator(cluster: Virtual) -> Iterator[None]:
    """What an operator does: resumes each node that Slurm took for down or drained."""
    gone = threading.Event()

    def watch() -> None:
        while not gone.wait(1):
            for line in slurm(cluster, "sinfo", "-h", "-N", "-o", "%N %T").splitlines():
                node, state = line.split()
                if not _serves(state):
                    slurm(cluster, "scontrol", "update", f"NodeName={node}", "State=RESUME")

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        gone.set()
        thread.join()


def _nodes_are_back(cluster: Virtual) -> None:
    def all_serve() -> bool:
        states = slurm(cluster, "sinfo", "-h", "-N", "-o", "%T").split()
        return bool(states) and all(_serves(state) for state in states)

    assert await_true(all_serve, 60, 1), slurm(cluster, "sinfo", "-N", "-l")


def slurmd_killed(cluster: Virtual, trial: Trial, job: str) -> None:
    """The daemon of a node that the job uses dies, and is started again 2 s later."""
    nodes = slurm(cluster, "squeue", "-h", "-j", job, "-o", "%N")
    node = slurm(cluster, "scontrol", "show", "hostnames", nodes.strip()).split() or ["a1"]
    cluster.run("node", node[-1], "pkill", "-9", "-x", "slurmd")
    time.sleep(2)
    cluster.ok("node", node[-1], "slurmd", "-N", node[-1])
    _nodes_are_back(cluster)


def slurmctld_killed(cluster: Virtual, trial: Trial, job: str) -> None:
    cluster.run("exec", "pkill", "-9", "-x", "slurmctld")
    time.sleep(3)
    cluster.ok("exec", "slurmctld")
    # What the controller had not written down, it takes for a fault of the node.
    await_true(lambda: cluster.run("exec", "scontrol", "ping").returncode == 0, 30)
    _nodes_are_back(cluster)


def over_time_limit(cluster: Virtual, trial: Trial, job: str) -> None:
    """A workload that hangs, until Slurm ends it at its time limit."""
    for pid in processes(trial.runs, "workload"):
        subprocess.run(["kill", "-STOP", str(pid)], check=False)
    slurm(cluster, "scontrol", "update", f"JobId={job}", "TimeLimit=1")
    assert await_true(lambda: not _queued(cluster, job), 150)


def held(cluster: Virtual, trial: Trial, job: str) -> None:
    """Sent back to the queue and held there for 2 s."""
    slurm(cluster, "scontrol", "update", f"JobId={job}", "Requeue=1")
    slurm(cluster, "scontrol", "requeuehold", job)
    time.sleep(2)
    slurm(cluster, "scontrol", "release", job)
    _start_now(cluster, job)


def requeued(cluster: Virtual, trial: Trial, job: str) -> None:
    slurm(cluster, "scontrol", "update", f"JobId={job}", "Requeue=1")
    slurm(cluster, "scontrol", "requeue", job)
    _start_now(cluster, job)


def cancelled(cluster: Virtual, trial: Trial, job: str) -> None:
    slurm(cluster, "scancel", job)


def link_cut(cluster: Virtual, trial: Trial, job: str) -> None:
    cluster.run("wan", "--cut", "5s", "--no-self-test")


def workload_killed(cluster: Virtual, trial: Trial, job: str) -> None:
    for pid in processes(trial.runs, "workload")[:1]:
        subprocess.run(["kill", "-9", str(pid)], check=False)


def _queued(cluster: Virtual, job: str) -> bool:
    return job in {id_ for id_, _, _ in cluster.jobs()}


def _start_now(cluster: Virtual, job: str) -> None:
    """Slurm lets a requeued job wait for two minutes."""
    await_true(lambda: "PENDING" in slurm(cluster, "squeue", "-h", "-j", job, "-o", "%T"), 10)
    slurm(cluster, "scontrol", "update", f"JobId={job}", "StartTime=now")


def storm(
    cluster: Virtual,
    folder: Path,
    faults: list[Fault],
    seed: int,
    cases: int = 1,
    launches: int = LAUNCHES,
) -> None:
    """One fault in each launch that comes, in runs that are resumed until whole."""
    wobble = random.Random(seed)
    trials = (
        Trial(place, campaign(launches, cases), launches, cases, cluster)
        for place in numbered(folder)
    )
    trial, process, struck = next(trials), None, set()
    row = TALLY["-"]
    with operator(cluster):
        for fault in faults:
            row = TALLY[f"slurm: {fault.__name__.replace('_', ' ')}"]
            while True:
                process = process or trial.resume()
                job = _next_job(cluster, trial, process, struck)
                if job:
                    break
                trial.complete(row, process)
                trial, process = next(trials), None
            time.sleep(wobble.uniform(0, 0.3))
            fault(cluster, trial, job)
            row.injected += 1
            trial.oracle.examine(row)
        trial.complete(row, process)
    del TALLY["-"]


def _next_job(
    cluster: Virtual, trial: Trial, process: subprocess.Popen[bytes], struck: set[str]
) -> str:
    """The next measuring job that is running its workload; "" if the campaign ends before."""

    def found() -> list[str]:
        if not processes(trial.runs, "workload"):
            return []
        running = [id_ for id_, _, state in cluster.jobs() if state == "RUNNING"]
        return [id_ for id_ in running if id_ not in struck]

    jobs: list[str] = []
    while process.poll() is None:
        if jobs := found():
            struck.update(jobs)
            return jobs[0]
        time.sleep(0.05)
    return ""


@pytest.mark.drill
def test_storm_inside_a_cluster(cluster: Virtual) -> None:
    kinds: list[Fault] = [
        slurmd_killed, slurmctld_killed, held, requeued, cancelled, workload_killed,
    ]  # fmt: skip
    faults = 5 * kinds
    random.Random(1).shuffle(faults)
    storm(cluster, cluster.share / "storm", faults, 1)


@pytest.mark.drill
def test_storm_over_the_link(cluster: Virtual) -> None:
    faults: list[Fault] = [link_cut, cancelled, link_cut, requeued, link_cut, link_cut]
    storm(cluster, cluster.share / "link", faults, 2, cases=2)


@pytest.mark.drill
def test_a_job_over_its_time_limit(cluster: Virtual) -> None:
    storm(cluster, cluster.share / "limit", [over_time_limit], 3)


def test_a_few_faults_of_slurm(cluster: Virtual) -> None:
    storm(
        cluster, cluster.share / "few", [slurmctld_killed, cancelled, slurmd_killed], 4, launches=2
    )
    assert all(row.clean for row in TALLY.values())
