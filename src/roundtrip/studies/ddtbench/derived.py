"""The DDTBench study: values derived from the samples, and published values.

T. Schneider, R. Gerstenberger, T. Hoefler, Micro-Applications for Communication Data Access
Patterns and MPI Datatypes, EuroMPI 2012.  Rank 0 takes all times, epoch by epoch; rank 1 unpacks
what it receives and packs its reply *inside* rank 0's `communication`.

Round trip
    of one exchange: pack + communication + unpack, seconds; with datatypes communication only.
Network time, t_net
    the round trip by hand without any packing.  Rank 1's packing is taken to last as long as rank
    0's, so it is subtracted twice: (pack + communication + unpack) - 2 (pack + unpack), of each
    exchange; then the median over a launch.  Subtracting once leaves rank 1's packing in t_net.
Overhead
    of a method: (round trip - t_net) / round trip, of the launch's medians.  It is negative if a
    method is faster than the network was for a packed buffer; it is never clipped.
Gain
    median round trip by hand over that with datatypes, in the same launch, which interleaves all
    methods in random order.  Above 1, datatypes are faster.
By hand
    is the loop nest of the application.  `manual-tuned` is our addition: loops written for speed,
    for the micro-apps where they are more than 10 % faster.
Creating datatypes
    is timed twice in each outer iteration: `ddt_create_overhead` after other methods, so that the
    MPI library's code may be out of cache, and `ddt_create_again` right after the types were freed,
    as in the published loop, which repeats a single method.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from roundtrip.stats.summaries import LAUNCH_STATISTIC, MEDIAN, SUM, Summary, ValueKind
from roundtrip.studies.ddtbench import DDT, MANUAL, MANUAL_TUNED, ORIGINAL_BUFFER_STATE
from roundtrip.studies.derivation import (
    NO_SERIES,
    AuditedRatio,
    AuditFacts,
    PairingScope,
    largest_message_rows,
    ratios_within_launch,
    toolchain_speeds,
)

EPOCH_METRIC = "epoch_time"
#: Epochs that make and free datatypes or buffers, in turn with other methods and at once again.
CREATION_EPOCHS = ("ddt_create_overhead", "ddt_create_again", "ddt_free_overhead", "ddt_free_again")
#: Published overheads of NAS_LU_x as fractions, by hand and with datatypes.
PUBLISHED_NAS_LU_X_OVERHEADS = (0.40, 0.15)

#: Perf variables of a ReFrame check and their units, at the largest message.
PERF_VARIABLE_UNITS = {
    "round_trip_manual": "us",
    "round_trip_mpi_ddt": "us",
    "overhead_manual": "%",
    "overhead_mpi_ddt": "%",
    "overhead_mpi_pack_ddt": "%",
    "overhead_ratio": "1",
    "gain": "1",
    "gain_over_tuned": "1",
    "overhead_manual_same": "%",
    "overhead_mpi_ddt_same": "%",
    "gain_same": "1",
}
#: The only epoch of an exchange without explicit packing, such as one with datatypes.
COMMUNICATION_EPOCH = "communication"
_EXCHANGE_EPOCHS = ("pack", COMMUNICATION_EPOCH, "unpack")
_COLUMNS_FROM_CASE = {
    "app": pl.col("case").str.split("/").list.first(),
    "buffers": pl.col("case").str.split("/").list.last(),
}
#: An exchange's round trip is a sum over its epochs; a launch's times are medians.
ROUND_TRIP_SUMMARY = Summary("round trip", ValueKind.COST, "the epochs of an exchange", SUM)
LAUNCH_SUMMARY = Summary("round trip", ValueKind.COST, "the exchanges of a launch", MEDIAN)
CREATION_SUMMARY = Summary("making a datatype", ValueKind.COST, "the rounds of a launch", MEDIAN)


def launch_medians(samples: pl.LazyFrame, by: list[str]) -> pl.DataFrame:
    """Medians for each (`by`, case, size_bytes, variant), seconds, sorted.

    Columns: the keys, app, buffers, pack, communication, unpack (0 for a method without packing),
    round_trip, network (t_net; null if nothing was packed by hand), overhead.
    """
    point = [*by, "case", "size_bytes"]
    keys = [*point, "variant"]
    value, phase = pl.col("value"), pl.col("phase")
    network = pl.col("communication") - pl.col("pack") - pl.col("unpack")
    exchanges = (
        samples.filter(phase.is_in(_EXCHANGE_EPOCHS), metric=EPOCH_METRIC)
        .group_by([*keys, "rep"])
        .agg(
            round_trip=ROUND_TRIP_SUMMARY.aggregate("value"),
            **{name: value.filter(phase == name).sum() for name in _EXCHANGE_EPOCHS},
        )
        .with_columns(network=pl.when(variant=MANUAL).then(network))
    )
    return (
        exchanges.group_by(keys)
        .agg(*map(LAUNCH_SUMMARY.aggregate, ("round_trip", *_EXCHANGE_EPOCHS, "network")))
        .with_columns(network=pl.col("network").max().over(point))
        .with_columns(
            overhead=(pl.col("round_trip") - pl.col("network")) / pl.col("round_trip"),
            **_COLUMNS_FROM_CASE,
        )
        .sort(keys)
        .collect()
    )


def creation_medians(samples: pl.LazyFrame, by: list[str]) -> pl.DataFrame:
    """Medians of `CREATION_EPOCHS`: columns `by`, case, size_bytes, variant, phase, app, buffers,
    seconds; sorted."""
    keys = [*by, "case", "size_bytes", "variant", "phase"]
    return (
        samples.filter(pl.col("phase").is_in(CREATION_EPOCHS), metric=EPOCH_METRIC)
        .group_by(keys)
        .agg(seconds=CREATION_SUMMARY.aggregate("value"))
        .with_columns(**_COLUMNS_FROM_CASE)
        .sort(keys)
        .collect()
    )


def datatype_gains(medians: pl.DataFrame, by: list[str], base: str = MANUAL) -> pl.DataFrame:
    """The datatype rows of `medians` with a column ratio: round trip by hand (`base`: MANUAL or
    MANUAL_TUNED) over that with datatypes, for the same `by`."""
    pair = medians.filter(pl.col("variant").is_in([DDT, base]))
    return ratios_within_launch(pair, by, base, "round_trip")


#: Ends of the names of PERF_VARIABLE_UNITS, by state of memory.
_SUFFIX_BY_BUFFER_STATE = {ORIGINAL_BUFFER_STATE: "", "same": "_same"}


def perf_variables(samples: pl.DataFrame) -> dict[str, float]:
    """The measured values of a launch of one micro-app, `PERF_VARIABLE_UNITS` among them."""
    values: dict[str, float] = {}
    medians = largest_message_rows(launch_medians(samples.lazy(), []), ["case"])
    medians = medians.filter(pl.col("buffers").is_in(list(_SUFFIX_BY_BUFFER_STATE)))
    for row in medians.iter_rows(named=True):
        name = f"{row['variant']}{_SUFFIX_BY_BUFFER_STATE[row['buffers']]}"
        values[f"round_trip_{name}"] = row["round_trip"] * 1e6
        if row["overhead"] is not None:
            values[f"overhead_{name}"] = row["overhead"] * 100
    for name, base in (("gain", MANUAL), ("gain_over_tuned", MANUAL_TUNED)):
        gains = datatype_gains(medians, [], base)
        for buffers, gain in gains.select("buffers", "ratio").iter_rows():
            values[f"{name}{_SUFFIX_BY_BUFFER_STATE[buffers]}"] = gain
    if values.get("overhead_manual") and "overhead_mpi_ddt" in values:
        values["overhead_ratio"] = values["overhead_mpi_ddt"] / values["overhead_manual"]
    return values


def speeds(samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """Round trip with datatypes by launch and micro-app, at its largest size: `SPEED_COLUMNS`."""
    medians = _original_state_medians(samples).filter(variant=DDT)
    medians = largest_message_rows(medians, ["launch", "case"])
    return _round_trip_speeds(medians, pl.concat_str("app", pl.lit(", datatypes")))


def _original_state_medians(samples: pl.LazyFrame) -> pl.DataFrame:
    original_samples = samples.filter(pl.col("case").str.ends_with(f"/{ORIGINAL_BUFFER_STATE}"))
    return launch_medians(original_samples, ["launch"])


def _round_trip_speeds(medians: pl.DataFrame, what: pl.Expr) -> pl.DataFrame:
    seconds = medians.rename({"round_trip": "seconds"})
    return toolchain_speeds(seconds, what, phase=COMMUNICATION_EPOCH, metric=EPOCH_METRIC)


#: The share of launches of a micro-app that count as its best and as its worst: those of one MPI.
_EXTREME_LAUNCH_SHARE = 0.2


def headline_speeds(samples: pl.LazyFrame) -> pl.DataFrame:
    """Of the micro-apps that gain most and least, at the largest message: `SPEED_COLUMNS`.

    Round trips with datatypes, also over those packed by hand.  A micro-app is ordered by its best
    and by its worst launches, as MPIs differ.
    """
    medians = largest_message_rows(_original_state_medians(samples), ["launch", "case"])
    ratios = datatype_gains(medians, ["launch"])
    ends = ratios.group_by("app").agg(
        best=pl.col("ratio").quantile(1 - _EXTREME_LAUNCH_SHARE, "nearest"),
        worst=pl.col("ratio").quantile(_EXTREME_LAUNCH_SHARE, "nearest"),
    )
    best = ends.sort("best", "app")["app"].tail(1).to_list()
    worst = ends.sort("worst", "app")["app"].head(1).to_list()
    is_end = pl.col("app").is_in([*best, *worst])
    gain_speeds = toolchain_speeds(
        ratios.filter(is_end).sort(pl.col("app").is_in(worst), maintain_order=True),
        pl.concat_str(pl.lit("Round trip with datatypes over packing by hand, "), "app"),
        value=1 / pl.col("ratio"),
        unit="ratio",
        **NO_SERIES,
    )
    what = pl.concat_str(pl.lit("Round trip with datatypes, "), "app")
    round_trips = _round_trip_speeds(medians.filter(is_end, variant=DDT), what)
    return pl.concat([gain_speeds, round_trips])


#: Facts about the section for the report's audit.
AUDIT_FACTS = AuditFacts(
    summaries=(
        ROUND_TRIP_SUMMARY,
        LAUNCH_SUMMARY,
        CREATION_SUMMARY,
        Summary("round trip", ValueKind.COST, "launches", LAUNCH_STATISTIC),
    ),
    ratios=(
        AuditedRatio(
            "round trips of two methods", LAUNCH_SUMMARY, PairingScope.LAUNCH, LAUNCH_STATISTIC
        ),
        AuditedRatio("overhead", LAUNCH_SUMMARY, PairingScope.LAUNCH, LAUNCH_STATISTIC),
    ),
    latencies=(),
    no_latencies_reason="compares whole round trips of applications' messages, not latencies",
    clock="rank 0 reads its own clock",
    synchronisation="a ping-pong waits for its partner; FFT's exchange is collective",
    over_ranks="all times are rank 0's",
    cache="as the previous method left them; in a second series, the same for all methods",
    build_columns=("mpi_library", "compiler", "compiler_flags"),
)
