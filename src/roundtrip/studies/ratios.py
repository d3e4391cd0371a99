"""What is compared: the arms of a launch as ratios, and toolchains by the values of launches."""

from __future__ import annotations

import polars as pl

from roundtrip.studies.study import MPI

#: Which series of the history a value is, in whatever unit: columns of `tables.rows.SERIES` as
#: the samples have them; null where any will do, all of them null for a value of no single series.
ORIGIN = {"case": pl.String, "variant": pl.String, "phase": pl.String, "metric": pl.String}
#: One row for each launch and value; `depends_on` is MPI or BOOST of `roundtrip.studies.study`.
SPEEDS = {
    "launch": pl.String,
    "what": pl.String,
    "size_bytes": pl.Int64,
    "value": pl.Float64,
    "unit": pl.String,
    "lower_is_better": pl.Boolean,
    "depends_on": pl.String,
    **ORIGIN,
}


def within_launch(
    medians: pl.DataFrame, by: list[str], base: str, time: str = "seconds"
) -> pl.DataFrame:
    """Speed of each variant over that of `base` in the same `by` (the launch), case and size.

    A slow launch slows both sides.  The result has the rows of `medians` for which `base` was
    measured too, without those of `base`, and a further column ratio: the base's `time` over
    their own.  It is sorted.
    """
    keys = [*by, "case", "size_bytes"]
    theirs = medians.filter(pl.col("variant") == base).select(*keys, base=time)
    return (
        medians.filter(pl.col("variant") != base)
        .join(theirs, on=keys, how="inner")
        .with_columns(ratio=pl.col("base") / pl.col(time))
        .drop("base")
        .sort([*by, "case", "variant", "size_bytes"])
    )


def no_speeds() -> pl.DataFrame:
    """A frame without rows, with the columns SPEEDS: the study compares no toolchains."""
    return pl.DataFrame(schema=SPEEDS)


def speeds(values: pl.DataFrame, what: pl.Expr, **columns: pl.Expr | str | None) -> pl.DataFrame:
    """The columns SPEEDS of `values`, a row for each launch and value.

    `what` names the value.  `columns` are others of SPEEDS: an expression, the text that stands in
    every row, or None for null.  Those not given are taken from `values`; without a size, unit or
    direction there a value is a time in µs, of column `seconds`, and depends on the MPI.
    """
    defaults: dict[str, pl.Expr] = {
        "value": pl.col("seconds") * 1e6,
        "unit": pl.lit("µs"),
        "lower_is_better": pl.lit(True),
        "depends_on": pl.lit(MPI),
    }
    given = {
        name: one if isinstance(one, pl.Expr) else pl.lit(one) for name, one in columns.items()
    }
    formed = {**defaults, **given, "what": what}
    return values.select(
        formed.get(name, pl.col(name)).cast(kind).alias(name) for name, kind in SPEEDS.items()
    )
