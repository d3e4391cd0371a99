"""Launches that are seen together stand in one panel, and no two panels have the same name."""

import polars as pl
import pytest
from support.measured import METRIC, STUDY, MeasuredCase, measured_bundle

from roundtrip.content.blocks import Table
from roundtrip.measure.columns import setting_rows
from roundtrip.studies import display
from roundtrip.studies.derivation import ratios_by_size
from roundtrip.studies.panel import CasePanels
from roundtrip.study import BLUE, ORANGE, Arm
from roundtrip.units import Unit, printable

WAN = {"emulation": setting_rows({"wan_rtt_ms": 2.0})}
ARMS = {"mpi": Arm("MPI_Barrier", BLUE), "ring": Arm("Ring", ORANGE)}


def panels_of(*cases: MeasuredCase) -> CasePanels:
    return CasePanels(measured_bundle(cases), STUDY, METRIC)


def table_of(*cases: MeasuredCase) -> Table:
    return display.interval_table(panels_of(*cases), "Time in µs.", ARMS, Unit.US)


def test_a_launch_is_its_median_and_a_panel_the_interval_over_its_launches() -> None:
    panels = panels_of(MeasuredCase("Barrier@a", {"mpi": 10}))
    (panel,) = panels.panels
    assert panel.title == "Open MPI, 2 ranks in one node"
    assert panel.launch_count_text == "8 launches"
    interval = panels.interval_at(panels.intervals, panel, variant="mpi", size_bytes=0)
    assert interval is not None
    in_us = [round(x * 1e6, 6) for x in (interval.median, interval.low, interval.high)]
    assert (in_us, interval.n) == ([13.5, 10.0, 17.0], 8)  # of 8 values the interval is all of them
    assert panels.interval_at(panels.intervals, panel, variant="ring") is None


def test_launches_that_failed_are_in_no_panel() -> None:
    failed_case = MeasuredCase("Barrier@b", {"mpi": 10}, row_changes={"status": "failed"})
    panels = panels_of(MeasuredCase("Barrier@a", {"mpi": 10}), failed_case)
    assert [panel.key[0] for panel in panels.panels] == ["Barrier@a"]


def test_measured_and_emulated_are_apart_and_say_so() -> None:
    panels = panels_of(
        MeasuredCase("Barrier@a", {"mpi": 10}, row_changes=WAN),
        MeasuredCase("Barrier@b", {"mpi": 10}),
        MeasuredCase("Barrier@c", {"mpi": 10}, row_changes={"simulated": True}),
    )
    assert [panel.title for panel in panels.panels] == [
        "Open MPI, 2 ranks in one node",
        "Open MPI, 2 ranks in one node (EMULATED WAN: RTT 2 ms)",
        "Open MPI, 2 ranks in one node (SIMULATED)",
    ]


def test_panels_of_one_name_are_named_by_what_differs() -> None:
    parameters = {"placement": "shared-memory", "algorithm": "tree"}
    tree_case = MeasuredCase(
        "Barrier@b", {"mpi": 10}, row_changes={"parameters": setting_rows(parameters)}
    )
    ib_case = MeasuredCase("Barrier@c", {"mpi": 10}, row_changes={"partition": "ib"})
    panels = panels_of(MeasuredCase("Barrier@a", {"mpi": 10}), tree_case, ib_case)
    assert {panel.key[0]: panel.distinguishing_clauses for panel in panels.panels} == {
        "Barrier@a": ("on local:smp",),
        "Barrier@b": ("algorithm tree", "on local:smp"),
        "Barrier@c": ("on local:ib",),
    }


def test_a_ratio_is_formed_within_a_launch() -> None:
    panels = panels_of(MeasuredCase("Barrier@a", {"mpi": 10, "ring": 20}, 3, sizes=(1, 8)))
    (panel,) = panels.panels
    expected = [pytest.approx((20 + n) / (10 + n)) for n in range(3)]
    values = panels.panel_rows(panels.launch_values, panel)
    ratios = ratios_by_size(values, "mpi", "ring", "value")
    assert {size: sorted(ratios[size], reverse=True) for size in ratios} == {
        1: expected,
        8: expected,
    }
    assert ratios_by_size(values, "mpi", "window", "value") == {}


def test_a_ratio_of_two_metrics_is_refused() -> None:
    columns = {"launch": 1, "case_id": "a", "case": "", "size_bytes": 1, "value": 1.0}
    medians = pl.DataFrame(
        [
            {**columns, "variant": variant, "metric": metric}
            for variant, metric in (("mpi", "time"), ("ring", "rate"))
        ]
    )
    with pytest.raises(ValueError, match="several"):
        ratios_by_size(medians, "mpi", "ring", "value")


def test_without_sizes_the_table_has_a_row_a_panel_and_a_column_an_arm() -> None:
    case = MeasuredCase(
        "Barrier@b", {"mpi": 10}, launches=3, row_changes={"environ": "b", "ranks": 4}
    )
    table = table_of(MeasuredCase("Barrier@a", {"mpi": 10, "ring": 20}), case)
    names = ["Toolchain and placement", "MPI_Barrier", "Ring", "Launches"]
    assert [column.name for column in table.columns] == names
    assert [[printable(cell.text) for cell in row] for row in table.rows] == [
        ["Open MPI, 2 ranks in one node", "13.5 [10.0, 17.0]", "23.5 [20.0, 27.0]", "8"],
        ["Open MPI, 4 ranks in one node", "11.0 (no CI, n = 3)", "–", "3"],  # noqa: RUF001
    ]


def test_with_sizes_the_table_has_a_row_a_panel_and_arm_and_a_column_a_size() -> None:
    table = table_of(MeasuredCase("Barrier@a", {"ring": 20}, sizes=(1, 1024)))
    names = [printable(column.name) for column in table.columns[1:]]
    assert names == ["Arm", "1 B", "1 KiB", "Launches"]
    (row,) = table.rows
    assert [cell.text for cell in row[1:3]] == ["Ring", "23.5 [20.0,\N{NO-BREAK SPACE}27.0]"]
