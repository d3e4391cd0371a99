"""Efficiency of the NAS Parallel Benchmarks over nodes: of rates whose truth is known."""

from __future__ import annotations

import pytest
from studies.npb.npb_bundle import Bundle
from support.measured import part, table

#: Nodes of four ranks -> seconds: two nodes lose nothing, four half of it.
TIMES = {1: 8.0, 2: 4.0, 4: 4.0}


def grown(placement: str = "all-cores", **fields: str) -> Bundle:
    builder = Bundle()
    for nodes, time in TIMES.items():
        builder.add("CG", 4 * nodes, compute=time, nodes=nodes, placement=placement, **fields)
    return builder


def test_what_a_rank_does_in_a_second_falls_by_half() -> None:
    builder = grown()
    builder.add("CG", 2, 4.0, compute=1.0, placement="all-cores", nodes=2)  # over the link
    growth = table(part(builder.data()), "Efficiency on so many nodes")
    assert [column.name for column in growth.columns] == [
        *("What", "Where", "1 node", "2 nodes", "4 nodes")
    ]
    (row,) = [[cell.text for cell in cells] for cells in growth.rows]
    assert row[:2] == ["CG A", "MPICH 5.0 over TCP, on every core"]
    assert row[2] == "100\N{NO-BREAK SPACE}%, 4 ranks"
    assert [float(text.split()[0]) for text in row[3:]] == pytest.approx([100, 50])
    assert row[4].endswith("]\N{NO-BREAK SPACE}%, 16 ranks")


def test_npbs_own_programs_have_a_row_of_their_own() -> None:
    builder = grown()
    for nodes in TIMES:
        builder.add("CG", 4 * nodes, source="upstream", placement="all-cores", nodes=nodes)
    growth = table(part(builder.data()), "Efficiency on so many nodes")
    assert [cells[0].text for cells in growth.rows] == ["CG A", "CG A, NPB 3.4"]


def test_numbers_of_ranks_are_not_numbers_of_nodes() -> None:
    captions = [block.caption for block in part(grown("one-per-node").data()).tables]
    assert not [caption for caption in captions if caption.startswith("Efficiency on")]
