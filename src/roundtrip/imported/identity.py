"""Which test a row of a performance log is of, where it ran, and when its job ended."""

from __future__ import annotations

import datetime
import json
import re

import polars as pl

from roundtrip.imported import cells
from roundtrip.imported.layout import Layout

#: "Stream %array_mb=64 /998573a1 @tulip:cpu+gcc"; the hash and the place need not be there.
_INFO = re.compile(r"(.*?)(?: /[0-9a-f]{6,})?(?: @([^:\s]+):([^+\s]+)\+(\S+))?")
_NAMES = ("display_name", "name", "info", "unique_name", "short_name")
_PLACE = ("system", "partition", "environ")


def of(table: pl.DataFrame, layout: Layout, zone: datetime.tzinfo) -> pl.DataFrame:
    """The columns of `LOGGED` that identify a row, and ``jobid``; empty or null where not told."""

    def text(name: str) -> pl.Expr:
        found = cells.cell(layout.known[name]) if name in layout.known else pl.lit("")
        return found.fill_null("")

    name = next(name for name in _NAMES if name in layout.known)
    told = table.select(
        "line",
        text(name).alias("name"),
        text("info").alias("info"),
        *(text(part).alias(part) for part in _PLACE),
        pl.when(text("job_nodelist").is_in(cells.NOTHING))
        .then(pl.lit(""))
        .otherwise(text("job_nodelist"))
        .alias("hosts"),
        pl.when(text("modules").is_in(cells.NOTHING))
        .then(pl.lit(""))
        .otherwise(text("modules"))
        .alias("modules"),
        text("version").str.strip_prefix("reframe ").alias("version"),
        text("jobid").alias("jobid"),
    )
    who = told.select("name", "info", *_PLACE).unique(maintain_order=True)
    better = pl.DataFrame(
        [_who(**row) for row in who.iter_rows(named=True)],
        schema=dict.fromkeys(("name", *_PLACE), pl.String),
        orient="row",
    )
    renamed = who.hstack(better.rename(lambda column: f"new_{column}"))
    told = told.join(renamed, on=who.columns, how="left", maintain_order="left")
    facts = {version: _facts(version) for version in told["version"].unique()}
    none = pl.lit(None, pl.Datetime("us"))
    return told.select(
        "line",
        _time(table, layout, zone).alias("time"),
        none.alias("session"),
        none.alias("session_end"),
        *(pl.col(f"new_{column}").alias(column) for column in better.columns),
        "hosts",
        "modules",
        pl.col("version").replace_strict(facts, return_dtype=pl.String).alias("facts"),
        "jobid",
    )


def _facts(version: str) -> str:
    is_version = re.fullmatch(r"[0-9][\w.+-]{0,30}", version)
    return json.dumps({"ReFrame": version}) if is_version else "{}"


def _who(name: str, info: str, system: str, partition: str, environ: str) -> tuple[str, ...]:
    """Name and place, taken from `info` where there is no column of its own."""
    found = _INFO.fullmatch(info or name)
    here = found.groups() if found else (name, None, None, None)
    if info == name or not info:
        name = here[0] or ""
    system, _, inner = system.partition(":")  # older releases: system "tulip:cpu"
    return (
        name,
        system or here[1] or "",
        partition or inner or here[2] or "",
        environ or here[3] or "",
    )


def _time(table: pl.DataFrame, layout: Layout, zone: datetime.tzinfo) -> pl.Series:
    """When the jobs ended, UTC; null where a row does not say it, or not readably."""
    nothing = pl.Series("time", [None] * table.height, dtype=pl.Datetime("us"))
    unix = layout.known.get("job_completion_time_unix")
    if unix:
        seconds = cells.cell(unix).cast(pl.Float64, strict=False)
        is_date = seconds.is_between(0, 2**33)
        micros = pl.when(is_date).then(seconds * 1e6).cast(pl.Int64)
        nothing = table.select(micros.cast(pl.Datetime("us")).alias("time"))["time"]
    key = next((key for key in ("job_completion_time", "asctime") if key in layout.known), None)
    if key is None or not nothing.null_count():
        return nothing
    texts = table.select(cells.cell(layout.known[key]).alias("text"))["text"]
    return nothing.zip_with(nothing.is_not_null(), _parsed(texts, zone))


def _parsed(texts: pl.Series, zone: datetime.tzinfo) -> pl.Series:
    """Times in any form of ISO 8601; ReFrame's usual one fast, others each different text once."""
    usual = texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%:z", time_unit="us", strict=False)
    found = usual.dt.replace_time_zone(None)
    rest = texts.filter(found.is_null() & texts.is_not_null()).unique()
    if rest.is_empty():
        return found
    times = {text: _instant(text, zone) for text in rest}
    other = texts.replace_strict(times, default=None, return_dtype=pl.Datetime("us"))
    return found.zip_with(found.is_not_null(), other)


def _instant(text: str, zone: datetime.tzinfo) -> datetime.datetime | None:
    try:
        read = datetime.datetime.fromisoformat(text)
        aware = read if read.tzinfo else read.replace(tzinfo=zone)
        return aware.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
