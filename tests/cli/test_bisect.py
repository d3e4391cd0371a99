"""``roundtrip bisect`` to its end: a history of git whose slow commit is planted."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.programs import git
from typer.testing import CliRunner, Result

from roundtrip.cli import app, cause  # noqa: F401  bisect registers itself
from roundtrip.errors import UserError
from roundtrip.history import published
from roundtrip.measure import tree
from roundtrip.report import publish
from roundtrip.report.pages import write

COMMITS, SLOW = 8, 6
#: Prints a time with noise, as a program that measures does.
#: Its noise is the same in each run of a test: the launches are counted, and the count is the seed.
LAUNCH = (
    'n=$(cat "$ROUNDTRIP_RUNS.n" 2>/dev/null || echo 1); echo $((n + 1)) > "$ROUNDTRIP_RUNS.n"; '
    "RANDOM=$n; echo time $(( (100000 + RANDOM % 2000) * $(cat speed) ))"
)


@pytest.fixture
def bisected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the command on a clone of `COMMITS` commits, the speeds of which the test gives."""
    for name in ("RUNS", "REPORTS"):
        monkeypatch.setenv(f"ROUNDTRIP_{name}", str(tmp_path / name.lower()))

    @contextlib.contextmanager
    def free(*_: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(tree, "hold_site", free)
    clone = tmp_path / "clone"

    def run(*arguments: str, slow: int = SLOW, by: int = 12) -> Result:
        if not clone.exists():
            clone.mkdir()
            git(clone, "init", "--quiet")
            for number in range(COMMITS):
                (clone / "speed").write_text(f"{by if number >= slow else 10}\n")
                (clone / "number").write_text(f"{number}\n")
                git(clone, "add", ".")
                git(clone, "commit", "--quiet", "--message", f"commit {number}")
        return CliRunner().invoke(
            app,
            [
                *("bisect", f"HEAD~{COMMITS - 1}", "HEAD", "--over", "git"),
                *("--repository", str(clone), "--launch", LAUNCH, "--metric", r"time (.+)"),
                *("--site", "local", *arguments),
            ],
        )

    return run


def test_the_slow_commit_is_found_and_its_report_verified(
    bisected: Callable[..., Result], tmp_path: Path
) -> None:
    result = bisected()
    assert result.exit_code == 1, result.output
    assert "8 versions; expected: about" in result.output
    commits = git(tmp_path / "clone", "rev-list", "--reverse", "HEAD").split()
    slow = commits[SLOW][:12]
    assert re.search(rf"The first slow version is {slow}: it takes 1\.(1[89]|2[01])", result.output)
    page = Path(result.output.split("report: ")[1].splitlines()[0])
    assert publish.verify(page.parent) == []
    text = page.read_text()
    assert "The first slow version is" in text and slow in text and "The probes" in text
    site = page.parents[2]
    assert published.current_revisions(site) == ([], []), "a search is no night"
    assert [site.campaign for site in write.read_campaign_sites(tmp_path / "reports")] == [
        "bisect-git"
    ]


def test_commits_that_are_all_alike_have_no_change(bisected: Callable[..., Result]) -> None:
    result = bisected(by=10)
    assert result.exit_code == 0, result.output
    assert "No change: " in result.output


@pytest.mark.nightly
def test_resume_asks_for_the_same_search(bisected: Callable[..., Result], tmp_path: Path) -> None:
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
def test_bad_input_is_one_line_and_launches_nothing(
    bisected: Callable[..., Result], tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    result = bisected(*arguments)
    assert isinstance(result.exception, UserError) and complaint in str(result.exception)
    assert not (tmp_path / "runs").exists()
