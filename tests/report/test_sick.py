"""What is wrong is told at the top, a node only if its launches are disturbed more than others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import polars as pl

from roundtrip.collect import bundle
from roundtrip.report import data
from roundtrip.report.sections import sick

ENVIRON = "openmpi41-boost181"


def launches(**disturbed: list[bool]) -> pl.DataFrame:
    rows = [
        {"status": "passed", "hosts": [host], "disturbed": one}
        for host, all_ in disturbed.items()
        for one in all_
    ]
    rows.append({"status": "failed", "hosts": None, "disturbed": None})
    return pl.DataFrame(rows, schema_overrides={"hosts": pl.List(pl.String)})


def quiet(tree: Any) -> None:
    """No launch of the tree tells of a disturbance."""
    for file in tree.path.rglob("run.json"):
        run = json.loads(file.read_text())
        file.write_text(json.dumps({**run, "disturbance": {}}))


def test_a_node_that_stands_out_is_named_with_both_counts() -> None:
    quiet = [False] * 19 + [True]
    found = sick.nodes(launches(a=quiet, b=[True] * 6 + [False], c=quiet), 0.05)
    assert found == [("b", (6, 7), (2, 40))]


def test_a_node_like_the_others_is_not_named() -> None:
    half = [True, False] * 5
    assert sick.nodes(launches(a=half, b=half), 0.05) == []
    assert sick.nodes(launches(a=[True] * 9), 0.05) == []
    # One in twenty of forty nodes would stand out by chance alone.
    many = {f"n{k}": [k == 0] * 3 + [False] * 3 for k in range(40)}
    assert sick.nodes(launches(**many, m=[False] * 30), 0.05 / 1e4) == []


def test_each_fault_has_a_line_and_health_has_one(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    quiet(tree)
    (answer,) = sick.answers(data.read(bundle.build(tree.path)))
    assert (answer.text, answer.tone) == (
        ("Every launch came back, and none was disturbed.",),
        "good",
    )
    tree.fail(6, ENVIRON, fail_reason="killed")
    found = sick.answers(data.read(bundle.build(tree.path)))
    told = ["".join(str(getattr(word, "text", word)) for word in one.text) for one in found]
    assert told == ["Incomplete: 1 expected launch missing.", "Failed: 1 attempt at a launch."]
    assert {one.tone for one in found} == {"bad"}
