"""Ratios within a launch: a slow launch slows both sides of it."""

from __future__ import annotations

import polars as pl


def ratios(medians: pl.DataFrame, by: list[str], base: str, time: str = "seconds") -> pl.DataFrame:
    """Speed of each variant over that of `base` in the same `by` (the launch), case and size.

    The result has the rows of `medians` for which `base` was measured too, without those of `base`,
    and a further column ratio: the base's `time` over their own.  It is sorted.
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
