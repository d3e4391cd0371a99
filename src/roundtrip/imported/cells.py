"""Turns the cells of a performance log into values, and sets rows aside whose cells do not fit."""

from __future__ import annotations

import datetime
import json

import polars as pl

from roundtrip.imported import identity
from roundtrip.imported.layout import Layout, Place
from roundtrip.imported.schema import LOGGED, MOST, Read, SetAside

#: What ReFrame writes for nothing.
NOTHING = ("", "null", "None")
_JOB = r"^[\w.,+:@\[\]-]*$"
#: The year before the first performance log of ReFrame, and far ahead.
_EARLIEST, _LATEST = datetime.datetime(2010, 1, 1), datetime.datetime(2200, 1, 1)


def values(table: pl.DataFrame, layout: Layout, zone: datetime.tzinfo, read: Read) -> pl.DataFrame:
    """Values, columns `LOGGED`, of a table of columns ``line`` and "0", "1", ... as in `layout`.

    A row with a cell that does not fit is set aside in `read`; rows without a value are counted.
    """
    table = _without(table, _broken_json(table, layout), read)
    columns = _variables(layout)
    if not table.height or not columns:
        read.empty += table.height
        return pl.DataFrame(schema=LOGGED)
    base = identity.of(table, layout, zone)
    told = pl.concat([base.hstack(table.select(one)) for one in columns])
    told = told.filter(~pl.col("raw").is_in(NOTHING), ~pl.col("metric").is_in(NOTHING))
    read.empty += table.height - told["line"].n_unique()
    if not told.height:
        return pl.DataFrame(schema=LOGGED)
    told = told.with_columns(value=pl.col("raw").cast(pl.Float64, strict=False))
    return _without(told, _faults(told), read).select(*LOGGED)


def cell(place: Place) -> pl.Expr:
    """The text at `place`, null where the cell is built otherwise."""
    column = pl.col(str(place.index))
    return column.str.extract(place.pattern, place.group) if place.pattern else column


def _variables(layout: Layout) -> list[list[pl.Expr]]:
    """For each variable of a row its metric, raw value, unit and limits."""
    known = layout.known
    if "perf_value" in known and "perf_var" in known:
        places = {name.removeprefix("perf_"): place for name, place in known.items()}
        return [_variable(cell(places["var"]), places)]
    return [
        _variable(pl.lit(name), {part: Place(index) for part, index in columns.items()})
        for name, columns in layout.wide.items()
    ]


def _variable(metric: pl.Expr, places: dict[str, Place]) -> list[pl.Expr]:
    unit = cell(places["unit"]) if "unit" in places else pl.lit("")
    return [
        metric.fill_null("").alias("metric"),
        cell(places["value"]).fill_null("").alias("raw"),
        pl.when(unit.is_in(NOTHING)).then(pl.lit("")).otherwise(unit.fill_null("")).alias("unit"),
        _limit(places, "lower"),
        _limit(places, "upper"),
    ]


def _limit(places: dict[str, Place], side: str) -> pl.Expr:
    place = places.get(f"{side}_thres") or places.get(side)
    found = cell(place).cast(pl.Float64, strict=False) if place else pl.lit(None, pl.Float64)
    return found.alias(side)


def _faults(told: pl.DataFrame) -> pl.Series:
    """Why a value is not taken; "" if it is."""
    is_long = pl.any_horizontal(pl.col(name).str.len_chars() > most for name, most in MOST.items())
    who = ("name", "system", "partition", "environ")
    is_nobody = pl.any_horizontal(pl.col(name).is_in(NOTHING) for name in who)
    reason = (
        pl.when(pl.col("value").is_null())
        .then(pl.format("{} is not a number", pl.col("metric").str.head(100)))
        .when(~pl.col("value").is_finite())
        .then(pl.format("{} is not finite", pl.col("metric").str.head(100)))
        .when(pl.col("time").is_null() | ~pl.col("time").is_between(_EARLIEST, _LATEST))
        .then(pl.lit("no time at which the job ended"))
        .when(is_nobody)
        .then(pl.lit("no name of the test, or not where it ran"))
        .when(~pl.col("jobid").str.contains(_JOB))
        .then(pl.lit("no number of a job"))
        .when(is_long)
        .then(pl.lit("a name that is too long"))
        .otherwise(pl.lit(""))
    )
    return told.select(reason.alias("reason"))["reason"]


def _broken_json(table: pl.DataFrame, layout: Layout) -> pl.Series:
    reason = pl.lit("")
    for index in layout.json:
        broken = [text for text in table[str(index)].unique() if not _is_json(text)]
        told = pl.lit(f"broken JSON in column {index + 1}")
        reason = pl.when(pl.col(str(index)).is_in(broken)).then(told).otherwise(reason)
    return table.select(pl.repeat("", pl.len()).alias("none"), reason.alias("reason"))["reason"]


def _is_json(text: str) -> bool:
    try:
        json.loads(text or "null")
    except (ValueError, RecursionError):
        return False
    return True


def _without(frame: pl.DataFrame, reasons: pl.Series, read: Read) -> pl.DataFrame:
    """The lines of `frame` that have no fault at all; the others go to `read`."""
    bad = frame.select("line").with_columns(reason=reasons).filter(pl.col("reason") != "")
    for line, reason in bad.unique("line", maintain_order=True).iter_rows():
        read.aside.append(SetAside(line, reason))
    return frame.filter(~pl.col("line").is_in(bad["line"].implode())) if bad.height else frame
