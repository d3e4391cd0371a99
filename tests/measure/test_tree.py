"""Which run a later invocation goes on with, and who holds a site."""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roundtrip.errors import UserError
from roundtrip.measure import analysis, scheduler, tree
from roundtrip.measure.campaign_file import Campaign
from roundtrip.measure.matrix import Matrix
from roundtrip.sites import schedulers


def begin(runs: Path, name: str = "site", **options: Any) -> tree.RunTree:
    file = runs.parent / "night.toml"
    file.write_text("title = 't'\n")
    campaign, here = Campaign("night", file, "t", 1, 0, 60, ()), site(name, checkout=runs.parent)
    return tree.create_tree(runs, campaign, here, Matrix((), ()), **options)


def test_a_night_finds_its_own_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not that of an earlier job with the same number."""
    runs = tmp_path / "runs"
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    run = begin(runs, night="one")
    run.record_finish()
    night_run = tree.find_night_run(runs, "night", "site", "one")
    assert night_run is not None
    assert night_run.path == run.path
    assert tree.find_night_run(runs, "night", "site", "1") is None
    assert tree.find_night_run(runs, "night", "site", "two") is None
    assert tree.find_night_run(runs, "other", "site", "one") is None


def test_the_path_of_a_run_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begin(tmp_path / "runs")
    (tmp_path / "link").symlink_to("runs")
    monkeypatch.chdir(tmp_path)
    for runs in (Path("runs"), Path("link"), tmp_path / "link"):
        resumed_run = tree.newest_unfinished_run(runs, "night", "site")
        assert resumed_run.path == tree.RunTree(runs / "night" / "site" / run.path.name).path
        assert resumed_run.path == run.path.resolve()


@pytest.mark.parametrize("report", [True, False])
def test_a_run_is_resumed_for_what_it_lacks(tmp_path: Path, report: bool) -> None:
    runs = tmp_path / "runs"
    run = begin(runs, report=report)
    assert tree.newest_unfinished_run(runs, "night", "site").path == run.path
    run.record_finish()
    if report:
        assert tree.newest_unfinished_run(runs, "night", "site").path == run.path
        run.write_state(report=str(tmp_path / "report.html"), decided=True)
    with pytest.raises(UserError, match="no unfinished run of 'night'"):
        tree.newest_unfinished_run(runs, "night", "site")


def test_a_state_that_the_collector_takes_and_no_run_wrote_fails(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    run = begin(runs)
    state = {key: value for key, value in run.state.items() if key not in ("finished", "report")}
    state["expected"] = [{"case": "NetPIPE@local:smp+gcc", "launches": 3}]
    (run.path / "state.json").write_text(json.dumps(state))
    assert tree.newest_unfinished_run(runs, "night", "site").path == run.path
    with pytest.raises(UserError, match=r"has changed since .* \(case NetPIPE@local:smp\+gcc\)"):
        tree.require_same_matrix(run, Matrix((), ()))
    (run.path / "state.json").write_text("{")
    with pytest.raises(UserError, match=r"state\.json:1: not JSON"):
        _ = run.state


def test_jobs_are_marked_and_never_requeued_where_there_is_slurm() -> None:
    def options(kind: str, label: str) -> list[str]:
        comment = scheduler.job_comment(label)
        return schedulers.scheduler_of_reframe_name(kind).reframe_job_options(comment)

    (comment, _) = options("slurm", "nacht prüfung/b/c")
    assert comment == "--job-option=comment=roundtrip:nacht%20pr%C3%BCfung/b/c"
    assert options("local", "a/b/c") == []
    requeue = "--job-option=--no-requeue"
    assert options("squeue", "a/b/c") == ["--job-option=comment=roundtrip:a/b/c", requeue]


def test_a_run_keeps_its_thresholds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = analysis.default_toml().replace("load_above_cores = 1.0", "load_above_cores = 7.5")
    folder = tmp_path / "checkout"
    for part in ("campaigns", "checks", "site-configs/noisy"):
        (folder / part).mkdir(parents=True)
    (folder / "site-configs/noisy" / analysis.ANALYSIS_FILE).write_text(text)
    monkeypatch.chdir(folder)
    assert analysis.load_site_settings("quiet") == analysis.default_settings()
    run = begin(tmp_path / "runs", "noisy")
    (folder / "site-configs/noisy" / analysis.ANALYSIS_FILE).unlink()
    assert analysis.load_run_settings(run.path).disturbance.load_above_cores == 7.5


_HOLD = """\
import sys, time
from types import SimpleNamespace
from roundtrip.measure import tree
site = SimpleNamespace(name=sys.argv[1], partitions={"p": {"scheduler": sys.argv[2]}})
with tree.hold_site(site, "first", False, print):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def site(name: str, scheduler: str = "slurm", **more: object) -> Any:
    return SimpleNamespace(name=name, partitions={"p": {"scheduler": scheduler}}, **more)


def holder(name: str, scheduler: str = "slurm") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, name, scheduler],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("scheduler", ["slurm", "local"])
def test_the_second_says_who_holds_the_site(scheduler: str) -> None:
    first = holder("alpha", scheduler)
    try:
        lock = tree.hold_site(site("alpha", scheduler), "second", False, print)
        with pytest.raises(UserError) as error, lock:
            pass
        assert "site 'alpha' is being measured by campaign 'first' since " in str(error.value)
        assert f"process {first.pid} on " in str(error.value)
        assert str(error.value).count("\n") == 0
        with tree.hold_site(site("beta", scheduler), "second", False, print):
            pass
    finally:
        first.communicate("")


def test_a_killed_holder_holds_nothing() -> None:
    first = holder("alpha")
    first.kill()
    first.communicate()
    with tree.hold_site(site("alpha"), "second", False, print):
        pass


def test_waiting_ends_when_the_holder_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_LOCK_RETRY_S", 0.05)
    first, messages = holder("alpha"), []

    def record(line: str) -> None:
        messages.append(line)
        time.sleep(0.2)
        first.communicate("")

    with tree.hold_site(site("alpha"), "second", True, record):
        assert first.poll() == 0
    assert len(messages) == 1
    assert "waiting" in messages[0]


def test_a_state_folder_that_cannot_be_made_is_one_line(state: Path) -> None:
    (state / "roundtrip").write_text("a file")
    lock = tree.hold_site(site("alpha"), "second", False, print)
    with pytest.raises(UserError, match="set XDG_STATE_HOME"), lock:
        pass
