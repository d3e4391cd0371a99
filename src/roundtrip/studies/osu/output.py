"""The output of OSU Micro-Benchmarks, versions 5.x to 7.x, and their launches in our own format.

Columns and their order depend on version and options.  Blanks separate the names and occur in them
(``Bandwidth (MB/s) P50 Tail BW(MB/s)``), so columns are recognised by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from roundtrip.errors import UserError
from roundtrip.studies import foreign
from roundtrip.studies.derivation import METRICS
from roundtrip.studies.foreign import quote
from roundtrip.studies.osu import STUDY
from roundtrip.studies.osu.derived import BENCHMARKS, Benchmark

_COLUMN = re.compile(
    r"(?P<size>Size)|(?P<sent>Transmit Size)|(?P<count>Iterations)|(?P<check>Validation)"
    r"|(?:(?P<of>Avg|Min|Max) )?(?P<time>Latency ?\(us\))"
    r"|(?:Bandwidth \()?(?P<rate>MB/s)\)?|(?P<messages>Messages/s)"
    r"|P(?P<part>\d+) Tail (?:(?P<tail_time>Lat\(us\))|(?P<tail_rate>BW\(MB/s\)))"
)
_STATISTICS = {"Avg": "average", "Min": "minimum", "Max": "maximum", None: "average"}
_SCALES = {"time": 1e-6, "rate": 1.0, "messages": 1.0}


@dataclass(frozen=True)
class Column:
    """The content of a column.

    `kind`: size, sent, count, check, time, rate or messages.  The last three are measured values:
    their `statistic`, and the `scale` (0 for the others) that converts them to s, MB/s or 1/s.
    """

    kind: str
    statistic: str = ""
    scale: float = 0.0


def recognise(header: str) -> tuple[list[Column], str]:
    """The columns of a header, and the rest of it: a name that OSU does not use, or ""."""
    return [_column(match) for match in _COLUMN.finditer(header)], _COLUMN.sub("", header).strip()


def _column(match: re.Match[str]) -> Column:
    kind = str(match.lastgroup).removeprefix("tail_")
    if kind not in _SCALES:
        return Column(kind)
    statistic = f"p{match['part']}" if match["part"] else _STATISTICS[match["of"]]
    return Column(kind, statistic, _SCALES[kind])


Value = TypeVar("Value")
_MAJOR = range(5, 8)
_TITLE = re.compile(r"# OSU (?P<title>MPI.*?) v(?P<version>(?P<major>\d+)\.\d\S*)$")
_ON_DEVICE = re.compile(r"^MPI(-\w+)? ")  # MPI-CUDA and similar; MPI_Put is a different name
_NOTE = re.compile(r"# (?:(?P<key>[A-Z][\w ]*): (?P<value>\S+?)\.?|\[ .*\])$")


@dataclass(frozen=True)
class Row:
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
class Output:
    """A whole output; `notes` are its other comments, such as ``Datatype: MPI_CHAR``."""

    benchmark: Benchmark
    version: str
    notes: dict[str, str]
    rows: tuple[Row, ...]

    @property
    def validated(self) -> bool | None:
        """Whether all received data passed validation; None without a column Validation."""
        checks = [row.passed for row in self.rows]
        return None if None in checks else all(checks)


def parse(file: Path, benchmark: str, largest: int = 0) -> Output:
    """The output of ``osu_<benchmark>``; UserError with file and line for anything else.

    Sizes must double from line to line and reach `largest` bytes, so that a file that ends early or
    lacks a line is refused.  No validation may have failed.
    """
    reader = _Reader(file, BENCHMARKS[benchmark])
    for number, line in enumerate(foreign.lines(file, "OSU"), 1):
        if line.strip():
            reader.take(line.rstrip(), number)
    return reader.output(largest)


@dataclass
class _Reader:
    file: Path
    benchmark: Benchmark
    version: str = ""
    title: str = ""
    columns: list[Column] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    line_number: int = 0

    def take(self, line: str, number: int) -> None:
        self.line_number = number
        if not self.version or (line == self.title and not self.columns):
            self._title(line)  # mbw_mr of 6.2 and 7.2: every rank prints it
        elif not line.startswith("#"):
            self._row(line)
        elif re.match(r"# (Size|Avg Latency)", line):
            self._header(line)
        elif (note := _NOTE.match(line)) and not self.rows:
            if note["key"]:
                self.notes[note["key"]] = note["value"]
        else:
            fault = f"{quote(line)} is not a line of OSU's; right is: values, or a header"
            raise self._fault(fault)

    def output(self, largest: int) -> Output:
        if not self.version:
            raise UserError("empty; right is the output of an OSU benchmark", self.file)
        if not self.rows:
            raise self._fault("ends before the first value: truncated")
        end = self.rows[-1].size_bytes
        if end < largest:
            raise self._fault(f"ends at {end} bytes, before {largest}: truncated")
        return Output(self.benchmark, self.version, self.notes, tuple(self.rows))

    def _title(self, line: str) -> None:
        match = _TITLE.match(line)
        example = f"# OSU MPI {self.benchmark.title} v7.5"
        if match is None:
            raise self._fault(f"{quote(line)} is not a title of OSU's; right is: {example}")
        title = _ON_DEVICE.sub("", match["title"])
        if int(match["major"]) not in _MAJOR:
            raise self._fault(
                f"version {match['version']} of OSU is not known here; right are "
                f"{_MAJOR[0]}.x to {_MAJOR[-1]}.x"
            )
        if title.lower() != self.benchmark.title.lower():
            raise self._fault(f"this is {quote(title)}; right is: {self.benchmark.title}")
        self.version, self.title = match["version"], line

    def _header(self, line: str) -> None:
        columns, unknown = recognise(line[1:])
        if unknown:
            raise self._fault(f"unknown column {quote(unknown)}")
        if self.rows:
            raise self._fault("a second header: the file holds the outputs of two programs")
        self.columns = columns

    def _row(self, line: str) -> None:
        if not self.columns:
            raise self._fault(f"{quote(line)} before the header; right is: # Size ...")
        cells = line.split()
        if len(cells) != len(self.columns) or not cells[0][0].isdigit():
            raise self._fault(f"{quote(line)} is not the {len(self.columns)} values of a line")
        row = self._values(cells)
        if row.passed is False:
            raise self._fault(f"validation failed at {row.size_bytes} bytes: wrong data arrived")
        self.rows.append(row)
        if not _follow([row.size_bytes for row in self.rows[-2:]]):
            previous_size = self.rows[-2].size_bytes
            raise self._fault(f"size {row.size_bytes} after {previous_size}: a line is missing")

    def _values(self, cells: list[str]) -> Row:
        texts: dict[str, str] = {}
        values: dict[tuple[str, str], float] = {}
        for column, cell in zip(self.columns, cells, strict=True):
            if column.scale:
                metric = self._metric(column)
                values[column.statistic, metric] = self._read(cell, foreign.number) * column.scale
            else:
                texts[column.kind] = cell
        check = texts.get("check")
        if check not in ("Pass", "Fail", None):
            raise self._fault(f"validation is {quote(check)}; right are: Pass, Fail")
        return Row(
            self._read(texts.get("size", "0"), foreign.whole_number),
            values,
            self._read(texts["count"], foreign.whole_number) if "count" in texts else None,
            None if check is None else check == "Pass",
            self._read(texts["sent"], foreign.whole_number) if "sent" in texts else None,
        )

    def _metric(self, column: Column) -> str:
        has_times = self.benchmark.metric != "bandwidth"
        if has_times != (column.kind == "time"):
            raise self._fault(f"a column that {self.benchmark.title!r} does not have")
        return "message_rate" if column.kind == "messages" else self.benchmark.metric

    def _read(self, cell: str, parser: Callable[[str], Value]) -> Value:
        try:
            return parser(cell)
        except ValueError as error:
            raise self._fault(str(error)) from None

    def _fault(self, reason: str) -> UserError:
        return UserError(reason, self.file, self.line_number)


def _follow(sizes: list[int]) -> bool:
    """Whether each size is twice the one before; after 0 comes 1."""
    return all(after == max(1, 2 * before) for before, after in pairwise(sizes))


#: Outputs in the folder of a launch: of the measurement, and of the validation run before it.
MEASUREMENT_FILE, VALIDATION_FILE = "osu.txt", "validation.txt"


@dataclass(frozen=True)
class Run:
    """Facts that the output does not contain: command, ranks, hosts by their own names.

    `simulated`: the simulator, as in run.json; None for real ranks.  `identity`, as in run.json:
    what each rank runs, as far as it is known outside of the program.
    """

    command: Sequence[str]
    ranks: int
    hosts: Sequence[str]
    simulated: Mapping[str, Any] | None = None
    identity: Sequence[Mapping[str, Any]] = ()


def convert(folder: Path, output: Output, validated: bool, run: Run) -> None:
    """Write ``samples.csv`` and ``run.json`` into `folder`, as one of our workloads would.

    `validated`: whether a validation run of the same program passed just before.
    """
    variant = f"osu-{output.version}"
    points = [
        foreign.point(
            *(output.benchmark.name, variant, row.size_bytes),
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
        "command": list(run.command),
        "notes": output.notes,
        "ranks": run.ranks,
        "hosts": list(run.hosts),
        "points": points,
        "simulated": run.simulated,
        "identity": list(run.identity),
    }
    foreign.write(folder / MEASUREMENT_FILE, record, _samples(output, variant), output.notes)


def _samples(output: Output, variant: str) -> Iterator[list[str | int]]:
    for row in output.rows:
        for (statistic, metric), value in row.values.items():
            yield [
                *(STUDY.name, output.benchmark.name, variant, row.size_bytes, statistic, 0, metric),
                *(f"{value:.12g}", METRICS[metric].unit),
            ]
