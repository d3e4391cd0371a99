"""While Slurm is silent, or takes nodes away, a run waits: no case is blamed, all is reported."""

import json
import os
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure.conftest import Maker, failing, failing_with
from support.json_files import edit
from support.launches import write_launch
from support.programs import write_script
from support.software import CONTROLLER_LOST_MESSAGE, SLURM
from support.synthetic import SyntheticTree

from roundtrip.content import data
from roundtrip.measure import bundle, scheduler
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.outcome import RunOutcome
from roundtrip.measure.scheduler import PendingJobs, describe_pending_job
from roundtrip.report import renderers
from roundtrip.report.build import build_report
from roundtrip.sites.schedulers import slurm
from roundtrip.sites.schedulers.interface import Maintenance
from roundtrip.sites.schedulers.slurm import parse_maintenances

Stages = Callable[..., Any]


def test_silences_that_overlap_are_one(tmp_path: Path) -> None:
    lines = ["100 lost a sacct x", "105 lost b squeue y", "120 back b", "125 back a"]
    lines += ["200 lost c sbatch", "216 left c", "300 lost d sbatch", "what is this"]
    (tmp_path / scheduler.LOG_FILE).write_text("\n".join(lines))
    pairs = scheduler.merge_outages(scheduler.read_outages(tmp_path))
    assert pairs == [(100, 125), (200, 216), (300, 300)]
    record = scheduler.outage_record(tmp_path)
    message = "Slurm did not answer 3 times, 41 s in total"
    assert scheduler.describe_outage_record(record) == message
    patience = scheduler.SchedulerWait(SLURM, 400, tmp_path)
    assert patience.outage_s(210) == 6
    assert patience.outage_s(301) is None


def log_silence(folder: Path) -> None:
    now, identity = int(time.time()), f"{folder.name}-{folder.parents[4].name}"
    with (folder.parents[6] / scheduler.LOG_FILE).open("a") as log:
        log.write(f"{now} lost {identity} sacct x\n{now} back {identity}\n")


def log_lost_job(folder: Path) -> None:
    edit(folder / "case.json", scheduler="slurm")
    run_dir = folder.parents[6]
    with (run_dir / scheduler.LOG_FILE).open("a") as log:
        log.write(f"{int(time.time())} unknown 7 {folder.relative_to(run_dir)}\n")


SILENCE = f"srun: error: {CONTROLLER_LOST_MESSAGE}\n"
LIMIT = "sbatch: error: AssocMaxSubmitJobLimit\n"
LOST = "Slurm displaced 8 launches (8 lost by a controller that restarted without its state)"


@pytest.mark.parametrize(
    ("player", "words"),
    [
        (failing_with(SILENCE, 4), ["Slurm did not answer: trying again"]),
        (failing(4, log_silence), ["Slurm did not answer ", " s in total"]),
        (failing_with(LIMIT, 4), ["Slurm takes no more jobs of this user or account now"]),
        (failing(4, log_lost_job), ["Slurm's controller lost its state", LOST]),
    ],
)
def test_no_case_is_given_up_because_of_slurm(slurm_stage: Stages, player: Any, words: Any) -> None:
    """Four rounds without a launch, twice as many as give a case up, then all is measured."""
    campaign = slurm_stage(player)
    assert campaign.run()
    outcome = RunOutcome.from_tree(campaign.tree)
    assert outcome.is_complete
    assert set(campaign.attempts.values()) == {7}
    text = "\n".join((campaign.output.getvalue(), *outcome.describe_lines()))
    assert all(part in text for part in words), text


def test_a_silent_slurm_ends_the_run_at_its_deadline(stage: Stages, failing_command: Any) -> None:
    failing_command("squeue", failures=999)
    campaign = stage(lambda *_: None)
    campaign.scheduler = "slurm"
    campaign.minutes = 2 / 60
    assert not campaign.run()
    assert campaign.attempts == {}
    assert (campaign.tree.path / "env" / "scheduler.json").exists()


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
    job = slurm.parse_pending_job(listing, MINE)
    return describe_pending_job(job, "Slurm", NOW) if job else ""


WAITING = "job 9 has waited for 4 min"


@pytest.mark.parametrize(
    ("listing", "message"),
    [
        (LISTING.format(start="N/A"), f"{WAITING}: Resources"),
        (LISTING.format(start="1795299000"), f"{WAITING}: Resources"),
        (f"9|PENDING|None|N/A|1795299760|{MINE}\n", WAITING),  # Slurm has not looked at it
        *((listing, "") for listing in ("", "squeue: error: x\n", f"8|RUNNING|None|1|1|{MINE}\n")),
    ],
)
def test_a_job_that_waits_says_why_and_how_long(listing: str, message: str) -> None:
    assert wait(listing) == message


def test_a_job_that_waits_says_until_when() -> None:
    message = wait(LISTING.format(start="1795303600"))
    assert message.startswith(f"{WAITING}: Resources; Slurm expects it to start at 2026-11-2")


def test_slurm_is_not_asked_at_each_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"echo x >> {tmp_path}/calls\necho '9|PENDING|Licenses|N/A|N/A|{MINE}'"
    write_script(tmp_path / "squeue", script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    queue = PendingJobs(SLURM, MINE, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert {queue.query_status() for _ in range(9)} == {"job 9 has waited: Licenses"}
    assert (tmp_path / "calls").read_text() == "x\n"


LOG = """\
1795307959 lost 1503-1795307959 sacct sacct: error: failed to reach host:secret-head:6819
1795307990 back 1503-1795307959
"""


def recorded(tree: SyntheticTree, log: str) -> tuple[Any, str]:
    """What the bundle of a tree with this log has of it, and its report."""
    (tree.path / scheduler.LOG_FILE).write_text(log)
    scheduler.write_outages(tree.path)
    bundle_path = bundle.build_bundle(tree.path)
    report = renderers.render_markdown(build_report(data.read_bundle(bundle_path)))
    return json.loads((bundle_path / "env" / "scheduler.json").read_text()), report


def test_the_report_says_how_often_and_how_long(make_tree: Maker) -> None:
    record, report = recorded(make_tree(launches=6), LOG)
    assert "Slurm did not answer once, 31 s in total." in report
    silences = [{"start": "2026-11-22T00:39:19Z", "seconds": 31}]
    assert record == {"scheduler": "slurm", "silences": silences}
    del record["scheduler"]  # as a record of an earlier version
    assert scheduler.describe_outage_record(record) == "Slurm did not answer once, 31 s in total"


def test_a_run_without_silences_records_none(tree: SyntheticTree) -> None:
    scheduler.write_outages(tree.path)
    assert not (tree.path / "env" / "scheduler.json").exists()


@pytest.mark.parametrize(
    "content", [None, [], {"silences": 3}, {"silences": [3]}, {"silences": [{"seconds": -1}]}]
)
def test_what_is_no_such_record_says_nothing(content: object) -> None:
    assert scheduler.describe_outage_record(content) == ""


def test_that_accounting_stayed_away_reaches_the_report(make_tree: Maker) -> None:
    tree = make_tree(launches=6)
    record, report = recorded(tree, LOG.replace(" back ", " instead "))
    assert record == scheduler.outage_record(tree.path)
    assert "its accounting stayed away" in report


@given(st.lists(st.text(max_size=80) | st.sampled_from(LOG.splitlines()), max_size=6))
def test_any_log_is_read(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    run_dir = tmp_path_factory.mktemp("log")
    good_lines = ["1795307959 unknown 7 rounds/001/x", "1795307960 down 7 a1,a2 rounds/002/y"]
    text = "\n".join([good_lines[0], *lines, "", good_lines[1]])
    (run_dir / scheduler.LOG_FILE).write_text(text, encoding="utf-8", errors="replace")
    assert "rounds/001/x" in scheduler.folders_of_unknown_jobs(run_dir)
    assert scheduler.nodes_down_by_folder(run_dir)["rounds/002/y"] == ("a1", "a2")
    scheduler.describe_outage_record(scheduler.outage_record(run_dir))


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
    monkeypatch.setattr(scheduler, "_FIRST_PAUSE_S", 0.01)


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
def test_a_preempted_launch_is_repeated(stage: Stages, error: str, passed: int) -> None:
    """Three times in a row: a launch that failed so often is given up."""
    campaign = stage(failing_with(error, times=3))
    campaign.run()
    assert set(campaign.passed().values()) == ({passed} if passed else set())
    outcome = RunOutcome.from_tree(campaign.tree)
    assert outcome.is_complete is bool(passed)
    line = "Slurm displaced 6 launches (6 preempted): repeated, and counted against no case"
    assert (line in outcome.describe_lines()) is bool(passed)
    assert bool(outcome.with_status("failed")) is not bool(passed)


def test_a_launch_that_passed_is_no_displaced_one(stage: Stages) -> None:
    """Whatever its job wrote: preempted after the last line, it has its samples."""

    def play(case: Any, folder: Path, _: int) -> None:
        write_launch(case, folder)
        (output,) = folder.glob(f"output/*/*/*/*{case.hash}")
        (output / "rfm_job.err").write_text(PREEMPTED)

    campaign = stage(play, launches=1)
    campaign.run()
    assert {launch.status for launch in scan_launches(campaign.tree.path)} == {"passed"}


def scontrol(folder: Path, answers: list[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scontrol that gives one answer after the other, the last one for ever; its calls."""
    for number, answer in enumerate(answers, 1):
        (folder / f"answer-{number}").write_text(answer)
    calls = folder / "calls"
    script = f"""\
echo "$*" >> {calls}
n=$(wc -l < {calls})
cat {folder}/answer-$((n < {len(answers)} ? n : {len(answers)}))"""
    write_script(folder / "bin" / "scontrol", script)
    write_script(folder / "bin" / "squeue", "")  # an empty queue
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
            write_launch(case, folder)

    campaign = stage(play, launches=2)
    campaign.scheduler = "slurm"
    campaign.run()
    assert set(campaign.passed().values()) == ({passed} if passed else set())
    line = "Slurm displaced 4 launches (4 for a maintenance): repeated, and counted against no case"
    assert (line in RunOutcome.from_tree(campaign.tree).describe_lines()) is bool(passed)
    assert calls.exists() is bool(passed)


def test_a_maintenance_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scontrol(tmp_path, [kept(7200)], monkeypatch)
    messages: list[str] = []
    deadline = time.monotonic() + 60
    pauses = scheduler.RoundPauses(SLURM, deadline, messages.append, dict(os.environ))
    assert not pauses.sleep("Slurm kept its nodes for maintenance")
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
