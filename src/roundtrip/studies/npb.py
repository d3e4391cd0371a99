"""The NAS Parallel Benchmarks: what is derived from the samples, and the official output.

Rate
    operations of the timed section, by NPB's formula, over its time: Mop/s.
Shares
    of an iteration's time, summed over the iterations of a launch: ``compute`` is the mean over
    the ranks of the time not in MPI, each pattern (exchange, pipeline, transpose, reduction) that
    in MPI.
Messages
    of the timed section, all ranks together, by pattern and size in bytes; a reduction counts once
    for each rank.

NAS reports RNR-94-007 and NAS-95-020; the output is that of NPB 3.4.1.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from roundtrip.collect import samples as samples_file
from roundtrip.errors import UserError

STUDY = "npb"
BENCHMARKS = ("BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP")
CLASSES = ("S", "W", "A", "B", "C")
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
_HEADER = "study,case,variant,size_bytes,phase,rep,metric,value,unit"


@dataclass(frozen=True)
class Result:
    """The result block that NPB prints: time in seconds (two decimals), rate in Mop/s."""

    benchmark: str
    problem_class: str
    seconds: float
    total_processes: int
    active_processes: int
    rate: float
    verified: bool
    version: str


def legal_ranks(benchmark: str, ranks: int) -> bool:
    """Whether a benchmark takes this number of ranks, whatever its class."""
    if benchmark in ("BT", "SP"):
        return any(side * side == ranks for side in range(1, ranks + 1))
    if benchmark in ("CG", "FT", "IS", "MG"):
        return ranks > 0 and ranks & (ranks - 1) == 0
    return ranks > 0


def parse_output(text: str, file: str | Path) -> Result:
    """The result block in the output of one of NPB's programs; UserError if there is none."""
    name = re.search(r"^ (\w\w) Benchmark Completed", text, re.MULTILINE)
    if name is None:
        raise UserError("no result block of NPB: it died, was killed or is something else", file)
    block = text[name.start() :]
    try:
        return Result(
            benchmark=name[1],
            problem_class=_field(block, "Class"),
            seconds=float(_field(block, "Time in seconds")),
            total_processes=int(_field(block, "Total processes")),
            active_processes=int(_field(block, "Active processes")),
            rate=float(_field(block, "Mop/s total")),
            verified=_field(block, "Verification") == "SUCCESSFUL",
            version=_field(block, "Version"),
        )
    except (KeyError, ValueError) as error:
        raise UserError(f"the result block of NPB is damaged: {error}", file) from None


def convert_upstream(output: Path, program: str) -> Result:
    """Write ``samples.csv`` and ``run.json`` beside the output of NPB's own program.

    UserError if it was not verified, or if some of its processes had nothing to do.
    """
    result = parse_output(output.read_text(errors="replace"), output)
    if not result.verified:
        raise UserError("NPB's verification failed", output)
    if result.active_processes != result.total_processes:
        raise UserError(
            f"only {result.active_processes} of {result.total_processes} processes were active",
            output,
        )
    case = f"{result.benchmark}/{result.problem_class}"
    with output.with_name("samples.csv").open("w", newline="") as stream:
        stream.write(f'# schema: 1\n# workload: "npb-upstream {result.version}"\n{_HEADER}\n')
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow([STUDY, case, UPSTREAM, 0, "total", 0, "rate", result.rate, "Mop/s"])
    output.with_name("run.json").write_text(json.dumps(_run_record(result, output, program)) + "\n")
    return result


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


def summarise_file(file: str | Path) -> dict[str, float]:
    """`summary` of a samples.csv; UserError with the first problem if it is not a good one."""
    try:
        read = samples_file.read(Path(file))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", file) from None
    if read.problems:
        first = read.problems[0]
        raise UserError(first.reason, first.file, first.line)
    return summary(read.frame)


def _field(block: str, label: str) -> str:
    found = re.search(rf"^ {re.escape(label)}\s*=\s*(\S+)\s*$", block, re.MULTILINE)
    if found is None:
        raise KeyError(label)
    return found[1]


def _run_record(result: Result, output: Path, program: str) -> dict[str, object]:
    ended = datetime.fromtimestamp(output.stat().st_mtime, UTC)
    point = {
        "case": f"{result.benchmark}/{result.problem_class}",
        "variant": UPSTREAM,
        "size_bytes": 0,
        "samples": 1,
        "batch": None,
        "median_s": result.seconds or None,
        "ci_relative_half_width": None,
        "status": "converged",
        "verified": True,
    }
    return {
        "schema": 1,
        "workload": "npb-upstream",
        "version": result.version,
        "command": [program],
        "mpi": {"standard": None, "library": None},
        "boost": None,
        "compiler": {"id": None, "version": None, "flags": None},
        "clock": {"name": "MPI_Wtime", "resolution_s": None, "overhead_s": None},
        "ranks": result.total_processes,
        "hosts": [],
        "placement": [],
        "start_time": ended.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "elapsed_s": None,
        "seed": None,
        "budget_s": None,
        "disturbance": None,
        "warmup_discarded": None,
        "points": [point],
        "samples": {"rows": 1},
        "complete": True,
    }
