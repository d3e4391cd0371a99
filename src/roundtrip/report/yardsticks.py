"""The yardsticks of all studies: a few figures that show how launches of one case differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from roundtrip import studies
from roundtrip.report.origins import Origins
from roundtrip.report.units import TIMES, Unit
from roundtrip.stats.summaries import MEDIAN, Kind, Summary
from roundtrip.studies.study import Yardstick

#: What the samples of a figure of a launch have in common, with its number: no metric is mixed with
#: another.
SAME = ("case_id", "case", "variant", "metric")
#: What else tells series apart.
ONE = ("size_bytes", "phase")
#: How the samples of a launch become a figure.
OF_LAUNCH = Summary("a figure of a study", Kind.COST, "the samples of a launch", MEDIAN)


def by_launch(rows: pl.LazyFrame) -> pl.DataFrame:
    """All yardsticks that the samples `rows` of a bundle have, one row for each launch.

    Columns: number, name and unit of the yardstick, launch, those of `SAME`, median, and samples in
    the order in which they were taken; both in that unit.  Also `ONE`, null where the samples have
    several.
    """
    keys = ["launch", *SAME]
    there_are = [(study.name, one) for study in studies.load() for one in study.yardsticks]
    frames = [
        _samples(rows.filter(pl.col("study") == study), yardstick)
        .sort("rep")
        .group_by(keys)
        .agg(*map(_only, ONE), median=OF_LAUNCH.aggregate("shown"), samples=pl.col("shown"))
        .with_columns(
            number=pl.lit(number), name=pl.lit(yardstick.name), unit=pl.lit(str(yardstick.unit))
        )
        for number, (study, yardstick) in enumerate(there_are)
    ]
    return pl.concat(pl.collect_all(frames)).sort("number", *keys)


def traced(origins: Origins, row: Mapping[str, Any]) -> str:
    """The series of the history that a row of `by_launch` is of, as `Cell.series`."""
    size = row["size_bytes"]
    names = {name: row[name] for name in ("case", "variant", "phase", "metric")}
    if size is None or None in names.values():
        return ""
    return origins.key([row["case_id"]], size, **names)


def _only(name: str) -> pl.Expr:
    return pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)


def _samples(rows: pl.LazyFrame, yardstick: Yardstick) -> pl.LazyFrame:
    """The rows of one study that belong to the yardstick, with the column `shown`."""
    matches = [pl.col(column) == value for column, value in yardstick.where]
    value, unit = pl.col("value"), yardstick.unit
    timed = pl.col("size_bytes") / value / 1e6 if unit is Unit.MB_S else value * TIMES.get(unit, 1)
    shown = pl.when(pl.col("unit") == Unit.S).then(timed).otherwise(value)
    return rows.filter(*matches).with_columns(shown=shown)
