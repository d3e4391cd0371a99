"""The values on top of a report are medians over launches, of the toolchains that are best."""

from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import polars as pl
import pytest
from support.bundles import RECORDED_BUNDLES, read_tree

from roundtrip import units
from roundtrip.content import data, labels
from roundtrip.content.blocks import Table, plain_text
from roundtrip.measure.columns import setting_rows
from roundtrip.report.sections import headline
from roundtrip.report.speeds import LaunchValue, median_quantity
from roundtrip.studies import derivation
from roundtrip.study import get_study
from roundtrip.units import Quantity

NETPIPE = get_study("netpipe")


@pytest.fixture
def read(make_tree: Callable[..., Any]) -> data.BundleData:
    return read_tree(make_tree(launches=8, steady=True))


def table(read: data.BundleData) -> Table:
    top = headline.study_headline(read, NETPIPE)
    assert top
    return top.table


def test_latency_and_peak_are_medians_over_the_launches_of_raw_mpi(read: data.BundleData) -> None:
    (latency, peak) = table(read).rows
    assert [row[0].text for row in (latency, peak)] == [
        "Half-round-trip latency at 1\N{NO-BREAK SPACE}B (lower is better)",
        "Peak bandwidth, ping-pong (higher is better)",
    ]
    toolchain = table(read).columns[1].name
    launches = read.launches.filter(pl.col("toolchain") == toolchain)["launch"].to_list()
    names = {"variant": "mpi", "phase": "measure", "size_bytes": 1}
    raw_samples = read.samples.filter(pl.col("launch").is_in(launches), **names).collect()
    launch_medians = [median(frame["value"]) for frame in raw_samples.partition_by("launch")]
    (latency_quantity,) = latency[1].quantities
    assert latency_quantity.unit == "µs" and latency_quantity.n == len(launches)
    assert latency_quantity.value == pytest.approx(1e6 * median(launch_medians))
    assert latency[1].linked_series_key in read.series_medians.keys
    (peak_quantity,) = peak[1].quantities
    assert peak_quantity.unit == "MB/s" and not peak[1].linked_series_key


def speeds(launches: pl.DataFrame, rows: int) -> pl.DataFrame:
    """A value of each launch in so many rows: the higher the number of its MPI, the lower."""
    values = {f"mpi{number}-boost181": 10.0 - number for number in range(6)}
    records = [
        {"launch": launch["launch"], "what": f"row {row}", "value": values[launch["environ"]]}
        for row in range(rows)
        for launch in launches.iter_rows(named=True)
    ]
    constant = {"unit": "µs", "lower_is_better": True}
    frame = pl.DataFrame([constant | record for record in records])
    return pl.concat([pl.DataFrame(schema=derivation.SPEED_COLUMNS), frame], how="diagonal")


@pytest.fixture
def launches(read: data.BundleData, monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    """The launches of `read`, which are of six toolchains now."""
    number = pl.int_range(pl.len()) % 6
    launches = read.completed_launches.sort("launch").with_columns(
        environ=pl.format("mpi{}-boost181", number), toolchain=pl.format("MPI {}", number)
    )
    monkeypatch.setattr(type(read), "study_launches", lambda self, study: launches)
    return launches


def show(monkeypatch: pytest.MonkeyPatch, values: pl.DataFrame) -> None:
    monkeypatch.setattr(derivation, "headline_speeds", lambda *_: values)


def test_of_many_toolchains_and_values_the_best_and_the_first_are_shown(
    read: data.BundleData, launches: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, speeds(launches, 17))
    top = table(read)
    assert [column.name for column in top.columns] == ["What", "MPI 2", "MPI 3", "MPI 4", "MPI 5"]
    assert [row[0].text for row in top.rows] == [f"row {number}" for number in range(14)]
    assert "Shown: 14 of 17 values, 4 of 6 toolchains; the rest is below." in top.caption


def test_emulated_values_say_so_and_no_values_are_no_table(
    read: data.BundleData, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulated_data = data.read_bundle(RECORDED_BUNDLES / "wan")
    assert all("EMULATED" in row[0].text for row in table(emulated_data).rows)
    show(monkeypatch, pl.DataFrame(schema=derivation.SPEED_COLUMNS))
    assert headline.study_headline(read, NETPIPE) is None


def test_rows_name_where_they_differ_and_what_waits_for_processors() -> None:
    launch = {"system": "local", "partition": "smp", "emulation": [], "simulated": None}
    all_parameters = [{"a": "FFT", "b": name} for name in ("shared-memory", "oversubscribed")]
    settings = [
        headline._setting_and_label({**launch, "parameters": setting_rows(parameters)})
        for parameters in all_parameters
    ]
    assert settings == [
        ("FFT, in one node, local:smp", ""),
        ("FFT, local:smp", "more ranks than processors"),
    ]
    emulation = setting_rows({"wan_rtt_ms": 4.0})
    parameters = setting_rows({"ranks": "2", "wan_rtt": "4"})
    emulated = {**launch, "emulation": emulation, "parameters": parameters}
    label = "ranks 2, local:smp", "EMULATED WAN: RTT 4 ms"
    assert headline._setting_and_label(emulated) == label
    differences = labels.title_differences({place for place, _ in settings})
    rows = [headline._RowKey("Time", 8, *setting, "s", True) for setting in settings]
    texts = (headline._row_name(row, differences[row.setting], "") for row in rows)
    names = [text.replace("\xa0", " ") for text in texts]
    assert names == ["Time, in one node at 8 B", "Time at 8 B (more ranks than processors)"]


def test_values_of_more_ranks_than_processors_are_last(
    read: data.BundleData, launches: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_launch = pl.col("launch") == launches["launch"][0]
    placements = pl.when(first_launch).then(pl.lit("oversubscribed")).otherwise(pl.lit("one-per"))
    parameters = pl.concat_list(pl.struct(name=pl.lit("placement"), value=placements))
    changed = launches.with_columns(parameters=parameters)
    monkeypatch.setattr(type(read), "study_launches", lambda self, study: changed)
    show(monkeypatch, speeds(launches, 2))
    rows = headline._values_by_row(read, NETPIPE)
    labels_in_order = [row.label for row in rows]
    assert labels_in_order == ["", "", *[labels.OVERSUBSCRIBED_NOTE] * 2]


def test_a_number_without_unit_prints_none() -> None:
    ratio = median_quantity([LaunchValue(1.5, "")], "ratio", 0.95)
    assert isinstance(ratio, Quantity) and not ratio.prints_unit


def test_a_toolchain_that_the_first_row_lacks_is_shown_or_counted(
    read: data.BundleData, launches: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    environs = dict(launches.select("launch", "environ").iter_rows())
    environ = pl.col("launch").replace_strict(environs)
    is_first = environ.is_in(["mpi0-boost181", "mpi1-boost181"])
    rows = speeds(launches, 2).filter(
        (pl.col("what") == "row 1") & (environ != "mpi5-boost181") | is_first
    )
    show(monkeypatch, rows)
    top = table(read)
    assert [column.name for column in top.columns] == ["What", "MPI 0", "MPI 1", "MPI 2", "MPI 3"]
    assert [cell.text for cell in top.rows[0][3:]] == [units.NO_VALUE] * 2
    assert "Shown: 4 of 6 toolchains; the rest is below." in top.caption
    show(monkeypatch, rows.filter(is_first))
    assert "Shown: 2 of 6 toolchains" in table(read).caption


def test_a_value_of_disturbed_launches_alone_is_marked(read: data.BundleData) -> None:
    title = table(read).columns[1].name
    rows = read.launches.with_columns(disturbed=pl.col("toolchain") == title)
    top = table(replace(read, launches=rows))
    marks = [[cell.text.endswith(" *") for cell in row[1:]] for row in top.rows]
    assert marks == [[True, False]] * 2
    assert top.caption.endswith("* Every launch was disturbed.")
    assert "disturbed" not in table(read).caption


def test_a_quantity_of_several_settings_has_its_first_and_last_one_in_the_answers() -> None:
    rows = [
        headline._RowKey("LU/A", None, setting, kind, "Mop/s", lower_is_better=False)
        for setting, kind in (
            ("LU, ranks 1, a:x", ""),
            ("LU, ranks 2, a:x", "EMULATED WAN: RTT 1 ms"),
            ("LU, ranks 2, a:x", "EMULATED WAN: RTT 4 ms"),
            ("LU, ranks 9, a:x", labels.OVERSUBSCRIBED_NOTE),
        )
    ]
    values = {
        row: {"one": units.amount(number, "Mop/s"), "other": units.amount(2 * number, "Mop/s")}
        for number, row in enumerate(rows, 1)
    }
    titles = {"one": "A", "other": "B"}
    top = headline.Headline(units.ConfidenceLevel(0.95), titles, values, "", frozenset())
    (answer,) = top.answers({"A": "A", "B": "B"})
    assert plain_text(answer.text).replace("\xa0", " ") == (
        "LU/A: A 1.00 Mop/s, B 2.00 Mop/s ranks 1; A 3.00 Mop/s, B 6.00 Mop/s ranks 2 "
        "(EMULATED WAN: RTT 4 ms)."
    )
