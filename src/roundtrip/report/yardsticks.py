"""The yardsticks of all studies, measured: what a disturbance did to a launch, and how far launches
of one case lie apart."""

from __future__ import annotations

import polars as pl

from roundtrip import studies
from roundtrip.studies.yardsticks import Yardstick


def by_launch(rows: pl.LazyFrame) -> pl.DataFrame:
    """All yardsticks that `rows` of a bundle have, one row a launch: columns number (of the
    yardstick), name, launch, case_id, case, variant, median and samples (both as shown, the latter
    in the order in which they were taken).
    """
    keys = ["launch", "case_id", "case", "variant"]
    there_are = [(study.name, one) for study in studies.found() for one in study.yardsticks]
    frames = [
        _samples(rows.filter(pl.col("study") == study), yardstick)
        .sort("rep")
        .group_by(keys)
        .agg(median=pl.col("shown").median(), samples=pl.col("shown"))
        .with_columns(number=pl.lit(number), name=pl.lit(yardstick.name))
        for number, (study, yardstick) in enumerate(there_are)
    ]
    return pl.concat(pl.collect_all(frames)).sort("number", *keys)


def _samples(rows: pl.LazyFrame, yardstick: Yardstick) -> pl.LazyFrame:
    """Of `rows` of one study those of the figure, with the column `shown`."""
    matches = [pl.col(column) == value for column, value in yardstick.where]
    shown = pl.col("value") * yardstick.scale
    if yardstick.bandwidth:
        shown = pl.col("size_bytes") / pl.col("value") / 1e6
    return rows.filter(*matches).with_columns(shown=shown)
