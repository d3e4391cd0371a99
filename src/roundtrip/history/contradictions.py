"""Values that contradict earlier imports: another direction or zone, a log that was edited.

An earlier import counts until the user removes it, because imports have no order.
"""

from __future__ import annotations

import polars as pl

from roundtrip import units
from roundtrip.history.imported_nights import Reject
from roundtrip.history.sources import ROTATION_SUFFIX

_SERIES = ["case_id", "metric"]
_CONTENT = ["moment", "value", "unit"]


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
    rejects = []
    for bad_rows in (
        _in_other_direction(rows, known),
        _in_other_zone(rows, known, zone),
        _edited(rows, known),
    ):
        rows = rows.join(bad_rows, on="row", how="anti")
        groups = (
            bad_rows.sort("row")
            .group_by("source", "metric", maintain_order=True)
            .agg(pl.col("line").first(), pl.len(), pl.col("reason").first())
        )
        for source, metric, line, count, reason in groups.iter_rows():
            text = f"{metric}, {units.plural(count, 'value')}: {reason}"
            rejects.append((source, Reject(line, text)))
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
