"""A launch of somebody else's program in our own format: samples.csv and run.json."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roundtrip.collect import samples, seal
from roundtrip.errors import UserError

#: What a program that is not ours does not tell; a converter fills in what its output has.
_UNTOLD: dict[str, Any] = {
    "mpi": {"standard": None, "library": None},
    "boost": None,
    "compiler": {"id": None, "version": None, "flags": None},
    "clock": {"name": "MPI_Wtime", "resolution_s": None, "overhead_s": None},
    "hosts": [],
    "placement": [],
    "elapsed_s": None,
    "seed": None,
    "budget_s": None,
    "disturbance": None,
    "warmup_discarded": None,
}


def write(
    output: Path,
    record: Mapping[str, Any],
    rows: Iterable[Sequence[object]],
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write both files beside `output`, sealed; the launch ended when `output` was written.

    `record` has the entries of run.json that are known, at least workload, version, command, ranks
    and points; `rows` have the columns of samples.csv, `notes` go to its head.  UserError for rows
    that the reader of samples.csv would refuse.
    """
    head = {"schema": 1, "workload": f"{record['workload']} {record['version']}", **(notes or {})}
    text = io.StringIO()
    text.writelines(f"# {key.lower()}: {json.dumps(value)}\n" for key, value in head.items())
    table = csv.writer(text, lineterminator="\n")
    table.writerow(samples.SCHEMA)
    table.writerows(rows)
    content = text.getvalue().encode()
    file = output.with_name("samples.csv")
    read = samples.parse(content, file)
    if read.problems:
        raise UserError(f"cannot be kept as samples: {read.problems[0].reason}", output)
    file.write_bytes(content)
    ended = datetime.fromtimestamp(output.stat().st_mtime, UTC)
    run = {
        "schema": 1,
        "start_time": ended.isoformat(timespec="seconds").replace("+00:00", "Z"),
        **_UNTOLD,
        **record,
        "samples": seal.of(content, read.frame),
        "complete": True,
    }
    output.with_name("run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def point(case: str, variant: str, size_bytes: int, **known: Any) -> dict[str, Any]:
    """An entry of `points`: one sample, neither repeated nor judged, but for what is `known`."""
    return {
        "case": case,
        "variant": variant,
        "size_bytes": size_bytes,
        "samples": 1,
        "batch": None,
        "median_s": None,
        "ci_relative_half_width": None,
        **known,
    }
