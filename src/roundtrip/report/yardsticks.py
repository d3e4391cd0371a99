"""The yardsticks of all studies: a few figures that show how launches of one case differ."""

from __future__ import annotations

import polars as pl

from roundtrip import studies
from roundtrip.stats.summaries import MEDIAN, Kind, Summary
from roundtrip.studies.yardsticks import Yardstick

#: How the samples of a launch become a figure.
OF_LAUNCH = Summary("a figure of a study", Kind.COST, "the samples of a launch", MEDIAN)


def by_launch(rows: pl.LazyFrame) -> pl.DataFrame:
    """All yardsticks that the samples `rows` of a bundle have, one row for each launch.

    Columns: number and name of the yardstick, launch, case_id, case, variant, median, and samples
    in the order in which they were taken; both in the unit of the yardstick.
    """
    keys = ["launch", "case_id", "case", "variant"]
    there_are = [(study.name, one) for study in studies.found() for one in study.yardsticks]
    frames = [
        _samples(rows.filter(pl.col("study") == study), yardstick)
        .sort("rep")
        .group_by(keys)
        .agg(median=OF_LAUNCH.formed("shown"), samples=pl.col("shown"))
        .with_columns(number=pl.lit(number), name=pl.lit(yardstick.name))
        for number, (study, yardstick) in enumerate(there_are)
    ]
    return pl.concat(pl.collect_all(frames)).sort("number", *keys)


def _samples(rows: pl.LazyFrame, yardstick: Yardstick) -> pl.LazyFrame:
    """The rows of one study that belong to the yardstick, with the column `shown`."""
    matches = [pl.col(column) == value for column, value in yardstick.where]
    shown = pl.col("value") * yardstick.scale
    if yardstick.bandwidth:
        shown = pl.col("size_bytes") / pl.col("value") / 1e6
    return rows.filter(*matches).with_columns(shown=shown)
