"""Series of the history page: their keys, units and calendar, and the changes between nights."""

from __future__ import annotations

import polars as pl
from support import years

from roundtrip.history.night_rows import PROVENANCE
from roundtrip.report.pages import series
from roundtrip.report.pages.series import (
    Calendar,
    HistorySeries,
    SeriesPoint,
    display_unit,
    series_key,
    split_series,
)


def provenance(*facts: tuple[str, str, str, str]) -> pl.DataFrame:
    rows = [(night, "", subject, name, value) for night, subject, name, value in facts]
    return pl.DataFrame(rows, schema=PROVENANCE, orient="row")


def test_changes_are_between_nights_of_which_something_is_known() -> None:
    facts = provenance(("1", "", "kernel", "a"), ("3", "", "kernel", "b"), ("4", "", "kernel", "b"))
    changes = series.changes_by_night(facts, ["1", "2", "3", "4"])
    assert {
        night: [str(change) for change in night_changes] for night, night_changes in changes.items()
    } == {"3": ["kernel: a → b"]}


def test_a_node_that_was_not_used_is_no_change_but_a_new_fact_is() -> None:
    facts = provenance(
        ("1", "", "kernel", "a"),
        ("1", "node1", "firmware", "x"),
        ("2", "", "kernel", "a"),
        ("2", "", "MCA", "4096"),
    )
    assert [str(change) for change in series.changes_by_night(facts, ["1", "2"])["2"]] == [
        "MCA: not set → 4096"
    ]


def test_nodes_that_changed_alike_are_one_change_of_so_many_nodes() -> None:
    nodes = [f"node-0000000{number}" for number in range(4)]
    facts = [
        (night, node, "kernel", kernel)
        for night, kernels in (("1", "aaaa"), ("2", "bbba"))
        for node, kernel in zip(nodes, kernels, strict=True)
    ]
    (change,) = series.changes_by_night(provenance(*facts), ["1", "2"])["2"]
    assert str(change) == "kernel: a → b on 3 nodes"
    (series_change,) = series.changes_of_series([change], {nodes[1], nodes[3]})
    assert str(series_change) == "kernel: a → b on node-00000001"
    assert series.changes_of_series([change], {nodes[3]}) == []
    assert series.merge_changes(
        [series_change, *series.changes_of_series([change], {nodes[0]})]
    ) == [series.Change("", "kernel", "a", "b", (nodes[0], nodes[1]))]


def test_of_a_large_set_only_the_nodes_that_differ_are_named() -> None:
    def night(number: int, nodes: list[str]) -> SeriesPoint:
        return SeriesPoint(years.night(number), "+".join(nodes), 1.0, None, None, "", 8, 0, "")

    all_nodes = [f"n{number:02d}" for number in range(20)]
    points = [
        *(night(0, all_nodes[:10]), night(1, []), night(2, [*all_nodes[1:10], "n10"])),
        *(night(3, all_nodes[:10]), night(4, all_nodes[10:])),
    ]
    changes = series.node_set_changes(points)
    assert [str(changes[key]) for key in sorted(changes)] == [
        "node set: 9 nodes in common, and n00 → n10",
        "node set: 0 nodes in common, and n00, n01, n02, n03, 6 more → n10, n11, n12, n13, 6 more",
    ]
    assert sorted(changes) == [years.night(2), years.night(4)]


def test_a_change_of_another_node_or_toolchain_is_not_of_this_series() -> None:
    changes = [series.Change(subject, "x", "1", "2") for subject in ("", "node1", "node2", "gcc")]
    assert [change.subject for change in series.changes_of_series(changes, {"node1", "gcc"})] == [
        "",
        "node1",
        "gcc",
    ]


def test_a_cause_may_lie_two_nights_from_the_estimated_step_but_no_more() -> None:
    calendar = Calendar([years.night(index) for index in range(9)])
    candidates = {years.night(3)}
    assert [calendar.nearest(years.night(index), candidates) is not None for index in range(7)] == [
        *(False, True, True, True, True, True, False)
    ]


def test_two_nights_of_a_day_are_distinct() -> None:
    calendar = Calendar(["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"])
    assert calendar.describe("2026-01-01T02:00:00Z") == "night 2, 2026-01-01 02:00:00"


def test_a_series_keeps_its_key_and_shares_it_with_no_other() -> None:
    all_series = list(split_series(years.make(40, 3).nights))
    assert len({night_series.key for night_series in all_series}) == 40
    assert [night_series.key for night_series in split_series(years.make(40, 5).nights)] == [
        night_series.key for night_series in all_series
    ]
    assert all(series_key(night_series.names) == night_series.key for night_series in all_series)


def test_times_are_printed_in_a_unit_that_fits() -> None:
    def shown(unit: str, *values: float) -> tuple[float, str]:
        points = tuple(SeriesPoint("", "", value, None, None, "", 8, 0, "") for value in values)
        return display_unit(HistorySeries("", {"unit": unit}, points, lower_is_better=True))

    assert shown("s", 2e-6, 3e-6) == (1e6, "µs")
    assert shown("s", 2.0, 3.0) == (1.0, "s")
    assert shown("MB/s", 2e-6) == (1.0, "MB/s")
