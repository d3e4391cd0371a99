"""Efficiency of a pass over nodes: of rings whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from support.ring import part, ring_data, table, tables

from roundtrip.report.data import Data

MPI = (20e-6, 1e-8)


def ring(nodes: int, factor: float) -> Data:
    """A ring of a rank on each of `nodes` nodes, whose passes take `factor` times as long."""
    data = ring_data(
        {"mpi": (factor * MPI[0], factor * MPI[1])},
        case="+".join(["1"] * nodes),
        hosts=[f"node-{number}" for number in range(nodes)],
        placement="one-per-node",
    )
    launch, case = pl.format("{}/{}", pl.lit(str(nodes)), "launch"), pl.lit(f"Ring{nodes}@x")
    return replace(
        data,
        launches=data.launches.with_columns(launch=launch, case_id=case),
        samples=data.samples.with_columns(launch=launch, case_id=case),
    )


def together(*rings: Data) -> Data:
    return replace(
        rings[0],
        launches=pl.concat([data.launches for data in rings]),
        samples=pl.concat([data.samples for data in rings]),
    )


def test_a_pass_that_takes_twice_as_long_is_half_as_efficient() -> None:
    section = part(together(ring(2, 1.0), ring(4, 2.0)))
    growth = table(section, "Efficiency on so many nodes")
    rows = [[cell.text for cell in cells] for cells in growth.rows]
    assert [row[:3] for row in rows] == [
        [f"A pass by MPI, {size}", "Open MPI, on a node each", "100\u00a0%, 2 ranks"]
        for size in ("1\u00a0MB", "1\u00a0kB")
    ]
    assert [float(row[3].split()[0]) for row in rows] == pytest.approx([50, 50], rel=0.1)
    assert any(
        "Open MPI, 4 ranks on 4 nodes" in str(answer.text) for answer in section.panel_answers
    ), section.panel_answers


def test_two_nodes_alone_are_no_growth() -> None:
    section = part(ring(2, 1.0))
    assert not [t for t in tables(section.blocks) if t.caption.startswith("Efficiency on")]
