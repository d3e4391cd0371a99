"""Faults injected while a campaign measures on a virtual cluster, one in each launch that comes."""

import random
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from faults.oracle import TALLY, Row
from faults.trial import Trial, numbered, processes
from support.virtual import VirtualCluster, await_true, campaign_text

#: Injects itself into the cluster while the job of this id runs its workload.
LAUNCHES = 6
Fault = Callable[[VirtualCluster, Trial, str], None]


def long_campaign(launches: int) -> str:
    """A campaign of one case, whose launches take 20 s."""
    text = campaign_text(launches, cases=1, budget=20)
    return text.replace("perturbation", "precision = 0.001, perturbation")


def slurm(cluster: VirtualCluster, *command: str) -> str:
    return cluster.run("exec", *command).stdout


def _serves(state: str) -> bool:
    return state in ("idle", "mixed", "allocated", "completing")


def state_lost(cluster: VirtualCluster, trial: Trial, job: str) -> None:
    """The controller dies, and begins again with an empty folder of its state."""
    config = slurm(cluster, "scontrol", "show", "config")
    state = re.search(r"^StateSaveLocation\s*=\s*(/\S+)$", config, re.MULTILINE)
    assert state, config
    cluster.run_checked("exec", "pkill", "-9", "-x", "slurmctld")
    cluster.run_checked("exec", "find", state[1], "-mindepth", "1", "-delete")
    cluster.run_checked("exec", "slurmctld")
    assert await_true(lambda: cluster.run("exec", "scontrol", "ping").returncode == 0, 30)
    nodes_are_back(cluster)


@contextmanager
def operator(cluster: VirtualCluster) -> Iterator[None]:
    """What an operator does: resumes each node that Slurm took for down or drained."""
    stop_event = threading.Event()

    def watch() -> None:
        while not stop_event.wait(1):
            for line in slurm(cluster, "sinfo", "-h", "-N", "-o", "%N %T").splitlines():
                node, state = line.split()
                if not _serves(state):
                    slurm(cluster, "scontrol", "update", f"NodeName={node}", "State=RESUME")

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop_event.set()
        thread.join()


def nodes_are_back(cluster: VirtualCluster) -> None:
    def all_serve() -> bool:
        states = slurm(cluster, "sinfo", "-h", "-N", "-o", "%T").split()
        return bool(states) and all(_serves(state) for state in states)

    assert await_true(all_serve, 60, 1), slurm(cluster, "sinfo", "-N", "-l")


def storm(
    cluster: VirtualCluster,
    folder: Path,
    faults: list[Fault],
    seed: int,
    launches: int = LAUNCHES,
    text: str | None = None,
) -> list[Trial]:
    """One fault in each launch that comes, in runs that are resumed until whole.

    Of a campaign of one case: `text`, or inside a cluster.  Returns all runs there were.
    """
    rng = random.Random(seed)
    trial_text = text or campaign_text(launches, cases=1)
    trials = (Trial(path, trial_text, launches, cluster=cluster) for path in numbered(folder))
    trial, process, struck_jobs = next(trials), None, set()
    all_trials, row = [trial], Row()
    with operator(cluster):
        for fault in faults:
            row = TALLY[f"slurm: {fault.__name__.replace('_', ' ')}"]
            while True:
                if process is None and trial.finished:
                    trial.complete(row)
                    trial = next(trials)
                    all_trials.append(trial)
                process = process or trial.resume()
                job = _next_job(cluster, trial, process, struck_jobs)
                if job:
                    break
                trial.complete(row, process)
                trial, process = next(trials), None
                all_trials.append(trial)
            time.sleep(rng.uniform(0, 0.3))
            fault(cluster, trial, job)
            row.injected += 1
            trial.oracle.examine(row)
        trial.complete(row, process)
    return all_trials


def _next_job(
    cluster: VirtualCluster, trial: Trial, process: subprocess.Popen[bytes], struck_jobs: set[str]
) -> str:
    """The next measuring job that is running its workload; "" if the campaign ends before."""

    def found() -> list[str]:
        if not processes(trial.runs, "workload"):
            return []
        running_ids = [id_ for id_, _, state in cluster.jobs() if state == "RUNNING"]
        return [id_ for id_ in running_ids if id_ not in struck_jobs]

    jobs: list[str] = []
    while process.poll() is None:
        if jobs := found():
            struck_jobs.update(jobs)
            return jobs[0]
        time.sleep(0.05)
    return ""
