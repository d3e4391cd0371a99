"""The output of NPB's programs, and of ours, which is the same: parsed, and converted to a launch.

The result block is that of NPB 3.4.1: label, `=`, value.  Its time has two decimals, so that rates
are taken from `Mop/s total`.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.studies.npb import STUDY, UPSTREAM

_HEADER = "study,case,variant,size_bytes,phase,rep,metric,value,unit"


@dataclass(frozen=True)
class Result:
    """The result block that NPB prints: time in seconds (two decimals), rate in Mop/s."""

    benchmark: str
    problem_class: str
    iterations: int
    seconds: float
    total_processes: int
    active_processes: int
    rate: float
    verified: bool
    version: str


def parse(output: Path) -> Result:
    """`parse_output` of a file; UserError if it cannot be read or has no result block."""
    try:
        return parse_output(output.read_text(errors="replace"), output)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", output) from None


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
            iterations=int(_field(block, "Iterations")),
            seconds=float(_field(block, "Time in seconds")),
            total_processes=int(_field(block, "Total processes")),
            active_processes=int(_field(block, "Active processes")),
            rate=float(_field(block, "Mop/s total")),
            verified=_field(block, "Verification") == "SUCCESSFUL",
            version=_field(block, "Version"),
        )
    except (KeyError, ValueError) as error:
        raise UserError(f"the result block of NPB is damaged: {error}", file) from None


def convert(output: Path, program: str) -> Result:
    """Write ``samples.csv`` and ``run.json`` beside the output of NPB's own program.

    UserError if it was not verified, or if some of its processes had nothing to do.
    """
    result = parse(output)
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
