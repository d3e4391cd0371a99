"""The tables of a bundle on disk."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from roundtrip.collect.tables import require
from roundtrip.collect.tables.columns import Row, Schema, columns, later
from roundtrip.collect.tables.rows import DETAIL_ROWS, LATER, ROWS, Tables
from roundtrip.errors import UserError

_ROW_GROUP = 1 << 18
#: Rows of a table that is read as a whole: far more than any campaign has.
_MOST_ROWS = 1 << 22
_OTHER_COLUMNS = "other columns than this version of roundtrip writes"


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


def read(bundle: Path) -> Tables:
    """The tables of a verified bundle, checked; UserError for what is none."""
    made = Tables(
        {
            name: _whole(file, row, later(row))
            if (file := bundle / f"{name}.parquet").exists() or name not in LATER
            else pl.DataFrame(schema=columns(row))
            for name, row in ROWS.items()
        },
        {
            study: _whole(file, row, columns(row))
            for study, row in DETAIL_ROWS.items()
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
        raise UserError(_OTHER_COLUMNS, file) from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        why = (str(error).splitlines() or ["it is damaged"])[0]
        raise UserError(f"not a parquet file: {why[:160]}", file) from None


def scan(file: Path, row: type[Row]) -> pl.LazyFrame:
    """A table of rows `row`; UserError, or SchemaError when it is collected, for another."""
    return _scan(file, columns(row), later(row))


def table(file: Path, row: type[Row], names: Sequence[str] | None = None) -> pl.DataFrame:
    """All rows of `file`, a table of rows `row`; UserError for any other.

    All columns, or `names`; those that came later may be missing, and are empty then.
    """
    schema = columns(row)
    with decoding(file):
        if not file.is_file():
            raise UserError("missing", file)
        there = pl.read_parquet_schema(file)
        if there != {n: kind for n, kind in schema.items() if n in there or n not in later(row)}:
            raise UserError(_OTHER_COLUMNS, file)
        asked = list(names or schema)
        known = [name for name in asked if name in there]
        found = pl.read_parquet(file, n_rows=_MOST_ROWS + 1, columns=known)
        _require_few(found.height, file)
        if known == asked:
            return found
        empty = (pl.lit(None, schema[name]).alias(name) for name in asked if name not in there)
        return found.with_columns(*empty).select(asked)


def _scan(file: Path, schema: Schema, added: Collection[str]) -> pl.LazyFrame:
    found = pl.scan_parquet(file).collect_schema()
    if found.keys() - schema.keys() or schema.keys() - found.keys() - set(added):
        raise UserError(_OTHER_COLUMNS, file)
    frame = pl.scan_parquet(
        file,
        schema=dict(schema),
        missing_columns="insert",
        cast_options=pl.ScanCastOptions(missing_struct_fields="insert"),
    )
    return frame.select(*schema)


def _whole(file: Path, row: type[Row], added: Collection[str]) -> pl.DataFrame:
    """A table of rows `row` that may be older than the columns `added`."""
    with decoding(file):
        if not file.is_file():
            raise UserError("missing", file)
        frame = _scan(file, columns(row), added)
        _require_few(frame.select(pl.len()).collect().item(), file)
        return frame.collect()


def _require_few(rows: int, file: Path) -> None:
    if rows > _MOST_ROWS:
        raise UserError(f"{rows} rows; right are at most {_MOST_ROWS}", file)
