"""The best-known numbers of OSU, by which toolchains are compared."""

from __future__ import annotations

import polars as pl
import pytest

from roundtrip.collect import analysis
from roundtrip.studies.derivation import SPEEDS
from roundtrip.studies.osu import STUDY, derived


@pytest.mark.parametrize(
    ("program", "size", "metric", "value", "told"),
    [
        ("latency", 8, "half_round_trip_time", 2e-6, (2.0, "µs", True)),
        ("bw", 1 << 20, "bandwidth", 900.0, (900.0, "MB/s", False)),
        ("bibw", 1 << 20, "bandwidth", 1700.0, (1700.0, "MB/s", False)),
        ("put_latency", 8, "operation_time", 3e-6, (3.0, "µs", True)),
        ("get_latency", 8, "operation_time", 4e-6, (4.0, "µs", True)),
        ("allreduce", 8, "operation_time", 5e-6, (5.0, "µs", True)),
        ("alltoall", 1 << 10, "operation_time", 6e-6, (6.0, "µs", True)),
        ("bcast", 1 << 10, "operation_time", 7e-6, (7.0, "µs", True)),
        ("barrier", 0, "operation_time", 8e-6, (8.0, "µs", True)),
    ],
)
def test_a_program_is_compared_at_the_size_that_people_quote(
    program: str, size: int, metric: str, value: float, told: tuple[float, str, bool]
) -> None:
    sizes = (size, 2 * size + 1)
    samples = pl.LazyFrame(
        {
            "launch": ["one"] * 2,
            "case": [program] * 2,
            "variant": ["osu"] * 2,
            "metric": [metric] * 2,
            "size_bytes": sizes,
            "phase": [next(iter(derived.SUMMARIES))] * 2,
            "value": [value] * 2,
        }
    )
    speeds = STUDY.speeds(samples, analysis.default())
    assert dict(speeds.schema) == SPEEDS
    (row,) = speeds.rows(named=True)
    assert row["size_bytes"] == size and row["what"] == f"OSU {program}"
    assert row["value"] == pytest.approx(told[0])
    assert (row["unit"], row["lower_is_better"]) == told[1:]
