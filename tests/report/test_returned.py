"""What went wrong with launches is told at the top."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from roundtrip.collect import bundle
from roundtrip.report import data
from roundtrip.report.sections import returned

ENVIRON = "openmpi41-boost181"


def quiet(tree: Any) -> None:
    """No launch of the tree tells of a disturbance."""
    for file in tree.path.rglob("run.json"):
        run = json.loads(file.read_text())
        file.write_text(json.dumps({**run, "disturbance": {}}))


def test_each_fault_has_a_line_and_health_has_one(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    quiet(tree)
    (answer,) = returned.answers(data.read(bundle.build(tree.path)))
    assert (answer.text, answer.tone) == (
        ("Every launch completed, and none was disturbed.",),
        "good",
    )
    tree.fail(6, ENVIRON, fail_reason="killed")
    found = returned.answers(data.read(bundle.build(tree.path)))
    told = ["".join(str(getattr(word, "text", word)) for word in one.text) for one in found]
    assert told == ["Incomplete: 1 expected launch missing.", "Failed: 1 attempt at a launch."]
    assert {one.tone for one in found} == {"bad"}
