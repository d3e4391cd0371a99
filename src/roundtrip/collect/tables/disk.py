"""The tables of a bundle on disk: schema 2, and schema 1 as if it were one of schema 2."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip.collect.tables import former, require
from roundtrip.collect.tables.schema import ADDED, ALL, DETAILS, LATER, Tables
from roundtrip.errors import UserError

_ROW_GROUP = 1 << 18
#: Rows of a table that is read as a whole: far more than any campaign has.
_MOST_ROWS = 1 << 22


def write(made: Tables, bundle: Path) -> None:
    """Write all tables into the folder `bundle`."""
    for name, frame in made.frames.items():
        write_frame(frame, bundle / f"{name}.parquet")
    if made.details:
        (bundle / "details").mkdir()
    for study, frame in made.details.items():
        write_frame(frame, bundle / "details" / f"{study}.parquet")


def write_frame(frame: pl.DataFrame, file: Path) -> None:
    """Write parquet with fixed settings, through memory, so that a full disk raises OSError."""
    buffer = io.BytesIO()
    frame.write_parquet(
        buffer, compression="zstd", compression_level=3, row_group_size=_ROW_GROUP, statistics=True
    )
    file.write_bytes(buffer.getbuffer())


def read(bundle: Path, schema: int) -> Tables:
    """The tables of a verified bundle of that schema, checked; UserError for what is none."""
    if schema == 1:
        with decoding(bundle / "cases.parquet") as file:
            launches = _whole(scan(file, former.SCHEMA, former.ADDED), file)
        made = former.tables(launches, file)
        require.tables(made, lambda _: file)
        return made
    made = Tables(
        {
            name: _grown(file, columns, ADDED.get(name, ()))
            if (file := bundle / f"{name}.parquet").exists() or name not in LATER
            else pl.DataFrame(schema=columns)
            for name, columns in ALL.items()
        },
        {
            study: _grown(file, columns, columns)
            for study, columns in DETAILS.items()
            if (file := bundle / "details" / f"{study}.parquet").exists()
        },
    )
    require.tables(made, lambda name: bundle / f"{name}.parquet")
    return made


@contextmanager
def decoding(file: Path) -> Iterator[Path]:
    """Turn every error of the parquet decoder, panics included, into a UserError."""
    try:
        yield file
    except pl.exceptions.SchemaError:
        raise UserError("other columns than this version of roundtrip writes", file) from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        told = (str(error).splitlines() or ["it is damaged"])[0]
        raise UserError(f"not a parquet file: {told[:160]}", file) from None


def scan(file: Path, schema: Mapping[str, Any], added: Collection[str] = ()) -> pl.LazyFrame:
    """The file with columns `schema`; those of `added` are null where it is older than they are.

    UserError, or SchemaError when it is collected, for other columns.
    """
    found = pl.scan_parquet(file).collect_schema()
    if found.keys() - schema.keys() or schema.keys() - found.keys() - set(added):
        raise UserError("other columns than this version of roundtrip writes", file)
    frame = pl.scan_parquet(
        file,
        schema=dict(schema),
        missing_columns="insert",
        cast_options=pl.ScanCastOptions(missing_struct_fields="insert"),
    )
    return frame.select(*schema)


def table(
    file: Path,
    schema: Mapping[str, Any],
    columns: list[str] | None = None,
    added: Collection[str] = (),
) -> pl.DataFrame:
    """All rows of `file`, a table with columns `schema`; UserError for any other.

    All columns, or `columns`; those of `added` may be missing, and are empty then.
    """
    with decoding(file):
        if not file.is_file():
            raise UserError("missing", file)
        there = pl.read_parquet_schema(file)
        if there != {n: kind for n, kind in schema.items() if n in there or n not in added}:
            raise UserError("other columns than this version of roundtrip writes", file)
        asked = columns or list(schema)
        known = [name for name in asked if name in there]
        found = pl.read_parquet(file, n_rows=_MOST_ROWS + 1, columns=known)
        if found.height > _MOST_ROWS:
            raise UserError(f"{found.height} rows; right are at most {_MOST_ROWS}", file)
        if known == asked:
            return found
        empty = (pl.lit(None, schema[name]).alias(name) for name in asked if name not in there)
        return found.with_columns(*empty).select(asked)


def _grown(file: Path, schema: Mapping[str, Any], added: Collection[str]) -> pl.DataFrame:
    """A table that may be older than the columns `added`."""
    with decoding(file):
        if not file.is_file():
            raise UserError("missing", file)
        return _whole(scan(file, schema, added), file)


def _whole(frame: pl.LazyFrame, file: Path) -> pl.DataFrame:
    rows = frame.select(pl.len()).collect().item()
    if rows > _MOST_ROWS:
        raise UserError(f"{rows} rows; right are at most {_MOST_ROWS}", file)
    return frame.collect()
