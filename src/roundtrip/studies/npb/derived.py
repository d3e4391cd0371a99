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

import polars as pl

from roundtrip.stats.summaries import MEAN, SUM, TOTAL, Kind, Summary

STUDY = "npb"
BENCHMARKS = ("BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP")
CLASSES = ("S", "W", "A", "B", "C")
#: Classes for trying: milliseconds of work, of which nothing follows for a computation.
TRIAL_CLASSES = ("S", "W")
PATTERNS = ("exchange", "pipeline", "transpose", "reduction")
NATIVE, UPSTREAM = "native", "upstream"

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

#: Points of the grid in a direction, where that limits the number of ranks.
_GRID = {
    "BT": {"S": 12, "W": 24, "A": 64, "B": 102, "C": 162},
    "SP": {"S": 12, "W": 36, "A": 64, "B": 102, "C": 162},
    "LU": {"S": 12, "W": 33, "A": 64, "B": 102, "C": 162},
    "FT": {"S": 64, "W": 32, "A": 128, "B": 256, "C": 512},
}
_MOST = 256


def legal_ranks(benchmark: str, problem_class: str, ranks: int) -> bool:
    """Whether a benchmark takes this number of ranks: the rules of our program."""
    points = _GRID.get(benchmark, {}).get(problem_class, _MOST)
    if benchmark in ("BT", "SP"):
        return any(side * side == ranks for side in range(1, points // 3 + 1))
    if benchmark == "LU":
        shorter = max(
            (k for k in range(1, ranks + 1) if k * k <= ranks and ranks % k == 0), default=0
        )
        return shorter > 0 and points // (ranks // shorter) >= 4
    if benchmark in ("CG", "FT", "IS", "MG"):
        return 0 < ranks <= points and ranks & (ranks - 1) == 0
    return ranks > 0


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
