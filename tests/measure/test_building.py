"""Building is a stage of its own: seen while it runs, and no part of the campaign's time."""

import io
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from measure.conftest import local_site
from rich.console import Console
from support.launches import write_launch
from typer.testing import CliRunner, Result

from roundtrip.cli import app
from roundtrip.cli import run as run_command
from roundtrip.measure import environment, matrix, session
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.measure.progress import TerminalProgress, describe_duration
from roundtrip.measure.session import describe_test, is_fixture
from roundtrip.sites.site import Case

BUILD = "build_netpipe ~local:smp+a /4e63f512 @local:smp+a"
Run = Callable[..., Result]
LAUNCH = "NetPIPE %placement=shared-memory %mode=pingpong /26ad4637 @local:smp+a"


def expected(check: str, hash_: str, environ: str, partition: str = "smp") -> ExpectedCase:
    return ExpectedCase(Case(check, (), hash_, "local", partition, environ), f"{check}.py", ())


def test_one_case_of_each_kind_stands_for_what_all_of_them_build() -> None:
    items = [expected("A", hash_, environ) for environ in "xy" for hash_ in ("1", "2")]
    items += [expected("B", "3", "x"), expected("B", "3", "y"), expected("A", "1", "x", "other")]
    block, other_block = session.group_builds(items)
    assert [(i.case.check, i.case.hash, i.case.environ) for i in block] == [
        ("A", "1", "x"),
        ("A", "1", "y"),
        ("B", "3", "x"),
        ("B", "3", "y"),
    ]
    assert [i.case.partition for i in other_block] == ["other"]


def test_tests_are_named_for_people() -> None:
    assert is_fixture(BUILD)
    assert describe_test(BUILD) == "build_netpipe with a"
    assert not is_fixture(LAUNCH)
    assert describe_test(LAUNCH) == "NetPIPE placement=shared-memory mode=pingpong with a"


def test_how_far_a_build_is_comes_from_ninja(tmp_path: Path) -> None:
    watch = session._BuildProgress(3, TerminalProgress("Tiny", Console(file=io.StringIO())))
    watch.folder = tmp_path
    watch.on_event("RUN", BUILD)
    assert watch() == "build_netpipe with a: configuring"
    log = tmp_path / "stage" / "local" / "smp" / "a" / "build_netpipe_4e63f512" / "rfm_build.out"
    log.parent.mkdir(parents=True)
    log.write_text("-- Build files\n[1/20] Building a\n[5/20] Building b\n")
    watch._start -= 100
    assert watch() == "build_netpipe with a: step 5 of 20, about 18 min left"
    watch.on_event("OK", BUILD)
    assert watch() == ""


def test_a_failed_build_is_shown_with_its_first_error(tmp_path: Path) -> None:
    out = io.StringIO()
    watch = session._BuildProgress(2, TerminalProgress("Tiny", Console(file=out)))
    watch.folder = tmp_path
    folder = tmp_path / "stage" / "local" / "smp" / "a" / "build_netpipe_4e63f512"
    folder.mkdir(parents=True)
    (folder / "rfm_build.out").write_text("main.cpp:3:5: error: no such type\n")
    watch.on_event("FAIL", BUILD)
    watch.on_event("FAIL", BUILD.replace("+a", "+b"))  # before its build printed anything
    first, second = out.getvalue().splitlines()
    assert first.endswith("FAIL: build_netpipe with a: main.cpp:3:5: error: no such type")
    assert second.endswith("FAIL: build_netpipe with b")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (99, "99 s"), (600, "10 min"), (7000, "1 h 57 min")]
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert describe_duration(seconds) == text


def test_without_a_terminal_a_line_comes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundtrip.measure.progress._LOG_INTERVAL_S", 0.02)
    out = io.StringIO()
    with TerminalProgress("Tiny", Console(file=out)) as progress:
        progress.begin_builds(2, lambda: "build_netpipe with a: step 5 of 20")
        await_text(out, "Tiny: building: 0/2 build_netpipe with a: step 5 of 20\n")
        progress.end_builds(40)
        progress.begin_launches(1, 8, 600)
        progress.show_current_test("NetPIPE with a")
        progress.show_result("OK", "NetPIPE with a")
        progress.show_result("FAIL", "NetPIPE with a")
        await_text(out, "2/8 about 0 s left (limit in 10 min), NetPIPE with a\n")
    output = out.getvalue()
    assert "the builds took 40 s\n" in output
    assert "Tiny: 1 case, 8 launches, at most 10 min\n" in output
    assert "2/8 FAIL: NetPIPE with a\n" in output
    assert "OK: NetPIPE" not in output


def test_on_a_terminal_the_bar_says_what_runs_and_how_long_yet() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=160, color_system=None)
    with TerminalProgress("Tiny", console) as progress:
        progress.begin_launches(1, 8, 600, lambda: "waiting for Slurm")
        progress.show_result("OK", "NetPIPE with a")
        progress.show_current_test("NetPIPE with b")
    status = "1/8 about 0 s left (limit in 10 min), NetPIPE with b, waiting for Slurm"
    assert status in out.getvalue()


def test_a_long_run_says_when_it_will_end(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = TerminalProgress("Long", Console(file=io.StringIO()))
    progress.begin_launches(1, 8, 7200)
    progress.show_result("OK", "NetPIPE with a")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 600)
    end = datetime.fromtimestamp(time.time() + 7 * 600)
    status = progress.describe_status()
    assert status.startswith("about 70 min left, until ")
    assert status[25:30] in {f"{end + timedelta(minutes=m):%H:%M}" for m in (-1, 0, 1)}


def await_text(out: io.StringIO, text: str) -> None:
    deadline = time.monotonic() + 20
    while text not in out.getvalue():
        assert time.monotonic() < deadline, out.getvalue()
        time.sleep(0.01)


CAMPAIGN = """\
launches = 2
allow_undecided = true
time_limit_minutes = {minutes}
[[check]]
name = "NetPIPE"
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a campaign of two launches, by a clock of which the test says how fast it goes."""

    def run(minutes: float, build_s: float, launch_s: float) -> Result:
        clock = [1000.0]
        item = ExpectedCase(Case("NetPIPE", (), "26ad4637", "local", "smp", "a"), "n.py", ())

        def build(*_: object) -> None:
            clock[0] += build_s

        def launch(site: object, block: object, folder: Path, *_: object) -> float:
            clock[0] += launch_s
            write_launch(item.case, folder)
            return launch_s

        facts = {"spack_folder": None, "system": {}, "toolchains": {}, "warnings": []}
        site = local_site(folder=tmp_path, checkout=tmp_path, **facts)
        for module, name, substitute in (
            (time, "monotonic", lambda: clock[0]),
            (run_command, "Site", lambda *_: site),
            (matrix, "build_matrix", lambda *_: Matrix((item,), ())),
            (environment, "record_environment", lambda *_: None),
            (session, "build_programs", build),
            (session, "run_session", launch),
            (run_command, "raise_on_sigterm", lambda: None),
            (run_command, "ignore_sigterm", lambda: None),
        ):
            monkeypatch.setattr(module, name, substitute)
        monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path / "runs"))
        file = tmp_path / "tiny.toml"
        file.write_text(CAMPAIGN.format(minutes=minutes))
        return CliRunner().invoke(app, ["run", str(file), "--site", "local", "--no-report"])

    return run


def test_a_build_longer_than_the_time_limit_does_not_end_the_campaign(run: Run) -> None:
    result = run(minutes=0.2, build_s=13, launch_s=0)
    assert "2 of 2 launches completed" in result.stderr
    assert result.exit_code == 0, result.stderr


def test_a_time_limit_that_ended_a_run_is_named(run: Run) -> None:
    result = run(minutes=0.05, build_s=0, launch_s=4)
    assert result.exit_code == 1
    line = "time limit of 0.05 minutes ended this run after 1 of 2 launches; go on with: roundtrip"
    assert line in result.stderr
    assert "tiny.toml --site local --resume" in result.stderr
