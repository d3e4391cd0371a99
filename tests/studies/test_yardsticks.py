"""Every study has figures by which its launches are compared."""

from __future__ import annotations

from support.measured import sample_frame

from roundtrip import studies
from roundtrip.report.sections.spread import yardsticks
from roundtrip.studies.derivation import METRICS, metrics_by_study


def test_no_study_is_without() -> None:
    assert [study.name for study in studies.load() if not study.yardsticks] == []


def test_the_figure_of_a_launch_is_the_median_of_its_own_rows_in_their_order() -> None:
    key = ("1", "c", "ring", "2")
    rows = [
        (*key, "mpi", 10_000, "measure", rep, "time_per_pass", value, "s")
        for rep, value in ((1, 2e-6), (0, 1e-6), (2, 4e-6))
    ]
    rows += [
        (*key, "mpi", 10_000, "laps", 0, "lap_time", 9e-6, "s"),
        (*key, "mpi", 10_000, "measure", 0, "time", 7e-6, "s"),
        (*key, "mpi-read", 10_000, "measure", 0, "time_per_pass", 9e-6, "s"),
        ("1", "c", "netpipe", "p", "mpi", 1 << 20, "measure", 0, "half_round_trip_time", 1e-4, "s"),
    ]
    figures = yardsticks(sample_frame(rows).lazy())
    rows_by_name = {f"{row['name']}, {row['unit']}": row for row in figures.to_dicts()}
    assert rows_by_name["MPI, pass at 10 kB, µs"]["median"] == 2.0
    assert rows_by_name["MPI, pass at 10 kB, µs"]["samples"] == [1.0, 2.0, 4.0]
    assert round(rows_by_name["raw MPI, bandwidth at 1 MiB, MB/s"]["median"]) == 10486
    assert len(rows_by_name) == 2


def test_two_metrics_are_two_figures() -> None:
    key = ("1", "c", "netpipe", "pingpong/same", "mpi", 1, "measure", 0)
    rows = [(*key, "half_round_trip_time", 1e-6, "s"), (*key, "time_per_message", 5e-6, "s")]
    figures = yardsticks(sample_frame(rows).lazy())
    assert figures.sort("metric")["median"].to_list() == [1.0, 5.0]


def test_a_metric_that_never_has_the_unit_is_no_figure() -> None:
    key = ("1", "c", "netpipe", "pingpong/same", "mpi", 1, "measure", 0)
    rows = [(*key, "half_round_trip_time", 1e-6, "s"), (*key, "bandwidth", 5.0, "MB/s")]
    figures = yardsticks(sample_frame(rows).lazy())
    assert figures["metric"].to_list() == ["half_round_trip_time"]


def test_every_study_declares_metrics_that_are_known() -> None:
    for name, metrics in metrics_by_study().items():
        assert metrics and set(metrics) <= set(METRICS), name
