"""Metrics, ratios within launches and speeds of toolchains that studies derive from samples.

Also the facts that the audit of a report needs and cannot read from the report.
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

_STUDIES_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Metric:
    """A metric: unit of its raw values, whether less is better, and whether 0 is a legal value."""

    unit: str
    lower_is_better: bool
    may_be_zero: bool = False


def read_metrics(folder: Path) -> dict[str, Metric]:
    """All metrics of the ``metrics.json`` files below `folder`, by name.

    UserError if two files declare a metric differently.
    """
    metrics: dict[str, Metric] = {}
    for file in sorted(folder.rglob("metrics.json")):
        for name, entry in files.parse_json(file.read_text()).items():
            if metrics.setdefault(name, Metric(**entry)) != Metric(**entry):
                fault = f"another study declares the metric {name!r} differently"
                raise UserError(f"{fault}: right is the same declaration, or another name", file)
    return metrics


METRICS = read_metrics(_STUDIES_FOLDER)


@cache
def metrics_by_study() -> Mapping[str, tuple[str, ...]]:
    """Names of the metrics that each study declares for its samples, by name of the study."""
    from roundtrip import studies

    return {study.name: study.metrics for study in studies.load()}


class Pairing(StrEnum):
    """How the two values of a ratio are paired."""

    LAUNCH = "within a launch"
    ROUND = "between two launches of a round"
    UNPAIRED = "between summaries over launches, not paired"


@dataclass(frozen=True)
class Ratio:
    """A ratio of two values of `quantity`, each formed by `summary`.

    `statistic` summarises the ratios of several launches or rounds; None if there is one ratio.
    `geometric_reason`: why a geometric mean is necessary; "" for other statistics.
    """

    quantity: str
    summary: Summary
    pairing: Pairing
    statistic: Statistic | None = None
    geometric_reason: str = ""


@dataclass(frozen=True)
class Tail:
    """A quantity whose tail matters; `where`: its rows of samples.csv, as values by column."""

    quantity: str
    where: Mapping[str, str | int]


@dataclass(frozen=True)
class Facts:
    """Facts about a section for the audit of the report.

    `tails`: None if unknown; empty if the section has no latencies, for `no_tails_reason`.
    `clock`, `synchronisation`, `over_ranks`, `cache`: a clause each for the reader; "" if unknown.
    `build_columns`: columns of cases.parquet that describe the build of its programs.
    `tables`: tables of analysis.toml with its thresholds, besides statistics and disturbance.
    `median_is_whole`: `median_s` of a point is the time of a whole batch, not of one event.
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


#: Columns of `history.night_rows.SERIES` that identify the series of a value in the history: null
#: if a column does not matter; all null if the value is of no single series.
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
#: The speeds of a study that compares no toolchains.
NO_SPEEDS = pl.DataFrame(schema=SPEEDS)


def ratios_within_launch(
    medians: pl.DataFrame, by: list[str], base: str, time: str = "seconds"
) -> pl.DataFrame:
    """Speed of each variant over that of `base` with the same `by` (the launch), case and size.

    A slow launch slows both sides of a ratio.  Return the rows of `medians` where `base` was
    measured too, without the rows of `base`, sorted, with one more column: ratio, the base's
    `time` over the variant's.  ValueError for several metrics.
    """
    if "metric" in medians.columns and medians["metric"].n_unique() > 1:
        raise ValueError("a ratio has one metric; these rows have several")
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
    """Speed of `variant` over that of `base` by size in bytes, one ratio for each launch with both.

    `medians` has the columns launch, case_id, case, variant, size_bytes and `time`.
    """
    pair = medians.filter(pl.col("variant").is_in([variant, base]))
    ratios = ratios_within_launch(pair, ["launch", "case_id"], base, time)
    return dict(ratios.group_by("size_bytes").agg("ratio").sort("size_bytes").iter_rows())


def toolchain_speeds(
    values: pl.DataFrame, what: pl.Expr, **columns: pl.Expr | str | None
) -> pl.DataFrame:
    """The columns SPEEDS of `values`, a row for each launch and value.

    `what` names the value.  `columns` sets other columns of SPEEDS: an expression, a text for every
    row, or None for null.  By default a value is a time in µs, from column `seconds`, and depends
    on the MPI; the remaining columns are copied from `values`.
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
