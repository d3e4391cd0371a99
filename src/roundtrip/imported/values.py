"""The values of imported files, one row per value of a job, and the selection of comparable ones.

Values can be compared over nights if they are above 0 and their better direction is known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from fnmatch import fnmatchcase
from typing import Annotated

import polars as pl
from pydantic import Field

from roundtrip.collect.columns import Row, Rule, columns
from roundtrip.collect.samples import LEAST_VALUE, MOST_VALUE
from roundtrip.errors import UserError
from roundtrip.model import json_schema

_Name = Annotated[str, Field(max_length=200)]
_Long = Annotated[str, Field(max_length=1000)]
_Measured = Annotated[float, Field(ge=LEAST_VALUE, le=MOST_VALUE)]


class LoggedValue(Row):
    """A value as a reader makes it of a file; no name is replaced by a pseudonym yet.

    `name` is ReFrame's name of the test with its parameters; `time` (UTC) is when its job ended,
    null where only the session is known; `hosts` are joined by ",".  A limit that there is none of
    is null.  `facts` is a JSON object about the session.
    """

    line: int
    time: datetime | None
    session: datetime | None
    session_end: datetime | None
    name: _Long
    system: _Name
    partition: _Name
    environ: _Name
    hosts: Annotated[str, Field(max_length=100_000)]
    modules: _Long
    facts: str
    metric: _Long
    value: float
    unit: _Name
    lower: float | None
    upper: float | None


class Value(Row):
    """A row of ``values.parquet``: what is kept, with names of hosts replaced.

    `digest` is the sha256 of the file that the value stood in.
    """

    extra_rules = (
        Rule(
            "time",
            pl.col("time").is_not_null() | pl.col("session").is_not_null(),
            "the time of a value, nor is that of its session",
        ),
    )

    time: datetime | None
    session: datetime | None
    session_end: datetime | None
    case_id: str
    case: str
    environ: str
    nodes: str
    modules: str
    facts: str
    metric: str
    unit: str
    value: _Measured
    lower_is_better: bool
    digest: str


LOGGED_VALUES, VALUES = columns(LoggedValue), columns(Value)
#: Limits of times: the year before ReFrame's first performance log, and the far future.
MIN_TIME, MAX_TIME = datetime(2010, 1, 1), datetime(2200, 1, 1)
#: Length limit of each text, characters.
MAX_LENGTHS = {
    name: schema["maxLength"]
    for name, schema in json_schema(LoggedValue)["properties"].items()
    if "maxLength" in schema
}


def parse_time(text: str, zone: tzinfo) -> datetime | None:
    """Return the ISO 8601 time `text` in UTC; without a zone it is in `zone`.  None for no time."""
    try:
        time = datetime.fromisoformat(text)
        aware = time if time.tzinfo else time.replace(tzinfo=zone)
        return aware.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def parse_times(texts: pl.Series, zone: tzinfo) -> pl.Series:
    """As `parse_time`, for each text: ReFrame's usual form in bulk, other texts once each."""
    zoned_times = texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%:z", time_unit="us", strict=False)
    utc_times = zoned_times.dt.replace_time_zone(None)
    rest = texts.filter(utc_times.is_null() & texts.is_not_null()).unique()
    if rest.is_empty():
        return utc_times
    times = {text: parse_time(text, zone) for text in rest}
    rest_times = texts.replace_strict(times, default=None, return_dtype=pl.Datetime("us"))
    return utc_times.zip_with(utc_times.is_not_null(), rest_times)


@dataclass(frozen=True)
class Reject:
    """A rejected part of a file: the line where it begins (0: the whole file), and why."""

    line: int
    reason: str


@dataclass
class ParsedFile:
    """Content of a file: values (`LOGGED_VALUES`), rejects, number of rows without a value."""

    rows: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LOGGED_VALUES))
    rejects: list[Reject] = field(default_factory=list)
    empty_rows: int = 0

    def reject(self, line: int, reason: str) -> None:
        """Add a reject."""
        self.rejects.append(Reject(line, reason))


_TIME = r"(?:[numµμ]?s|secs?|seconds?|(?:micro|milli|nano)seconds?|min|minutes?|h|hours?)"
_LOWER = re.compile(rf"{_TIME}(?:/\S+|\s+per\s+\S+)?", re.IGNORECASE)
_HIGHER = re.compile(
    r".+/\s*(?:s|secs?|seconds?|min|h|hour|day)|[kmgtpe]?i?(?:bps|i?ops|flops)|\S*hz|.+ per second",
    re.IGNORECASE,
)


def select_comparable(
    rows: pl.DataFrame, lower: Sequence[str], higher: Sequence[str]
) -> tuple[pl.DataFrame, list[tuple[int, Reject]]]:
    """Return the comparable rows with `lower_is_better`, and rejects with the number of their file.

    Column `source` is the number of the file.  `lower` and `higher` are the user's globs of names
    of variables.  A variable has one reject per file and reason.
    """
    keys = ["metric", "unit", "lower", "upper"]
    kinds = rows.select(keys).unique(maintain_order=True)
    directions = [
        lower_is_better(*kind, lower_globs=lower, higher_globs=higher) for kind in kinds.iter_rows()
    ]
    kinds = kinds.with_columns(pl.Series("lower_is_better", directions, pl.Boolean))
    rows = rows.join(kinds, on=keys, how="left", nulls_equal=True, maintain_order="left")
    is_known = pl.col("lower_is_better").is_not_null()
    is_positive = pl.col("value").is_between(LEAST_VALUE, MOST_VALUE)
    rejects = _rejects(rows.filter(~is_known)) + _rejects(rows.filter(is_known, ~is_positive))
    return rows.filter(is_known, is_positive), rejects


def require_patterns(metrics: Sequence[str], lower: Sequence[str], higher: Sequence[str]) -> None:
    """UserError for a pattern that matches no metric, or a metric that both sides match."""
    sides = (("--lower-is-better", lower), ("--higher-is-better", higher))
    for metric in sorted(metrics):
        matches = [[glob for glob in globs if fnmatchcase(metric, glob)] for _, globs in sides]
        if all(matches):
            options = " and ".join(f"{sides[n][0]} {matches[n][0]!r}" for n in (0, 1))
            raise UserError(f"variable {metric!r} is meant by {options}: right is one of them")
    for option, globs in sides if metrics else ():
        for glob in globs:
            if not any(fnmatchcase(metric, glob) for metric in metrics):
                metric_names = ", ".join(sorted(metrics)[:20])
                raise UserError(f"{option} {glob!r} matches no variable; there are: {metric_names}")


def _rejects(rows: pl.DataFrame) -> list[tuple[int, Reject]]:
    """Return a reject per file and variable, with first line and number of its values."""
    groups = rows.group_by("source", "metric", "unit", maintain_order=True).agg(
        pl.col("line").first(), pl.len(), pl.col("lower_is_better").is_null().any()
    )
    return [
        (source, Reject(line, f"{metric}, {count} values: {_reason(metric, unit, is_unknown)}"))
        for source, metric, unit, line, count, is_unknown in groups.iter_rows()
    ]


def _reason(metric: str, unit: str, is_unknown: bool) -> str:
    if not is_unknown:
        return f"not from {LEAST_VALUE:g} to {MOST_VALUE:g}, and nights are compared by ratios"
    reason = f"the unit {unit!r} does not tell which direction is better"
    return f"{reason}: say --lower-is-better {metric!r} or --higher-is-better {metric!r}"


def lower_is_better(
    metric: str,
    unit: str,
    lower: float | None,
    upper: float | None,
    *,
    lower_globs: Sequence[str] = (),
    higher_globs: Sequence[str] = (),
) -> bool | None:
    """Return whether lower values of `metric` are better; None if unknown.

    The user's globs decide first; then a reference with one limit only, because ReFrame fails
    worse values; then the unit.
    """
    if any(fnmatchcase(metric, glob) for glob in lower_globs):
        return True
    if any(fnmatchcase(metric, glob) for glob in higher_globs):
        return False
    if (lower is None) != (upper is None):
        return lower is None
    if _HIGHER.fullmatch(unit):
        return False
    return True if _LOWER.fullmatch(unit) else None
