"""The NAS Parallel Benchmarks: what is derived from the samples, and who may run where.

Rate
    operations of the timed section, by NPB's formula, over its time: Mop/s.
Shares
    of an iteration's time, summed over the iterations of a launch: ``compute`` is the mean over
    the ranks of the time not in MPI, each pattern (exchange, pipeline, transpose, reduction) that
    in MPI.
Messages
    of the timed section, all ranks together, by pattern and size in bytes; a reduction counts once
    for each rank.

NAS reports RNR-94-007 and NAS-95-020.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from roundtrip.stats.summaries import MEAN, OVER_LAUNCHES, SLOPE, SUM, TOTAL, Kind, Summary
from roundtrip.studies.derivation import Facts, Pairing, Ratio, toolchain_speeds

PATTERNS = ("exchange", "pipeline", "transpose", "reduction")

#: Perf variables of a ReFrame check and their units.
SUMMARY_UNITS = {
    "rate": "Mop/s",
    "time": "s",
    "compute_share": "1",
    "messages": "1",
    "mean_message_bytes": "B",
}

#: What the program forms itself, and how the iterations of a launch become one time.
RATE = Summary("rate", Kind.RATE, "the timed section of a launch", TOTAL)
OF_RANKS = Summary("compute and communication of an iteration", Kind.COST, "ranks", MEAN)
PARTS = Summary("compute and communication", Kind.COST, "the iterations of a launch", SUM)
#: What `wan.slope` forms.
WAITED = Summary("time of an iteration over round-trip time", Kind.COST, "launches", SLOPE)


def summary(samples: pl.DataFrame) -> dict[str, float]:
    """The figures of one launch under the names of SUMMARY_UNITS; those not measured are absent."""
    figures: dict[str, float] = {}
    whole = samples.filter(pl.col("phase") == "total")
    for metric in ("rate", "time"):
        values = whole.filter(pl.col("metric") == metric)["value"]
        if len(values):
            figures[metric] = float(values[0])
    shares = phase_shares(samples)
    if "compute" in shares:
        figures["compute_share"] = shares["compute"]
    counts = messages(samples)
    total = counts["messages"].sum()
    if total:
        figures["messages"] = float(total)
        bytes_ = (counts["size_bytes"] * counts["messages"]).sum()
        figures["mean_message_bytes"] = float(bytes_) / float(total)
    return figures


def phase_shares(samples: pl.DataFrame) -> dict[str, float]:
    """Of each phase, its part of the time of all iterations of one launch; the sum is 1."""
    phases = samples.filter(
        (pl.col("metric") == "time") & pl.col("phase").is_in(["compute", *PATTERNS])
    )
    sums = phases.group_by("phase").agg(pl.col("value").sum()).sort("phase")
    total = sums["value"].sum()
    return {phase: value / total for phase, value in sums.iter_rows()}


def messages(samples: pl.DataFrame) -> pl.DataFrame:
    """Columns pattern, size_bytes, messages of one launch, sorted."""
    return (
        samples.filter(pl.col("metric") == "messages")
        .select(pattern="phase", size_bytes="size_bytes", messages=pl.col("value").cast(pl.Int64))
        .sort("pattern", "size_bytes")
    )


def speeds(samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """Mop/s of each launch: columns SPEEDS.  Of classes for trying too; `what` names the class."""
    rates = samples.filter((pl.col("metric") == "rate") & (pl.col("phase") == "total")).collect()
    return toolchain_speeds(
        rates,
        pl.col("case"),
        size_bytes=None,
        value=pl.col("value"),
        unit="Mop/s",
        lower_is_better=pl.lit(False),
    )


_RATES = Summary("rate", Kind.RATE, "launches", OVER_LAUNCHES)

#: What the report's audit has to know of the section.
FACTS = Facts(
    summaries=(
        RATE,
        OF_RANKS,
        PARTS,
        WAITED,
        _RATES,
        Summary("time", Kind.COST, "launches", OVER_LAUNCHES),
    ),
    ratios=(
        Ratio("rates, or times on own processors", RATE, Pairing.ROUND, OVER_LAUNCHES),
        Ratio("efficiency over nodes", _RATES, Pairing.APART),
    ),
    tails=(),
    no_tails="times whole computations, not latencies",
    clock="each rank reads its own clock",
    synchronised="a barrier before the timed section",
    over_ranks="the slowest rank's time; compute and communication are means over the ranks",
    cache="as an untimed first iteration left them, where the benchmark has one",
    made_with=("mpi_library", "compiler", "compiler_flags"),
    median_is_whole=True,
)
