"""Reads samples.csv: its valid rows, its faults (``file:line: reason``), and its seal.

A file without a fault is parsed by polars.  Any other is parsed again line by line, to locate all
faults and keep all valid rows.  Both parsers use the same patterns.

The seal, the entry `samples` of run.json, shows whether these are the rows that the workload wrote:
``rows``; ``sha256`` of the file; ``counts``, the number of samples of each series.  Older launches
have only ``rows``.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure.bundle_rows import SAMPLES_SCHEMA, SERIES_COLUMNS
from roundtrip.measure.reader import ReaderProcess, ReadingLimits, pack_answer, unpack_answer
from roundtrip.model import CHARACTER_PATTERN, MAX_AMOUNT, MAX_COUNT
from roundtrip.study import METRICS, metrics_by_study

#: Columns of the file: those of samples.parquet, without the launch and its case.
CSV_SCHEMA = {
    name: kind for name, kind in SAMPLES_SCHEMA.items() if name not in ("launch", "case_id")
}
CSV_HEADER = ",".join(CSV_SCHEMA)
#: Patterns of cells, with the same meaning in polars and Python.
_CELL_PATTERNS = {
    "text": f"{CHARACTER_PATTERN}{{1,200}}",
    "count": r"0|[1-9][0-9]{0,17}",
    "value": r"[0-9]{1,25}(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
}
_CELL_KIND_BY_DTYPE = {pl.String: "text", pl.Int64: "count", pl.Float64: "value"}
#: Limits of a value that is not 0.
MIN_VALUE, MAX_VALUE = 1e-15, MAX_AMOUNT
#: The fault of a file without a valid row.
NO_ROW_MESSAGE = "no good row"
#: Size up to which any content takes little memory and time, bytes.
_MAX_UNLIMITED_BYTES = 1 << 20


@dataclass(frozen=True)
class Samples:
    """A parsed samples.csv: valid rows (columns `CSV_SCHEMA`), ``# key: JSON`` lines, faults."""

    frame: pl.DataFrame
    metadata: dict[str, Any] = field(default_factory=dict)
    faults: tuple[UserError, ...] = ()

    @property
    def moved_bytes(self) -> int:
        """The sum of the message sizes of all samples, bytes."""
        return int(self.frame["size_bytes"].sum())


def parse(content: bytes, file: Path) -> Samples:
    """Parse the content of a samples.csv; it never raises: faults, with line, are in `faults`."""
    metadata, body, first_line, faults = _parse_head(content, file)
    if body is None:
        return Samples(pl.DataFrame(schema=CSV_SCHEMA), metadata, tuple(faults))
    frame = _parse_fast(body)
    if frame is None:
        frame, row_faults = _parse_lines(body, first_line, file)
        faults += row_faults
    if frame.is_empty():
        faults.append(UserError(NO_ROW_MESSAGE, file))
    return Samples(frame, metadata, tuple(faults))


def read(file: Path) -> Samples:
    """Read a samples.csv; UserError if it cannot be read, or takes too much memory or time."""
    return parse_limited(files.read_in_tree(file, max_bytes=files.MAX_SAMPLES_BYTES), file)


def parse_limited(content: bytes, file: Path) -> Samples:
    """Parse the content of a samples.csv, a large one in a subprocess with limits.

    UserError if it reaches a limit; other faults, with line, are in `faults`.
    """
    if len(content) <= _MAX_UNLIMITED_BYTES:
        return parse(content, file)
    with ReaderProcess() as reader:
        (answer,) = reader.run_task(
            "roundtrip.measure.samples:parse_in_reader", [file], content=content
        )
    head, frame = unpack_answer(answer)
    faults = tuple(UserError(reason, file, line) for reason, line in head["problems"])
    return Samples(frame, head["metadata"], faults)


def parse_in_reader(limits: ReadingLimits, names: Sequence[str], content: bytes) -> Iterator[bytes]:
    """Yield the packed `Samples` of one file: the task of `ReaderProcess` for `parse_limited`."""
    samples = parse(content, Path(names[0]))
    limits.require_rows(samples.frame.height)
    faults = [(fault.message, fault.line) for fault in samples.faults]
    yield pack_answer({"metadata": samples.metadata, "problems": faults}, samples.frame)


def read_rows(file: str | Path) -> pl.DataFrame:
    """Read the rows of a samples.csv, columns `CSV_SCHEMA`; UserError for its first fault."""
    samples = read(Path(file))
    if samples.faults:
        raise samples.faults[0]
    return samples.frame


def _parse_head(
    content: bytes, file: Path
) -> tuple[dict[str, Any], bytes | None, int, list[UserError]]:
    """Return metadata, the bytes after the header or None, their first line, faults before."""
    metadata: dict[str, Any] = {}
    faults: list[UserError] = []
    if not content.strip():
        return metadata, None, 1, [UserError("empty file", file)]
    start, number = 0, 1
    while content.startswith(b"#", start):
        end = content.find(b"\n", start)
        line = content[start : end if end >= 0 else len(content)]
        try:
            key, value = line[1:].decode("utf-8").split(":", 1)
            metadata[key.strip()] = files.parse_json(value)
        except (ValueError, UserError):
            faults.append(UserError("not metadata; right is: # key: JSON value", file, number))
        if end < 0:
            faults.append(UserError("ends before the header: truncated", file, number))
            return metadata, None, number, faults
        start, number = end + 1, number + 1
    end = content.find(b"\n", start)
    header = content[start : end if end >= 0 else len(content)].removesuffix(b"\r")
    if header != CSV_HEADER.encode():
        faults.append(UserError(f"no header; right is: {CSV_HEADER}", file, number))
        return metadata, None, number, faults
    body = content[end + 1 :] if end >= 0 else b""
    return metadata, body, number + 1, faults


def _parse_fast(body: bytes) -> pl.DataFrame | None:
    """Parse rows by polars; None if a row is not valid, or quoted."""
    if not body:
        return pl.DataFrame(schema=CSV_SCHEMA)
    body = body.replace(b"\r\n", b"\n")
    # polars strips a carriage return at the end of a field
    if (
        not body.endswith(b"\n")
        or body.startswith(codecs.BOM_UTF8)
        or b'"' in body
        or b"\r" in body
    ):
        return None
    try:
        body.decode("utf-8")  # polars accepts some invalid bytes
        schema = dict.fromkeys(CSV_SCHEMA, pl.String)
        texts = pl.read_csv(io.BytesIO(body), has_header=False, schema=schema, quote_char=None)
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None
    if texts.height != body.count(b"\n"):
        return None
    format_checks = [
        pl.col(name)
        .str.contains(f"^(?:{_CELL_PATTERNS[_CELL_KIND_BY_DTYPE[kind]]})$")
        .fill_null(False)
        .all()
        for name, kind in CSV_SCHEMA.items()
    ]
    if not texts.select(pl.all_horizontal(format_checks)).item():
        return None
    frame = texts.with_columns(
        pl.col(name).cast(kind) for name, kind in CSV_SCHEMA.items() if kind != pl.String
    )
    return frame if frame.select(all_rows_valid()).item() else None


def all_rows_valid() -> pl.Expr:
    """Return the expression whether `METRICS` allows units and numbers of all rows."""
    metric, value = pl.col("metric"), pl.col("value")
    units = {name: definition.unit for name, definition in METRICS.items()}
    zero_is_good = [name for name, definition in METRICS.items() if definition.may_be_zero]
    is_positive = value.is_between(MIN_VALUE, MAX_VALUE)
    mismatches = [
        (pl.col("study") == name) & ~metric.is_in(metrics)
        for name, metrics in metrics_by_study().items()
    ]
    return pl.all_horizontal(
        ~pl.any_horizontal(mismatches).any(),
        (is_positive | ((value == 0) & metric.is_in(zero_is_good))).all(),
        pl.col("size_bytes").is_between(0, MAX_COUNT).all(),
        pl.col("rep").is_between(0, MAX_COUNT).all(),
        (metric.replace_strict(units, default=None) == pl.col("unit")).fill_null(False).all(),
    )


def _parse_lines(body: bytes, first_line: int, file: Path) -> tuple[pl.DataFrame, list[UserError]]:
    rows: list[list[Any]] = []
    faults: list[UserError] = []
    lines = body.split(b"\n")
    remainder = lines.pop()
    for number, line in enumerate(lines, first_line):
        try:
            rows.append(_parse_row(line.removesuffix(b"\r")))
        except (ValueError, csv.Error) as error:
            faults.append(UserError(str(error), file, number))
    if remainder:
        end = first_line + len(lines)
        faults.append(UserError("the last line has no end: truncated", file, end))
    return pl.DataFrame(rows, schema=CSV_SCHEMA, orient="row"), faults


def _parse_row(line: bytes) -> list[Any]:
    """Parse one line into cells; ValueError with the reason if it is not a valid row."""
    if b"\0" in line:
        raise ValueError("a NUL byte")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{line[error.start]:02x} is not UTF-8") from None
    if text == CSV_HEADER:
        raise ValueError("a second header")
    columns = next(csv.reader([text], strict=True)) if '"' in text else text.split(",")
    if len(columns) != len(CSV_SCHEMA):
        raise ValueError(f"{len(columns)} columns instead of {len(CSV_SCHEMA)}")
    row: dict[str, Any] = dict(zip(CSV_SCHEMA, columns, strict=True))
    for name, kind in CSV_SCHEMA.items():
        row[name] = _parse_cell(name, row[name], _CELL_KIND_BY_DTYPE[kind])
    metric = METRICS.get(row["metric"])
    if metric is None:
        raise ValueError(f"unknown metric {row['metric'][:40]!r}; known are: {', '.join(METRICS)}")
    metrics = metrics_by_study().get(row["study"], (row["metric"],))
    if row["metric"] not in metrics:
        why = f"study {row['study']} declares no metric {row['metric']!r}"
        raise ValueError(f"{why}; right are: {', '.join(metrics)}")
    if row["unit"] != metric.unit:
        raise ValueError(f"unit {row['unit'][:20]!r}; right is {metric.unit!r}")
    zero_is_good = metric.may_be_zero and row["value"] == 0
    if not (MIN_VALUE <= row["value"] <= MAX_VALUE or zero_is_good):
        raise ValueError(f"value {columns[7][:40]!r} is not a positive number")
    return list(row.values())


def _parse_cell(name: str, text: str, kind: str) -> Any:
    match = re.fullmatch(_CELL_PATTERNS[kind], text)
    if kind == "text" and not match:
        why = "is not printable text of up to 200 characters" if text else "is empty"
        raise ValueError(f"{name} {why}")
    if kind == "count" and not (match and int(text) <= MAX_COUNT):
        raise ValueError(f"{name} {text[:40]!r} is not a whole number >= 0")
    if not match:
        raise ValueError(f"{name} {text[:40]!r} is not a positive number")
    return {"text": str, "count": int, "value": float}[kind](text)


def make_seal(content: bytes, frame: pl.DataFrame) -> dict[str, Any]:
    """Return the seal (`samples` of run.json) of a samples.csv with this content and these rows."""
    counts = frame.group_by(SERIES_COLUMNS, maintain_order=True).agg(samples=pl.len())
    return {"rows": frame.height, "sha256": files.sha256(content), "counts": counts.to_dicts()}


def is_full_seal(run_seal: dict[str, Any]) -> bool:
    """Whether `samples` of a run.json has digest and counts, and not only the number of rows."""
    return "sha256" in run_seal and "counts" in run_seal


def seal_mismatch(file_digest: str, frame: pl.DataFrame, run_seal: dict[str, Any]) -> str:
    """Return how a samples.csv of this sha256 and rows differs from `run_seal`; "" if equal."""
    if frame.height != run_seal["rows"]:
        return f"samples.csv has {frame.height} rows, run.json says {run_seal['rows']}"
    series_counts = frame.group_by(SERIES_COLUMNS, maintain_order=True).agg(
        samples=pl.len(), in_order=(pl.col("rep") == pl.int_range(pl.len())).all()
    )
    if "counts" in run_seal:
        file_counts = _counts_by_series(series_counts.to_dicts())
        seal_counts = _counts_by_series(run_seal["counts"])
        for series in {**file_counts, **seal_counts}:
            if (count := file_counts.get(series, 0)) != (seal_count := seal_counts.get(series, 0)):
                amount = f"{count} samples of {_describe_series(series)}"
                return f"samples.csv has {amount}, run.json says {seal_count}"
    for row in series_counts.filter(~pl.col("in_order")).head(1).to_dicts():
        series = tuple(row[name] for name in SERIES_COLUMNS)
        return f"samples.csv: rep of {_describe_series(series)} does not count 0, 1, 2, ..."
    if file_digest != run_seal.get("sha256", file_digest):
        return (
            "samples.csv is not the file that the workload wrote: "
            f"its sha256 begins {file_digest[:12]}, that in run.json {run_seal['sha256'][:12]}"
        )
    return ""


def _counts_by_series(counts: list[dict[str, Any]]) -> dict[tuple[Any, ...], int]:
    return {tuple(item[name] for name in SERIES_COLUMNS): item["samples"] for item in counts}


def _describe_series(series: tuple[Any, ...]) -> str:
    items = zip(SERIES_COLUMNS, series, strict=True)
    return " ".join(f"{value} B" if name == "size_bytes" else str(value) for name, value in items)
