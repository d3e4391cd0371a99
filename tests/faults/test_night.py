"""The campaign's own Slurm job cancelled, stopped or requeued at points of its way, or rebooted."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from faults.oracle import MANY, TALLY, whole_launches
from faults.trial import Trial
from support.virtual import VirtualCluster, await_true, booted_cluster, campaign_text

NODES = "2+2"
MOMENTS = ("build", "measure", "copy", "between")
#: When the drill that injects one fault of each kind injects it.
ONCE = "measure"


def cancel(cluster: VirtualCluster, job: str) -> None:
    cluster.run("exec", "scancel", job)


def stop(cluster: VirtualCluster, job: str) -> None:
    """TERM to the script, as ahead of its time limit."""
    cluster.run("exec", "scancel", "--batch", "--signal=TERM", job)


def requeue(cluster: VirtualCluster, job: str) -> None:
    cluster.run("exec", "scontrol", "requeue", job)
    is_pending = lambda: (job, "roundtrip-nightly", "PENDING") in cluster.jobs()  # noqa: E731
    await_true(is_pending, 30)
    time.sleep(2)  # started in the second of its end, slurmd takes it for the job that it has ended
    cluster.run("exec", "scontrol", "update", f"JobId={job}", "StartTime=now")


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("blow", [cancel, stop, requeue])
def test_night_struck(
    cluster: VirtualCluster,
    blow: Callable[[VirtualCluster, str], None],
    moment: str,
    is_whole: bool,
) -> None:
    if not (is_whole or moment == ONCE):
        pytest.skip(MANY)
    folder = cluster.share / f"night-{blow.__name__}-{moment}"
    trial = Trial(folder, campaign_text(2, cases=1), 2, cluster=cluster, report=True)
    variables = {"ROUNDTRIP_RUNS": str(trial.runs), "ROUNDTRIP_REPORTS": str(trial.reports)}
    site = replace(cluster, variables=variables)
    row = TALLY[f"night: {blow.__name__}"]
    is_reached = trial.moments()[moment]
    job = site.submit(folder / "tiny.toml", ROUNDTRIP_NIGHTLY_BEGIN="never")
    assert await_true(is_reached, 120, 0.05), site.output(job)
    time.sleep(random.Random(moment).uniform(0, 0.2))
    blow(site, job)
    row.injected += 1
    assert await_true(lambda: job not in {id_ for id_, _, _ in site.jobs()}, 240)
    status = site.output(job).rpartition("ended with exit status ")[2].partition(",")[0]
    trial.oracle.examine(row, int(status) if status.isdigit() else None)
    if blow is requeue:
        assert status == "0", site.output(job)
    if blow is stop:
        assert status in ("0", "1"), site.output(job)
    if trial.oracle.whole and list(trial.reports.glob("*/*/*/r*/report.html")):
        row.begun += 1
        row.resumed += 1
    else:
        trial.complete(row)


def _night(site: VirtualCluster, file: Path, requeued: bool) -> tuple[str, int]:
    """A night to its end: its job number and exit status; `requeued` before it begins its run."""
    job = site.submit(file, ROUNDTRIP_NIGHTLY_BEGIN="never")
    if requeued:
        assert await_true(lambda: (job, "roundtrip-nightly", "RUNNING") in site.jobs(), 60)
        requeue(site, job)
    return job, site.await_end(job)


@pytest.mark.usefixtures("toolchain")
def test_a_job_number_used_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Without accounting, job numbers begin at 1 again when the cluster is rebooted."""
    with booted_cluster(tmp_path_factory, "reboot", NODES) as cluster:
        runs = cluster.share / "own-runs"
        site = replace(cluster, variables={"ROUNDTRIP_RUNS": str(runs)})
        file = cluster.share / "tiny.toml"
        file.write_text(campaign_text(2, cases=1))
        row = TALLY["job number reused after a reboot"]
        job, status = _night(site, file, requeued=False)
        assert status == 0, site.output(job)
        cluster.run_checked("down")
        cluster.run_checked("up", "--nodes", NODES, "--share", str(cluster.share))
        (cluster.share / f"night-{job}.out").unlink()  # else the second seems to have ended, too
        row.injected += 1
        other_job, status = _night(site, file, requeued=True)
        assert other_job == job, "the fault: another night under the same number"
        trees = sorted(path.parent for path in runs.glob("*/*/*/state.json"))
        whole_trees = [tree for tree in trees if sum(whole_launches(tree).values()) == 2]
        row.false_green += status == 0 and len(whole_trees) < 2
        row.begun += 2
        row.resumed += len(whole_trees)
        assert len(whole_trees) == 2, site.output(other_job)
