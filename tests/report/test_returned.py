"""What went wrong with launches is said at the top."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from support.hosts import pseudonym

from roundtrip.collect import bundle
from roundtrip.report import data
from roundtrip.report.sections import launches

ENVIRON = "openmpi41-boost181"


def quiet(tree: Any) -> None:
    """No launch of the tree was disturbed."""
    for file in tree.path.rglob("run.json"):
        run = json.loads(file.read_text())
        file.write_text(json.dumps({**run, "disturbance": {}}))


def test_each_fault_has_a_line_and_health_has_one(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    quiet(tree)
    (answer,) = launches.answers(data.read(bundle.build(tree.path)))
    assert (answer.text, answer.tone) == (
        ("Every launch completed, and none was disturbed.",),
        "good",
    )
    tree.fail(6, ENVIRON, fail_reason="killed")
    answers = launches.answers(data.read(bundle.build(tree.path)))
    sentences = [
        "".join(str(getattr(word, "text", word)) for word in answer.text) for answer in answers
    ]
    assert sentences == ["Incomplete: 1 expected launch missing.", "Failed: 1 attempt at a launch."]
    assert {answer.tone for answer in answers} == {"bad"}


def words(data_: data.Data) -> list[str]:
    answers = launches.answers(data_)
    return ["".join(str(getattr(word, "text", word)) for word in answer.text) for answer in answers]


def test_a_partial_launch_is_counted_apart(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    quiet(tree)
    file = tree.folder(6, ENVIRON) / "run.json"
    run = json.loads(file.read_text())
    file.write_text(json.dumps({**run, "coverage": {"measured": 4, "wanted": 20}}))
    bundle_data = data.read(bundle.build(tree.path))
    assert words(bundle_data) == [
        "Incomplete: 1 expected launch missing.",
        "Partial: 1 launch measured too few sizes; left out.",
    ]
    partial = bundle_data.launches.filter(status="partial")
    assert partial["launch"].to_list() == [f"006/{ENVIRON}/NetPIPE_ping"]
    assert partial["launch"][0] not in bundle_data.samples.collect()["launch"]


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
    disturbance, rate, offset = words(data.read(bundle.build(tree.path)))
    assert disturbance.startswith("Disturbed: 2 of 6 launches")
    node = pseudonym("n3")
    assert rate == (
        f"The clock of {node} runs 1.3 times as fast as those of 2 other nodes: "
        "its times are wrong."
    )
    assert offset == (
        f"The wall clock of {node} is 120 s ahead of those of 2 other nodes: its logs are misdated."
    )
