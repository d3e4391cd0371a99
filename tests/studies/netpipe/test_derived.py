"""The study's definitions, with answers known by hand."""

import math
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measured import launch_samples

from roundtrip.measure import samples
from roundtrip.studies import derivation
from roundtrip.studies.derivation import ratios_within_launch
from roundtrip.studies.netpipe import ARMS, HALF_ROUND_TRIP, PER_MESSAGE, RAW_MPI, STUDY, derived

LAUNCH = Path(__file__).parents[2] / "data" / "netpipe" / "launch-openmpi41-boost181"


frame = partial(launch_samples, study="netpipe", case="pingpong/same", metric=HALF_ROUND_TRIP)


def test_a_launch_is_summarised_by_its_median() -> None:
    medians = derived.launch_medians(frame({("mpi", 1000): [3e-6, 1e-6, 8e-6]}).lazy(), [])
    row = medians.row(0, named=True)
    assert row["seconds"] == 3e-6
    assert row["min_seconds"] == 1e-6
    assert row["bandwidth"] == pytest.approx(1000 / 3e-6 / 1e6)


def test_bidirectional_messages_count_twice() -> None:
    rows = frame({("mpi", 1000): [1e-6]}, case="bidirectional/same")
    medians = derived.launch_medians(rows.lazy(), [])
    assert medians["bandwidth"].item() == pytest.approx(2000)


def test_another_metric_of_the_same_messages_is_not_mixed_with_the_time() -> None:
    times = {("mpi", 1000): [3e-6, 1e-6, 8e-6]}
    rows = pl.concat([frame(times), frame({("mpi", 1000): [1.0] * 9}, metric=PER_MESSAGE)])
    assert derivation.perf_variables(STUDY, rows) == derivation.perf_variables(STUDY, frame(times))


def test_a_ratio_is_of_medians_within_the_launch() -> None:
    rows = frame({("mpi", 64): [1e-6, 2e-6, 9e-6], ("boost", 64): [4e-6, 5e-6, 1e-6]})
    ratios = ratios_within_launch(derived.launch_medians(rows.lazy(), []), [], RAW_MPI)
    assert ratios["variant"].to_list() == ["boost"]
    assert ratios["ratio"].item() == pytest.approx(0.5)


def test_half_of_the_peak_is_interpolated_on_the_log_log_curve() -> None:
    assert derived.half_performance_size([1, 10, 100], [1, 10, 10]) == pytest.approx(5)
    assert derived.half_performance_size([1, 4, 16], [1, 4, 8]) == pytest.approx(4)
    assert math.isnan(derived.half_performance_size([1, 2], [9, 10]))
    assert derived.half_performance_size([8], [5.0]) != derived.half_performance_size([8], [5.0])


@given(st.floats(1e-7, 1e-5), st.floats(1e-11, 1e-8))
def test_n_half_of_hockneys_model_is_latency_times_rate(latency: float, per_byte: float) -> None:
    """t = L + n/r reaches half of r at n = L r; the peak here is a little below r."""
    sizes = [2**k for k in range(31)]
    rates = [size / (latency + size * per_byte) for size in sizes]
    expected = latency / per_byte
    if 4 < expected < 2**24:
        half_size = derived.half_performance_size(sizes, rates)
        assert half_size == pytest.approx(expected, rel=0.06)


def test_the_summary_has_fixed_names() -> None:
    times = {
        (variant, size): [factor * (1e-6 + size * 1e-10)]
        for variant, factor in zip(ARMS, (1, 1, 2, 2, 50), strict=True)
        for size in (1, 1 << 10, 16 << 10, 64 << 10, 1 << 20, 4 << 20)
    }
    figures = derived.perf_variables(frame(times))
    assert list(derivation.perf_variables(STUDY, frame(times))) == list(derived.PERF_VARIABLE_UNITS)
    assert figures["latency_1B_us"] == pytest.approx(1.0001)
    assert figures["bandwidth_1KiB"] == pytest.approx(1024 / (1e-6 + 1024e-10) / 1e6)
    assert figures["bandwidth_peak"] == figures["bandwidth_4MiB"]
    assert figures["ratio_boost"] == pytest.approx(1)
    assert figures["ratio_mpi_datatype"] == pytest.approx(0.5)
    assert figures["ratio_boost_serialized"] == pytest.approx(0.02)


def test_what_was_not_measured_is_absent_from_the_summary() -> None:
    figures = derived.perf_variables(frame({("mpi", 1024): [1e-6]}))
    assert set(figures) == {"bandwidth_1KiB", "bandwidth_peak"}
    assert derived.perf_variables(frame({("boost", 1024): [1e-6]})) == {}


def test_a_recorded_launch_is_summarised() -> None:
    figures = derived.perf_variables(samples.read_rows(LAUNCH / "samples.csv"))
    assert 0.1 < figures["latency_1B_us"] < 10
    assert figures["bandwidth_1KiB"] < figures["bandwidth_16KiB"] < figures["bandwidth_peak"]
    assert 0.5 < figures["ratio_boost"] < 2


def test_the_published_figure_is_in_megabits() -> None:
    """1.4 Mbit/s of 2^20 at 1 byte is a half round trip of 5.4 us."""
    (size, rate), *_ = derived.published_curve("mpi")
    assert size / (rate * 1e6) == pytest.approx(5.45e-6, rel=0.01)
    assert rate == pytest.approx(1.4 / 8 * 1.048576)


def test_the_published_figure_shows_what_the_study_says() -> None:
    for size in (1, 1024, 65536, 1 << 20):
        mpi, boost = derived.published_rate("mpi", size), derived.published_rate("boost", size)
        serialized = derived.published_rate("boost-serialized", size)
        assert mpi == boost
        assert mpi and serialized and serialized < 0.02 * mpi
    assert derived.published_rate("boost-serialized", 8_000_000) is None
    assert derived.published_rate("mpi", 10) == pytest.approx(13 / 8 * 1.048576)
    assert set(derived.PUBLISHED_MBIT_PER_S) <= set(ARMS)
    assert (derived.published_curve("new"), derived.published_rate("new", 1024)) == ([], None)
