"""Parse the output of NPB's programs and of ours, which is the same; convert it to a launch.

The result block is that of NPB 3.4.1: label, `=`, value.  Its time has only two decimals, so rates
are taken from `Mop/s total`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.studies import foreign
from roundtrip.studies.npb import STUDY, UPSTREAM


@dataclass(frozen=True)
class NPBResult:
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
            problem_class=_block_field(block, "Class"),
            iterations=foreign.parse_whole_number(_block_field(block, "Iterations")),
            seconds=foreign.parse_number(_block_field(block, "Time in seconds")),
            total_processes=foreign.parse_whole_number(_block_field(block, "Total processes")),
            active_processes=foreign.parse_whole_number(_block_field(block, "Active processes")),
            rate=foreign.parse_number(_block_field(block, "Mop/s total")),
            verified=_block_field(block, "Verification") == "SUCCESSFUL",
            version=_block_field(block, "Version"),
            history=history[1] if history else None,
        )
    except (KeyError, ValueError) as error:
        raise UserError(f"the result block of NPB is damaged: {error}", file) from None


def convert_output(
    output: Path,
    program: str,
    *,
    hosts: Sequence[str],
    **rank_entries: Any,
) -> NPBResult:
    """Write ``samples.csv`` and ``run.json`` beside the output of NPB's own program.

    `hosts` and `rank_entries` are entries of run.json.  UserError if it was not verified, or if
    some of its processes had nothing to do.
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
        "hosts": list(hosts),
        **rank_entries,
        "points": [foreign.point_entry(case, UPSTREAM, 0, **fields)],
    }
    row = (STUDY.name, case, UPSTREAM, 0, "total", 0, "rate", result.rate, "Mop/s")
    foreign.write_launch(output, record, [row])
    return result


def _block_field(block: str, label: str) -> str:
    match = re.search(rf"^ {re.escape(label)}\s*=\s*(\S+)\s*$", block, re.MULTILINE)
    if match is None:
        raise KeyError(label)
    return match[1]
