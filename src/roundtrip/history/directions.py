"""Which values can be compared over nights: not below 0, and their better direction is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import escape

import polars as pl

from roundtrip import units
from roundtrip.errors import UserError
from roundtrip.history.imported_nights import Reject
from roundtrip.measure.samples import MAX_VALUE, MIN_VALUE

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
    kinds = kinds.with_columns(pl.Series("lower_is_better", directions, pl.Boolean))
    rows = rows.join(kinds, on=keys, how="left", nulls_equal=True, maintain_order="left")
    is_known = pl.col("lower_is_better").is_not_null()
    is_legal = (pl.col("value") == 0) | pl.col("value").is_between(MIN_VALUE, MAX_VALUE)
    rejects = _reject_variables(rows.filter(~is_known)) + _reject_variables(
        rows.filter(is_known, ~is_legal)
    )
    return rows.filter(is_known, is_legal), rejects


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


def _reject_variables(rows: pl.DataFrame) -> list[tuple[int, Reject]]:
    """Return a reject per file and variable, with first line and number of its values."""
    groups = rows.group_by("source", "metric", "unit", maintain_order=True).agg(
        pl.col("line").first(), pl.len(), pl.col("lower_is_better").is_null().any()
    )
    rejects = []
    for source, metric, unit, line, count, is_unknown in groups.iter_rows():
        reason = f"neither 0 nor {MIN_VALUE:g} to {MAX_VALUE:g}: nights are compared by ratios"
        if is_unknown:
            reason = f"the unit {unit!r} does not tell which direction is better: say "
            pattern = escape(metric)
            reason += f"--lower-is-better {pattern!r} or --higher-is-better {pattern!r}"
        rejects.append(
            (source, Reject(line, f"{metric}, {units.plural(count, 'value')}: {reason}"))
        )
    return rejects


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
