"""While Slurm does not answer a run waits, and no case is blamed; it says what it waits for."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from measure.conftest import LOST, POLL, failing, failing_with, run_wrapper, write_program

from roundtrip.measure import scheduler, scheduler_log
from roundtrip.measure.outcome import Outcome
from roundtrip.measure.scheduler import Queue, describe_wait

COMMANDS = Path(scheduler.__file__).parent / "slurm"
Stages = Callable[..., Any]


@pytest.fixture
def stage_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "rounds" / "001" / "stage"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    "error",
    [
        LOST,
        "slurm_load_jobs error: Unexpected missing socket error",
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller",
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
        "sbatch: error: Batch job submission failed: Protocol authentication error",
        "Invalid authentication credential",
        "sacct: error: Sending PersistInit msg: Connection refused",
        "sacct: error: Problem talking to the database: Connection refused",
        "squeue: error: If munged is up, restart with --num-threads=10",
    ],
)
def test_what_says_that_nobody_answered(error: str) -> None:
    assert scheduler.is_no_answer(f"the job failed:\n{error}\n")


@pytest.mark.parametrize(
    "error",
    [
        "",
        "sbatch: error: invalid partition specified: nope",
        "slurm_load_jobs error: Invalid job id specified",
        "no end marker: it died or was killed",
        "Segmentation fault",
        "sbatch: error: Batch job submission failed: Requested node configuration is not available",
    ],
)
def test_what_does_not(error: str) -> None:
    assert not scheduler.is_no_answer(error)


def test_a_command_waits_for_its_answer_and_says_so(fake: Any, tmp_path: Path) -> None:
    calls = fake("squeue", failures=2, answer="7 job")
    process = run_wrapper("squeue", "--me", run_dir=tmp_path)
    assert (process.returncode, process.stdout, process.stderr) == (0, "7 job\n", "")
    assert calls.read_text().splitlines() == ["--me"] * 3
    (silence,) = scheduler_log.read(tmp_path)
    assert silence.command == "squeue"
    assert silence.end is not None
    assert 2 <= silence.end - silence.start < 60


def test_other_failures_are_not_waited_for(fake: Any, tmp_path: Path) -> None:
    calls = fake("squeue", failures=9, error="slurm_load_jobs error: Invalid job id specified")
    process = run_wrapper("squeue", run_dir=tmp_path)
    assert process.returncode == 1
    assert "Invalid job id" in process.stderr
    assert len(calls.read_text().splitlines()) == 1
    assert scheduler_log.read(tmp_path) == []


def test_an_error_of_another_kind_is_waited_for_if_the_controller_is_away(
    fake: Any, tmp_path: Path
) -> None:
    fake("squeue", failures=1, error="slurm_load_jobs error: out of luck", answer="7 job")
    fake("scontrol", failures=1)
    assert run_wrapper("squeue", run_dir=tmp_path).stdout == "7 job\n"
    assert len(scheduler_log.read(tmp_path)) == 1


def test_the_deadline_ends_the_waiting(fake: Any, tmp_path: Path) -> None:
    fake("sacct", failures=99)
    process = run_wrapper("sacct", run_dir=tmp_path, wait_s=2)
    assert process.returncode == 1
    assert LOST in process.stderr
    assert scheduler.SlurmWait(time.time(), tmp_path).status() == ""


@pytest.mark.parametrize("failures", [9, 0])
def test_a_submission_that_arrived_is_not_repeated(
    fake: Any, tmp_path: Path, stage_folder: Path, failures: int
) -> None:
    """Whether sbatch says that it failed, or nothing at all: the queue has the job."""
    calls = fake("sbatch", failures, error="sbatch: error: Socket timed out on send/recv")
    fake("squeue", failures=0, answer=f"12 {stage_folder}")
    process = run_wrapper("sbatch", "job.sh", run_dir=tmp_path, cwd=stage_folder)
    assert (process.returncode, process.stdout) == (0, "Submitted batch job 12\n")
    assert len(calls.read_text().splitlines()) == 1


def test_a_job_of_another_folder_is_not_taken_for_the_submitted_one(
    fake: Any, tmp_path: Path, stage_folder: Path
) -> None:
    fake("sbatch", failures=1, answer="Submitted batch job 13")
    fake("squeue", failures=0, answer=f"12 {stage_folder}/other")
    process = run_wrapper("sbatch", run_dir=tmp_path, cwd=stage_folder)
    assert process.stdout == "Submitted batch job 13\n"


def test_silences_that_overlap_are_one(tmp_path: Path) -> None:
    lines = ["100 lost a sacct x", "105 lost b squeue y", "120 back b", "125 back a"]
    lines += ["200 lost c sbatch", "216 left c", "300 lost d sbatch", "what is this"]
    (tmp_path / scheduler_log.FILE_NAME).write_text("\n".join(lines))
    pairs = scheduler_log.outages(scheduler_log.read(tmp_path))
    assert pairs == [(100, 125), (200, 216), (300, 300)]
    assert scheduler_log.describe(pairs) == "Slurm did not answer 3 times, 41 s in total"
    patience = scheduler.SlurmWait(400, tmp_path)
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
        with (folder.parents[6] / scheduler_log.FILE_NAME).open("a") as log:
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


SCONTROL = """#!/bin/sh
case $1 in
  ping) exit 0 ;;
  *) [ "$4" = 7 ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
     echo "JobId=7 JobName=one JobState=FAILED Reason=None ExitCode=3:0 DerivedExitCode=0:0 \
EndTime=1800000000 ReqNodeList=(null) NodeList=n[1-2] BatchHost=n1" ;;
esac
"""


def test_scontrol_answers_for_an_accounting_that_stays_away(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake("sacct", failures=99, error="sacct: error: Problem talking to the database")
    fake("scontrol", failures=0).parent.joinpath("bin", "scontrol").write_text(SCONTROL)
    monkeypatch.setenv("ROUNDTRIP_SACCT_PATIENCE", "1")
    for number in (1, 2):
        process = run_wrapper("sacct", *POLL, run_dir=tmp_path)
        assert process.returncode == 0, process.stderr
        assert process.stdout.splitlines() == [
            "7|FAILED|3:0|1800000000|n[1-2]",
            "8|COMPLETED|0:0|Unknown|",
        ]
        assert len(calls.read_text().splitlines()) == 1 + number  # the second does not wait
    (silence,) = scheduler_log.read(tmp_path)
    assert silence.has_fallback
    assert scheduler_log.describe_run(tmp_path).endswith("so that scontrol said how jobs ended")


def test_without_a_controller_nobody_answers_for_accounting(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("sacct", failures=99, error="sacct: error: Problem talking to the database")
    fake("scontrol", failures=99)
    monkeypatch.setenv("ROUNDTRIP_SACCT_PATIENCE", "0")
    assert run_wrapper("sacct", *POLL, run_dir=tmp_path, wait_s=1).returncode == 1


def test_a_silence_begins_when_the_command_did(fake: Any, tmp_path: Path) -> None:
    """Slurm's commands try again by themselves for half a minute before they say so."""
    fake("squeue", failures=1, answer="7 job")
    file = tmp_path / "bin" / "squeue"
    file.write_text(file.read_text().replace('echo "slurm_load', 'sleep 3; echo "slurm_load'))
    run_wrapper("squeue", run_dir=tmp_path)
    (silence,) = scheduler_log.read(tmp_path)
    assert silence.end is not None and silence.end - silence.start >= 4


@pytest.mark.parametrize(("status", "message"), [(0, "there is none of"), (1, "said nothing")])
def test_a_submission_without_a_word_and_without_a_job_fails_with_words(
    fake: Any, tmp_path: Path, status: int, message: str
) -> None:
    fake("sbatch", failures=0, then=status)
    fake("squeue", failures=0)
    fake("scontrol", failures=0)
    process = run_wrapper("sbatch", "job.sh", run_dir=tmp_path, cwd=tmp_path)
    assert process.returncode == 1
    assert message in process.stderr


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("sbatch: error: QOSMaxSubmitJobPerUserLimit", True),
        ("sbatch: error: AssocMaxSubmitJobLimit", True),
        (
            "Batch job submission failed: Job violates accounting/QOS policy (job submit limit, "
            "user's size and/or time limits)",
            True,
        ),
        ("sbatch: error: Invalid account or account/partition combination specified", False),
        ("sbatch: error: AssocMaxWallDurationPerJobLimit", False),
    ],
)
def test_what_says_that_no_more_jobs_are_taken(words: str, limit: bool) -> None:
    assert scheduler.is_submit_limit(words) is limit


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


@pytest.mark.parametrize(
    ("start", "expected"),
    [("N/A", ""), ("1795299000", ""), ("1795303600", "; Slurm expects it to start at 2026-11-2")],
)
def test_a_job_that_waits_says_why_how_long_and_until_when(start: str, expected: str) -> None:
    message = describe_wait(LISTING.format(start=start), MINE, NOW)
    assert message.startswith(f"job 9 has waited for 4 min: Resources{expected}")
    assert message.endswith("Resources") is not bool(expected)


def test_a_job_that_the_scheduler_has_not_looked_at_has_no_reason() -> None:
    listing = f"9|PENDING|None|N/A|1795299760|{MINE}\n"
    assert describe_wait(listing, MINE, NOW) == "job 9 has waited for 4 min"


@pytest.mark.parametrize("listing", ["", "squeue: error: x\n", f"8|RUNNING|None|1|1|{MINE}\n"])
def test_nothing_is_said_of_a_job_that_runs(listing: str) -> None:
    assert describe_wait(listing, MINE, NOW) == ""


def test_slurm_is_not_asked_whenever_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"echo x >> {tmp_path}/calls\necho '9|PENDING|Licenses|N/A|N/A|{MINE}'"
    write_program(tmp_path / "squeue", script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    queue = Queue(MINE, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert {queue.status() for _ in range(9)} == {"job 9 has waited: Licenses"}
    assert (tmp_path / "calls").read_text() == "x\n"
