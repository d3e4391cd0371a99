"""What sites ask of nights, by a real Slurm: options, preemption, maintenance, scancel, one job."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from support.virtual import (
    CHECKOUT,
    VirtualCluster,
    await_true,
    booted_cluster,
    campaign_text,
    checkout_with_site,
    scaled_timeout,
)

pytestmark = [pytest.mark.nightly, pytest.mark.live]
PREEMPTS = Path(__file__).parents[1] / "data" / "slurm-preempts"
STEPS = """
[partition.steps]
unless = "hub"
description = "Inside cluster A, as steps of the job of the night"
scheduler = "local"
launcher = "srunalloc"
access = []
extras = { nodes = 2 }
features = ["one-per-node", "shared-memory"]
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualCluster]:
    with booted_cluster(tmp_path_factory, "asked", "2+2", ["--slurm", str(PREEMPTS)]) as cluster:
        yield cluster


def record(cluster: VirtualCluster, job: str) -> str:
    return cluster.run_checked("exec", "scontrol", "show", "job", job)


def tiny(
    cluster: VirtualCluster, name: str, launches: int, budget: float = 2, minutes: float = 120
) -> Path:
    file = cluster.share / f"{name}.toml"
    file.write_text(campaign_text(launches, cases=1, budget=budget, minutes=minutes))
    return file


def came(cluster: VirtualCluster, name: str) -> int:
    """Launches of a campaign that completed; a session that only builds leaves no record."""
    output = "*/*/rounds/*/output/*/*/*/NetPIPE*"
    return len(list((cluster.share / "runs" / name).glob(f"{output}/run.json")))


@dataclass(frozen=True)
class Run:
    """``roundtrip run`` of a campaign on the head."""

    process: subprocess.Popen[bytes]
    output: Path

    @staticmethod
    def of(cluster: VirtualCluster, file: Path) -> Run:
        command = cluster.head_node_command(
            f"roundtrip run {file} --site virtual --wait --allow-underpowered"
        )
        output = file.with_suffix(".out")
        with output.open("wb") as stream:
            process = subprocess.Popen(
                command,
                cwd=CHECKOUT,
                env=cluster.environment,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        return Run(process, output)

    def says(self) -> str:
        return self.output.read_text(errors="replace")

    def ended(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> str:
        """What it said, when it has ended, and well."""
        assert self.process.wait(scaled_timeout(300)) == 0, self.says()
        return self.says()


def test_the_next_night_is_requested_like_the_first(cluster: VirtualCluster) -> None:
    file = cluster.share / "options.toml"
    file.write_text("")  # the night ends at once, and still has a successor
    first_job = cluster.submit(
        file,
        *("--account=hpc", "--time=33", "--nice=7", "--mail-user=ops", "--mail-type=FAIL"),
        *("--exclude=a1", "--mem=100", "--comment=for the operators"),
    )
    assert cluster.await_end(first_job) == 2
    (next_job,) = [job for job, _, state in cluster.jobs() if state == "PENDING"]
    job_text = record(cluster, next_job)
    for expected in (
        *("Account=hpc", "TimeLimit=00:33:00", "Nice=7", "MailUser=ops", "MailType=FAIL"),
        *("ExcNodeList=a1", "MinMemoryNode=100M", f"StdOut={cluster.share}/night-{next_job}.out"),
        f"Comment=for the operators roundtrip-nightly {file} virtual",
    ):
        assert expected in job_text, job_text
    second_job = cluster.submit(file)
    assert cluster.await_end(second_job) == 2, "it did not wait for the night that is pending"
    cluster.run_checked("exec", "scancel", next_job)
    assert cluster.jobs() == []


def test_cancelled_it_is_reported_and_submitted_again_completed_and_measured_once(
    cluster: VirtualCluster,
) -> None:
    file = tiny(cluster, "cancelled", 3)
    # a night has the date of the day on which it begins: none begins while this test runs
    variables = {"ROUNDTRIP_NIGHTLY_BEGIN": f"{datetime.now() - timedelta(hours=2):%H:%M}"}
    job = cluster.submit(file, **variables)
    # of a session that is stopped before its report is written, no launch counts
    sessions = cluster.share / "runs" / "cancelled"
    assert await_true(lambda: list(sessions.glob("*/*/rounds/*/report.json")), 600), cluster.output(
        job
    )
    cluster.run_checked("exec", "scancel", job)
    reports = cluster.share / "reports" / "cancelled"
    assert await_true(lambda: list(reports.glob("*/*/r1/report.html")), 90), cluster.output(job)
    assert await_true(lambda: len(cluster.jobs()) == 1, 60), "only the next night is left"
    second_job = cluster.submit(file, **variables)
    assert cluster.await_end(second_job) == 0, cluster.output(second_job)
    (tree,) = (cluster.share / "runs" / "cancelled" / "virtual").iterdir()
    assert json.loads((tree / "state.json").read_text())["finished"]
    third_job = cluster.submit(file, **variables)
    assert cluster.await_end(third_job) == 0
    assert re.search(r"night \d{4}-\d\d-\d\d has been measured: /", cluster.output(third_job))
    assert came(cluster, "cancelled") == 3
    cluster.run_checked("exec", "scancel", "--name=roundtrip-nightly")


def in_steps(site: str) -> str:
    """Site `virtual` with a partition of steps, and Open MPI's launcher as most sites have it."""
    table = "[launch.openmpi]\n"
    return site.replace(table, f'{table}launcher = "srun"\n') + STEPS


def test_all_launches_of_a_night_are_steps_of_one_job(cluster: VirtualCluster) -> None:
    checkout = checkout_with_site(cluster.share / "checkout", in_steps)
    file = cluster.share / "steps.toml"
    placements = '["one-per-node", "shared-memory"]'
    text = campaign_text(1, cases=1).replace('"clusterA"', '"steps"')
    file.write_text(text.replace('["one-per-node"]', placements))
    flags = ("--partition=clusterA", "--nodes=2", "--ntasks=2", "--exclusive")
    job = replace(cluster, checkout=checkout).submit(file, *flags, ROUNDTRIP_NIGHTLY_BEGIN="never")
    assert cluster.await_end(job) == 0, cluster.output(job)
    assert "2 cases: 2 of 2 launches completed" in cluster.output(job)
    (page,) = (cluster.share / "reports" / "steps").glob("*/*/r1/report.html")
    cases = pl.read_parquet(page.parent / "bundle" / "cases.parquet")
    assert sorted(map(len, map(set, cases["hosts"]))) == [1, 2]
    next_job = cluster.run_checked(
        "exec", "sbatch", "--parsable", "--output=/dev/null", "--wrap=true"
    )
    assert int(next_job) == int(job) + 1, "Slurm saw another job"


def test_a_preempted_launch_is_repeated(cluster: VirtualCluster) -> None:
    run = Run.of(cluster, tiny(cluster, "preempted", 4, budget=4))

    def preempts() -> bool:
        """Whether a launch made way for an urgent job; stopped ranks do not end before that."""
        jobs = cluster.run_checked(
            "exec", "squeue", "-h", "-p", "clusterA", "-t", "R", "-o", "%i"
        ).split()
        if not jobs or cluster.run("exec", "scancel", "--signal=STOP", f"{jobs[0]}.0").stderr:
            return False
        arguments = ("--wait", "-purgent", "-N2", "--output=/dev/null", "--wrap=true")
        cluster.run_checked("exec", "sbatch", *arguments)
        return "JobState=PREEMPTED" in record(cluster, jobs[0])

    assert await_true(lambda: preempts() or run.ended(), 240)
    output = run.end()
    assert "1 case: 4 of 4 launches completed" in output
    assert "Slurm displaced 1 launch (1 preempted): repeated, and counted against no case" in output
    (page,) = (cluster.share / "reports" / "preempted").glob("*/*/r1/report.html")
    assert "Slurm displaced 1 launch (1 preempted)" in page.read_text()


def test_a_maintenance_is_waited_for(cluster: VirtualCluster) -> None:
    cluster.run_checked(
        *("exec", "scontrol", "create", "reservation", "ReservationName=upgrade"),
        *("StartTime=now", "Duration=60", "Nodes=a[1-2]", "Flags=MAINT", "Users=root"),
    )
    run = Run.of(cluster, tiny(cluster, "kept", 1, budget=0.5))
    line = r"Slurm keeps a\[1-2\] for maintenance until .* \(reservation upgrade\)"
    assert await_true(lambda: re.search(line, run.says()) or run.ended(), 240)
    assert not run.ended(), run.says()
    cluster.run_checked("exec", "scontrol", "delete", "ReservationName=upgrade")
    output = run.end()
    assert "1 case: 1 of 1 launches completed" in output
    assert "Slurm displaced 1 launch (1 for a maintenance)" in output
