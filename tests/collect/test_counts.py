"""One count of what completed, whoever tells it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from roundtrip.campaign.outcome import Outcome
from roundtrip.campaign.tree import RunTree
from roundtrip.collect import bundle
from roundtrip.collect.completion import Counts, count_launches
from roundtrip.report import data
from roundtrip.report.build import build

Maker = Callable[..., Any]


def test_launches_too_many_replace_none_that_are_missing() -> None:
    counts = Counts({"a": 8, "b": 8}, {"a": 9, "b": 7})
    assert (counts.completed, counts.wanted, counts.more) == (15, 16, 1)
    assert counts.missing == {"b": 1}
    assert counts.describe() == "15 of 16 launches completed; 1 more repeats disturbed ones"


def test_an_older_bundle_does_not_say_how_many_were_asked_for() -> None:
    rows = [("a", "passed", None)] * 3 + [("a", "missing", None), ("b", "skipped", None)]
    assert count_launches(rows) == Counts({"a": 4}, {"a": 3})


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (6, "6 of 6 launches completed"),
        (4, "4 of 4 launches completed; 2 more repeat disturbed ones"),
        (8, "6 of 8 launches completed"),
    ],
)
def test_terminal_and_report_tell_the_same_count(make_tree: Maker, wanted: int, told: str) -> None:
    tree = make_tree(launches=6, environs=("openmpi41-boost181",))
    state = json.loads((tree.path / "state.json").read_text())
    state["expected"][0]["launches"] = wanted
    (tree.path / "state.json").write_text(json.dumps(state))
    report = build(data.read(bundle.build(tree.path)))
    assert dict(report.facts)["Launches"] == told
    assert next(Outcome.from_tree(RunTree(tree.path)).lines()) == f"1 case: {told}"


def test_each_kind_of_disturbance_has_its_line() -> None:
    loads = tuple(f"load average {load} at the start, on 2 cores" for load in (3.4, 5.1))
    traced = "traced: process 812 (a debugger or the like) holds rank 1"
    disturbed = ((loads[0],), (loads[1], traced))
    outcome = Outcome(Counts({"a": 2}, {"a": 2}), (), 0, disturbed=disturbed)
    assert [line for line in outcome.lines() if line.startswith("disturbed")] == [
        f"disturbed 2 x: {loads[0]}",
        f"disturbed 1 x: {traced}",
    ]
