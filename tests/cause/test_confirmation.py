"""The end of a night: what prevents a confirmation is printed, and costs the night nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.synthetic import Tree

from roundtrip import paths
from roundtrip.cause import confirmation as night_confirmation
from roundtrip.measure import analysis, records
from roundtrip.measure.tree import RunTree
from roundtrip.report import confirmation, data
from roundtrip.report.sections import history
from roundtrip.stats.nights.newest import Confirmation

LEVELS = analysis.default().statistics


@pytest.fixture
def night(
    make_tree: Callable[..., Tree], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, list[str]]:
    """A runner whose tree is the first night of its campaign, and what is printed of it."""
    monkeypatch.setattr(paths, "reports", lambda: tmp_path / "reports")
    tree = make_tree(launches=2, environs=("openmpi41-boost181",), sizes=[1], samples=2)
    lines: list[str] = []
    return SimpleNamespace(tree=RunTree(tree.path)), lines


def test_a_first_night_launches_nothing_again(night: tuple[Any, list[str]]) -> None:
    runner, lines = night
    night_confirmation.launch(runner, LEVELS, lines.append)
    assert lines == []
    assert not (runner.tree.path / "env" / records.CONFIRMATION_FILE).exists()
    night_confirmation.describe(runner.tree.path, Path("no such report"), lines.append)
    assert lines == []


def test_a_night_that_cannot_be_judged_is_one_warning(night: tuple[Any, list[str]]) -> None:
    runner, lines = night
    (runner.tree.path / "campaign.toml").unlink()
    night_confirmation.launch(runner, LEVELS, lines.append)
    (line,) = lines
    assert line.startswith("warning: what was worse last night was not launched again: ")
    assert "campaign.toml" in line and "\n" not in line


def test_a_night_of_which_nothing_came_back_is_not_judged(night: tuple[Any, list[str]]) -> None:
    runner, lines = night
    for file in runner.tree.path.rglob("run.json"):
        file.unlink()
    night_confirmation.launch(runner, LEVELS, lines.append)
    assert lines == []


@pytest.mark.parametrize(("series", "tail"), [(12, []), (14, ["and 2 series more, in the report"])])
def test_the_first_dozen_of_series_is_named(
    night: tuple[Any, list[str]], monkeypatch: pytest.MonkeyPatch, series: int, tail: list[str]
) -> None:
    runner, lines = night
    (runner.tree.path / "env" / records.CONFIRMATION_FILE).touch()
    all_series = {
        number: SimpleNamespace(
            sentence="confirmed",
            line=SimpleNamespace(label=f"series {number}", series=SimpleNamespace(key=str(number))),
            verdict=Confirmation.CONFIRMED,
        )
        for number in range(series)
    }
    relaunch = SimpleNamespace(sentence="Launched again.", skip_reason="", series=all_series)
    monkeypatch.setattr(data, "read", lambda bundle: None)
    monkeypatch.setattr(history, "judge_nights", lambda data: None)
    monkeypatch.setattr(confirmation, "read_confirmation", lambda data, verdicts: relaunch)
    keys = night_confirmation.describe(runner.tree.path, Path("revision"), lines.append)
    assert keys == {str(number) for number in range(series)}
    assert lines[1:13] == [f"confirmed: series {number}" for number in range(12)]
    assert lines[13:] == tail
