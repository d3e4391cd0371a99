"""Which values of an import count: not below 0, of a known direction, and without contradiction.

A value contradicts an earlier import by another direction or zone, or by an edit of its log.  That
import counts until the user removes it, because imports have no order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from glob import escape

import polars as pl

from roundtrip import units
from roundtrip.errors import UserError
from roundtrip.history.imported_nights import Reject
from roundtrip.measure.samples import MAX_VALUE, MIN_VALUE

#: What logrotate appends to the name of a log.
ROTATION_SUFFIX = r"(\.h?\d+|-\d+)?(\.gz)?"
_SERIES = ["case_id", "metric"]
_CONTENT = ["moment", "value", "unit"]
_TIME_UNIT_PATTERN = (
    r"(?:[numµμ]?s(?:ecs?)?|(?:micro|milli|nano)?seconds?|mins?|minutes?|h|hrs?|hours?)"
)
_LOWER_BETTER_UNIT_PATTERN = re.compile(
    rf"{_TIME_UNIT_PATTERN}(?:/\S+|\s+per\s+\S+)?", re.IGNORECASE
)
_HIGHER_BETTER_UNIT_PATTERN = re.compile(
    r".+(?:/| per )\s*(?:s|secs?|seconds?|min|hr?|hour|d|day)|[kmgtpe]?i?(?:bps|i?ops|flops)|\S*hz",
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
    reasons = [
        f"the unit {unit!r} does not tell which direction is better: say --lower-is-better "
        f"{escape(metric)!r} or --higher-is-better {escape(metric)!r}"
        for metric, unit in kinds.select("metric", "unit").iter_rows()
    ]
    kinds = kinds.with_columns(
        pl.Series("lower_is_better", directions, pl.Boolean),
        pl.Series("reason", reasons, pl.String),
    )
    rows = rows.join(kinds, on=keys, how="left", nulls_equal=True, maintain_order="left")
    is_known = pl.col("lower_is_better").is_not_null()
    is_legal = (pl.col("value") == 0) | pl.col("value").is_between(MIN_VALUE, MAX_VALUE)
    illegal_rows = rows.filter(is_known, ~is_legal).with_columns(
        reason=pl.lit(
            f"neither 0 nor {MIN_VALUE:g} to {MAX_VALUE:g}: nights are compared by ratios"
        )
    )
    rejects = [
        *_reject_variables(rows.filter(~is_known), "unit"),
        *_reject_variables(illegal_rows, "unit"),
    ]
    return rows.filter(is_known, is_legal).drop("reason"), rejects


def require_valid_globs(
    metrics: Sequence[str], lower: Sequence[str], higher: Sequence[str]
) -> None:
    """UserError for a glob that matches no metric, or a metric of both `lower` and `higher`."""
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


def _reject_variables(rows: pl.DataFrame, *keys: str) -> Iterator[tuple[int, Reject]]:
    """Yield a reject per file, variable and `keys`: number, first line and `reason` of its rows."""
    groups = rows.group_by("source", "metric", *keys, maintain_order=True).agg(
        pl.col("line", "reason").first(), count=pl.len()
    )
    columns = groups.select("source", "metric", "line", "count", "reason")
    for source, metric, line, count, reason in columns.iter_rows():
        yield source, Reject(line, f"{metric}, {units.plural(count, 'value')}: {reason}")


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
    if _HIGHER_BETTER_UNIT_PATTERN.fullmatch(unit):
        return False
    return True if _LOWER_BETTER_UNIT_PATTERN.fullmatch(unit) else None


def reject_contradictions(
    rows: pl.DataFrame, known: pl.DataFrame, zone: str
) -> tuple[pl.DataFrame, list[tuple[int, Reject]]]:
    """Return `rows` without those that contradict values imported before, and the rejects.

    A row contradicts another if both are of the same job, but differ in value, direction or time
    zone. `rows` has the columns `VALUES`, source (number of its file), file (its name) and line;
    `known` has the columns `KNOWN_VALUES`.  Times without a zone are in `zone`.  A reject comes
    with the number of its file; a variable has one for each file and contradiction.
    """
    more_columns = {
        "moment": pl.coalesce(pl.col("time").dt.truncate("1s"), "session"),
        # A log that was rotated is still the same log.
        "log": pl.col("file").str.replace(rf"\.log{ROTATION_SUFFIX}$", ".log"),
    }
    known = known.with_columns(**more_columns)
    rows = rows.with_columns(**more_columns).with_row_index("row")
    rejects: list[tuple[int, Reject]] = []
    for bad_rows in (
        _in_other_direction(rows, known),
        _in_other_zone(rows, known, zone),
        _edited(rows, known),
    ):
        rows = rows.join(bad_rows, on="row", how="anti")
        rejects += _reject_variables(bad_rows.sort("row"))
    return rows.drop("row", *more_columns), rejects


def _folders() -> pl.Expr:
    """The imports of a group: ``imported/0123456789abcdef and 3 more``."""
    folders = pl.col("folder").unique().sort()
    more = pl.format("{} and {} more", folders.first(), folders.len() - 1)
    return pl.when(folders.len() > 1).then(more).otherwise(folders.first())


def _in_other_direction(rows: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """The rows of series of which earlier imports have the other direction only, with `reason`."""
    directions = known.group_by(_SERIES).agg(
        folders=_folders(),
        is_lower=pl.col("lower_is_better").any(),
        is_higher=pl.col("lower_is_better").not_().any(),
    )
    is_lower = pl.col("lower_is_better")
    is_known = pl.when(is_lower).then("is_lower").otherwise("is_higher")
    new, old = (
        pl.when(side).then(pl.lit("lower")).otherwise(pl.lit("higher"))
        for side in (is_lower, ~is_lower)
    )
    glob = pl.col("metric").str.replace_all(r"([*?\[])", "[${1}]")  # as glob.escape
    reason = pl.format(
        "{} is better, but {} in an earlier import: say --{}-is-better '{}', or remove {}, "
        "then import again",
        *(new, old, old, glob, "folders"),
    )
    return rows.join(directions, on=_SERIES).filter(~is_known).with_columns(reason=reason)


def _in_other_zone(rows: pl.DataFrame, known: pl.DataFrame, zone: str) -> pl.DataFrame:
    """The new rows of logs of which earlier imports took times in another zone, with `reason`.

    If a log still has all earlier rows at the same times, its times name their zone.
    """
    keys = ["log", *_SERIES]
    zones = known.group_by(keys).agg(
        folders=_folders(), zone=pl.col("zone").first(), is_known=(pl.col("zone") == zone).any()
    )
    reason = pl.format(
        "times in {}, but in {} in an earlier import of {}: say --timezone {}, or remove {}, "
        "then import again",
        *(pl.lit(zone), "zone", "log", "zone", "folders"),
    )
    new_rows = (
        rows.filter(pl.col("session").is_null())
        .join(known, on=[*_SERIES, *_CONTENT], how="anti")
        .join(_lost_rows(rows, known), on=keys, how="semi")
    )
    return new_rows.join(zones, on=keys).filter(~pl.col("is_known")).with_columns(reason=reason)


def _edited(rows: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """The new rows in place of rows that an earlier import of the file has, with `reason`."""
    keys = ["log", *_SERIES, "moment"]
    lost = (
        _lost_rows(rows, known)
        .group_by(keys)
        .agg(
            pl.col("value").first().alias("old"),
            pl.col("unit").first().alias("old_unit"),
            folders=_folders(),
        )
    )
    reason = pl.format(
        "{} {} where an earlier import of {} has {} {} at the same time, which counts: to replace "
        "it, remove {}, then import again; if both count, rename the file",
        *("value", "unit", "log", "old", "old_unit", "folders"),
    )
    new_rows = rows.join(known, on=[*_SERIES, *_CONTENT], how="anti")
    return new_rows.join(lost, on=keys).with_columns(reason=reason)


def _lost_rows(rows: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """The rows of `known` that their log does not have any more."""
    return known.join(rows, on=["log", *_SERIES, *_CONTENT], how="anti")
