"""The three-column output of NetPIPE 3.7.2, and its launches in our own format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip.errors import UserError
from roundtrip.studies import third_party

#: NetPIPE's megabit, bits (it prints Mbps with 2^20, not 10^6).
MEGABIT_BITS = 1024 * 1024
REFERENCE_VARIANT = "netpipe-3.7.2"
_CASE_NAME = "pingpong/same"
_LINE_PATTERN = re.compile(
    r" *(?P<size>[0-9]{1,12}) +(?P<rate>[0-9]{1,12}\.[0-9]{6}) +(?P<seconds>[0-9]{1,9}\.[0-9]{8}) *"
)


@dataclass(frozen=True)
class OutputPoint:
    """A line of NetPIPE: message size, and half-round-trip time (minimum of three trials)."""

    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class SizeSchedule:
    """The sizes [bytes] that NetPIPE measures with options -l, -u and -p."""

    start: int = 1
    end: int = 8 << 20
    perturbation: int = 3

    def options(self) -> list[str]:
        """The options for NetPIPE's command line."""
        return ["-l", str(self.start), "-u", str(self.end), "-p", str(self.perturbation)]

    def sizes(self) -> Iterator[int]:
        """`start` times powers of two and 1.5 times these, up to `end`, ascending; once the steps
        are wide enough, also each of them minus and plus `perturbation`.
        """
        centre, increment, steps = self.start, max(1, self.start // 2), int(self.start > 1)
        while centre <= self.end:
            if steps > 2 and steps % 2:
                increment *= 2
            offset = self.perturbation if increment > self.perturbation + 1 else 0
            yield from sorted({centre - offset, centre, centre + offset})
            centre += increment
            steps += 1


def parse_output(file: Path, schedule: SizeSchedule | None = None) -> list[OutputPoint]:
    """Points of an output file; UserError with file and line for anything else.

    The sizes must be those of `schedule` (NetPIPE's own by default), from the first on.  The caller
    judges where they end, because NetPIPE stops when a message takes too long.  The time is
    computed from the rate, which has six decimals: the time column is rounded to 10 ns, which is
    3 % of a shared-memory latency.
    """
    points: list[OutputPoint] = []
    lines = [line for line in third_party.read_output_lines(file, "NetPIPE") if line.strip()]
    sizes = (schedule or SizeSchedule()).sizes()
    for number, line in enumerate(lines, 1):
        point = _parse_line(line, file, number)
        next_size = next(sizes, None)
        if point.size_bytes != next_size:
            fault = f"{next_size} is next: a line is missing" if next_size else "NetPIPE was to end"
            raise UserError(f"size {point.size_bytes} where {fault}", file, number)
        points.append(point)
    return points


def _parse_line(line: str, file: Path, number: int) -> OutputPoint:
    match, quoted = _LINE_PATTERN.fullmatch(line), third_party.quote(line)
    if match is None:
        fault = f"not a line of NetPIPE: {quoted}; right is: bytes Mbps seconds"
        raise UserError(fault, file, number)
    size, rate, seconds = int(match["size"]), float(match["rate"]), float(match["seconds"])
    if size == 0 or rate == 0:
        raise UserError(f"sizes and rates must be positive: {quoted}", file, number)
    time = size * 8 / (rate * MEGABIT_BITS)
    if abs(time - seconds) > 1e-8 + 1e-4 * time:
        raise UserError(f"rate and time contradict each other: {quoted}", file, number)
    return OutputPoint(size, time)


def convert_output(
    file: Path,
    program: str,
    ranks: int,
    schedule: SizeSchedule | None = None,
    **rank_entries: Any,
) -> list[OutputPoint]:
    """Write ``samples.csv`` and ``run.json`` beside `file`, as one of our workloads would.

    `rank_entries` are entries of run.json, hosts among them.  UserError as for `parse_output`, and
    if there is no point.
    """
    points = parse_output(file, schedule)
    if not points:
        raise UserError("NetPIPE wrote no point", file)
    record = {
        "workload": "netpipe-reference",
        "version": "3.7.2",
        "command": [program],
        "clock": {"name": "gettimeofday", "resolution_s": 1e-6, "overhead_s": None},
        "ranks": ranks,
        **rank_entries,
        "warmup_discarded": 100,
        "points": [
            third_party.point_entry(
                *(_CASE_NAME, REFERENCE_VARIANT, point.size_bytes),
                median_s=point.seconds,
                status="minimum-of-3",
                verified=False,
            )
            for point in points
        ],
    }
    third_party.write_launch(file, record, map(_sample_row, points))
    return points


def _sample_row(point: OutputPoint) -> list[object]:
    key = ("netpipe-reference", _CASE_NAME, REFERENCE_VARIANT, point.size_bytes, "measure", 0)
    return [*key, "half_round_trip_time", f"{point.seconds:.12g}", "s"]
