"""The NAS Parallel Benchmarks: their output, quantities derived from samples, published findings.

The result block that our programs print is that of NPB 3.4.1: label, `=`, value.  Its time has only
two decimals, so rates are taken from `Mop/s total`.

Rate
    operations of the timed section, by NPB's formula, over its time: Mop/s.
Shares
    parts of the time of all iterations of a launch: ``compute`` is the time outside MPI, each
    pattern (exchange, pipeline, transpose, reduction) the time in MPI; means over the ranks.
Messages
    number of messages of the timed section, all ranks together, by pattern and size in bytes; a
    reduction counts once for each rank.

NAS reports RNR-94-007 and NAS-95-020.

Speed-up
    rate on both clusters / rate on one cluster with half the ranks, in the same round.  BT and SP
    need square numbers of ranks: their base is one cluster with as many ranks.
Speed-up on processors of their own
    speed-up from separated times: (C1 + M1) / (C1 n1 / n2 + M2), where C is the time outside MPI
    and M the time in MPI, 1 is one cluster with n1 ranks, 2 both clusters with n2.  It excludes
    compute time that both clusters lose because ranks share processors.  It is a lower bound: M2
    still includes waiting for ranks that wait for a processor.
Round trips waited for
    growth of the time of an iteration with the round-trip time of the link, s/s: the median of all
    pairwise slopes (P. K. Sen, J. Am. Stat. Assoc. 63, 1968).  It is small for a benchmark that
    hides latency, however many messages it sends.

The study: Matsuda, Kudoh and Ishikawa, "Evaluation of MPI implementations on grid-connected
clusters using an emulated WAN environment", CCGrid 2003, doi 10.1109/CCGRID.2003.1199347.  Two
clusters of 16 hosts each, a router PC between them.  Its findings are from its abstract:
"UDP-encapsulated MPICH-SCore most often performs better than other implementations.  However, the
differences are not critical for the benchmarks.  [...] The performance of the LU benchmark scales
up linearly with under 4 millisecond round-trip latency.  The CG and MG benchmarks show the
scalability of 1.13 and 1.24 times with 4 millisecond round-trip latency, respectively."
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.stats.summaries import (
    LAUNCH_STATISTIC,
    MEAN,
    MEDIAN_SLOPE,
    RATIO_OF_TOTALS,
    SUM,
    Summary,
    ValueKind,
)
from roundtrip.studies import third_party
from roundtrip.studies.derivation import AuditedRatio, AuditFacts, PairingScope, toolchain_speeds
from roundtrip.studies.npb import STUDY, UPSTREAM

#: Published findings in their own words, those on speed-ups by benchmark.
UDP_BETTER_STATEMENT = (
    "“UDP-encapsulated MPICH-SCore most often performs better than other implementations”"
)
NOT_CRITICAL_STATEMENT = "“the differences are not critical for the benchmarks”"
_CG_AND_MG_STATEMENT = (
    "“The CG and MG benchmarks show the scalability of 1.13 and 1.24 times with 4 millisecond "
    "round-trip latency, respectively”"
)
SCALING_STATEMENTS = {
    "LU": "“The performance of the LU benchmark scales up linearly with under 4 millisecond "
    "round-trip latency”",
    "CG": f"{_CG_AND_MG_STATEMENT}: CG",
    "MG": f"{_CG_AND_MG_STATEMENT}: MG",
}


COMMUNICATION_PATTERNS = ("exchange", "pipeline", "transpose", "reduction")

#: Perf variables of a ReFrame check and their units.
PERF_VARIABLE_UNITS = {
    "rate": "Mop/s",
    "time": "s",
    "compute_share": "1",
    "messages": "1",
    "mean_message_bytes": "B",
}

#: Summaries that the program computes, and the sum over the iterations of a launch.
RATE_SUMMARY = Summary("rate", ValueKind.RATE, "the timed section of a launch", RATIO_OF_TOTALS)
OVER_RANKS_SUMMARY = Summary(
    "compute and communication of an iteration", ValueKind.COST, "ranks", MEAN
)
OVER_ITERATIONS_SUMMARY = Summary(
    "compute and communication", ValueKind.COST, "the iterations of a launch", SUM
)
#: Summary that `speedup.round_trips_waited` computes.
ROUND_TRIPS_SUMMARY = Summary(
    "time of an iteration over round-trip time", ValueKind.COST, "launches", MEDIAN_SLOPE
)


def perf_variables(samples: pl.DataFrame) -> dict[str, float]:
    """The performance variables of one launch, by PERF_VARIABLE_UNITS; the measured ones only."""
    section = samples.filter(pl.col("metric").is_in(["rate", "time"]), phase="total")
    # A sweep over host speeds has a row for each point, of which the first counts.
    values: dict[str, float] = dict(section.select("metric", "value").reverse().iter_rows())
    is_part = pl.col("phase").is_in(["compute", *COMMUNICATION_PATTERNS])
    parts = samples.filter(is_part, metric="time").group_by("phase").agg(pl.col("value").sum())
    for compute_s in parts.filter(phase="compute")["value"]:
        values["compute_share"] = compute_s / parts.sort("phase")["value"].sum()
    counts = messages(samples)
    if total := counts["messages"].sum():
        values["messages"] = float(total)
        bytes_ = (counts["size_bytes"] * counts["messages"]).sum()
        values["mean_message_bytes"] = float(bytes_) / float(total)
    return values


def messages(samples: pl.DataFrame) -> pl.DataFrame:
    """Messages of one launch: columns pattern, size_bytes, messages; sorted."""
    return (
        samples.filter(metric="messages")
        .select(pattern="phase", size_bytes="size_bytes", messages=pl.col("value").cast(pl.Int64))
        .sort("pattern", "size_bytes")
    )


def speeds(samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """Mop/s of each launch, trial classes included: `SPEED_COLUMNS`; `what` names the class."""
    return toolchain_speeds(
        samples.filter(metric="rate", phase="total").collect(),
        pl.col("case"),
        size_bytes=None,
        value=pl.col("value"),
        unit="Mop/s",
        lower_is_better=pl.lit(False),
    )


_RATE_OVER_LAUNCHES_SUMMARY = Summary("rate", ValueKind.RATE, "launches", LAUNCH_STATISTIC)

#: Facts about the section for the report's audit.
AUDIT_FACTS = AuditFacts(
    summaries=(
        RATE_SUMMARY,
        OVER_RANKS_SUMMARY,
        OVER_ITERATIONS_SUMMARY,
        ROUND_TRIPS_SUMMARY,
        _RATE_OVER_LAUNCHES_SUMMARY,
        Summary("time", ValueKind.COST, "launches", LAUNCH_STATISTIC),
    ),
    ratios=(
        AuditedRatio(
            "rates, or times on own processors", RATE_SUMMARY, PairingScope.ROUND, LAUNCH_STATISTIC
        ),
        AuditedRatio("efficiency over nodes", _RATE_OVER_LAUNCHES_SUMMARY, PairingScope.UNPAIRED),
    ),
    latencies=(),
    no_latencies_reason="times whole computations, not latencies",
    clock="each rank reads its own clock",
    synchronisation="a barrier before the timed section",
    over_ranks="the slowest rank's time; compute and communication are means over the ranks",
    cache="as an untimed first iteration left them, where the benchmark has one",
    build_columns=("mpi_library", "compiler", "compiler_flags"),
    median_is_of_batch=True,
)


@dataclass(frozen=True)
class NPBResult:
    """The result block that NPB prints: time in seconds (two decimals), rate in Mop/s."""

    benchmark: str
    problem_class: str
    iterations: int
    seconds: float
    total_processes: int
    active_processes: int
    mops: float
    verified: bool
    version: str
    #: How our program's iterations compare with the recorded ones; None for NPB's own programs.
    history: str | None = None


def parse_output(file: Path) -> NPBResult:
    """The result block in an output of NPB's programs; UserError if unreadable, or without one."""
    text = files.read_in_tree(file).decode(errors="replace")
    name = re.search(r"^ (\w\w) Benchmark Completed", text, re.MULTILINE)
    if name is None:
        raise UserError("no result block of NPB: it died, was killed or is something else", file)
    block = text[name.start() :]
    history = re.search(r"^ History: (.+)$", text, re.MULTILINE)
    try:
        return NPBResult(
            benchmark=name[1],
            problem_class=_result_value(block, "Class"),
            iterations=third_party.parse_whole_number(_result_value(block, "Iterations")),
            seconds=third_party.parse_number(_result_value(block, "Time in seconds")),
            total_processes=third_party.parse_whole_number(_result_value(block, "Total processes")),
            active_processes=third_party.parse_whole_number(
                _result_value(block, "Active processes")
            ),
            mops=third_party.parse_number(_result_value(block, "Mop/s total")),
            verified=_result_value(block, "Verification") == "SUCCESSFUL",
            version=_result_value(block, "Version"),
            history=history[1] if history else None,
        )
    except (KeyError, ValueError) as error:
        raise UserError(f"the result block of NPB is damaged: {error}", file) from None


def convert_output(output: Path, program: str, **rank_entries: Any) -> NPBResult:
    """Write ``samples.csv`` and ``run.json`` beside the output of NPB's own program.

    `rank_entries` are entries of run.json, hosts among them.  UserError if it was not verified, or
    if some of its processes had nothing to do.
    """
    result = parse_output(output)
    if not result.verified:
        raise UserError("NPB's verification failed", output)
    if result.active_processes != result.total_processes:
        raise UserError(
            f"only {result.active_processes} of {result.total_processes} processes were active",
            output,
        )
    case = f"{result.benchmark}/{result.problem_class}"
    fields = {"median_s": result.seconds or None, "status": "converged", "verified": True}
    record = {
        "workload": "npb-upstream",
        "version": result.version,
        "command": [program],
        "ranks": result.total_processes,
        **rank_entries,
        "points": [third_party.point_entry(case, UPSTREAM, 0, **fields)],
    }
    row = (STUDY.name, case, UPSTREAM, 0, "total", 0, "rate", result.mops, "Mop/s")
    third_party.write_launch(output, record, [row])
    return result


def _result_value(block: str, key: str) -> str:
    match = re.search(rf"^ {re.escape(key)}\s*=\s*(\S+)\s*$", block, re.MULTILINE)
    if match is None:
        raise KeyError(key)
    return match[1]
