"""What studies derive from samples: metrics, ratios within launches, and speeds of toolchains.

Also the facts about them that the audit of a report has to know, and cannot see in the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import polars as pl

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.stats.summaries import Statistic, Summary
from roundtrip.studies.study import MPI

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Metric:
    """The unit of the raw value, whether less is better, and whether 0 is a legal value."""

    unit: str
    lower_is_better: bool
    may_be_zero: bool = False


def read_metrics(folder: Path) -> dict[str, Metric]:
    """The metrics of every ``metrics.json`` below `folder` by name.

    UserError if two files declare one of them differently.
    """
    metrics: dict[str, Metric] = {}
    for file in sorted(folder.rglob("metrics.json")):
        for name, entry in files.parse_json(file.read_text()).items():
            if metrics.setdefault(name, Metric(**entry)) != Metric(**entry):
                fault = f"another study declares the metric {name!r} differently"
                raise UserError(f"{fault}: right is the same declaration, or another name", file)
    return metrics


METRICS = read_metrics(_FOLDER)


@cache
def metrics_by_study() -> Mapping[str, tuple[str, ...]]:
    """The metrics that each study declares for its samples."""
    from roundtrip import studies

    return {study.name: study.metrics for study in studies.load()}


class Pairing(StrEnum):
    """Between which values a ratio is formed."""

    LAUNCH = "within a launch"
    ROUND = "between two launches of a round"
    UNPAIRED = "between summaries over launches, not paired"


@dataclass(frozen=True)
class Ratio:
    """`quantity` over quantity; `summary` is how each of the two values was formed before.

    `statistic`: how ratios of several launches or rounds become one; None if there is one ratio.
    `geometric_reason`: why a geometric mean had to be taken, "" where none is.
    """

    quantity: str
    summary: Summary
    pairing: Pairing
    statistic: Statistic | None = None
    geometric_reason: str = ""


@dataclass(frozen=True)
class Tail:
    """Of which rows of samples.csv the slowest matter: columns and their values."""

    quantity: str
    where: Mapping[str, str | int]


@dataclass(frozen=True)
class Facts:
    """All that a section supplies.

    `tails`: None if nothing is known; empty if its values are no latencies, for `no_tails_reason`.
    `clock`, `synchronisation`, `over_ranks`, `cache`: a clause each for the reader, "" if unknown.
    `build_columns`: columns of cases.parquet that say what its programs are built with.
    `tables` of analysis.toml decide about its words, besides those of statistics and disturbance.
    `median_is_whole`: `median_s` of a point is the time of its whole batch, not of one event of it.
    """

    summaries: tuple[Summary, ...] = ()
    ratios: tuple[Ratio, ...] | None = None
    tails: tuple[Tail, ...] | None = None
    no_tails_reason: str = ""
    clock: str = ""
    synchronisation: str = ""
    over_ranks: str = ""
    cache: str = ""
    build_columns: tuple[str, ...] = ()
    median_is_whole: bool = False
    tables: tuple[str, ...] = ()


#: Which series of the history a value is, in whatever unit: columns of `tables.rows.SERIES` as
#: the samples have them; null where any will do, all of them null for a value of no single series.
ORIGIN = {"case": pl.String, "variant": pl.String, "phase": pl.String, "metric": pl.String}
#: One row for each launch and value; `depends_on` is MPI or BOOST of `roundtrip.studies.study`.
SPEEDS = {
    "launch": pl.String,
    "what": pl.String,
    "size_bytes": pl.Int64,
    "value": pl.Float64,
    "unit": pl.String,
    "lower_is_better": pl.Boolean,
    "depends_on": pl.String,
    **ORIGIN,
}
#: Of a study that compares no toolchains.
NO_SPEEDS = pl.DataFrame(schema=SPEEDS)


def ratios_within_launch(
    medians: pl.DataFrame, by: list[str], base: str, time: str = "seconds"
) -> pl.DataFrame:
    """Speed of each variant over that of `base` in the same `by` (the launch), case and size.

    A slow launch slows both sides.  The result has the rows of `medians` for which `base` was
    measured too, without those of `base`, and a further column ratio: the base's `time` over
    their own.  It is sorted.
    """
    keys = [*by, "case", "size_bytes"]
    base_medians = medians.filter(pl.col("variant") == base).select(*keys, base=time)
    return (
        medians.filter(pl.col("variant") != base)
        .join(base_medians, on=keys, how="inner")
        .with_columns(ratio=pl.col("base") / pl.col(time))
        .drop("base")
        .sort([*by, "case", "variant", "size_bytes"])
    )


def ratios_by_size(
    medians: pl.DataFrame, variant: str, base: str, time: str = "seconds"
) -> dict[int, list[float]]:
    """Speeds of `variant` over those of `base` by size in bytes, one for each launch with both.

    `medians` has the columns launch, case_id, case, variant, size_bytes and `time`.
    """
    pair = medians.filter(pl.col("variant").is_in([variant, base]))
    ratios = ratios_within_launch(pair, ["launch", "case_id"], base, time)
    return dict(ratios.group_by("size_bytes").agg("ratio").sort("size_bytes").iter_rows())


def toolchain_speeds(
    values: pl.DataFrame, what: pl.Expr, **columns: pl.Expr | str | None
) -> pl.DataFrame:
    """The columns SPEEDS of `values`, a row for each launch and value.

    `what` names the value.  `columns` are others of SPEEDS: an expression, the text that stands in
    every row, or None for null.  Those not given are taken from `values`; without a size, unit or
    direction there a value is a time in µs, of column `seconds`, and depends on the MPI.
    """
    defaults: dict[str, pl.Expr] = {
        "value": pl.col("seconds") * 1e6,
        "unit": pl.lit("µs"),
        "lower_is_better": pl.lit(True),
        "depends_on": pl.lit(MPI),
    }
    overrides = {
        name: column if isinstance(column, pl.Expr) else pl.lit(column)
        for name, column in columns.items()
    }
    expressions = {**defaults, **overrides, "what": what}
    return values.select(
        expressions.get(name, pl.col(name)).cast(dtype).alias(name)
        for name, dtype in SPEEDS.items()
    )
