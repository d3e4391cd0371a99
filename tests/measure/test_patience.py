"""While Slurm does not answer a run waits, and no case is blamed; it says what it waits for."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from measure.conftest import failing, failing_with, write_program
from support.software import LOST, SLURM

from roundtrip.measure import scheduler
from roundtrip.measure.outcome import Outcome
from roundtrip.measure.scheduler import Queue, describe_wait
from roundtrip.sites.schedulers import slurm

Stages = Callable[..., Any]


def test_silences_that_overlap_are_one(tmp_path: Path) -> None:
    lines = ["100 lost a sacct x", "105 lost b squeue y", "120 back b", "125 back a"]
    lines += ["200 lost c sbatch", "216 left c", "300 lost d sbatch", "what is this"]
    (tmp_path / scheduler.LOG_FILE).write_text("\n".join(lines))
    pairs = scheduler.outages(scheduler.read_silences(tmp_path))
    assert pairs == [(100, 125), (200, 216), (300, 300)]
    assert scheduler.describe_outages(pairs, SLURM) == "Slurm did not answer 3 times, 41 s in total"
    patience = scheduler.Wait(SLURM, 400, tmp_path)
    assert patience.outage_s(210) == 6
    assert patience.outage_s(301) is None


def test_a_case_is_not_given_up_because_slurm_was_silent(slurm_stage: Stages) -> None:
    """Four rounds without an answer, twice as many as give a case up, then all is measured."""
    campaign = slurm_stage(failing_with(f"srun: error: {LOST}\n", times=4))
    assert campaign.run()
    assert Outcome.from_tree(campaign.tree).is_complete
    assert set(campaign.attempts.values()) == {7}


def test_a_session_during_a_silence_blames_no_case_and_the_run_says_so(
    slurm_stage: Stages,
) -> None:
    def silence(folder: Path) -> None:
        now, identity = int(time.time()), f"{folder.name}-{folder.parents[4].name}"
        with (folder.parents[6] / scheduler.LOG_FILE).open("a") as log:
            log.write(f"{now} lost {identity} sacct x\n{now} back {identity}\n")

    campaign = slurm_stage(failing(3, silence))
    campaign.run()
    outcome = Outcome.from_tree(campaign.tree)
    assert outcome.is_complete
    assert any(line.startswith("Slurm did not answer ") for line in outcome.lines())


def test_a_slurm_that_never_answers_ends_the_run_at_its_deadline(stage: Stages, fake: Any) -> None:
    fake("squeue", failures=999)
    campaign = stage(lambda *_: None)
    campaign.scheduler = "slurm"
    campaign.minutes = 2 / 60
    assert not campaign.run()
    assert campaign.attempts == {}
    assert (campaign.tree.path / "env" / "scheduler.json").exists()


def test_a_run_waits_while_it_may_not_submit_and_blames_no_case(slurm_stage: Stages) -> None:
    campaign = slurm_stage(failing_with("sbatch: error: AssocMaxSubmitJobLimit\n", times=4))
    assert campaign.run()
    assert Outcome.from_tree(campaign.tree).is_complete
    reason = "Slurm takes no more jobs of this user or account now"
    assert reason in campaign.output.getvalue()


MINE = "roundtrip:night/virtual/20261122T010000Z"
NOW = 1_795_300_000.0
#: ``squeue --format=%i|%T|%r|%S|%V|%k`` with SLURM_TIME_FORMAT=%s (Slurm 22.05).
LISTING = f"""\
7|PENDING|Priority|N/A|1795299000|somebody else's
8|RUNNING|None|1795299990|1795299900|{MINE}
9|PENDING|Resources|{{start}}|1795299760|{MINE}
"""


def wait(listing: str) -> str:
    """What is said of my job in a listing of squeue."""
    job = slurm.parse_pending(listing, MINE)
    return describe_wait(job, "Slurm", NOW) if job else ""


@pytest.mark.parametrize(
    ("start", "expected"),
    [("N/A", ""), ("1795299000", ""), ("1795303600", "; Slurm expects it to start at 2026-11-2")],
)
def test_a_job_that_waits_says_why_how_long_and_until_when(start: str, expected: str) -> None:
    message = wait(LISTING.format(start=start))
    assert message.startswith(f"job 9 has waited for 4 min: Resources{expected}")
    assert message.endswith("Resources") is not bool(expected)


def test_a_job_that_the_scheduler_has_not_looked_at_has_no_reason() -> None:
    listing = f"9|PENDING|None|N/A|1795299760|{MINE}\n"
    assert wait(listing) == "job 9 has waited for 4 min"


@pytest.mark.parametrize("listing", ["", "squeue: error: x\n", f"8|RUNNING|None|1|1|{MINE}\n"])
def test_nothing_is_said_of_a_job_that_runs(listing: str) -> None:
    assert wait(listing) == ""


def test_slurm_is_not_asked_whenever_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"echo x >> {tmp_path}/calls\necho '9|PENDING|Licenses|N/A|N/A|{MINE}'"
    write_program(tmp_path / "squeue", script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    queue = Queue(SLURM, MINE, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert {queue.status() for _ in range(9)} == {"job 9 has waited: Licenses"}
    assert (tmp_path / "calls").read_text() == "x\n"


def test_a_launch_whose_job_slurm_lost_is_repeated_and_no_case_is_given_up(
    slurm_stage: Stages,
) -> None:
    def lose(folder: Path) -> None:
        run_dir = folder.parents[6]
        with (run_dir / scheduler.LOG_FILE).open("a") as log:
            log.write(f"{int(time.time())} unknown 7 {folder.relative_to(run_dir)}\n")

    campaign = slurm_stage(failing(3, lose))
    assert campaign.run()
    outcome = Outcome.from_tree(campaign.tree)
    assert outcome.is_complete and not outcome.failures
    reason = "6 lost by a controller that restarted without its state"
    assert f"Slurm displaced 6 launches ({reason})" in "\n".join(outcome.lines())
    assert "Slurm's controller lost its state" in campaign.output.getvalue()
