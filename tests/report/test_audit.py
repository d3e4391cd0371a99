"""The self-audit: a good report passes what can be computed, a deliberately bad one fails it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from roundtrip.collect import bundle
from roundtrip.report import data
from roundtrip.report.blocks import Table
from roundtrip.report.build import build
from roundtrip.report.sections.audit import RULES

Maker = Callable[..., Any]


def results(tree: Any) -> dict[str, str]:
    report = build(data.read(bundle.build(tree.path)))
    part = next(part for part in report.parts if part.anchor == "audit")
    (table,) = [block for block in part.blocks if isinstance(block, Table)]
    return {row[0].text: row[2].text for row in table.rows}


def test_all_rules_are_judged(make_tree: Maker) -> None:
    found = results(make_tree(launches=6))
    assert list(found) == [f"C{number}" for number in range(1, 22)]
    assert len(RULES) == 21
    failed = {rule for rule, result in found.items() if result == "fail"}
    assert failed == {"C11", "C18"}


def test_a_bad_campaign_fails(make_tree: Maker) -> None:
    """Too few launches, nothing recorded, a clock too coarse, no word on warm-up."""
    tree = make_tree(launches=3, environs=("openmpi41-boost181",))
    for file in tree.path.rglob("run.json"):
        run = json.loads(file.read_text())
        run["compiler"] = run["placement"] = run["warmup_discarded"] = None
        run["clock"] = {"name": "gettimeofday", "resolution_s": 1e-5, "overhead_s": 1e-5}
        file.write_text(json.dumps(run))
    found = results(tree)
    for rule in ("C5", "C9", "C10", "C13", "C14"):
        assert found[rule] == "fail", rule
