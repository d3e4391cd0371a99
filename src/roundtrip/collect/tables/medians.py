"""Launch medians, one row a launch and series: all that a history reads of what was measured.

The median is that of the samples of one launch, whatever their kind: a median of rates is the rate
at the median time.  Harmonic means are for rates over parts of a whole, which samples are not.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from roundtrip.collect.tables import disk, require
from roundtrip.collect.tables.rows import LABELS, MEDIANS, Median, Sample
from roundtrip.errors import UserError
from roundtrip.stats.summaries import median_intervals

FILE_NAME = "medians.parquet"
#: What tells the series of one launch apart; study, case and unit follow from launch and metric.
_KEYS = ["launch", "case", "variant", "size_bytes", "phase", "metric"]
_ORDER = ["case_id", *_KEYS]
#: How far two versions of polars may differ where they form the middle of two samples.
_NEAR = 1e-12


def of(rows: pl.LazyFrame, launches: pl.DataFrame, level: float) -> pl.DataFrame:
    """The launch medians of `rows`, columns `MEDIANS`, by case, launch and series.

    `rows` has the columns of samples.parquet, `launches` those of cases.parquet; `level` is that
    of the rank intervals within a launch, which are null with too few samples.
    """
    units = rows.select("metric", "unit").unique("metric").collect()
    hosts = pl.col("hosts").list.unique().list.sort().list.join("+")
    known = launches.select(*LABELS, "campaign_round", nodes=hosts)
    found = median_intervals(rows.select(*_KEYS, "value").collect(), _KEYS, "value", level)
    joined = found.rename({"n": "samples"}).join(known, on="launch").join(units, on="metric")
    return joined.select(*MEDIANS).sort(_ORDER)


def write(made: pl.DataFrame, bundle: Path) -> None:
    """Write launch medians, columns `MEDIANS`, into the folder `bundle`."""
    disk.write_frame(made, bundle / FILE_NAME)


def read(bundle: Path, launches: pl.DataFrame, level: float) -> pl.DataFrame:
    """The launch medians of a verified bundle, columns `MEDIANS`; `launches`, `level` as in `of`.

    A bundle from before they had a table has them in its samples.  UserError for a table that no
    collector wrote.
    """
    if (found := held(bundle, launches)) is not None:
        return found
    with disk.decoding(bundle / "samples.parquet") as file:
        rows = disk.scan(file, Sample)
        require.measured(rows, launches, file)
        return of(rows, launches, level)


def held(bundle: Path, launches: pl.DataFrame) -> pl.DataFrame | None:
    """The table of a verified bundle, columns `MEDIANS`, checked by itself; None without one.

    UserError for a table that no collector wrote.
    """
    file = bundle / FILE_NAME
    if not file.exists():
        return None
    found = disk.table(file, Median)
    require.rows(found, Median, file)
    passed = launches.filter(pl.col("status") == "passed").select(*LABELS)
    require.known(found.select(*LABELS), passed, "no launch that passed", file)
    if found.select(_KEYS).is_duplicated().any():
        raise UserError("a series stands there twice for a launch", file)
    return found


def require_of(made: pl.DataFrame, derived: pl.DataFrame, bundle: Path) -> None:
    """UserError unless the launch medians of a bundle are those of its samples.

    Both have the columns `MEDIANS` in the order of `of`.
    """
    numbers = ["median", "low", "high"]
    same = made.drop(numbers).equals(derived.drop(numbers))
    for name in numbers if same else ():
        one, other = made[name], derived[name]
        near = (one - other).abs() <= _NEAR * other.abs()
        same &= (one.is_null() == other.is_null()).all() and bool(near.drop_nulls().all())
    if not same:
        raise UserError("not the medians of the samples beside it", bundle / FILE_NAME)
