"""OSU Micro-Benchmarks: the selected ones, their options, and values derived from them.

Latency
    half a round trip for `latency`; the time of one operation for all others.  OSU prints µs with
    two decimals: the last digit is 3 % of a shared-memory latency.
Bandwidth
    MB/s = 10^6 bytes/s; both directions together for `bibw`, all pairs together for `mbw_mr`.
Typical value
    of one launch at one size: the median over the program's own repetitions if the version
    prints percentiles (7.4 and later), otherwise the mean, which one preemption distorts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from roundtrip.stats.summaries import (
    LAUNCH_STATISTIC,
    MEAN,
    MEDIAN,
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
    toolchain_speeds,
)

#: Messages of a validation run and of a simulated run, and warm-up messages, which do not count.
_SHORT_RUN_MESSAGES, _WARM_UP_MESSAGES = 20, 2


@dataclass(frozen=True)
class Benchmark:
    """A program ``osu_<name>``: its title, the metric of its values, and its family.

    `family`: two-sided, one-sided, pairs or collective; `is_reduction`: it reduces numbers;
    `max_size_bytes`: default largest message, bytes.
    """

    name: str
    title: str
    metric: str
    family: str
    max_size_bytes: int = 4 << 20
    is_reduction: bool = False

    @property
    def is_collective(self) -> bool:
        """Whether it is a collective, which prints minimum and maximum over the ranks with -f."""
        return self.family == "collective"

    def last_size_bytes(self, max_bytes: int) -> int:
        """The largest size, bytes, of a run up to `max_bytes`, 0 for the program's default: sizes
        double from line to line.  A barrier has size 0 only."""
        return (
            1 << (max_bytes.bit_length() - 1)
            if max_bytes and self.max_size_bytes
            else self.max_size_bytes
        )


_ALL_BENCHMARKS = (
    Benchmark("latency", "Latency Test", "half_round_trip_time", "two-sided"),
    Benchmark("bw", "Bandwidth Test", "bandwidth", "two-sided"),
    Benchmark("bibw", "Bi-Directional Bandwidth Test", "bandwidth", "two-sided"),
    Benchmark("put_latency", "MPI_Put Latency Test", "operation_time", "one-sided"),
    Benchmark("put_bw", "MPI_Put Bandwidth Test", "bandwidth", "one-sided"),
    Benchmark("get_latency", "MPI_Get Latency Test", "operation_time", "one-sided"),
    Benchmark("get_bw", "MPI_Get Bandwidth Test", "bandwidth", "one-sided"),
    Benchmark("mbw_mr", "Multiple Bandwidth / Message Rate Test", "bandwidth", "pairs"),
    Benchmark("allreduce", "Allreduce Latency Test", "operation_time", "collective", 1 << 20, True),
    Benchmark(
        "alltoall",
        "All-to-All Personalized Exchange Latency Test",
        "operation_time",
        "collective",
        1 << 20,
    ),
    Benchmark("bcast", "Broadcast Latency Test", "operation_time", "collective", 1 << 20),
    Benchmark("barrier", "Barrier Latency Test", "operation_time", "collective", 0),
)
BENCHMARKS = {benchmark.name: benchmark for benchmark in _ALL_BENCHMARKS}
#: Benchmarks of two ranks, and of any number of ranks.
TWO_RANK_BENCHMARKS = tuple(
    b.name for b in _ALL_BENCHMARKS if b.family in ("two-sided", "one-sided")
)
MANY_RANK_BENCHMARKS = tuple(b.name for b in _ALL_BENCHMARKS if b.family in ("pairs", "collective"))

_BYTES_BY_SIZE_NAME = {"8B": 8, "1KiB": 1 << 10, "64KiB": 64 << 10, "1MiB": 1 << 20}
#: Perf variables of a ReFrame check and their units: typical values.
PERF_VARIABLE_UNITS = {
    "time": "us",
    **{f"time_{name}": "us" for name in _BYTES_BY_SIZE_NAME},
    **{f"bandwidth_{name}": "MB/s" for name in _BYTES_BY_SIZE_NAME},
    "bandwidth_peak": "MB/s",
    "message_rate_8B": "1/s",
}


def measurement_options(
    benchmark: Benchmark, help_text: str, max_bytes: int, iterations: int
) -> list[str]:
    """Options of a measurement that `help_text` lists; none for a parameter of 0."""
    arguments = ["-f"] if benchmark.is_collective else []
    if benchmark.is_reduction and "--type" in help_text:
        arguments += ["-T", "mpi_int"]  # 7.2 and 7.4 reduce bytes by default, others integers
    if max_bytes and benchmark.max_size_bytes and " -m" in help_text:
        arguments += ["-m", str(max_bytes)]
    if iterations and " -i" in help_text:
        arguments += ["-i", str(iterations)]
    if "--tail-lat" in help_text:
        arguments.append("-z")
    return arguments


def short_run_options(
    benchmark: Benchmark, help_text: str, max_bytes: int, iterations: int = 0
) -> list[str]:
    """Options of a run with few messages of each size, as in simulation, where all are alike."""
    arguments = measurement_options(
        benchmark, help_text, max_bytes, iterations or _SHORT_RUN_MESSAGES
    )
    return [*arguments, *(["-x", str(_WARM_UP_MESSAGES)] if " -x" in help_text else [])]


def validation_options(
    benchmark: Benchmark, help_text: str, max_bytes: int, iterations: int = 0
) -> list[str] | None:
    """Options of a run that validates received data; None if the program cannot validate.

    The run has 20 messages of each size, or `iterations` if they are fewer and not 0.

    It is a separate run: comparing the data between two messages moves it through the caches,
    which made messages of 8 bytes a quarter slower.
    """
    if "--validation" not in help_text or benchmark.name == "barrier":
        return None
    count = min(iterations or _SHORT_RUN_MESSAGES, _SHORT_RUN_MESSAGES)
    return [
        *short_run_options(benchmark, help_text.replace("--tail-lat", ""), max_bytes, count),
        "-c",
    ]


#: Statistics that the programs compute, by phase in samples.csv; the first one present counts.
SUMMARY_BY_PHASE = {
    "p50": Summary(
        "value of a benchmark", ValueKind.COST, "the messages of a program's run", MEDIAN
    ),
    "average": Summary(
        "time of a benchmark", ValueKind.COST, "the messages of a program's run", MEAN
    ),
}
#: How the programs form the `average` of a bandwidth.
BANDWIDTH_SUMMARY = Summary(
    "bandwidth", ValueKind.RATE, "the windows of a program's run", RATIO_OF_TOTALS
)


def typical_values(samples: pl.LazyFrame, by: list[str]) -> pl.DataFrame:
    """The median if printed, else the mean, of each (`by`, case, variant, metric, size): columns of
    these keys, `phase` (p50 or average), and value in the metric's unit."""
    keys = [*by, "case", "variant", "metric", "size_bytes"]
    return (
        samples.filter(pl.col("phase").is_in(list(SUMMARY_BY_PHASE)))
        .sort(*keys, pl.col("phase").cast(pl.Enum(list(SUMMARY_BY_PHASE))))
        .group_by(keys, maintain_order=True)
        .agg(pl.col("phase").first(), pl.col("value").first())
        .collect()
    )


def perf_variables(samples: pl.DataFrame) -> dict[str, float]:
    """The performance variables of one launch, by PERF_VARIABLE_UNITS; the measured ones only."""
    values: dict[str, dict[int, float]] = {}
    for row in typical_values(samples.lazy(), []).iter_rows(named=True):
        values.setdefault(row["metric"], {})[row["size_bytes"]] = row["value"]
    times = {**values.get("operation_time", {}), **values.get("half_round_trip_time", {})}
    rates = values.get("bandwidth", {})
    variables = {}
    if list(times) == [0]:
        variables["time"] = times[0] * 1e6
    for name, size in _BYTES_BY_SIZE_NAME.items():
        if size in times:
            variables[f"time_{name}"] = times[size] * 1e6
        if size in rates:
            variables[f"bandwidth_{name}"] = rates[size]
    if rates:
        variables["bandwidth_peak"] = max(rates.values())
    if 8 in values.get("message_rate", {}):
        variables["message_rate_8B"] = values["message_rate"][8]
    return variables


#: Points that are often quoted: program and size in bytes.
_QUOTED_POINTS = (
    ("latency", 8),
    ("bw", 1 << 20),
    ("bibw", 1 << 20),
    ("put_latency", 8),
    ("get_latency", 8),
    ("allreduce", 8),
    ("alltoall", 1 << 10),
    ("bcast", 1 << 10),
    ("barrier", 0),
)


#: The least time in µs that is compared: ten units of the last digit that the programs print.
_MIN_COMPARED_US = 0.1


def speeds(samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """The typical value of each launch at the points that are often quoted: `SPEED_COLUMNS`;
    without those where a time is below `_MIN_COMPARED_US`: its digits are too few."""
    is_resolved = (pl.col("unit") != "µs") | (pl.col("value") >= _MIN_COMPARED_US)
    quotes = _quoted_speeds(typical_values(samples, ["launch"]))
    return quotes.filter(is_resolved.all().over("what", "size_bytes"))


def headline_speeds(samples: pl.LazyFrame) -> pl.DataFrame:
    """Latency, peak of the bandwidth one way, and the other quoted points: `SPEED_COLUMNS`."""
    values = typical_values(samples, ["launch"])
    quotes = _quoted_speeds(values)
    is_latency = quotes["what"] == "OSU latency"
    peaks = values.filter(case="bw", metric="bandwidth").sort("value").unique("launch", keep="last")
    peak = _benchmark_speeds(peaks.sort("launch"), pl.lit("OSU bw, peak"), **NO_SERIES)
    return pl.concat([quotes.filter(is_latency), peak, quotes.filter(~is_latency)])


def _quoted_speeds(values: pl.DataFrame) -> pl.DataFrame:
    schema = {"case": pl.String, "size_bytes": pl.Int64}
    quotes = pl.DataFrame(_QUOTED_POINTS, schema, orient="row")
    is_main = pl.col("metric").is_in(["half_round_trip_time", "operation_time", "bandwidth"])
    quoted_values = quotes.join(values, on=list(schema), maintain_order="left").filter(is_main)
    return _benchmark_speeds(quoted_values, pl.concat_str(pl.lit("OSU "), "case"))


def _benchmark_speeds(values: pl.DataFrame, what: pl.Expr, **columns: None) -> pl.DataFrame:
    is_rate = pl.col("metric") == "bandwidth"
    return toolchain_speeds(
        values,
        what,
        value=pl.when(is_rate).then("value").otherwise(pl.col("value") * 1e6),
        unit=pl.when(is_rate).then(pl.lit("MB/s")).otherwise(pl.lit("µs")),
        lower_is_better=~is_rate,
        **columns,
    )


_OVER_LAUNCHES_SUMMARY = Summary(
    "time of a benchmark", ValueKind.COST, "launches", LAUNCH_STATISTIC
)

#: The programs report nothing about clock and caches.
AUDIT_FACTS = AuditFacts(
    summaries=(
        *SUMMARY_BY_PHASE.values(),
        BANDWIDTH_SUMMARY,
        _OVER_LAUNCHES_SUMMARY,
        Summary("bandwidth", ValueKind.RATE, "launches", LAUNCH_STATISTIC),
    ),
    ratios=(
        AuditedRatio("OSU over NetPIPE", _OVER_LAUNCHES_SUMMARY, PairingScope.UNPAIRED),
        AuditedRatio("efficiency over nodes", _OVER_LAUNCHES_SUMMARY, PairingScope.UNPAIRED),
    ),
    latencies=(AuditedLatency("latency", {"case": "latency", "phase": "average"}),),
    build_columns=("mpi_library", "compiler", "compiler_flags"),
)
