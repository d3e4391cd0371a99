"""The end of a night: what prevents a confirmation is told, and costs the night nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.synthetic import Tree

from roundtrip import paths
from roundtrip.campaign.tree import RunTree
from roundtrip.cli import confirmation
from roundtrip.collect import analysis, records

LEVELS = analysis.default().statistics


@pytest.fixture
def night(
    make_tree: Callable[..., Tree], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, list[str]]:
    """A runner whose tree is the first night of its campaign, and what is told of it."""
    monkeypatch.setattr(paths, "reports", lambda: tmp_path / "reports")
    made = make_tree(launches=2, environs=("openmpi41-boost181",), sizes=[1], samples=2)
    return SimpleNamespace(tree=RunTree(made.path)), []


def test_a_first_night_launches_nothing_again(night: tuple[Any, list[str]]) -> None:
    runner, told = night
    confirmation.launch(runner, LEVELS, told.append)
    assert told == []
    assert not (runner.tree.path / "env" / records.CONFIRMATION_FILE).exists()
    confirmation.tell(runner.tree.path, Path("no such report"), told.append)
    assert told == []


def test_a_night_that_cannot_be_judged_is_told_in_a_line(night: tuple[Any, list[str]]) -> None:
    runner, told = night
    (runner.tree.path / "campaign.toml").unlink()
    confirmation.launch(runner, LEVELS, told.append)
    (line,) = told
    assert line.startswith("warning: what was worse last night was not launched again: ")
    assert "campaign.toml" in line and "\n" not in line


def test_a_night_of_which_nothing_came_back_is_not_judged(night: tuple[Any, list[str]]) -> None:
    runner, told = night
    for file in runner.tree.path.rglob("run.json"):
        file.unlink()
    confirmation.launch(runner, LEVELS, told.append)
    assert told == []
