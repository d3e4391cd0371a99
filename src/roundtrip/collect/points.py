"""The points of the launches that came back: a variant at a size, one row each."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from roundtrip.collect import samples
from roundtrip.errors import UserError

#: What says of which launch a row is.
LAUNCH = {"launch": pl.String, "case_id": pl.String, "study": pl.String}
#: What every point has.
_ALWAYS = {
    "case": pl.String,
    "variant": pl.String,
    "size_bytes": pl.Int64,
    "samples": pl.Int64,
    "status": pl.String,
}
_SOMETIMES = {
    "batch": pl.Int64,
    "median_s": pl.Float64,
    "ci_relative_half_width": pl.Float64,
    "verified": pl.Boolean,
    "inner": pl.Int64,
    "discarded": pl.Int64,
    "parameters": pl.String,
}
#: What an MPI library made of a legal call, where it refused it.
_FINDING = ("call", "error", "consequence")
SCHEMA = {
    **LAUNCH,
    **_ALWAYS,
    **_SOMETIMES,
    **{f"finding_{name}": pl.String for name in _FINDING},
}


def decoded(launches: pl.DataFrame, file: Path) -> pl.DataFrame:
    """Columns `SCHEMA`, from JSON in column `points`; rows in the order of launches, as recorded.

    All at once: there may be a hundred thousand.  UserError for what are no points.
    """
    number = {name: pl.Float64 for name, kind in _SOMETIMES.items() if kind == pl.Int64}
    finding = pl.Struct(dict.fromkeys(_FINDING, pl.String))
    kind = pl.List(pl.Struct({**_ALWAYS, **_SOMETIMES, **number, "finding": finding}))
    passed = launches.filter(pl.col("status") == "passed").select(*LAUNCH, "points")
    try:
        found = (
            passed.with_columns(pl.col("points").str.json_decode(kind))
            .explode("points", empty_as_null=False)
            .unnest("points")
            .with_columns(
                pl.col("finding").struct.field(name).alias(f"finding_{name}") for name in _FINDING
            )
        )
        frame = found.select(*SCHEMA).cast(pl.Schema(SCHEMA))
    except pl.exceptions.PolarsError as error:
        raise UserError(f"points: {str(error).splitlines()[0][:160]}", file) from None
    counts = frame.select(pl.col("size_bytes", "samples").is_between(0, samples.MOST_COUNT).all())
    if sum(frame.select(*_ALWAYS).null_count().row(0)) or not all(counts.row(0)):
        raise UserError("points: one lacks a name, a size or a count", file)
    return frame
