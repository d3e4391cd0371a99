"""A launch of an OSU benchmark in our own format."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from roundtrip.collect.osu_output import Output
from roundtrip.collect.samples import HEADER
from roundtrip.studies.metrics import METRICS
from roundtrip.studies.osu import STUDY

#: Outputs in the folder of a launch: measured, and of the validation run before it.
MEASURED, VALIDATED = "osu.txt", "validation.txt"


@dataclass(frozen=True)
class Ran:
    """What the output does not tell: command, ranks, hosts as the scheduler names them."""

    command: Sequence[str]
    ranks: int
    hosts: Sequence[str]


def convert(folder: Path, output: Output, validated: bool, ran: Ran) -> None:
    """Write ``samples.csv`` and ``run.json`` into `folder`, as one of our workloads would.

    `validated`: whether a validation run of the same program passed just before.
    """
    rows = list(_rows(output))
    with (folder / "samples.csv").open("w", newline="") as stream:
        stream.write(f'# schema: 1\n# workload: "osu {output.version}"\n')
        for key, value in output.notes.items():
            stream.write(f"# {key.lower()}: {json.dumps(value)}\n")
        stream.write(f"{HEADER}\n")
        csv.writer(stream, lineterminator="\n").writerows(rows)
    record = _record(folder / MEASURED, output, validated, ran) | {"samples": {"rows": len(rows)}}
    (folder / "run.json").write_text(json.dumps(record, indent=1) + "\n")


def _rows(output: Output) -> Iterator[list[str | int]]:
    variant = f"osu-{output.version}"
    for row in output.rows:
        for (statistic, metric), value in row.values.items():
            yield [
                *(STUDY, output.benchmark.name, variant, row.size_bytes, statistic, 0, metric),
                *(f"{value:.12g}", METRICS[metric].unit),
            ]


def _record(file: Path, output: Output, validated: bool, ran: Ran) -> dict[str, object]:
    ended = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    return {
        "schema": 1,
        "workload": "osu",
        "version": output.version,
        "command": list(ran.command),
        "notes": output.notes,
        "mpi": {"standard": None, "library": None},
        "boost": None,
        "compiler": {"id": None, "version": None, "flags": None},
        "clock": {"name": "MPI_Wtime", "resolution_s": None, "overhead_s": None},
        "ranks": ran.ranks,
        "hosts": list(ran.hosts),
        "placement": [],
        "start_time": ended.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "elapsed_s": None,
        "seed": None,
        "budget_s": None,
        "disturbance": None,
        "warmup_discarded": None,
        "points": [
            {
                "case": output.benchmark.name,
                "variant": f"osu-{output.version}",
                "size_bytes": row.size_bytes,
                "samples": len(row.values),
                "batch": row.iterations,
                "median_s": None,
                "ci_relative_half_width": None,
                "status": "repeated",
                "verified": validated,
            }
            for row in output.rows
        ],
        "complete": True,
    }
