"""The study's definitions, with answers known by hand."""

from pathlib import Path

import polars as pl
import pytest

from roundtrip.errors import UserError
from roundtrip.measure import samples
from roundtrip.studies import derivation
from roundtrip.studies.ddtbench import STUDY
from roundtrip.studies.ddtbench import derived as ddtbench

Epochs = dict[str, list[float]]


def frame(methods: dict[str, Epochs], case: str = "NAS_LU_x/original") -> pl.DataFrame:
    """Times in µs by method and epoch, at 40800 bytes."""
    rows = [
        ("ddtbench", case, method, 40800, phase, rep, "epoch_time", value * 1e-6, "s")
        for method, epochs in methods.items()
        for phase, values in epochs.items()
        for rep, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=samples.CSV_SCHEMA, orient="row")


def figures(methods: dict[str, Epochs], variant: str) -> dict[str, float]:
    """The figures of one of the `methods`."""
    rows = ddtbench.launch_medians(frame(methods).lazy(), [])
    return rows.row(by_predicate=pl.col("variant") == variant, named=True)


BY_HAND: Epochs = {"pack": [1.0], "communication": [14.0], "unpack": [2.0]}


def test_rank_1_packs_inside_the_communication_of_rank_0() -> None:
    """Round trip 17, of which 2 x 3 are packing: the network took 11."""
    values = figures({"manual": BY_HAND}, "manual")
    assert values["round_trip"] == pytest.approx(17e-6)
    assert values["network"] == pytest.approx(11e-6)
    assert values["overhead"] == pytest.approx(6 / 17)
    assert (values["app"], values["buffers"]) == ("NAS_LU_x", "original")


def test_a_negative_overhead_is_not_clipped() -> None:
    values = figures({"manual": BY_HAND, "mpi_ddt": {"communication": [5.0]}}, "mpi_ddt")
    assert values["overhead"] == pytest.approx((5 - 11) / 5)


def test_epochs_of_one_exchange_belong_together() -> None:
    """Medians of round trips (9, 10, 14), not the sum of medians of epochs."""
    epochs: Epochs = {"pack": [1, 5, 2], "communication": [8, 4, 6], "unpack": [0, 1, 6]}
    values = figures({"manual": epochs}, "manual")
    assert values["round_trip"] == pytest.approx(10e-6)
    assert values["network"] == pytest.approx(-2e-6)


def test_creating_a_datatype_is_no_part_of_the_round_trip() -> None:
    epochs: Epochs = {"ddt_create_overhead": [100], "communication": [5], "ddt_free_overhead": [50]}
    values = figures({"mpi_ddt": epochs}, "mpi_ddt")
    assert values["round_trip"] == pytest.approx(5e-6)
    assert values["overhead"] is None, "nothing was packed by hand: no network time"


def test_a_gain_is_by_hand_over_datatypes_and_tuned_loops_have_one_of_their_own() -> None:
    methods = {
        "manual": BY_HAND,
        "manual-tuned": {"pack": [0.5], "communication": [12.5], "unpack": [0.5]},
        "mpi_ddt": {"communication": [13.5]},
    }
    summary = ddtbench.perf_variables(frame(methods))
    assert summary["gain"] == pytest.approx(17 / 13.5)
    assert summary["gain_over_tuned"] == pytest.approx(1.0)


def test_creation_is_timed_among_others_and_at_once() -> None:
    epochs: Epochs = {
        "ddt_create_overhead": [9, 7, 8],
        "ddt_create_again": [3, 3, 2],
        "communication": [5],
    }
    creations = ddtbench.creation_medians(frame({"mpi_ddt": epochs}).lazy(), [])
    assert dict(creations.select("phase", "seconds").iter_rows()) == {
        "ddt_create_again": pytest.approx(3e-6),
        "ddt_create_overhead": pytest.approx(8e-6),
    }


def test_the_summary_has_both_states_of_memory() -> None:
    ddt: Epochs = {"communication": [12.0]}
    rows = pl.concat(
        frame({"manual": BY_HAND, "mpi_ddt": ddt}, f"NAS_LU_x/{state}")
        for state in ("original", "same", "cold")
    )
    small_rows = rows.with_columns(size_bytes=pl.lit(480), value=pl.col("value") * 7)
    all_rows = pl.concat([rows, small_rows.cast(dict(rows.schema))])
    summary = ddtbench.perf_variables(all_rows)
    assert summary["round_trip_manual"] == pytest.approx(17)
    assert summary["overhead_manual"] == pytest.approx(100 * 6 / 17)
    assert summary["overhead_mpi_ddt_same"] == pytest.approx(100 / 12)
    assert summary["overhead_ratio"] == pytest.approx((1 / 12) / (6 / 17))
    assert summary["gain_same"] == pytest.approx(17 / 12)
    assert set(derivation.perf_variables(STUDY, all_rows)) < set(ddtbench.PERF_VARIABLE_UNITS)


def test_an_epoch_may_take_no_time_on_a_coarse_clock(tmp_path: Path) -> None:
    file = tmp_path / "samples.csv"
    line = "ddtbench,NAS_LU_x/original,manual,480,{},0,epoch_time,{},s\n"
    phases = line.format("pack", 0) + line.format("communication", 2e-7) + line.format("unpack", 0)
    file.write_text(f"# schema: 1\n{samples.CSV_HEADER}\n{phases}")
    variables = ddtbench.perf_variables(samples.read_rows(file))
    assert variables["round_trip_manual"] == pytest.approx(0.2)
    file.write_text(f"# schema: 1\n{samples.CSV_HEADER}\n{line.format('pack', -1)}")
    with pytest.raises(UserError, match="value '-1' is not a positive number"):
        ddtbench.perf_variables(samples.read_rows(file))


def headline(times: dict[str, list[float]]) -> pl.DataFrame:
    """Of launches with 17 µs by hand; `times` with datatypes in µs, by micro-app."""
    frames = [
        frame(
            {"manual": BY_HAND, "mpi_ddt": {"communication": [seconds]}}, f"{app}/original"
        ).with_columns(launch=pl.lit(f"{app} {number}"))
        for app, app_times in times.items()
        for number, seconds in enumerate(app_times)
    ]
    return ddtbench.headline_speeds(pl.concat(frames).lazy())


def test_the_headline_has_round_trips_of_the_apps_that_gain_most_and_least() -> None:
    values = headline({"NAS_LU_x": [5.0], "NAS_MG_x": [17.0], "FFT": [34.0]})
    assert values["what"].to_list() == [
        "Round trip with datatypes over packing by hand, NAS_LU_x",
        "Round trip with datatypes over packing by hand, FFT",
        "Round trip with datatypes, FFT",
        "Round trip with datatypes, NAS_LU_x",
    ]
    assert values["value"].to_list() == pytest.approx([5 / 17, 34 / 17, 34.0, 5.0])
    assert values["unit"].to_list() == ["ratio", "ratio", "µs", "µs"]
    assert values["size_bytes"].to_list() == [None, None, 40800, 40800]


def test_an_app_that_is_worst_on_one_mpi_alone_is_in_the_headline() -> None:
    """FFT is bad on one MPI with fewer launches; MG is never so bad, but worse in the mean."""
    times = {"NAS_MG_x": [34.0] * 7, "FFT": [85.0] * 3 + [17.0] * 4, "NAS_LU_x": [5.0] * 7}
    values = headline(times)
    assert {name.rpartition(", ")[2] for name in values["what"]} == {"NAS_LU_x", "FFT"}
