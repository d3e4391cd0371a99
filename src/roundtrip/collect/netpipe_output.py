"""NetPIPE 3.7.2's three-column output, and a launch of it in our own format."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from roundtrip.errors import UserError

#: NetPIPE's megabit, bits (it prints Mbps with 2^20, not 10^6).
MEGABIT = 1024 * 1024
VARIANT = "netpipe-3.7.2"


@dataclass(frozen=True)
class Point:
    """One line: message size, bytes, and half-round-trip time (minimum of three trials), s."""

    size_bytes: int
    seconds: float


def parse(file: Path) -> list[Point]:
    """Points of an output file; UserError with file and line for anything else.

    The time is computed back from the rate, which has six decimals: the time column is rounded
    to 10 ns, 3 % of a shared-memory latency.
    """
    points = []
    for number, line in enumerate(_lines(file), 1):
        columns = line.split()
        try:
            size, rate, _ = int(columns[0]), float(columns[1]), float(columns[2])
        except (IndexError, ValueError):
            raise UserError(
                f"not a line of NetPIPE: {line[:60]!r}; right is: bytes Mbps seconds", file, number
            ) from None
        if len(columns) != 3 or size <= 0 or not (rate > 0 and math.isfinite(rate)):
            raise UserError(f"sizes and rates must be positive: {line[:60]!r}", file, number)
        points.append(Point(size, size * 8 / (rate * MEGABIT)))
    return points


def convert(file: Path, program: str, ranks: int) -> list[Point]:
    """Write ``samples.csv`` and ``run.json`` beside `file`, as one of our workloads would."""
    points = parse(file)
    ended = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    run = {
        "schema": 1,
        "workload": "netpipe-reference",
        "version": "3.7.2",
        "command": [program],
        "mpi": {"standard": None, "library": None},
        "boost": None,
        "compiler": {"id": None, "version": None, "flags": None},
        "clock": {"name": "gettimeofday", "resolution_s": 1e-6, "overhead_s": None},
        "ranks": ranks,
        "hosts": [],
        "placement": [],
        "start_time": ended.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "elapsed_s": None,
        "seed": None,
        "budget_s": None,
        "disturbance": None,
        "warmup_discarded": 100,
        "points": [
            {
                "case": "pingpong/same",
                "variant": VARIANT,
                "size_bytes": point.size_bytes,
                "samples": 1,
                "batch": None,
                "median_s": point.seconds,
                "ci_relative_half_width": None,
                "status": "minimum-of-3",
                "verified": False,
            }
            for point in points
        ],
        "samples": {"rows": len(points)},
        "complete": True,
    }
    _write_samples(file.with_name("samples.csv"), points)
    file.with_name("run.json").write_text(json.dumps(run, indent=1) + "\n")
    return points


def _write_samples(file: Path, points: Iterable[Point]) -> None:
    with file.open("w", newline="") as stream:
        stream.write('# schema: 1\n# workload: "netpipe-reference 3.7.2"\n')
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(
            "study case variant size_bytes phase rep metric value unit".split()  # noqa: SIM905
        )
        for point in points:
            rows.writerow(
                [
                    "netpipe-reference",
                    "pingpong/same",
                    VARIANT,
                    point.size_bytes,
                    "measure",
                    0,
                    "half_round_trip_time",
                    f"{point.seconds:.12g}",
                    "s",
                ]
            )


def _lines(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text(encoding="ascii").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"no output of NetPIPE: {error}", file) from None
