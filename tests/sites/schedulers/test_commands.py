"""Our wrappers of Slurm's commands wait while Slurm does not answer, and say so in a log."""

import time
from pathlib import Path
from typing import Any

import pytest
from support.software import CONTROLLER_LOST_MESSAGE, SACCT_OPTIONS, SLURM, run_wrapper

from roundtrip.measure import scheduler


@pytest.fixture
def stage_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "rounds" / "001" / "stage"
    folder.mkdir(parents=True)
    return folder


SUBMISSION = "sbatch: error: Batch job submission failed:"


@pytest.mark.parametrize(
    ("is_no_answer", "error"),
    [
        (True, CONTROLLER_LOST_MESSAGE),
        (True, "slurm_load_jobs error: Unexpected missing socket error"),
        (True, f"{SUBMISSION} Unable to contact slurm controller"),
        (True, f"{SUBMISSION} Socket timed out on send/recv operation"),
        (True, f"{SUBMISSION} Protocol authentication error"),
        (True, "Invalid authentication credential"),
        (True, "sacct: error: Sending PersistInit msg: Connection refused"),
        (True, "sacct: error: Problem talking to the database: Connection refused"),
        (True, "squeue: error: If munged is up, restart with --num-threads=10"),
        (False, ""),
        (False, "sbatch: error: invalid partition specified: nope"),
        (False, "slurm_load_jobs error: Invalid job id specified"),
        (False, "no end marker: it died or was killed"),
        (False, "Segmentation fault"),
        (False, f"{SUBMISSION} Requested node configuration is not available"),
    ],
)
def test_what_says_that_nobody_answered(is_no_answer: bool, error: str) -> None:
    assert SLURM.is_no_answer_message(f"the job failed:\n{error}\n") is is_no_answer


def test_a_command_waits_for_its_answer_and_says_so(failing_command: Any, tmp_path: Path) -> None:
    calls = failing_command("squeue", failures=2, answer="7 job")
    process = run_wrapper("squeue", "--me", run_dir=tmp_path)
    assert (process.returncode, process.stdout, process.stderr) == (0, "7 job\n", "")
    assert calls.read_text().splitlines() == ["--me"] * 3
    (silence,) = scheduler.read_outages(tmp_path)
    assert silence.command == "squeue"
    assert silence.end is not None
    assert 2 <= silence.end - silence.start < 60


def test_other_failures_are_not_waited_for(failing_command: Any, tmp_path: Path) -> None:
    calls = failing_command(
        "squeue", failures=9, error="slurm_load_jobs error: Invalid job id specified"
    )
    process = run_wrapper("squeue", run_dir=tmp_path)
    assert process.returncode == 1
    assert "Invalid job id" in process.stderr
    assert len(calls.read_text().splitlines()) == 1
    assert scheduler.read_outages(tmp_path) == []


def test_an_error_of_another_kind_is_waited_for_if_the_controller_is_away(
    failing_command: Any, tmp_path: Path
) -> None:
    failing_command(
        "squeue", failures=1, error="slurm_load_jobs error: out of luck", answer="7 job"
    )
    failing_command("scontrol", failures=1)
    assert run_wrapper("squeue", run_dir=tmp_path).stdout == "7 job\n"
    assert len(scheduler.read_outages(tmp_path)) == 1


def test_the_deadline_ends_the_waiting(failing_command: Any, tmp_path: Path) -> None:
    failing_command("sacct", failures=99)
    process = run_wrapper("sacct", run_dir=tmp_path, wait_s=2)
    assert process.returncode == 1
    assert CONTROLLER_LOST_MESSAGE in process.stderr
    assert scheduler.SchedulerWait(SLURM, time.time(), tmp_path).describe_outage() == ""


@pytest.mark.parametrize("failures", [9, 0])
def test_a_submission_that_arrived_is_not_repeated(
    failing_command: Any, tmp_path: Path, stage_folder: Path, failures: int
) -> None:
    """Whether sbatch says that it failed, or nothing at all: the queue has the job."""
    calls = failing_command(
        "sbatch", failures, error="sbatch: error: Socket timed out on send/recv"
    )
    failing_command("squeue", failures=0, answer=f"12 {stage_folder}")
    process = run_wrapper("sbatch", "job.sh", run_dir=tmp_path, cwd=stage_folder)
    assert (process.returncode, process.stdout) == (0, "Submitted batch job 12\n")
    assert len(calls.read_text().splitlines()) == 1


def test_a_job_of_another_folder_is_not_taken_for_the_submitted_one(
    failing_command: Any, tmp_path: Path, stage_folder: Path
) -> None:
    failing_command("sbatch", failures=1, answer="Submitted batch job 13")
    failing_command("squeue", failures=0, answer=f"12 {stage_folder}/other")
    process = run_wrapper("sbatch", run_dir=tmp_path, cwd=stage_folder)
    assert process.stdout == "Submitted batch job 13\n"


SCONTROL = """#!/bin/sh
case $1 in
  ping) exit 0 ;;
  *) [ "$4" = 7 ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
     echo "JobId=7 JobName=one JobState=FAILED Reason=None ExitCode=3:0 DerivedExitCode=0:0 \
EndTime=1800000000 ReqNodeList=(null) NodeList=n[1-2] BatchHost=n1" ;;
esac
"""


def test_scontrol_answers_for_an_accounting_that_stays_away(
    failing_command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = failing_command(
        "sacct", failures=99, error="sacct: error: Problem talking to the database"
    )
    failing_command("scontrol", failures=0).parent.joinpath("bin", "scontrol").write_text(SCONTROL)
    monkeypatch.setenv("ROUNDTRIP_SACCT_PATIENCE", "1")
    for number in (1, 2):
        process = run_wrapper("sacct", *SACCT_OPTIONS, run_dir=tmp_path)
        assert process.returncode == 0, process.stderr
        lines = process.stdout.splitlines()
        assert lines == ["7|FAILED|3:0|1800000000|n[1-2]", "8|COMPLETED|0:0|Unknown|"]
        assert len(calls.read_text().splitlines()) == 1 + number  # the second does not wait
    (silence,) = scheduler.read_outages(tmp_path)
    assert silence.ended_by_fallback
    assert scheduler.describe_outage_record(scheduler.outage_record(tmp_path)).endswith(
        "so that scontrol said how jobs ended"
    )


def test_without_a_controller_nobody_answers_for_accounting(
    failing_command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_command("sacct", failures=99, error="sacct: error: Problem talking to the database")
    failing_command("scontrol", failures=99)
    monkeypatch.setenv("ROUNDTRIP_SACCT_PATIENCE", "0")
    assert run_wrapper("sacct", *SACCT_OPTIONS, run_dir=tmp_path, wait_s=1).returncode == 1


def test_a_silence_begins_when_the_command_did(failing_command: Any, tmp_path: Path) -> None:
    """Slurm's commands try again by themselves for half a minute before they say so."""
    failing_command("squeue", failures=1, answer="7 job")
    file = tmp_path / "bin" / "squeue"
    file.write_text(file.read_text().replace('echo "slurm_load', 'sleep 3; echo "slurm_load'))
    run_wrapper("squeue", run_dir=tmp_path)
    (silence,) = scheduler.read_outages(tmp_path)
    assert silence.end is not None and silence.end - silence.start >= 4


@pytest.mark.parametrize(("status", "message"), [(0, "there is none of"), (1, "said nothing")])
def test_a_submission_without_a_word_and_without_a_job_fails_with_words(
    failing_command: Any, tmp_path: Path, status: int, message: str
) -> None:
    failing_command("sbatch", failures=0, then=status)
    failing_command("squeue", failures=0)
    failing_command("scontrol", failures=0)
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
    assert SLURM.is_submit_limit_message(words) is limit
