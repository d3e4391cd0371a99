"""What Slurm takes away for somebody else costs a repeat: no case is blamed; all is reported."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from measure.conftest import failing_with, write_program
from support.launches import leave
from support.software import SLURM

from roundtrip.measure import scheduler
from roundtrip.measure.launches import scan
from roundtrip.measure.outcome import Outcome
from roundtrip.sites.schedulers.interface import Maintenance
from roundtrip.sites.schedulers.slurm import parse_maintenances

Stages = Callable[..., Any]

#: As a job of two nodes left it that a partition of a higher tier preempted (Slurm 22.05).
PREEMPTED = """\
slurmstepd-a1: error: *** JOB 2 ON a1 CANCELLED AT 2026-11-22T10:07:01 DUE TO PREEMPTION ***
slurmstepd-a1: error: *** STEP 2.0 ON a1 CANCELLED AT 2026-11-22T10:07:01 DUE TO PREEMPTION ***
srun: got SIGCONT
srun: error: a2: task 1: Terminated
srun: forcing job termination
"""
CANCELLED = PREEMPTED.replace(" DUE TO PREEMPTION", "")
#: As ``scontrol show reservation --oneliner`` has them.
RESERVATIONS = """\
ReservationName=upgrade StartTime=1795341700 EndTime=1795345300 Duration=01:00:00 Nodes=a[1-2] \
NodeCnt=2 CoreCnt=8 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES TRES=cpu=8 \
Users=root State=ACTIVE
ReservationName=course StartTime=1795341700 EndTime=1795345300 Duration=01:00:00 Nodes=b1 \
NodeCnt=1 CoreCnt=4 Features=(null) PartitionName=grid Flags=SPEC_NODES TRES=cpu=4 \
Users=root State=ACTIVE
"""


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "_FIRST_S", 0.01)


def blocked(case: Any, folder: Path, reason: str) -> None:
    """As ReFrame reports a job that it cancelled because of Slurm's reason."""
    entry = {
        "name": case.check,
        "display_name": f"{case.check} %mode={dict(case.parameters)['mode']}",
        "system": case.system,
        "partition": case.partition,
        "environ": case.environ,
        "stagedir": f"/x/{case.check}_{case.hash}",
        "hashcode": case.hash,
        "result": "fail",
        "fail_phase": "run",
        "fail_reason": f"job cancelled because it was blocked due to reason: {reason}",
    }
    file = folder / "report.json"
    report = json.loads(file.read_text()) if file.exists() else {"runs": [{"testcases": []}]}
    report["runs"][0]["testcases"].append(entry)
    file.write_text(json.dumps(report))


@pytest.mark.parametrize(("error", "passed"), [(PREEMPTED, 3), (CANCELLED, 0)])
def test_a_preempted_launch_is_repeated_and_no_case_is_given_up(
    stage: Stages, error: str, passed: int
) -> None:
    """Three times in a row: a launch that failed so often is given up."""
    campaign = stage(failing_with(error, times=3))
    campaign.run()
    assert set(campaign.passed().values()) == ({passed} if passed else set())
    outcome = Outcome.from_tree(campaign.tree)
    assert outcome.is_complete is bool(passed)
    line = "Slurm displaced 6 launches (6 preempted): repeated, and counted against no case"
    assert (line in outcome.lines()) is bool(passed)
    assert bool(outcome.failures) is not bool(passed)


def test_a_launch_that_passed_is_no_displaced_one(stage: Stages) -> None:
    """Whatever its job wrote: preempted after the last line, it has its samples."""

    def play(case: Any, folder: Path, _: int) -> None:
        leave(case, folder)
        (output,) = folder.glob(f"output/*/*/*/*{case.hash}")
        (output / "rfm_job.err").write_text(PREEMPTED)

    campaign = stage(play, launches=1)
    campaign.run()
    assert {launch.status for launch in scan(campaign.tree.path)} == {"passed"}


def scontrol(folder: Path, answers: list[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scontrol that gives one answer after the other, the last one for ever; its calls."""
    (folder / "bin").mkdir()
    for number, answer in enumerate(answers, 1):
        (folder / f"answer-{number}").write_text(answer)
    calls = folder / "calls"
    script = f"""\
echo "$*" >> {calls}
n=$(wc -l < {calls})
cat {folder}/answer-$((n < {len(answers)} ? n : {len(answers)}))"""
    write_program(folder / "bin" / "scontrol", script)
    write_program(folder / "bin" / "squeue", "")  # an empty queue
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    return calls


def kept(seconds: float) -> str:
    """A maintenance that ends in so many seconds."""
    end = int(time.time() + seconds)
    return RESERVATIONS.replace("1795341700", str(end - 3600)).replace("1795345300", str(end))


@pytest.mark.parametrize(
    ("reason", "passed"),
    [("ReqNodeNotAvail, Reserved for maintenance", 2), ("ReqNodeNotAvail, UnavailableNodes:a1", 0)],
)
def test_a_maintenance_is_waited_for_and_costs_no_launch(
    stage: Stages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str, passed: int
) -> None:
    calls = scontrol(tmp_path, [kept(600), kept(600), ""], monkeypatch)

    def play(case: Any, folder: Path, attempts: int) -> None:
        if attempts < 2:
            blocked(case, folder, reason)
        else:
            leave(case, folder)

    campaign = stage(play, launches=2)
    campaign.scheduler = "slurm"
    campaign.run()
    assert set(campaign.passed().values()) == ({passed} if passed else set())
    line = "Slurm displaced 4 launches (4 for a maintenance): repeated, and counted against no case"
    assert (line in Outcome.from_tree(campaign.tree).lines()) is bool(passed)
    assert calls.exists() is bool(passed)


def test_a_maintenance_beyond_the_time_limit_ends_the_run_and_says_until_when(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scontrol(tmp_path, [kept(7200)], monkeypatch)
    messages: list[str] = []
    deadline = time.monotonic() + 60
    pauses = scheduler.Pauses(SLURM, deadline, messages.append, dict(os.environ))
    assert not pauses.take("Slurm kept its nodes for maintenance")
    (line,) = messages
    assert line.startswith("Slurm keeps a[1-2] for maintenance until 20")
    assert line.endswith("(reservation upgrade), beyond this run's time limit")


def test_only_maintenances_are_waited_for_and_times_may_be_in_words() -> None:
    (maintenance,) = parse_maintenances(RESERVATIONS)
    assert maintenance == Maintenance("upgrade", "a[1-2]", 1795341700, 1795345300)
    text = RESERVATIONS.replace("1795345300", "2026-11-22T14:00:00")
    (maintenance,) = parse_maintenances(text)
    assert maintenance.end == datetime(2026, 11, 22, 14).timestamp()
    assert parse_maintenances("No reservations in the system\n") == []
