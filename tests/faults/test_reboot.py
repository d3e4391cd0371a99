"""The cluster rebooted between two nights: without accounting, job numbers begin at 1 again."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from faults.oracle import whole_launches
from faults.tally import TALLY
from faults.test_night import requeue
from support.virtual import Virtual, await_true, booted, campaign, lacking

pytestmark = pytest.mark.usefixtures("toolchain")
NODES = "2+2"


def _night(site: Virtual, file: Path, requeued: bool) -> tuple[str, int]:
    """A night to its end: its job number and exit status; `requeued` before it begins its run."""
    job = site.submit(file, ROUNDTRIP_NIGHTLY_BEGIN="never")
    if requeued:
        assert await_true(lambda: (job, "roundtrip-nightly", "RUNNING") in site.jobs(), 60)
        requeue(site, job)
    return job, site.await_end(job)


def test_a_job_number_used_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    if lacking():
        pytest.skip(lacking())
    with booted(tmp_path_factory.mktemp("reboot"), f"reboot-{os.getpid()}", NODES) as cluster:
        runs = cluster.share / "own-runs"
        site = replace(cluster, variables={"ROUNDTRIP_RUNS": str(runs)})
        file = cluster.share / "tiny.toml"
        file.write_text(campaign(2, cases=1))
        row = TALLY["job number reused after a reboot"]
        job, status = _night(site, file, requeued=False)
        assert status == 0, site.output(job)
        cluster.ok("down")
        cluster.ok("up", "--nodes", NODES, "--share", str(cluster.share))
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
