"""Bundles of schema 1: one table of launches, with JSON in some of its columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.collect import records, schemas
from roundtrip.collect.tables import make
from roundtrip.collect.tables.schema import LABELS, POINTS, Tables
from roundtrip.errors import UserError

_TEXTS = (
    *("launch", "case_id", "study", "check", "system", "partition", "environ", "toolchain"),
    *("parameters", "status", "reason", "round", "started", "hosts", "disturbed_why"),
    *("disturbance", "mpi_library", "boost", "compiler", "compiler_flags", "binding", "clock"),
    *("points", "emulated", "details"),
)
SCHEMA: dict[str, Any] = {
    **dict.fromkeys(_TEXTS, pl.String),
    **dict.fromkeys(("ranks", "warmup_discarded", "campaign_round", "wanted"), pl.Int64),
    **dict.fromkeys(("disturbed", "simulated", "sealed"), pl.Boolean),
    "elapsed_s": pl.Float64,
}
#: Columns that came later: empty in bundles without them.
ADDED = ("details", "campaign_round", "wanted", "sealed")
_REAL_COUNTS = dict.fromkeys(("batch", "inner", "discarded"), pl.Float64)
_FINDING = ("call", "error", "consequence")


def tables(launches: pl.DataFrame, file: Path) -> Tables:
    """The tables of a bundle whose cases.parquet, of columns `SCHEMA`, is `launches`.

    UserError for JSON that no collector wrote.
    """
    told = [_record(row, file) for row in launches.drop("points").iter_rows(named=True)]
    with _fitting("a column", file):
        made = make.tables(told)
    with _fitting("column points", file):
        return replace(made, frames={**made.frames, "points": _points(launches)})


@contextmanager
def _fitting(what: str, file: Path) -> Iterator[None]:
    """Turns what polars says of a value that fits no column into one line."""
    try:
        yield
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        told = (str(error).splitlines() or ["does not fit"])[0]
        raise UserError(f"{what}: {told[:160]}", file) from None


def _record(row: dict[str, Any], file: Path) -> dict[str, Any]:
    """The row as `make.tables` takes it."""
    found: dict[str, Any] = {name: row[name] or "" for name in ("case_id", "launch", "status")}
    for name in schemas.COLUMNS:
        text = row[name]
        found[name] = None if text is None else _parsed(f"column {name}", text, file)
    found["placement"] = found.pop("binding")
    if row["details"] is not None and row["study"] in schemas.DETAILS:
        found["details"] = _parsed(f"details of {row['study']}", row["details"], file)
    return {**row, "details": None, **found}


def _parsed(kind: str, text: str, file: Path) -> Any:
    value = files.parse_json(text, f"{file}, {kind}")
    if fault := records.first_fault(kind, value):
        raise UserError(f"{kind}, {fault.where or 'whole'}: {fault.told}", file)
    return value


def _points(launches: pl.DataFrame) -> pl.DataFrame:
    """Of all at once: there may be a hundred thousand."""
    own = {name: kind for name, kind in POINTS.items() if name not in LABELS}
    plain = {name: kind for name, kind in own.items() if not name.startswith("finding_")}
    finding = pl.Struct(dict.fromkeys(_FINDING, pl.String))
    kind = pl.List(pl.Struct({**plain, **_REAL_COUNTS, "finding": finding}))
    passed = launches.filter(pl.col("status") == "passed").sort("case_id", "launch")
    found = (
        passed.select(*LABELS, pl.col("points").str.json_decode(kind))
        .explode("points", empty_as_null=False, keep_nulls=False)
        .unnest("points")
    )
    told = (pl.col("finding").struct.field(one).alias(f"finding_{one}") for one in _FINDING)
    return found.with_columns(told).select(*POINTS).cast(pl.Schema(POINTS))
