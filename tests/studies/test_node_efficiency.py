"""Efficiency over nodes: against the ideal growth, from the fewest nodes on."""

import math
from collections.abc import Callable

import polars as pl
import pytest

from roundtrip.content.blocks import Table
from roundtrip.studies.node_efficiency import TIME_COLUMNS, NodeEfficiency
from roundtrip.studies.osu.curves import ideal_step_count


def times(
    time_by_nodes: dict[int, float], line: str = "a", kind: str = "", launches: int = 8
) -> pl.DataFrame:
    """`launches` times on each number of nodes, 4 ranks on each, that differ by up to 0.7 %."""
    rows = [
        ("allreduce, 8 B", kind, line, nodes, 4 * nodes, time * (1 + launch / 1000))
        for nodes, time in time_by_nodes.items()
        for launch in range(launches)
    ]
    return pl.DataFrame(rows, schema=TIME_COLUMNS, orient="row")


def efficiency_of(
    frame: pl.DataFrame, ideal: Callable[[str, int], float] = lambda name, ranks: 1.0
) -> NodeEfficiency:
    return NodeEfficiency.from_times(frame, ideal, 0.95)


def percent(time_by_nodes: dict[int, float]) -> dict[int, float]:
    """The efficiency of a tree of messages by the number of nodes."""
    frame = efficiency_of(times(time_by_nodes), ideal_step_count).frame
    return dict(frame.select("nodes", "median").iter_rows())


def test_a_tree_of_messages_is_ideal_and_half_as_fast_is_half_as_efficient() -> None:
    steps = {nodes: math.log2(4 * nodes) for nodes in (2, 4, 8)}
    assert percent(steps) == pytest.approx({2: 100, 4: 100, 8: 100})
    assert percent({**steps, 8: 2 * steps[8]}) == pytest.approx({2: 100, 4: 100, 8: 50})


def test_all_to_all_may_grow_with_the_ranks() -> None:
    assert ideal_step_count("alltoall, 8 B", 33) == 32
    assert ideal_step_count("barrier", 32) == 5


def test_bars_are_the_intervals_of_the_times_turned_round() -> None:
    base, four = efficiency_of(times({2: 3.0, 4: 8.0})).frame.rows(named=True)
    assert (base["low"], base["high"]) == (None, None), "it is taken as its median"
    assert four["low"] < four["median"] < four["high"]
    assert four["high"] == pytest.approx(100 * 3.0 * 1.0035 / 8.0, rel=1e-3)
    few = efficiency_of(times({2: 3.0, 4: 8.0}, launches=3)).frame
    assert few["low"].null_count() == few["high"].null_count() == 2


def test_one_number_of_nodes_has_no_efficiency() -> None:
    efficiency = efficiency_of(times({4: 1.0}))
    assert not efficiency
    assert efficiency.blocks("x") == []
    assert efficiency_of(pl.DataFrame(schema=TIME_COLUMNS)).blocks("x") == []


def test_lines_have_their_own_base_and_emulated_ones_a_figure_of_their_own() -> None:
    frame = pl.concat(
        [
            times({2: 5.0, 4: 10.0}, "a"),
            times({4: 1.0, 8: 4.0}, "b"),
            times({2: 1.0, 4: 1.0}, "a", "EMULATED NODES"),
        ]
    )
    efficiency = efficiency_of(frame)
    plots = efficiency.figures("osu-growth")
    assert [plot.name for plot in plots] == ["osu-growth-1", "osu-growth-2"]
    table = efficiency.table()
    assert isinstance(table, Table)
    cells = [[cell.text for cell in row] for row in table.rows]
    assert [column.name for column in table.columns][2:] == ["2 nodes", "4 nodes", "8 nodes"]
    assert cells[0][:2] == ["allreduce, 8 B", "a"]
    assert cells[0][2] == "100\N{NO-BREAK SPACE}%, 8 ranks"
    assert cells[0][3].startswith("50.0 [")
    assert cells[1][3] == "100\N{NO-BREAK SPACE}%, 16 ranks"
    assert cells[2][0] == "allreduce, 8 B EMULATED NODES"
