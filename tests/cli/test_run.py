"""``roundtrip run``: it warns of too few launches before it measures, and a confirmation that fails
costs the night nothing but a line."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.synthetic import SyntheticTree
from typer.testing import CliRunner, Result

from roundtrip import paths
from roundtrip.cli import app, run
from roundtrip.content import data
from roundtrip.errors import UserError
from roundtrip.measure import analysis, matrix, records, tree
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.measure.tree import RunTree
from roundtrip.report import confirmation
from roundtrip.report.sections import history
from roundtrip.sites.site import Case

DECLARED = """\
title = "t"
launches = {launches}
time_limit_minutes = 60
[[check]]
name = "NetPIPE"
"""
FORMER_SPELLING_OF_SITE = "site.toml:4: base is a list now"
PARAMETERS = (("mode", "pingpong"), ("placement", "shared-memory"), ("variants", "five"))
Begun = Callable[..., Result]
Night = tuple[Any, list[str]]


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Begun:
    """``roundtrip run`` of eight primary claims, up to where it would begin to measure."""

    def hold(*_: Any) -> None:
        raise UserError("it would measure")

    def begin(
        launches: int, *options: str, simulated: bool = False, former_spellings: bool = False
    ) -> Result:
        campaign = tmp_path / "night.toml"
        former_key = "allow_untold = true\n" if former_spellings else ""
        campaign.write_text(former_key + DECLARED.format(launches=launches))
        site.warnings = [FORMER_SPELLING_OF_SITE] if former_spellings else []
        cases = [Case("NetPIPE", PARAMETERS, "0" * 8, "box", "smp", name) for name in ("a", "b")]
        items = [ExpectedCase(c, "netpipe.py", (), "netpipe", simulated=simulated) for c in cases]
        monkeypatch.setattr(matrix, "build_matrix", lambda *_: Matrix(tuple(items), ()))
        return CliRunner().invoke(app, ["run", str(campaign), "--site", "box", *options])

    site = SimpleNamespace(
        **{"name": "box", "spack_folder": None, "partitions": {"smp": {"scheduler": "local"}}},
        **{"system": {}, "toolchains": {}, "folder": tmp_path},
    )
    monkeypatch.setattr(run, "Site", lambda name, checkout: site)
    monkeypatch.setattr(tree, "hold_site", hold)
    return begin


def test_what_cannot_be_claimed_is_one_warning(begun: Begun) -> None:
    words = "5 launches of each case support none of 8 primary claims; 9 are enough"
    warning = f"warning: {words}"
    result = begun(5, "--allow-underpowered")
    assert str(result.exception) == "it would measure"
    assert result.stderr == f"{warning}\n"
    assert result.stdout == ""
    dry_run = begun(5, "--allow-underpowered", "--dry-run")
    assert dry_run.exit_code == 0
    assert dry_run.stdout.splitlines()[-1] == warning


def test_nobody_is_warned_of_enough_launches(begun: Begun) -> None:
    result = begun(9)
    assert str(result.exception) == "it would measure"
    assert result.stderr == ""
    assert "warning" not in begun(9, "--dry-run").output


def test_a_night_has_a_name_of_one_line(begun: Begun) -> None:
    assert str(begun(9, "--night", "a\nb").exception).startswith("--night 'a\\nb': a name has")


def test_a_simulation_waits_for_no_machine(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    def create(*_: Any) -> None:
        raise UserError("it goes on")

    monkeypatch.setattr(tree, "create_tree", create)
    assert str(begun(9, simulated=True).exception) == "it goes on"


def test_the_option_has_its_old_name_too_and_says_the_new_one(begun: Begun) -> None:
    result = begun(5, "--allow-mute")
    assert str(result.exception) == "it would measure"
    assert result.stderr.startswith("warning: --allow-mute is called --allow-underpowered now\n")


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_each_former_spelling_of_campaign_and_site_is_one_warning(
    begun: Begun, tmp_path: Path, options: tuple[str, ...]
) -> None:
    result = begun(9, *options, former_spellings=True)
    assert result.stderr.splitlines() == [
        f"warning: {tmp_path}/night.toml:1: allow_untold is called allow_undecided now",
        f"warning: {FORMER_SPELLING_OF_SITE}",
    ]


LEVELS = analysis.default_settings().statistics


@pytest.fixture
def night(
    make_tree: Callable[..., SyntheticTree], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Night:
    """A runner whose tree is the first night of its campaign, and what is printed of it."""
    monkeypatch.setattr(paths, "reports", lambda: tmp_path / "reports")
    written = make_tree(launches=2, environs=("openmpi41-boost181",), sizes=[1], samples=2)
    lines: list[str] = []
    monkeypatch.setattr(run, "print_status", lines.append)
    return SimpleNamespace(tree=RunTree(written.path)), lines


def test_a_first_night_launches_nothing_again(night: Night) -> None:
    runner, lines = night
    run._launch_confirmation(runner, LEVELS)
    assert lines == []
    assert not (runner.tree.path / "env" / records.CONFIRMATION_FILE).exists()
    run._print_confirmation(runner.tree.path, Path("no such report"))
    assert lines == []


def test_a_night_that_cannot_be_judged_is_one_warning(night: Night) -> None:
    runner, lines = night
    (runner.tree.path / "campaign.toml").unlink()
    run._launch_confirmation(runner, LEVELS)
    (line,) = lines
    assert line.startswith("warning: the series worse last night were not launched again: ")
    assert "campaign.toml" in line and "\n" not in line


def test_a_night_of_which_nothing_came_back_is_not_judged(night: Night) -> None:
    runner, lines = night
    for file in runner.tree.path.rglob("run.json"):
        file.unlink()
    run._launch_confirmation(runner, LEVELS)
    assert lines == []


@pytest.mark.parametrize(("series", "tail"), [(12, []), (14, ["and 2 series more, in the report"])])
def test_the_first_dozen_of_series_is_named(
    night: Night, monkeypatch: pytest.MonkeyPatch, series: int, tail: list[str]
) -> None:
    runner, lines = night
    (runner.tree.path / "env" / records.CONFIRMATION_FILE).touch()
    all_series = {
        number: SimpleNamespace(
            sentence="confirmed",
            worse_series=SimpleNamespace(
                full_title=f"series {number}", data=SimpleNamespace(key=str(number))
            ),
            verdict=confirmation.Confirmation.CONFIRMED,
        )
        for number in range(series)
    }
    relaunch = SimpleNamespace(
        sentence="Launched again.", skip_reason="", repeated_by_series_key=all_series
    )
    monkeypatch.setattr(data, "read_bundle", lambda bundle: None)
    monkeypatch.setattr(history, "judge_bundle_nights", lambda data: None)
    monkeypatch.setattr(confirmation, "read_confirmation", lambda data, verdicts: relaunch)
    keys = run._print_confirmation(runner.tree.path, Path("revision"))
    assert keys == {str(number) for number in range(series)}
    assert lines[1:13] == [f"confirmed: series {number}" for number in range(12)]
    assert lines[13:] == tail


def test_a_run_that_a_full_disk_stops_says_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run.environment, "record_environment", fail)
    plan: Any = SimpleNamespace(campaign=SimpleNamespace(title="t"), site=None, matrix=None)
    run_tree: Any = SimpleNamespace(path=tmp_path)
    with pytest.raises(OSError, match="No space left"):
        run._measure(plan, run_tree, [], False, "roundtrip run t --resume")
    line = "stopped; what was measured is kept. Go on with: roundtrip run t --resume"
    assert line in capsys.readouterr().err
