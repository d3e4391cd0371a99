"""Third-party programs: strict reading of their output, and their launches in our format."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import samples

#: Entries of run.json that such programs do not print; a converter replaces those it knows.
_DEFAULT_RUN_ENTRIES: dict[str, Any] = {
    "mpi": {"standard": None, "library": None},
    "boost": None,
    "compiler": {"id": None, "version": None, "flags": None},
    "clock": {"name": "MPI_Wtime", "resolution_s": None, "overhead_s": None},
    "placement": [],
    "elapsed_s": None,
    "seed": None,
    "budget_s": None,
    "disturbance": None,
    "warmup_discarded": None,
}
#: A number >= 0 as C and Fortran print it: digits, a point, an exponent.
_NUMBER_PATTERN = re.compile(r"(?=\.?[0-9])[0-9]{0,20}\.?[0-9]{0,20}([Ee][+-]?[0-9]{1,3})?")
_WHOLE_NUMBER_PATTERN = re.compile(r"[0-9]{1,15}")


def read_output_lines(file: Path, program: str) -> list[str]:
    """The lines of the output of `program`; UserError if not ASCII or without a last newline."""
    try:
        text = files.read_in_tree(file).decode("ascii")
    except UnicodeDecodeError as error:
        raise UserError(f"not an output of {program}: {error}", file) from None
    if text.strip() and not text.endswith("\n"):
        raise UserError("the last line has no end: truncated", file, text.count("\n") + 1)
    return text.splitlines()


def parse_number(text: str) -> float:
    """A finite number >= 0; ValueError for any other text."""
    if not _NUMBER_PATTERN.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError(f"{quote(text)} is not a number >= 0")
    return float(text)


def parse_whole_number(text: str) -> int:
    """A whole number >= 0 of at most 15 digits; ValueError for any other text."""
    if not _WHOLE_NUMBER_PATTERN.fullmatch(text):
        raise ValueError(f"{quote(text)} is not a whole number")
    return int(text)


def quote(text: str | None) -> str:
    """`text` for a message: quoted, cut to 60 characters."""
    return repr((text or "")[:60])


def write_launch(
    output: Path,
    record: Mapping[str, Any],
    rows: Iterable[Sequence[object]],
    head_entries: Mapping[str, Any] | None = None,
) -> None:
    """Write samples.csv and run.json, which seals it, beside `output`.

    Both have as start time the modification time of `output`, the end of the launch.  `record`: the
    known entries of run.json, at least workload, version, command, ranks, hosts and points.
    `rows`: rows of samples.csv; `head_entries` go into its head.  UserError for rows that the
    reader of samples.csv refuses.
    """
    end = datetime.fromtimestamp(output.stat().st_mtime, UTC)
    time = end.isoformat(timespec="seconds").replace("+00:00", "Z")
    workload = f"{record['workload']} {record['version']}"
    # The time distinguishes a launch with equal values from a copy of another launch.
    head = {"schema": 1, "workload": workload, "start": time, **(head_entries or {})}
    text = io.StringIO()
    text.writelines(f"# {key.lower()}: {json.dumps(value)}\n" for key, value in head.items())
    table = csv.writer(text, lineterminator="\n")
    table.writerow(samples.CSV_SCHEMA)
    table.writerows(rows)
    content = text.getvalue().encode()
    file = output.with_name("samples.csv")
    result = samples.parse(content, file)
    if result.faults:
        raise UserError(f"cannot be kept as samples: {result.faults[0].message}", output)
    file.write_bytes(content)
    run = {
        "schema": 1,
        "start_time": time,
        **_DEFAULT_RUN_ENTRIES,
        **record,
        "samples": samples.make_seal(content, result.frame),
        "complete": True,
    }
    output.with_name("run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def point_entry(case: str, variant: str, size_bytes: int, **entries: Any) -> dict[str, Any]:
    """An entry of `points` in run.json; `entries` adds keys or replaces the defaults."""
    return {
        "case": case,
        "variant": variant,
        "size_bytes": size_bytes,
        "samples": 1,
        "batch": None,
        "median_s": None,
        "ci_relative_half_width": None,
        **entries,
    }
