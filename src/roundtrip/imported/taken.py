"""Which values can be compared over nights: those above 0 with a direction that is better."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import polars as pl

from roundtrip.collect.samples import LEAST_VALUE, MOST_VALUE
from roundtrip.errors import UserError
from roundtrip.imported.schema import SetAside

_TIME = r"(?:[numµμ]?s|secs?|seconds?|(?:micro|milli|nano)seconds?|min|minutes?|h|hours?)"
_LOWER = re.compile(rf"{_TIME}(?:/\S+|\s+per\s+\S+)?", re.IGNORECASE)
_HIGHER = re.compile(
    r".+/\s*(?:s|secs?|seconds?|min|h|hour|day)|[kmgtpe]?i?(?:bps|i?ops|flops)|\S*hz|.+ per second",
    re.IGNORECASE,
)


def of(
    rows: pl.DataFrame, lower: Sequence[str], higher: Sequence[str]
) -> tuple[pl.DataFrame, list[tuple[int, SetAside]]]:
    """Rows of several files with `lower_is_better`, and what of which file is not taken.

    Column `source` is the number of the file.  `lower` and `higher` are what the user says, globs
    of names of variables.  A variable is set aside whole, once a file.
    """
    keys = ["metric", "unit", "lower", "upper"]
    kinds = rows.select(keys).unique(maintain_order=True)
    told = [
        lower_is_better(*kind, says_lower=lower, says_higher=higher) for kind in kinds.iter_rows()
    ]
    kinds = kinds.with_columns(pl.Series("lower_is_better", told, pl.Boolean))
    rows = rows.join(kinds, on=keys, how="left", nulls_equal=True, maintain_order="left")
    is_known = pl.col("lower_is_better").is_not_null()
    is_positive = pl.col("value").is_between(LEAST_VALUE, MOST_VALUE)
    aside = _aside(rows.filter(~is_known)) + _aside(rows.filter(is_known, ~is_positive))
    return rows.filter(is_known, is_positive), aside


def require_patterns(metrics: Sequence[str], lower: Sequence[str], higher: Sequence[str]) -> None:
    """UserError for a pattern that matches none of `metrics`, or one that the others have too."""
    sides = (("--lower-is-better", lower), ("--higher-is-better", higher))
    for metric in sorted(metrics):
        both = [[glob for glob in globs if fnmatchcase(metric, glob)] for _, globs in sides]
        if all(both):
            told = " and ".join(f"{sides[n][0]} {both[n][0]!r}" for n in (0, 1))
            raise UserError(f"variable {metric!r} is meant by {told}: right is one of them")
    for option, globs in sides if metrics else ():
        for glob in globs:
            if not any(fnmatchcase(metric, glob) for metric in metrics):
                known = ", ".join(sorted(metrics)[:20])
                raise UserError(f"{option} {glob!r} matches no variable; there are: {known}")


def _aside(rows: pl.DataFrame) -> list[tuple[int, SetAside]]:
    """Each variable with the line of its first value and their number."""
    first = rows.group_by("source", "metric", "unit", maintain_order=True).agg(
        pl.col("line").first(), pl.len(), pl.col("lower_is_better").is_null().any()
    )
    return [
        (source, SetAside(line, f"{metric}, {count} values: {_reason(metric, unit, is_unknown)}"))
        for source, metric, unit, line, count, is_unknown in first.iter_rows()
    ]


def _reason(metric: str, unit: str, is_unknown: bool) -> str:
    if not is_unknown:
        return f"not from {LEAST_VALUE:g} to {MOST_VALUE:g}, and nights are compared by ratios"
    told = f"the unit {unit!r} does not tell which direction is better"
    return f"{told}: say --lower-is-better {metric!r} or --higher-is-better {metric!r}"


def lower_is_better(
    metric: str,
    unit: str,
    lower: float | None,
    upper: float | None,
    *,
    says_lower: Sequence[str] = (),
    says_higher: Sequence[str] = (),
) -> bool | None:
    """True, False, or None where nothing tells.

    First what the user says, by globs of names of variables; then a reference that is bounded on
    one side only, because ReFrame fails what is worse; then the unit.
    """
    if any(fnmatchcase(metric, glob) for glob in says_lower):
        return True
    if any(fnmatchcase(metric, glob) for glob in says_higher):
        return False
    if (lower is None) != (upper is None):
        return lower is None
    if _HIGHER.fullmatch(unit):
        return False
    return True if _LOWER.fullmatch(unit) else None
