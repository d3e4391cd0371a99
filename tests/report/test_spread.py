"""The report says where the noise is, and what the same time could give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.bundles import read_tree

from roundtrip.report.blocks import Items, Part, Table
from roundtrip.report.sections import launches

Maker = Callable[..., Any]


def rows(section_part: Part) -> list[list[str]]:
    tables = [
        b for b in section_part.blocks if isinstance(b, Table) and b.caption.startswith("Noise in")
    ]
    return [[cell.text for cell in row] for table in tables for row in table.rows]


def test_spreads_and_a_better_plan_are_shown(make_tree: Maker) -> None:
    """Launches of the tree are bimodal by 2.5; samples in them have 3 % of noise."""
    tree = make_tree(launches=20, samples=40, environs=("openmpi41-boost181",))
    section_part = launches.part(read_tree(tree))
    latency = next(row for row in rows(section_part) if "1 B" in row[2])
    in_launch, between_launches = (
        float(text.rstrip("% \N{NO-BREAK SPACE}")) for text in latency[4:6]
    )
    assert 0.3 < in_launch < 3 < 20 < between_launches < 80
    count, before = latency[6].split(" of ")[0], float(latency[6].split(": ")[1][:-2])
    better_count, after = latency[7].split(" of ")[0], float(latency[7].split(": ")[1][:-2])
    assert int(better_count) > int(count) == 20
    assert after < before
    assert float(latency[8]) < 0.05, "two groups of launches are not normal"
    (remarks,) = [block for block in section_part.blocks if isinstance(block, Items)]
    assert "does not mean that the next launch would find the same" in str(remarks.items)


def test_too_few_launches_get_no_advice(make_tree: Maker) -> None:
    section_part = launches.part(read_tree(make_tree(launches=6, environs=("openmpi41-boost181",))))
    assert {row[7] for row in rows(section_part)} == {"\N{EN DASH}"}
