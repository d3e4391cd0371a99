"""The reader of samples.csv: all good rows, and a list of ``file:line: reason``.

Clean files take a fast path (polars).  Only a file in which the fast path finds anything wrong is
read again line by line, to say what is wrong where and to keep every row that is right.
"""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip.errors import UserError
from roundtrip.studies.metrics import METRICS

SCHEMA = {
    "study": pl.String,
    "case": pl.String,
    "variant": pl.String,
    "size_bytes": pl.Int64,
    "phase": pl.String,
    "rep": pl.Int64,
    "metric": pl.String,
    "value": pl.Float64,
    "unit": pl.String,
}
HEADER = ",".join(SCHEMA)
_HEADER = HEADER.encode()
_TEXT = [name for name, kind in SCHEMA.items() if kind == pl.String]
_INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class Problem:
    """Something wrong in a file, at a line (1-based; 0 for the file as a whole)."""

    file: Path
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.reason}"


@dataclass(frozen=True)
class Samples:
    """Good rows (columns of SCHEMA, times in seconds), ``# key: JSON`` metadata, and problems."""

    frame: pl.DataFrame
    metadata: dict[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def read(file: Path) -> Samples:
    """Read one samples.csv; never raises for its content, OSError if it cannot be read."""
    content = file.read_bytes()
    metadata, body, first_line, problems = _head(content, file)
    if body is None:
        return Samples(pl.DataFrame(schema=SCHEMA), metadata, tuple(problems))
    frame = _fast(body)
    if frame is None:
        frame, wrong = _slow(body, first_line, file)
        problems += wrong
    if frame.is_empty():
        problems.append(Problem(file, 0, "no good row"))
    return Samples(frame, metadata, tuple(problems))


def whole(file: str | Path) -> pl.DataFrame:
    """The rows of a samples.csv; UserError with the first problem if it is not a good one."""
    try:
        found = read(Path(file))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", file) from None
    if found.problems:
        first = found.problems[0]
        raise UserError(first.reason, first.file, first.line)
    return found.frame


def _head(content: bytes, file: Path) -> tuple[dict[str, Any], bytes | None, int, list[Problem]]:
    """Metadata, what follows the header (None without a header), its line number, problems."""
    metadata: dict[str, Any] = {}
    problems: list[Problem] = []
    if not content.strip():
        return metadata, None, 1, [Problem(file, 0, "empty file")]
    start, number = 0, 1
    while content.startswith(b"#", start):
        end = content.find(b"\n", start)
        line = content[start : end if end >= 0 else len(content)]
        try:
            key, value = line[1:].decode("utf-8").split(":", 1)
            metadata[key.strip()] = json.loads(value)
        except ValueError:
            problems.append(Problem(file, number, "not metadata; right is: # key: JSON value"))
        if end < 0:
            problems.append(Problem(file, number, "ends before the header: truncated"))
            return metadata, None, number, problems
        start, number = end + 1, number + 1
    end = content.find(b"\n", start)
    header = content[start : end if end >= 0 else len(content)].rstrip(b"\r")
    if header != _HEADER:
        problems.append(Problem(file, number, f"no header; right is: {HEADER}"))
        return metadata, None, number, problems
    body = content[end + 1 :] if end >= 0 else b""
    return metadata, body, number + 1, problems


def _fast(body: bytes) -> pl.DataFrame | None:
    """All rows if every one is good, else None."""
    if not body.endswith(b"\n") or b"\0" in body or b'"' in body or b"\r" in body:
        return None
    try:
        frame = pl.read_csv(
            io.BytesIO(body),
            has_header=False,
            new_columns=list(SCHEMA),
            schema=SCHEMA,
            quote_char=None,
        )
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None
    if frame.height != body.count(b"\n"):
        return None
    units = {name: metric.unit for name, metric in METRICS.items()}
    value = pl.col("value")
    zero_is_good = [name for name, metric in METRICS.items() if metric.may_be_zero]
    positive = (value > 0) | ((value == 0) & pl.col("metric").is_in(zero_is_good))
    good = frame.lazy().select(
        pl.all_horizontal(
            pl.all_horizontal(pl.all().is_not_null()).all(),
            (value.is_finite() & positive).all(),
            (pl.col("size_bytes") >= 0).all(),
            (pl.col("rep") >= 0).all(),
            (pl.col("metric").replace_strict(units, default=None) == pl.col("unit"))
            .fill_null(False)
            .all(),
        )
    )
    return frame if good.collect().item() else None


def _slow(body: bytes, first_line: int, file: Path) -> tuple[pl.DataFrame, list[Problem]]:
    rows: list[list[Any]] = []
    problems: list[Problem] = []
    lines = body.split(b"\n")
    truncated = lines.pop()
    for number, line in enumerate(lines, first_line):
        try:
            rows.append(_row(line.removesuffix(b"\r")))
        except (ValueError, csv.Error) as error:
            problems.append(Problem(file, number, str(error)))
    if truncated:
        number = first_line + len(lines)
        problems.append(Problem(file, number, "the last line has no end: truncated"))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row"), problems


def _row(line: bytes) -> list[Any]:
    """The values of one line; ValueError with the reason if it is not a good row."""
    if b"\0" in line:
        raise ValueError("a NUL byte")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{line[error.start]:02x} is not UTF-8") from None
    if text == HEADER:
        raise ValueError("a second header")
    columns = next(csv.reader([text])) if '"' in text else text.split(",")
    if len(columns) != len(SCHEMA):
        raise ValueError(f"{len(columns)} columns instead of {len(SCHEMA)}")
    row: dict[str, Any] = dict(zip(SCHEMA, columns, strict=True))
    for name in _TEXT:
        if not row[name]:
            raise ValueError(f"{name} is empty")
    for name in ("size_bytes", "rep"):
        row[name] = _count(name, row[name])
    metric = METRICS.get(row["metric"])
    if metric is None:
        raise ValueError(f"unknown metric {row['metric'][:40]!r}; known are: {', '.join(METRICS)}")
    if row["unit"] != metric.unit:
        raise ValueError(f"unit {row['unit'][:20]!r}; right is {metric.unit!r}")
    row["value"] = _time(row["value"], metric.may_be_zero)
    return list(row.values())


def _count(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _INT64_MAX):
        raise ValueError(f"{name} {text[:40]!r} is not a whole number >= 0")
    return int(text)


def _time(text: str, may_be_zero: bool) -> float:
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and (value > 0 or (may_be_zero and value == 0))):
        raise ValueError(f"value {text[:40]!r} is not a positive number")
    return value
