"""The output of OSU Micro-Benchmarks, versions 5.x to 7.x, and their launches in our own format.

Columns and their order depend on version and options.  Blanks separate the names and occur in them
(``Bandwidth (MB/s) P50 Tail BW(MB/s)``), so columns are recognised by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roundtrip.errors import UserError
from roundtrip.studies import third_party
from roundtrip.studies.osu import STUDY
from roundtrip.studies.osu.derived import BENCHMARKS, Benchmark
from roundtrip.studies.third_party import quote
from roundtrip.study import METRICS

_COLUMN_PATTERN = re.compile(
    r"(?P<size>Size)|(?P<sent>Transmit Size)|(?P<count>Iterations)|(?P<check>Validation)"
    r"|(?:(?P<of>Avg|Min|Max) )?(?P<time>Latency ?\(us\))"
    r"|(?:Bandwidth \()?(?P<rate>MB/s)\)?|(?P<messages>Messages/s)"
    r"|P(?P<part>\d+) Tail (?:(?P<tail_time>Lat\(us\))|(?P<tail_rate>BW\(MB/s\)))"
)
_STATISTIC_BY_PREFIX = {"Avg": "average", "Min": "minimum", "Max": "maximum", None: "average"}
#: Quantities of columns with measured values, and the factors to s, MB/s and 1/s.
_FACTOR_BY_QUANTITY = {"time": 1e-6, "rate": 1.0, "messages": 1.0}


_MAJOR_VERSIONS = range(5, 8)
_TITLE_PATTERN = re.compile(r"# OSU (?P<title>MPI.*?) v(?P<version>(?P<major>\d+)\.\d\S*)$")
#: MPI, MPI-CUDA and similar; MPI_Put is a different name.
_DEVICE_MPI_PATTERN = re.compile(r"^MPI(-\w+)? ")
_NOTE_PATTERN = re.compile(r"# (?:(?P<key>[A-Z][\w ]*): (?P<value>\S+?)\.?|\[ .*\])$")


@dataclass(frozen=True)
class SizeRow:
    """One message size (0 if there is none): values by (statistic, metric), s or MB/s or 1/s.

    Statistics are average, minimum, maximum, p50 and other percentiles.  `iterations`, `passed`
    and `sent_bytes` are None where the output has no such column.
    """

    size_bytes: int
    values: dict[tuple[str, str], float]
    iterations: int | None = None
    passed: bool | None = None
    sent_bytes: int | None = None


@dataclass(frozen=True)
class OSUOutput:
    """What an OSU program printed; `notes` are comments, such as ``Datatype: MPI_CHAR``, by key."""

    benchmark: Benchmark
    version: str
    notes: dict[str, str]
    rows: tuple[SizeRow, ...]


def parse_output(file: Path, benchmark: str, max_bytes: int = 0) -> OSUOutput:
    """The output of ``osu_<benchmark>``; UserError with file and line for anything else.

    Sizes must double from line to line and reach `max_bytes` bytes, so that a file that ends early
    or lacks a line is refused.  No validation may have failed.
    """
    parser = _OutputParser(file, BENCHMARKS[benchmark])
    for number, line in enumerate(third_party.read_output_lines(file, "OSU"), 1):
        if line.strip():
            parser.parse_line(line.rstrip(), number)
    return parser.complete_output(max_bytes)


@dataclass
class _OutputParser:
    file: Path
    benchmark: Benchmark
    version: str = ""
    title: str = ""
    #: Quantity (a group of `_COLUMN_PATTERN`) and statistic of each column.
    columns: list[tuple[str, str]] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    rows: list[SizeRow] = field(default_factory=list)
    line_number: int = 0

    def parse_line(self, line: str, number: int) -> None:
        self.line_number = number
        if not self.version or (line == self.title and not self.columns):
            self._parse_title(line)  # mbw_mr of 6.2 and 7.2: every rank prints it
        elif not line.startswith("#"):
            self._add_row(line)
        elif re.match(r"# (Size|Avg Latency)", line):
            self._parse_header(line)
        elif (note := _NOTE_PATTERN.match(line)) and not self.rows:
            if note["key"]:
                self.notes[note["key"]] = note["value"]
        else:
            fault = f"{quote(line)} is not a line of OSU's; right is: values, or a header"
            raise self._fault(fault)

    def complete_output(self, max_bytes: int) -> OSUOutput:
        if not self.version:
            raise UserError("empty; right is the output of an OSU benchmark", self.file)
        if not self.rows:
            raise self._fault("ends before the first value: truncated")
        end = self.rows[-1].size_bytes
        if end < max_bytes:
            raise self._fault(f"ends at {end} bytes, before {max_bytes}: truncated")
        return OSUOutput(self.benchmark, self.version, self.notes, tuple(self.rows))

    def _parse_title(self, line: str) -> None:
        match = _TITLE_PATTERN.match(line)
        example = f"# OSU MPI {self.benchmark.title} v7.5"
        if match is None:
            raise self._fault(f"{quote(line)} is not a title of OSU's; right is: {example}")
        title = _DEVICE_MPI_PATTERN.sub("", match["title"])
        if int(match["major"]) not in _MAJOR_VERSIONS:
            raise self._fault(
                f"version {match['version']} of OSU is not known here; right are "
                f"{_MAJOR_VERSIONS[0]}.x to {_MAJOR_VERSIONS[-1]}.x"
            )
        if title.lower() != self.benchmark.title.lower():
            raise self._fault(f"this is {quote(title)}; right is: {self.benchmark.title}")
        self.version, self.title = match["version"], line

    def _parse_header(self, line: str) -> None:
        if unknown := _COLUMN_PATTERN.sub("", line[1:]).strip():
            raise self._fault(f"unknown column {quote(unknown)}")
        if self.rows:
            raise self._fault("a second header: the file holds the outputs of two programs")
        self.columns = []
        for match in _COLUMN_PATTERN.finditer(line[1:]):
            quantity = str(match.lastgroup).removeprefix("tail_")
            statistic = f"p{match['part']}" if match["part"] else _STATISTIC_BY_PREFIX[match["of"]]
            self.columns.append((quantity, statistic))

    def _add_row(self, line: str) -> None:
        if not self.columns:
            raise self._fault(f"{quote(line)} before the header; right is: # Size ...")
        cells = line.split()
        if len(cells) != len(self.columns) or not cells[0][0].isdigit():
            raise self._fault(f"{quote(line)} is not the {len(self.columns)} values of a line")
        try:
            row = self._parse_row(cells)
        except ValueError as error:
            raise self._fault(str(error)) from None
        if row.passed is False:
            raise self._fault(f"validation failed at {row.size_bytes} bytes: wrong data arrived")
        previous_size = self.rows[-1].size_bytes if self.rows else None
        if previous_size is not None and row.size_bytes != max(1, 2 * previous_size):
            raise self._fault(f"size {row.size_bytes} after {previous_size}: a line is missing")
        self.rows.append(row)

    def _parse_row(self, cells: list[str]) -> SizeRow:
        """The row of a line; ValueError for a cell that is no number."""
        texts: dict[str, str] = {}
        values: dict[tuple[str, str], float] = {}
        for (quantity, statistic), cell in zip(self.columns, cells, strict=True):
            if quantity not in _FACTOR_BY_QUANTITY:
                texts[quantity] = cell
                continue
            if (quantity == "time") == (self.benchmark.metric == "bandwidth"):
                raise self._fault(f"a column that {self.benchmark.title!r} does not have")
            metric = "message_rate" if quantity == "messages" else self.benchmark.metric
            factor = _FACTOR_BY_QUANTITY[quantity]
            values[statistic, metric] = factor * third_party.parse_number(cell)
        check = texts.get("check")
        if check not in ("Pass", "Fail", None):
            raise self._fault(f"validation is {quote(check)}; right are: Pass, Fail")
        return SizeRow(
            third_party.parse_whole_number(texts.get("size", "0")),
            values,
            third_party.parse_whole_number(texts["count"]) if "count" in texts else None,
            None if check is None else check == "Pass",
            third_party.parse_whole_number(texts["sent"]) if "sent" in texts else None,
        )

    def _fault(self, message: str) -> UserError:
        return UserError(message, self.file, self.line_number)


#: Outputs in the folder of a launch: of the measurement, and of the validation run before it.
MEASUREMENT_FILE, VALIDATION_FILE = "osu.txt", "validation.txt"


def convert_output(
    folder: Path,
    output: OSUOutput,
    *,
    validated: bool,
    command: Sequence[str],
    ranks: int,
    simulated: Mapping[str, Any] | None = None,
    **rank_entries: Any,
) -> None:
    """Write ``samples.csv`` and ``run.json`` into `folder`, as one of our workloads would.

    `validated`: whether a validation run of the same program passed just before.  `command`,
    `ranks`, `simulated` (the simulator) and `rank_entries`, hosts among them, are entries of
    run.json that the output does not contain.
    """
    variant, benchmark = f"osu-{output.version}", output.benchmark.name
    points = [
        third_party.point_entry(
            *(benchmark, variant, row.size_bytes),
            samples=len(row.values),
            batch=row.iterations,
            status="repeated",
            verified=validated,
        )
        for row in output.rows
    ]
    record = {
        "workload": "osu",
        "version": output.version,
        "command": list(command),
        "notes": output.notes,
        "ranks": ranks,
        "points": points,
        "simulated": simulated,
        **rank_entries,
    }
    samples = (
        [
            *(STUDY.name, benchmark, variant, row.size_bytes, statistic, 0, metric),
            *(f"{value:.12g}", METRICS[metric].unit),
        ]
        for row in output.rows
        for (statistic, metric), value in row.values.items()
    )
    third_party.write_launch(folder / MEASUREMENT_FILE, record, samples, output.notes)
