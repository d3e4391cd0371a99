"""``roundtrip compare`` and ``ab``: exit statuses, files, one line for bad input.  The launches of
``ab`` are played by the test."""

import json
import re
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.command import parse_answer
from support.synthetic import TOOLCHAINS, SyntheticTree
from typer.testing import CliRunner, Result

from roundtrip.cli import SigtermInterrupt, app
from roundtrip.cli import compare as command
from roundtrip.errors import UserError
from roundtrip.measure import environment, matrix, session
from roundtrip.measure.campaign_file import Campaign
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.sites.site import Case

OPENMPI, MPICH = "openmpi41-boost181", "mpich40-boost181"


@pytest.fixture
def run_tree(make_tree: Callable[..., SyntheticTree]) -> str:
    return str(make_tree(launches=10, steady=True, environs=(OPENMPI, MPICH)).path)


def compare(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["compare", *arguments])


def test_two_toolchains_of_a_tree(run_tree: str) -> None:
    result = compare(run_tree, "--toolchains", OPENMPI, MPICH)
    assert result.exit_code == 1, result.output
    assert "series compared" in result.stdout
    sources = [f"{run_tree}:toolchain={name}" for name in (OPENMPI, MPICH)]
    assert compare(*sources).stdout == result.stdout


def test_by_a_key_that_has_two_values(run_tree: str) -> None:
    result = compare(run_tree, "--by", "toolchain", "--format", "json")
    assert parse_answer("compare", result.stdout)["base"]["chosen"] == {"toolchain": MPICH}


def test_a_file_gets_what_the_terminal_would(run_tree: str, tmp_path: Path) -> None:
    arguments = (run_tree, "--toolchains", OPENMPI, MPICH, "--format", "junit")
    result = compare(*arguments, "--output", str(tmp_path / "junit.xml"))
    assert result.stdout == ""
    assert (tmp_path / "junit.xml").read_text() == compare(*arguments).stdout


def test_the_least_regression_that_fails(run_tree: str) -> None:
    arguments = (run_tree, "--toolchains", OPENMPI, MPICH, "--fail-on")
    assert compare(*arguments, "90%").exit_code == 0
    assert compare(*arguments, "5 %").exit_code == 1


def test_nothing_comparable_is_not_green(make_tree: Callable[..., Any], run_tree: str) -> None:
    other = make_tree("other", launches=10, environs=(OPENMPI,), mode="stream")
    result = compare(run_tree, str(other.path))
    assert result.exit_code == 1
    assert "nothing is comparable" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "one source: name a second one"),
        (["--by", "colour"], "legal are toolchain, mpi"),
        (["--by", "boost"], "has 1 values of boost, not two"),
        (["x", "--by", "boost"], "leave NEW out"),
        (["--toolchains", OPENMPI, MPICH, "--fail-on", "3"], "a percentage above 0"),
        (["--toolchains", OPENMPI, MPICH, "--fail-on", "100%"], "a percentage above 0"),
    ],
)
def test_bad_input_fails(run_tree: str, arguments: list[str], complaint: str) -> None:
    result = compare(run_tree, *arguments)
    assert isinstance(result.exception, UserError)
    assert complaint in str(result.exception)


PARAMETERS = (("mode", "pingpong"), ("placement", "shared-memory"))
Played = Callable[..., Result]
#: Is called with the number of the round before it is launched.
Before = Callable[[int], None]


def end_at(last: int, error: type[BaseException] = KeyboardInterrupt) -> Before:
    """The error comes before round `last`."""

    def stop(number: int) -> None:
        if number == last:
            raise error

    return stop


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Runs the command; each session is played by launches of known speed, at one size."""
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path / "runs"))
    rng = np.random.default_rng(1)

    def record(site: object, plan: object, folder: Path) -> None:
        folder.mkdir(exist_ok=True)

    def run(
        *arguments: str,
        before: Before = lambda number: None,
        fails: str = "",
        alike: bool = False,
        refused: Callable[[Campaign, object], Matrix] | None = None,
    ) -> Result:
        def launch(site: object, block: Sequence[ExpectedCase], folder: Path, *_: object) -> float:
            number = int(folder.name)
            before(number)
            for item in block:
                if item.case.environ == fails:
                    continue
                tree = SyntheticTree(folder.parents[1], sizes=[65536], samples=5, steady=True)
                if alike:
                    monkeypatch.setitem(TOOLCHAINS, MPICH, TOOLCHAINS[OPENMPI])
                tree.write_launch(number, item.case.environ, rng)
            return 0.0

        site = SimpleNamespace(
            **{"name": "local", "spack_folder": None, "environment": {}, "checkout": tmp_path},
            partitions={"smp": {"scheduler": "local"}},
            warnings=["site.toml:4: base is a list now"],
        )
        monkeypatch.setattr(command, "Site", lambda name, checkout: site)
        cases = [
            Case("NetPIPE", PARAMETERS, "26ad4637", "local", "smp", name)
            for name in (OPENMPI, MPICH)
        ]
        plan = Matrix(tuple(ExpectedCase(case, "netpipe.py", (), "netpipe") for case in cases), ())
        monkeypatch.setattr(matrix, "build_matrix", refused or (lambda campaign, site: plan))
        monkeypatch.setattr(environment, "record_environment", record)
        monkeypatch.setattr(environment, "tuning_warnings", lambda _: ["UCX_TLS tunes MPI"])
        monkeypatch.setattr(session, "build_programs", lambda *_: None)
        monkeypatch.setattr(session, "run_session", launch)
        monkeypatch.setattr(sys, "argv", ["roundtrip", "ab", *arguments])
        return CliRunner().invoke(app, ["ab", *arguments])

    return run


def newest_tree(tmp_path: Path) -> Path:
    (state,) = (tmp_path / "runs").glob("ab-*/local/*/state.json")
    return state.parent


def state(tmp_path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((newest_tree(tmp_path) / "state.json").read_text())
    return content


def test_it_stops_when_all_is_decided(played: Played, tmp_path: Path) -> None:
    """A difference of 18 % and more at 64 KiB, with 3 % of noise."""
    result = played(OPENMPI, MPICH)
    assert result.exit_code == 1, result.output
    assert f"regressed: {OPENMPI} is faster" in result.stdout
    launches = scan_launches(newest_tree(tmp_path))
    assert 12 <= len(launches) <= 60
    run_state = state(tmp_path)
    assert run_state["finished"] is not None
    assert {item["launches"] for item in run_state["expected"]} == {len(launches) // 2}
    assert "Sequential: " in result.stdout
    assert result.stderr.count("warning: site.toml:4: base is a list now") == 1


def test_the_base_is_the_first(played: Played) -> None:
    result = played(MPICH, OPENMPI, "--format", "json")
    assert result.exit_code == 0, result.output
    output = parse_answer("ab", result.stdout)
    assert output["base"]["chosen"] == {"toolchain": MPICH}
    assert {"improved"} <= {series["status"] for series in output["series"]}


def test_one_toolchain_under_two_names_is_on_par(played: Played) -> None:
    result = played(OPENMPI, MPICH, "--fail-on", "10%", alike=True)
    assert result.exit_code == 0, result.output
    assert "on par" in result.stdout
    assert "regressed:" not in result.stdout.split("Case 1")[0]


def test_interrupted_it_judges_and_goes_on_later(played: Played, tmp_path: Path) -> None:
    result = played(OPENMPI, MPICH, before=end_at(4))
    assert result.exit_code == 130, result.output
    assert "3 rounds" in result.stdout
    assert "open" in result.stdout
    assert state(tmp_path)["finished"] is None
    assert len(scan_launches(newest_tree(tmp_path))) == 6
    second_result = played(OPENMPI, MPICH, "--resume")
    assert second_result.exit_code == 1, second_result.output
    assert len(scan_launches(newest_tree(tmp_path))) >= 12
    assert state(tmp_path)["finished"] is not None


@pytest.mark.nightly
def test_abba_is_resumed_in_its_design(
    played: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the two sides of round 3: it and round 4, its mirror, give no value."""
    monkeypatch.setattr(secrets, "randbits", lambda _: 7)

    result = played(OPENMPI, MPICH, "--order", "abba", before=end_at(6))
    assert result.exit_code == 130, result.output
    assert "2 rounds" in result.stdout and "ABBA: one coin" in result.stdout
    second_result = played(OPENMPI, MPICH, "--resume", "--format", "json")
    assert second_result.exit_code == 1, second_result.output
    rounds: dict[int, list[str]] = {}
    launches = scan_launches(newest_tree(tmp_path))
    for launch in sorted(launches, key=lambda launch: int(launch.session)):
        assert launch.campaign_round is not None
        rounds.setdefault(launch.campaign_round, []).append(str(launch.environ))
    full_rounds = {number: sides for number, sides in rounds.items() if len(sides) == 2}
    assert set(rounds) - set(full_rounds) == {3}
    assert {number for number in full_rounds if number % 2 == 0} >= {2, 4, 6, 8, 10, 12, 14}
    for number in (first for first in full_rounds if first % 2 and first + 1 in full_rounds):
        assert full_rounds[number] == full_rounds[number + 1][::-1]
    assert len({tuple(sides) for number, sides in full_rounds.items() if number % 2}) == 2, "coins"
    pairs = sum(number % 2 and number + 1 in full_rounds for number in full_rounds)
    (pair_count,) = {series["ratio"]["n"] for series in json.loads(second_result.stdout)["series"]}
    assert pair_count == pairs >= 6


def test_interrupted_before_both_sides_came_back_it_says_so(played: Played) -> None:
    result = played(OPENMPI, MPICH, before=end_at(2), fails=MPICH)
    assert result.exit_code == 130, result.output
    assert "nothing to compare yet: " in result.stderr
    assert f"no launch with toolchain={MPICH}" in result.stderr
    assert f"roundtrip ab {OPENMPI} {MPICH} --site=local --resume" in result.stderr


def test_the_command_that_goes_on_is_the_first_one(played: Played, tmp_path: Path) -> None:
    def stop(number: int) -> None:
        raise KeyboardInterrupt

    file = str(tmp_path / "ab.json")
    options = ["--fail-on", "3%", "--budget=1h", "--format", "json", "--output", file]
    result = played(OPENMPI, MPICH, *options, "--site", "local", before=stop)
    options_text = " ".join(options)
    assert f"roundtrip ab {OPENMPI} {MPICH} {options_text} --site local --resume\n" in result.stderr
    again = played(OPENMPI, MPICH, *options, "--site", "local", "--resume", before=stop)
    assert f"{options_text} --site local --resume\n" in again.stderr


def test_a_scheduler_that_ends_it_gets_the_verdict_too(played: Played) -> None:
    before = end_at(8, SigtermInterrupt)
    result = played(OPENMPI, MPICH, "--fail-on", "0.01%", before=before, alike=True)
    assert result.exit_code == 1, result.output
    assert "7 rounds" in result.stdout
    assert "--resume" in result.stderr


def test_a_side_that_never_comes_back_is_an_error(played: Played, tmp_path: Path) -> None:
    result = played(OPENMPI, MPICH, fails=MPICH)
    assert f"no launch with toolchain={MPICH}" in str(result.exception)
    assert len(scan_launches(newest_tree(tmp_path))) <= 5


def test_a_faulty_request_names_no_file(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(campaign: Campaign, site: object) -> Matrix:
        raise UserError("unknown toolchain 'nope'", campaign.file, 6)

    result = played(OPENMPI, MPICH, refused=refuse)
    assert str(result.exception) == "unknown toolchain 'nope'"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((OPENMPI, OPENMPI), "against itself"),
        ((OPENMPI, MPICH, "--budget", "soon"), "a time such as 90s"),
        ((OPENMPI, MPICH, "--budget", "0m"), "a time such as 90s"),
        ((OPENMPI, MPICH, "--fail-on", "x"), "a percentage above 0"),
        ((OPENMPI, MPICH, "--resume"), "no run of .* to resume"),
        ((OPENMPI, MPICH, "--checks", "NetPIPE:mode"), "is not of the form name=value"),
        ((OPENMPI, MPICH, "--campaign", "nope"), "unknown campaign 'nope'"),
        ((OPENMPI, MPICH, "--output", "/dev"), "/dev: a folder, not a file"),
        ((OPENMPI, MPICH, "--output", "/nowhere/ab.md"), "/nowhere: no such folder"),
        ((OPENMPI, "c/d"), "^'c/d' is no toolchain: a name has up to 100 letters"),
    ],
)
def test_bad_input_is_refused(played: Played, tmp_path: Path, arguments: Any, words: str) -> None:
    result = played(*arguments)
    assert isinstance(result.exception, UserError)
    assert re.search(words, str(result.exception))
    assert not (tmp_path / "runs").exists()
