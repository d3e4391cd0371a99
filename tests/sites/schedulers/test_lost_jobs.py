"""A job that a restarted controller forgot is lost; a node that Slurm took for down is named."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.programs import write_script
from support.software import SACCT_OPTIONS, run_wrapper

from roundtrip.measure import scheduler

#: As Slurm 22.05 answers; beside it lie the lines of ``squeue --format='%i|%T|%N|%Z'``.
SQUEUE = """\
echo "$*" >> "$0.calls"
case $* in
  *--states=all*) if [ -e "$0.starting" ]; then rm "$0.starting"; exit 1; fi ;;
esac
case $* in
  *--states=all*) cat "$0.jobs" ;;
  *) grep '|RUNNING|' "$0.jobs" | sed 's/|[^|]*$/|None/' ;;
esac
"""
CONFIG = """\
case $1/$2 in
  ping/) exit 0 ;;
  show/job)
    cat "$0.job"
    exit ;;
esac
[ "$2" = config ] || exit 1
if [ -e "$0.starting" ]; then rm "$0.starting"; exit 1; fi
echo "Configuration data as of 2026-11-25T03:26:31"
echo "BATCH_START_TIMEOUT     = 10 sec"
echo "BOOT_TIME               = $(cat "$0.boot")"
"""
STAGE = "rounds/001/stage/virtual/clusterA/openmpi41-tcp/NetPIPE_1cf04a1f"
LOOK = ("-h", "-j", "7", "-o", "%%i|%%T|%%N|%%r")


@pytest.fixture
def controller(failing_command: Any, tmp_path: Path) -> Callable[..., Path]:
    """Submits job 7; then squeue lists `jobs`, of a controller that began so many s later."""

    def make(jobs: str, restarted_s: int, sacct: str = "", down: str = "") -> Path:
        folder = tmp_path / "bin"
        stage = tmp_path / STAGE
        stage.mkdir(parents=True)
        failing_command("sbatch", failures=0, answer="Submitted batch job 7")
        run_wrapper("sbatch", "job.sh", run_dir=tmp_path, cwd=stage)
        write_script(folder / "squeue", SQUEUE)
        write_script(folder / "scontrol", CONFIG)
        failing_command("sacct", failures=0, answer=sacct)
        failing_command("sinfo", failures=0, answer=down)
        (folder / "squeue.jobs").write_text(jobs.replace("STAGE", str(stage)))
        boot = time.localtime(time.time() + restarted_s)
        (folder / "scontrol.boot").write_text(time.strftime("%Y-%m-%dT%H:%M:%S", boot))
        return tmp_path

    return make


LOST_JOB = frozenset([STAGE])


def test_a_job_that_a_restarted_controller_does_not_know_is_lost(controller: Any) -> None:
    run_dir = controller("8|RUNNING|a1|/home/else\n", 60)
    assert run_wrapper("squeue", *LOOK, run_dir=run_dir).returncode == 0
    assert scheduler.folders_of_unknown_jobs(run_dir) == LOST_JOB
    assert scheduler.read_outages(run_dir) == []


def test_a_controller_that_has_just_started_is_asked_again(controller: Any) -> None:
    run_dir = controller("", 60)
    for command in ("squeue", "scontrol"):
        (run_dir / "bin" / f"{command}.starting").touch()
    run_wrapper("squeue", *LOOK, run_dir=run_dir)
    assert scheduler.folders_of_unknown_jobs(run_dir) == LOST_JOB


@pytest.mark.parametrize(
    ("jobs", "restarted_s"),
    [
        ("", -3600),  # it ended long ago, as far as the controller is concerned
        ("7|RUNNING|a[1-2]|STAGE\n", 60),
        ("7|COMPLETED|a[1-2]|STAGE\n", 60),
    ],
)
def test_a_job_that_the_controller_knows_or_may_have_dropped_is_not(
    controller: Any, jobs: str, restarted_s: int
) -> None:
    run_dir = controller(jobs, restarted_s)
    run_wrapper("squeue", *LOOK, run_dir=run_dir)
    assert scheduler.folders_of_unknown_jobs(run_dir) == frozenset()


def test_accounting_that_says_for_ever_that_a_lost_job_runs_is_not_believed(
    controller: Any,
) -> None:
    run_dir = controller("8|RUNNING|a1|/home/else\n", 60, "7|RUNNING|0:0|Unknown|a[1-2]")
    assert "7|RUNNING" in run_wrapper("sacct", *SACCT_OPTIONS, run_dir=run_dir).stdout
    assert scheduler.folders_of_unknown_jobs(run_dir) == LOST_JOB
    lines = run_wrapper("sacct", *SACCT_OPTIONS, run_dir=run_dir).stdout.splitlines()
    assert lines[0] == "7|CANCELLED|0:0|Unknown|"
    calls = (run_dir / "sacct.calls").read_text().splitlines()
    assert [line.split()[4] for line in calls] == ["7,8", "8"]


@pytest.mark.parametrize("time_format", ["%s", "%Y-%m-%dT%H:%M:%S"])
@pytest.mark.parametrize("rows", ["", "7|RUNNING|0:0|Unknown|a[1-2]"])
@pytest.mark.parametrize(("state", "ago_s"), [("FAILED", 20), ("FAILED", 1), ("RUNNING", 20)])
def test_a_job_whose_end_the_database_lost_ended_when_the_controller_says(
    controller: Any, time_format: str, rows: str, state: str, ago_s: int
) -> None:
    run_dir = controller(f"7|{state}|a[1-2]|STAGE\n", -60, f"JobID|State\n{rows}")
    end = time.strftime(time_format, time.localtime(time.time() - ago_s))
    job = f"JobId=7 JobName=x JobState={state} ExitCode=3:0 EndTime={end} NodeList=a[1-2]\n"
    (run_dir / "bin" / "scontrol.job").write_text(job)
    lines = run_wrapper("sacct", *SACCT_OPTIONS, run_dir=run_dir).stdout.splitlines()
    is_taken = (state, ago_s) == ("FAILED", 20)
    row = f"7|FAILED|3:0|{end}|a[1-2]" if is_taken else rows
    assert lines == ["JobID|State", *filter(None, [row])]
    silences = scheduler.read_outages(run_dir)
    assert [silence.ended_by_fallback for silence in silences] == [True] * is_taken
    assert all(19 <= (silence.end or 0) - silence.start <= 40 for silence in silences)


@pytest.mark.parametrize(("state", "is_taken"), [("RUNNING", False), ("COMPLETED", True)])
def test_the_end_of_an_earlier_job_of_the_number_is_not_that_of_a_running_one(
    controller: Any, state: str, is_taken: bool
) -> None:
    row = "7|COMPLETED|0:0|1795000000|a[1-2]"
    run_dir = controller(f"7|{state}|a[1-2]|STAGE\n", -60, f"JobID|State\n{row}")
    lines = run_wrapper("sacct", *SACCT_OPTIONS, run_dir=run_dir).stdout.splitlines()
    assert lines == ["JobID|State", *([row] if is_taken else [])]


def test_an_ended_job_with_the_number_of_a_lost_one_does_not_end_it(controller: Any) -> None:
    run_dir = controller("7|FAILED|b1|/home/else\n", 60, "7|RUNNING|0:0|Unknown|a[1-2]")
    job = "JobId=7 JobState=FAILED ExitCode=3:0 EndTime=1795000000 NodeList=b1\n"
    (run_dir / "bin" / "scontrol.job").write_text(job)
    assert "FAILED" not in run_wrapper("sacct", *SACCT_OPTIONS, run_dir=run_dir).stdout
    assert scheduler.folders_of_unknown_jobs(run_dir) == LOST_JOB


def test_another_job_with_the_number_of_a_lost_one_is_not_waited_for(controller: Any) -> None:
    run_dir = controller("7|RUNNING|b1|/home/else\n", 60)
    assert run_wrapper("squeue", *LOOK, run_dir=run_dir).stdout == "7|RUNNING|b1|None\n"
    assert scheduler.folders_of_unknown_jobs(run_dir) == LOST_JOB
    assert run_wrapper("squeue", *LOOK, run_dir=run_dir).stdout == ""
    second_stage = run_dir / STAGE.replace("001", "002")
    second_stage.mkdir(parents=True)
    # This job gets the same number.
    run_wrapper("sbatch", "job.sh", run_dir=run_dir, cwd=second_stage)
    (run_dir / "bin" / "squeue.jobs").write_text(f"7|RUNNING|a1|{second_stage}\n")
    assert run_wrapper("squeue", *LOOK, run_dir=run_dir).stdout == "7|RUNNING|a1|None\n"
    # Nodes may end the new job in place of the lost one: if it fails, it is repeated.
    lost_jobs = {*LOST_JOB, str(second_stage.relative_to(run_dir))}
    assert scheduler.folders_of_unknown_jobs(run_dir) == lost_jobs


def test_the_node_that_slurm_took_for_down_is_noted(controller: Any) -> None:
    run_dir = controller("7|NODE_FAIL|a[1-2]|STAGE\n", -60, down="a1 idle\na2 down*\na2 down*")
    run_wrapper("squeue", *LOOK, run_dir=run_dir)
    assert scheduler.nodes_down_by_folder(run_dir) == {STAGE: ("a2",)}
    (call,) = (run_dir / "sinfo.calls").read_text().splitlines()
    assert "--nodes=a[1-2] " in call
