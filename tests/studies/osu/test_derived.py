"""The OSU study: options of each version by its own help, and figures known by hand."""

from pathlib import Path

import polars as pl
import pytest

from roundtrip.measure import analysis, samples
from roundtrip.studies import derivation
from roundtrip.studies.derivation import SPEED_COLUMNS
from roundtrip.studies.osu import STUDY
from roundtrip.studies.osu import derived as osu

DATA = Path(__file__).parents[2] / "data" / "osu"


def help_of(name: str, version: str) -> str:
    return (DATA / f"osu_{name}.{version}.help.txt").read_text()


@pytest.mark.parametrize(
    ("name", "version", "prefix", "suffix", "validates"),
    [
        ("latency", "53", "", "", False),
        ("latency", "59", "-m 64 ", "", True),
        ("latency", "74", "-m 64 ", " -z", True),
        ("allreduce", "53", "-f -m 64 ", "", False),
        ("allreduce", "74", "-f -T mpi_int -m 64 ", " -z", True),
    ],
)
def test_only_what_a_version_offers_is_used(
    name: str, version: str, prefix: str, suffix: str, validates: bool
) -> None:
    benchmark, text = osu.BENCHMARKS[name], help_of(name, version)
    assert " ".join(osu.measurement_options(benchmark, text, 64, 9)) == f"{prefix}-i 9{suffix}"
    validation = " ".join(osu.validation_options(benchmark, text, 64) or ())
    assert validation == (f"{prefix}-i 20 -x 2 -c" if validates else "")


@pytest.mark.parametrize(
    ("end", "size"), [(0, 4 << 20), (1, 1), (64, 64), (1000000, 524288), (2**31 - 1, 1 << 30)]
)
def test_a_run_ends_at_the_last_power_of_two(end: int, size: int) -> None:
    assert osu.BENCHMARKS["latency"].last_size_bytes(end) == size
    assert osu.BENCHMARKS["barrier"].last_size_bytes(end) == 0


def test_few_messages_are_sent_where_all_are_alike_or_only_compared() -> None:
    latency, text = osu.BENCHMARKS["latency"], help_of("latency", "74")
    assert " ".join(osu.short_run_options(latency, text, 64)) == "-m 64 -i 20 -z -x 2"
    assert " ".join(osu.short_run_options(latency, text, 0, 5)) == "-i 5 -z -x 2"
    bcast, text = osu.BENCHMARKS["bcast"], help_of("allreduce", "74")
    for messages, expected in ((0, "20"), (5, "5"), (9000, "20")):
        options = osu.validation_options(bcast, text, 64, messages)
        assert options == ["-f", "-m", "64", "-i", expected, "-x", "2", "-c"]
    assert osu.validation_options(osu.BENCHMARKS["barrier"], text, 0) is None
    assert osu.measurement_options(bcast, text, 0, 0) == ["-f", "-z"]


def frame(rows: list[tuple[int, str, str, float, str]]) -> pl.DataFrame:
    """Rows of (size_bytes, statistic, metric, value, unit)."""
    sample_rows = [
        ("osu", "x", "osu-7.4", size, statistic, 0, *measured)
        for size, statistic, *measured in rows
    ]
    return pl.DataFrame(sample_rows, schema=samples.CSV_SCHEMA, orient="row")


def test_the_median_is_typical_and_the_mean_where_there_is_none() -> None:
    rows = [
        (1, "average", "half_round_trip_time", 3e-4, "s"),
        (1, "p50", "half_round_trip_time", 3e-7, "s"),
        (1, "p99", "half_round_trip_time", 4e-3, "s"),
        (2, "average", "half_round_trip_time", 5e-7, "s"),
    ]
    values = osu.typical_values(frame(rows).lazy(), [])
    assert values.select("size_bytes", "phase", "value").rows() == [
        (1, "p50", 3e-7),
        (2, "average", 5e-7),
    ]


def test_the_summary_has_what_was_measured() -> None:
    rows = [
        (8, "average", "bandwidth", 100.0, "MB/s"),
        (8, "average", "message_rate", 12.5e6, "1/s"),
        (1 << 20, "average", "bandwidth", 900.0, "MB/s"),
        (2 << 20, "average", "bandwidth", 800.0, "MB/s"),
    ]
    assert osu.perf_variables(frame(rows)) == {
        **{"bandwidth_8B": 100, "bandwidth_1MiB": 900, "bandwidth_peak": 900},
        "message_rate_8B": 12.5e6,
    }
    assert osu.perf_variables(frame([(0, "average", "operation_time", 2e-6, "s")])) == {"time": 2.0}
    rows = [(n, "average", "half_round_trip_time", 1e-6, "s") for n in (0, 1, 2, 4, 8)]
    assert osu.perf_variables(frame(rows)) == {"time_8B": 1.0}


@pytest.mark.parametrize(
    ("program", "size"),
    [
        ("latency", 8),
        ("bw", 1 << 20),
        ("bibw", 1 << 20),
        ("put_latency", 8),
        ("get_latency", 8),
        ("allreduce", 8),
        ("alltoall", 1 << 10),
        ("bcast", 1 << 10),
        ("barrier", 0),
    ],
)
def test_a_program_is_compared_at_the_size_that_people_quote(program: str, size: int) -> None:
    metric = osu.BENCHMARKS[program].metric
    rows = [(n, "p50", metric, 3e-6, "-") for n in (size, 2 * size + 1)]
    named_rows = frame(rows).with_columns(launch=pl.lit("one"), case=pl.lit(program))
    speeds = derivation.speeds(
        STUDY, named_rows.lazy(), analysis.default_settings().compared_sizes(STUDY)
    )
    assert dict(speeds.schema) == SPEED_COLUMNS
    (row,) = speeds.rows(named=True)
    assert row["size_bytes"] == size and row["what"] == f"OSU {program}"
    value, unit, is_cost = (3e-6, "MB/s", False) if metric == "bandwidth" else (3.0, "µs", True)
    assert row["value"] == pytest.approx(value)
    assert (row["unit"], row["lower_is_better"]) == (unit, is_cost)
