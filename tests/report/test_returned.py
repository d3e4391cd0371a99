"""What went wrong with launches is said at the top."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
from support.bundles import read_tree
from support.synthetic import pseudonym

from roundtrip.report.blocks import plain_text
from roundtrip.report.data import Data
from roundtrip.report.sections import launches

ENVIRON = "openmpi41-boost181"


def words(bundle_data: Data) -> list[str]:
    return [plain_text(answer.text) for answer in launches.answers(bundle_data)]


def test_each_fault_has_a_line_and_health_has_one(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    tree.amend("run.json", disturbance={})
    (answer,) = launches.answers(read_tree(tree))
    assert plain_text(answer.text) == "Yes, all 6 completed; none was disturbed."
    assert answer.tone == "good"
    tree.fail(6, ENVIRON, fail_reason="killed")
    bundle_data = read_tree(tree)
    sentences = ["No: 5 of 6 completed; none was disturbed.", "Failed: 1 attempt at a launch."]
    assert words(bundle_data) == sentences
    assert {answer.tone for answer in launches.answers(bundle_data)} == {"bad"}


def test_a_partial_launch_is_counted_apart(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    tree.amend("run.json", disturbance={})
    file = tree.folder(6, ENVIRON) / "run.json"
    run = json.loads(file.read_text())
    file.write_text(json.dumps({**run, "coverage": {"measured": 4, "wanted": 20}}))
    bundle_data = read_tree(tree)
    assert words(bundle_data) == [
        "No: 5 of 6 completed; none was disturbed.",
        "Partial: 1 launch measured too few sizes; left out.",
    ]
    partial = bundle_data.launches.filter(status="partial")
    assert partial["launch"].to_list() == [f"006/{ENVIRON}/NetPIPE_ping"]
    assert partial["launch"][0] not in bundle_data.samples.collect()["launch"]


def test_mismatches_of_the_same_words_are_one_with_the_node_that_all_have(
    make_tree: Callable[..., Any],
) -> None:
    bundle_data = read_tree(make_tree(launches=6, environs=(ENVIRON,)))
    sick, *others = map(pseudonym, ("a", "b", "c", "d"))
    sides = ("loaded a/libmpi.so.40", "loaded b/libmpi.so.12")
    reasons = [
        f"mismatch: rank 1 on {others[0]} {sides[0]}, rank 0 on {sick} {sides[1]}",
        f"mismatch: rank 1 on {sick} {sides[1]}, rank 0 on {others[1]} {sides[0]}; last words: x",
        f"mismatch: rank 7 on {others[2]} {sides[0]}, rank 3 on {sick} {sides[1]}",
        "mismatch: the launch used 1 node, not 2",
        *(None, None),
    ]
    rows = bundle_data.launches.with_columns(reason=pl.Series(reasons))
    lines = [line for line in words(replace(bundle_data, launches=rows)) if "Mism" in line]
    first = reasons[0].removeprefix("mismatch: ")
    assert lines == [
        f"Mismatch: {first}; 2 more attempts like this, all with {sick}.",
        "Mismatch: the launch used 1 node, not 2.",
    ]


def between(tree: Any, number: int, hosts: tuple[str, str], **facts: Any) -> None:
    """That launch ran on two hosts, the second of which differs from the first by `facts`."""
    file = tree.folder(number, ENVIRON) / "run.json"
    run = json.loads(file.read_text())
    placement = [{"rank": rank, "host": host, "cpus": [0]} for rank, host in enumerate(hosts)]
    disturbance = {"clock_rate": [1.0, 1.0], "clock_rate_error": [0.0, 1e-5], **facts}
    changes = {"hosts": list(hosts), "placement": placement, "disturbance": disturbance}
    file.write_text(json.dumps({**run, **changes, "nodes": None}))


def test_a_node_with_a_fast_clock_is_named(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    between(tree, 1, ("n1", "n2"))
    between(tree, 2, ("n1", "n3"), clock_rate=[1.0, 1.3], utc_ahead_s=[0.0, 120.0])
    between(tree, 3, ("n3", "n2"), clock_rate=[1.0, 1 / 1.3], utc_ahead_s=[0.0, -120.0])
    for number in (4, 5, 6):
        between(tree, number, ("n1", "n1"))
    completeness, rate, offset, disturbance = words(read_tree(tree))
    assert completeness == "Yes, all 6 completed."
    text = "2 of 6 launches were disturbed, most often like this: the clock of "
    assert disturbance.startswith(text)
    assert "Without disturbed launches no median would change by more than " in disturbance
    node = pseudonym("n3")
    assert rate == (
        f"The clock of {node} runs 1.3 times as fast as those of 2 other nodes: "
        "its times are wrong."
    )
    assert offset == (
        f"The wall clock of {node} is 120 s ahead of those of 2 other nodes: its logs are misdated."
    )
