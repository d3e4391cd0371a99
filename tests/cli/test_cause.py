"""``roundtrip bisect`` to its end, on a history of git whose slow commit is planted, and ``blame``
with launches that the test plays: the variables of an arm decide how fast they are."""

import contextlib
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.programs import run_git
from support.synthetic import TOOLCHAINS, SyntheticTree
from typer.testing import CliRunner, Result

from roundtrip.cause import steps
from roundtrip.cause.steps import SeriesStep, Switch
from roundtrip.cli import app, cause
from roundtrip.content.series import FactChange
from roundtrip.errors import UserError
from roundtrip.history import published
from roundtrip.measure import environment, matrix, session, tree
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.report import publish
from roundtrip.report.pages import write
from roundtrip.sites.site import Case

Run = Callable[..., Result]
COMMITS, SLOW = 8, 6
#: Prints a time with noise, as a program that measures does.
#: Its noise is the same in each run of a test: the launches are counted, and the count is the seed.
LAUNCH = (
    'n=$(cat "$ROUNDTRIP_RUNS.n" 2>/dev/null || echo 1); echo $((n + 1)) > "$ROUNDTRIP_RUNS.n"; '
    "RANDOM=$n; echo time $(( (100000 + RANDOM % 2000) * $(cat speed) ))"
)


@pytest.fixture
def bisected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command on a clone of `COMMITS` commits, the speeds of which the test gives."""
    for name in ("RUNS", "REPORTS"):
        monkeypatch.setenv(f"ROUNDTRIP_{name}", str(tmp_path / name.lower()))

    @contextlib.contextmanager
    def free(*_: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(tree, "hold_site", free)
    clone = tmp_path / "clone"

    def run(*arguments: str, by: int = 12, count: int = COMMITS) -> Result:
        if not clone.exists():
            clone.mkdir()
            run_git(clone, "init", "--quiet")
            for number in range(COMMITS):
                (clone / "speed").write_text(f"{by if number >= SLOW else 10}\n")
                (clone / "number").write_text(f"{number}\n")
                run_git(clone, "add", ".")
                run_git(clone, "commit", "--quiet", "--message", f"commit {number}")
        return CliRunner().invoke(
            app,
            [
                *("bisect", f"HEAD~{count - 1}", "HEAD", "--over", "git"),
                *("--repository", str(clone), "--launch", LAUNCH, "--metric", r"time (.+)"),
                *("--site", "local", *arguments),
            ],
        )

    return run


def test_the_slow_commit_is_found_and_reported(bisected: Run, tmp_path: Path) -> None:
    result = bisected()
    assert result.exit_code == 1, result.output
    assert "8 versions; expected: about" in result.output
    commits = run_git(tmp_path / "clone", "rev-list", "--reverse", "HEAD").split()
    slow = commits[SLOW][:12]
    assert re.search(rf"The first slow version is {slow}: it takes 1\.(1[89]|2[01])", result.output)
    page = Path(result.output.split("report: ")[1].splitlines()[0])
    assert publish.verify_revision(page.parent) == []
    text = page.read_text()
    assert "The first slow version is" in text and slow in text and "The probes" in text
    site = page.parents[2]
    assert published.current_revisions(site) == ([], []), "a search is no night"
    (campaign,) = write.read_campaign_sites(tmp_path / "reports")
    assert campaign.campaign == "bisect-git"


@pytest.mark.parametrize("count", [2, COMMITS])
def test_commits_that_are_all_alike_have_no_change(bisected: Run, count: int) -> None:
    result = bisected(by=10, count=count)
    assert result.exit_code == 0, result.output
    assert "No change: " in result.output


def test_a_search_that_decides_nothing_fails(bisected: Run) -> None:
    result = bisected("--launch", "false", count=2)
    assert (result.exit_code, "Cannot tell " in result.output) == (1, True), result.output


@pytest.mark.nightly
def test_resume_asks_for_the_same_search(bisected: Run, tmp_path: Path) -> None:
    assert "no search" in str(bisected("--resume").exception)
    bisected("--budget", "1s")
    result = bisected("--resume")
    assert result.exit_code == 1, result.output
    for arguments in (["--least", "9%"], ["--build", "true"], ["--higher-is-better"]):
        other = bisected("--resume", *arguments)
        assert "began with other arguments" in str(other.exception)
    folders = list((tmp_path / "runs" / "bisect-git" / "local").iterdir())
    plans = [json.loads((folder / "search.json").read_text()) for folder in folders]
    assert [plan["kind"] for plan in plans] == ["bisect"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--metric", "("], "--metric"),
        (["--metric", "a"], "one group"),
        (["--budget", "soon"], "--budget soon"),
        (["--least", "0%"], "--least 0%"),
        (["--noise", "x"], "--noise x"),
        (["--repository", "/nonexistent"], "no such folder"),
        (["--budget", "1m", "--launch-time", "5s"], "at least 20 are needed; right is more than 2"),
        (["--launch-time", "long"], "--launch-time long"),
    ],
)
def test_bad_input_is_one_line(
    bisected: Run, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    result = bisected(*arguments)
    assert isinstance(result.exception, UserError) and complaint in str(result.exception)
    assert not (tmp_path / "runs").exists()


NAME, OLD = "openmpi41-boost181", "mpich40-boost181"
PARAMETERS = (("mode", "pingpong"), ("placement", "shared-memory"))
CAUSE = Switch("SLOW", None, "1")
SWITCHES = (Switch("A", "1", "2"), CAUSE, Switch("B", None, "x"))
SERIES = {
    **{"case": "pingpong/same", "variant": "mpi", "size_bytes": 65536, "phase": "measure"},
    "metric": "half_round_trip_time",
}


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("RUNS", "REPORTS"):
        monkeypatch.setenv(f"ROUNDTRIP_{name}", str(tmp_path / name.lower()))
    rng = np.random.default_rng(1)
    case = Case("NetPIPE", PARAMETERS, "26ad4637", "local", "smp", NAME)
    cases = (case, replace(case, environ=OLD))
    plan = Matrix(tuple(ExpectedCase(case, "netpipe.py", (), "netpipe") for case in cases), ())
    data = SimpleNamespace(identity={**SERIES, "case_id": case.id}, lower_is_better=True)
    series = SimpleNamespace(full_title="mpi, 64 KiB", data=data)
    step = SeriesStep(
        "ab", series, "2026-11-20T01:00:00Z", 0.2, 0.02, SWITCHES, (("kernel", "boot"),)
    )  # type: ignore[arg-type]
    toolchains = dict(TOOLCHAINS)

    def launch(site: object, block: Sequence[ExpectedCase], folder: Path, *_: object) -> float:
        script = shlex.split(dict(block[0].variables)["prerun_cmds"])[1]
        slow = 1.5 if "export SLOW=1" in Path(script).read_text() else 1.0
        environ = block[0].case.environ
        title, latency, boost, per_byte, *others = toolchains[environ]
        speeds = (title, slow * latency, boost, slow * per_byte, *others)
        monkeypatch.setitem(TOOLCHAINS, environ, speeds)
        tree = SyntheticTree(folder.parents[1], sizes=[65536], samples=5, steady=True)
        tree.write_launch(int(folder.name), environ, rng)
        return 0.0

    def build(site: object, expected: object, root: object, progress: object) -> None:
        folder = root.make_build_folder()  # type: ignore[attr-defined]
        (folder / "session.json").write_text('{"exit_status": 0}')

    site = SimpleNamespace(
        **{"name": "local", "spack_folder": None, "environment": {}, "toolchains": toolchains},
        **{"partitions": {"smp": {"scheduler": "local"}}, "checkout": Path.cwd()},
    )
    monkeypatch.setattr(cause, "Site", lambda name, checkout: site)
    monkeypatch.setattr(matrix, "build_matrix", lambda campaign, site: plan)
    monkeypatch.setattr(environment, "record_environment", lambda *_: None)
    monkeypatch.setattr(session, "build_programs", build)
    monkeypatch.setattr(session, "run_session", launch)

    def run(*arguments: str, **changes: object) -> Result:
        monkeypatch.setattr(steps, "find", lambda *_: replace(step, **changes))
        monkeypatch.setattr(sys, "argv", ["roundtrip", "blame", "mpi", *arguments])
        return CliRunner().invoke(app, ["blame", "mpi", *arguments])

    return run


@pytest.mark.nightly
def test_the_cause_is_named_and_its_report_verified(played: Run) -> None:
    result = played()
    assert result.exit_code == 0, result.output
    assert f"{CAUSE.name} explains " in result.output
    assert "Cannot be switched from here" in result.output and "kernel" in result.output
    assert "to accept it: roundtrip history local --accept" in result.output
    page = Path(result.output.split("report: ")[1].splitlines()[0])
    assert publish.verify_revision(page.parent) == []
    assert CAUSE.name in page.read_text()


#: What `OLD` stands for: a fact that nothing but another toolchain can switch.
OTHER_MPI = steps.split([FactChange(NAME, "MPI library", "MPICH 4.0", "Open MPI 4.1")])[1]


@pytest.mark.nightly
def test_the_toolchain_of_before_is_switched_like_a_variable(played: Run) -> None:
    facts = {"switches": (SWITCHES[0], SWITCHES[2]), "others": OTHER_MPI, "log_ratio": -0.15}
    result = played(f"--old-toolchain={OLD}", **facts)
    assert result.exit_code == 0, result.output
    assert f"toolchain {OLD} \N{RIGHTWARDS ARROW} {NAME} explains " in result.output
    assert "Cannot be switched" not in result.output


def test_the_command_that_goes_on_is_the_same(played: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "run_session", stop)
    result = played("ab", "--budget", "3h")
    assert result.exit_code == 130, result.output
    command = "roundtrip blame mpi ab --budget 3h --night=2026-11-20 --site=local --resume\n"
    assert f"Go on with: {command}" in result.stderr
    again = played(*shlex.split(command)[3:])
    assert f"Go on with: {command}" in again.stderr


def test_a_toolchain_that_is_not_installed_is_one_line(played: Run) -> None:
    result = played("--old-toolchain=gone", others=OTHER_MPI)
    assert "unknown toolchain 'gone'; site 'local' has: mpich40" in str(result.exception)
