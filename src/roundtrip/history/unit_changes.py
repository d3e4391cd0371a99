"""Series whose unit changed from one to another of the same quantity, as from s to ms."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from roundtrip.measure.samples import MAX_VALUE

#: What units of one quantity are worth.
_UNIT_FACTORS = (
    {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    {"B/s": 1.0, "kB/s": 1e3, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12},
    {"B/s": 1.0, "KiB/s": 2.0**10, "MiB/s": 2.0**20, "GiB/s": 2.0**30, "TiB/s": 2.0**40},
)


def in_newest_unit(
    rows: pl.DataFrame, keys: Collection[str], moment: str, columns: Collection[str]
) -> pl.DataFrame:
    """`rows` with the numbers in `columns` in the newest `unit` of each group of equal `keys`.

    `moment` is the column of time.  A row whose number would exceed the limit of values stays.
    """
    for factors in _UNIT_FACTORS:
        is_known = pl.col("unit").is_in(list(factors))
        newest = pl.col("unit").filter(is_known).sort_by(pl.col(moment).filter(is_known)).last()
        unit = newest.over(keys)
        old, new = (each.replace_strict(factors, default=None) for each in (pl.col("unit"), unit))
        values = {name: pl.col(name) * old / new for name in columns}
        is_legal = pl.all_horizontal(
            (value <= MAX_VALUE).fill_null(True) for value in values.values()
        )
        is_other = (unit != pl.col("unit")) & old.is_not_null() & is_legal
        rows = rows.with_columns(
            **{n: pl.when(is_other).then(v).otherwise(n) for n, v in values.items()},
            unit=pl.when(is_other).then(unit).otherwise("unit"),
        )
    return rows
