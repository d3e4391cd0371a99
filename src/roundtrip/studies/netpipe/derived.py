"""NetPIPE: values derived from samples, and values that the Boost.MPI study published.

Launch median
    median over the batches of one launch, for each case, variant and size: seconds.
Bandwidth
    bytes of a message / its time, in MB/s = 10^6 bytes/s; bidirectional messages count twice, as
    in NetPIPE, because two are under way.
Latency
    the half-round-trip time of a message of 1 byte.
Peak
    the largest bandwidth over the sizes.
n1/2
    the smallest size with half the peak, interpolated in log size and log bandwidth between the
    measured sizes (Hockney's half-performance length).
Ratio
    bandwidth of a variant / bandwidth of raw MPI, same launch, case and size: formed from launch
    medians, so it is paired by launch.

The study: Boost.MPI documentation, "Performance Evaluation" (D. Gregor and M. Troyer, 2005-2007),
NetPIPE 3.6.2 on the Odin cluster of Indiana University (2 AMD Opteron a node, InfiniBand), Open MPI
1.1, Boost 1.35.0 prerelease, Intel C++ 9.0.  Values were read off the published figure by eye,
about +-10 %.  Its axis is labelled "MB/s", but 1.4 MB/s at 1 byte is a half round trip of 0.7 us,
which no network of 2005 had; 1.4 in NetPIPE's own unit, Mbit/s of 2^20 bits, is 5.4 us.  So the
values are taken as Mbit/s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from roundtrip.stats.summaries import (
    LAUNCH_STATISTIC,
    MEDIAN,
    MINIMUM,
    PERCENTILES,
    RATIO_OF_TOTALS,
    Summary,
    ValueKind,
)
from roundtrip.studies.derivation import (
    NO_SERIES,
    AuditedLatency,
    AuditedRatio,
    AuditFacts,
    PairingScope,
    ratios_within_launch,
    toolchain_speeds,
)
from roundtrip.studies.netpipe import (
    ARMS,
    COMPARED_VARIANTS,
    HALF_ROUND_TRIP,
    METRIC_BY_MODE,
    RAW_MPI,
)
from roundtrip.study import BLUE, BOOST, MPI, ORANGE, PURPLE, TEAL, Arm

PUBLISHED_SIZES = (1, 10, 100, 1_000, 8_000, 12_000, 100_000, 1_000_000, 8_000_000)
_FUNDAMENTAL_MBIT_PER_S = (1.4, 13.0, 115.0, 750.0, 2650.0, 2150.0, 3700.0, 4700.0, 4300.0)
_DATATYPE_MBIT_PER_S = (1.4, 11.0, 48.0, 76.0, 82.0, 83.0, 100.0, 150.0, 160.0)
_SERIALIZED_MBIT_PER_S = (0.019, 0.13, 0.7, 3.4, 8.2, 8.8, 10.5, 11.0)

#: Mbit/s (2^20 bit/s) at PUBLISHED_SIZES; the serialized curve ends before the last size.
PUBLISHED_MBIT_PER_S = {
    "mpi": _FUNDAMENTAL_MBIT_PER_S,
    "boost": _FUNDAMENTAL_MBIT_PER_S,
    "mpi-datatype": _DATATYPE_MBIT_PER_S,
    "boost-datatype": _DATATYPE_MBIT_PER_S,
    "boost-serialized": _SERIALIZED_MBIT_PER_S,
}


@dataclass(frozen=True)
class PublishedStatement:
    """A published finding in its own words, and the ratio that tests it: `variant` over `base`.

    `expectation` is "on par", "slower" or "greatly slower".  `subject` and `base_title` name the
    two sides of the ratio in an answer.  `arm` is the curve of the ratio; widths differ, so that
    overlapping curves are visible.
    """

    quotation: str
    short_title: str
    variant: str
    base: str
    expectation: str
    subject: str
    base_title: str
    arm: Arm


PUBLISHED_STATEMENTS = (
    PublishedStatement(
        "Boost.MPI performs on par with MPI for fundamental types.",
        "Boost.MPI against MPI",
        "boost",
        "mpi",
        "on par",
        "Boost.MPI",
        "raw MPI",
        Arm("Boost.MPI / MPI", BLUE, 6.5, 5),
    ),
    PublishedStatement(
        "Boost.MPI performs on par with MPI for derived data types.",
        "Datatypes: Boost.MPI against MPI",
        "boost-datatype",
        "mpi-datatype",
        "on par",
        "Boost.MPI with derived datatypes",
        "MPI's",
        Arm("Boost / MPI datatypes", ORANGE, 3.5, 4),
    ),
    PublishedStatement(
        "Overall performance for derived data types is significantly worse than for fundamental "
        "data types.",
        "MPI: datatypes against bytes",
        "mpi-datatype",
        "mpi",
        "slower",
        "MPI with derived datatypes",
        "MPI with bytes",
        Arm("MPI datatypes / bytes", TEAL, 1.4),
    ),
    PublishedStatement(
        "When forcing Boost.MPI to serialize characters individually, performance suffers greatly.",
        "Serialized against MPI",
        "boost-serialized",
        "mpi",
        "greatly slower",
        "Serializing every byte",
        "raw MPI",
        Arm("Serialized / MPI", PURPLE),
    ),
)


def published_curve(variant: str) -> list[tuple[int, float]]:
    """(bytes, MB/s) of one variant in the published figure; [] if it has no such curve."""
    rates = (megabits * 2**20 / 8 / 1e6 for megabits in PUBLISHED_MBIT_PER_S.get(variant, ()))
    return list(zip(PUBLISHED_SIZES, rates, strict=False))


def published_rate(variant: str, size: int) -> float | None:
    """MB/s of the published figure at `size`, interpolated log-log; None outside of its points, the
    last of which holds up to a tenth above it (1 MiB has the value of 1 000 000 bytes)."""
    if not (curve := published_curve(variant)):
        return None
    sizes, rates = zip(*curve, strict=True)
    if not sizes[0] <= size <= 1.1 * sizes[-1]:
        return None
    return math.exp(np.interp(math.log(size), np.log(sizes), np.log(rates)))


def published_ratio(statement: PublishedStatement, size: int) -> float | None:
    """The ratio of a statement in the published figure at `size`; None outside of its points."""
    rate, base = (published_rate(name, size) for name in (statement.variant, statement.base))
    return None if rate is None or base is None else rate / base


REFERENCE_STUDY_NAME = "netpipe-reference"

_BYTES_BY_SIZE_NAME = {
    "1KiB": 1 << 10,
    "16KiB": 16 << 10,
    "64KiB": 64 << 10,
    "1MiB": 1 << 20,
    "4MiB": 4 << 20,
}
#: Perf variables of a ReFrame check and their units; ratios are at 64 KiB.
PERF_VARIABLE_UNITS = {
    "latency_1B_us": "us",
    **{f"bandwidth_{name}": "MB/s" for name in _BYTES_BY_SIZE_NAME},
    "bandwidth_peak": "MB/s",
    "n_half": "B",
    **{f"ratio_{variant.replace('-', '_')}": "1" for variant in COMPARED_VARIANTS},
}
#: How the samples of a launch become one time.
TIME_SUMMARY = Summary("time of a message", ValueKind.COST, "the samples of a launch", MEDIAN)
MIN_TIME_SUMMARY = Summary(
    "least time of a message", ValueKind.COST, "the samples of a launch", MINIMUM
)


_MODE = pl.col("case").str.split("/").list.first()
_TIME_METRIC = _MODE.replace_strict(METRIC_BY_MODE, default=HALF_ROUND_TRIP)


def time_samples(samples: pl.LazyFrame) -> pl.LazyFrame:
    """The rows with times: per message for streams, otherwise half a round trip; all columns."""
    return samples.filter(pl.col("metric") == _TIME_METRIC)


def launch_medians(samples: pl.LazyFrame, by: list[str]) -> pl.DataFrame:
    """Median and minimum of `time_samples`: columns `by`, case, variant, size_bytes, seconds,
    min_seconds, bandwidth (MB/s); sorted.  `samples` has the columns of samples.csv and `by`."""
    keys = [*by, "case", "variant", "size_bytes"]
    messages = pl.when(pl.col("case").str.starts_with("bidirectional/")).then(2).otherwise(1)
    return (
        time_samples(samples)
        .group_by(keys)
        .agg(
            seconds=TIME_SUMMARY.aggregate("value"), min_seconds=MIN_TIME_SUMMARY.aggregate("value")
        )
        .with_columns(bandwidth=messages * pl.col("size_bytes") / pl.col("seconds") / 1e6)
        .sort(keys)
        .collect()
    )


def half_performance_size(sizes: list[int], rates: list[float]) -> float:
    """n1/2 [bytes] of a curve of rates in ascending sizes; NaN if it starts above half its peak."""
    half = max(rates) / 2
    points = list(zip(sizes, rates, strict=True))
    if points[0][1] >= half:
        return float(points[0][0]) if points[0][1] == half else math.nan
    for (size, rate), (next_size, next_rate) in pairwise(points):
        if rate < half <= next_rate:
            part = math.log(half / rate) / math.log(next_rate / rate)
            return float(size * (next_size / size) ** part)
    return math.nan


def perf_variables(samples: pl.DataFrame) -> dict[str, float]:
    """Figures of one launch (samples of one case), named as in PERF_VARIABLE_UNITS."""
    medians = launch_medians(samples.lazy(), [])
    raw = medians.filter(variant=RAW_MPI)
    seconds = dict(raw.select("size_bytes", "seconds").iter_rows())
    rates = dict(raw.select("size_bytes", "bandwidth").iter_rows())
    figures = {
        f"bandwidth_{name}": rates[size]
        for name, size in _BYTES_BY_SIZE_NAME.items()
        if size in rates
    }
    if 1 in seconds:
        figures["latency_1B_us"] = seconds[1] * 1e6
    if rates:
        figures["bandwidth_peak"] = max(rates.values())
        figures["n_half"] = half_performance_size(list(rates), list(rates.values()))
    ratios = ratios_within_launch(medians.filter(size_bytes=64 << 10), [], RAW_MPI)
    for variant, ratio in ratios.select("variant", "ratio").iter_rows():
        figures[f"ratio_{variant.replace('-', '_')}"] = ratio
    return {name: value for name, value in figures.items() if math.isfinite(value)}


#: Variants that are compared between toolchains, and the library that each depends on.
_LIBRARY_BY_VARIANT = {RAW_MPI: MPI, "boost": BOOST, "boost-serialized": BOOST}


def speeds(samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """Half round trip or time per message of each launch at the compared sizes: `SPEED_COLUMNS`."""
    rows = samples.filter(
        (pl.col("phase") == "measure")
        & pl.col("variant").is_in(list(_LIBRARY_BY_VARIANT))
        & pl.col("size_bytes").is_in(list(sizes))
    )
    mode = _MODE.replace("pingpong", "ping-pong")
    name = pl.col("variant").replace_strict({name: arm.title for name, arm in ARMS.items()})
    return toolchain_speeds(
        launch_medians(rows, ["launch"]),
        pl.concat_str(name, pl.lit(", "), mode),
        depends_on=pl.col("variant").replace_strict(_LIBRARY_BY_VARIANT),
        phase="measure",
        metric=_TIME_METRIC,
    )


def headline_speeds(samples: pl.LazyFrame) -> pl.DataFrame:
    """Latency at 1 byte and peak bandwidth of raw MPI in ping-pong, by launch: `SPEED_COLUMNS`."""
    is_raw = (pl.col("variant") == RAW_MPI) & pl.col("case").str.starts_with("pingpong/")
    raw = launch_medians(samples.filter(is_raw & (pl.col("phase") == "measure")), ["launch"])
    peak = raw.filter(pl.col("bandwidth") == pl.col("bandwidth").max().over("launch", "case"))
    latencies = toolchain_speeds(
        raw.filter(size_bytes=1),
        pl.lit("Half-round-trip latency"),
        phase="measure",
        metric=HALF_ROUND_TRIP,
    )
    peaks = toolchain_speeds(
        peak.unique(["launch", "case"], maintain_order=True),
        pl.lit("Peak bandwidth, ping-pong"),
        value=pl.col("bandwidth"),
        unit="MB/s",
        lower_is_better=pl.lit(False),
        **NO_SERIES,
    )
    return pl.concat([latencies, peaks])


#: Facts about the section for the report's audit.
AUDIT_FACTS = AuditFacts(
    summaries=(
        TIME_SUMMARY,
        MIN_TIME_SUMMARY,
        Summary("latency", ValueKind.COST, "the samples of all launches", PERCENTILES),
        Summary("bandwidth of all sizes", ValueKind.RATE, "the sizes of a launch", RATIO_OF_TOTALS),
        Summary("bandwidth", ValueKind.RATE, "launches", LAUNCH_STATISTIC),
        Summary("time of a message", ValueKind.COST, "launches", LAUNCH_STATISTIC),
    ),
    ratios=(
        AuditedRatio(
            "bandwidths of two variants", TIME_SUMMARY, PairingScope.LAUNCH, LAUNCH_STATISTIC
        ),
        AuditedRatio("NetPIPE 3.7.2 over ours", MIN_TIME_SUMMARY, PairingScope.UNPAIRED),
    ),
    latencies=(AuditedLatency("the time at 1 byte", {"size_bytes": 1, "phase": "measure"}),),
    clock="the sender reads its own clock, in a stream the receiver",
    synchronisation="an empty message from the receiver before each batch",
    over_ranks="one rank times, so that no clocks are compared",
    cache="one warm buffer where the case says same, memory not used recently where no-cache",
    build_columns=("mpi_library", "boost", "compiler", "compiler_flags"),
)
