"""Ratios within launches and speeds of toolchains that studies derive from samples.

Also the facts about a study that the audit of a report needs.  What a study does not derive in a
module ``derived`` of its own follows from its arms and metrics.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import polars as pl

from roundtrip import units
from roundtrip.history.night_rows import SERIES_COLUMNS
from roundtrip.stats.summaries import LAUNCH_STATISTIC, MEDIAN, Statistic, Summary, ValueKind
from roundtrip.study import METRICS, MPI, Study
from roundtrip.units import Unit


class PairingScope(StrEnum):
    """How the two values of a ratio are paired."""

    LAUNCH = "within a launch"
    ROUND = "between two launches of a round"
    UNPAIRED = "between summaries over launches, not paired"


@dataclass(frozen=True)
class AuditedRatio:
    """A ratio that a section shows, of two values of `quantity`, each formed by `summary`.

    `statistic` summarises the ratios of several launches or rounds; None if there is one ratio.
    `geometric_reason`: why a geometric mean is necessary; "" for other statistics.
    """

    quantity: str
    summary: Summary
    pairing: PairingScope
    statistic: Statistic | None = None
    geometric_reason: str = ""


@dataclass(frozen=True)
class AuditedLatency:
    """A latency, whose percentiles matter too; `row_filter`: values by column of samples.csv."""

    quantity: str
    row_filter: Mapping[str, str | int]


@dataclass(frozen=True)
class AuditFacts:
    """What the audit of the report must know of a study.

    `latencies` are those whose tails matter; None if unknown, () for `no_latencies_reason`.
    `clock`, `synchronisation`, `over_ranks` and `cache` are a clause each on how times are taken,
    how ranks start together, how times of ranks become one, and what is in cache; "" if unknown.
    `build_columns` are columns of cases.parquet that describe the build of its programs.
    `threshold_tables` are tables of analysis.toml with its thresholds, besides statistics and
    disturbance.  `median_is_of_batch`: `median_s` of a point is the time of a whole batch, not of
    one event.
    """

    summaries: tuple[Summary, ...] = ()
    ratios: tuple[AuditedRatio, ...] | None = None
    latencies: tuple[AuditedLatency, ...] | None = None
    no_latencies_reason: str = ""
    clock: str = ""
    synchronisation: str = ""
    over_ranks: str = ""
    cache: str = ""
    build_columns: tuple[str, ...] = ()
    median_is_of_batch: bool = False
    threshold_tables: tuple[str, ...] = ()


#: One row for each launch and value; `depends_on` is MPI or BOOST of `roundtrip.study`.
SPEED_COLUMNS = {
    "launch": pl.String,
    "what": pl.String,
    "size_bytes": pl.Int64,
    "value": pl.Float64,
    "unit": pl.String,
    "lower_is_better": pl.Boolean,
    "depends_on": pl.String,
    **SERIES_COLUMNS,
}
#: Columns of a value that no history series has.
NO_SERIES = {"size_bytes": None, **dict.fromkeys(SERIES_COLUMNS)}


def ratios_within_launch(
    medians: pl.DataFrame, by: list[str], base: str, time_column: str = "seconds"
) -> pl.DataFrame:
    """Speed of each variant over that of `base` with the same `by` (the launch), case and size.

    A slow launch slows both sides of a ratio.  Return the rows of `medians` where `base` was
    measured too, without the rows of `base`, sorted, with one more column: ratio, the base's
    `time_column` over the variant's.  ValueError for several metrics.
    """
    if "metric" in medians.columns and medians["metric"].n_unique() > 1:
        raise ValueError("a ratio has one metric; these rows have several")
    keys = [*by, "case", "size_bytes"]
    base_medians = medians.filter(pl.col("variant") == base).select(*keys, base=time_column)
    return (
        medians.filter(pl.col("variant") != base)
        .join(base_medians, on=keys, how="inner")
        .with_columns(ratio=pl.col("base") / pl.col(time_column))
        .drop("base")
        .sort([*by, "case", "variant", "size_bytes"])
    )


def ratios_by_size(
    medians: pl.DataFrame, variant: str, base: str, time_column: str = "seconds"
) -> dict[int, list[float]]:
    """Speed of `variant` over that of `base` by size in bytes, one ratio for each launch with both.

    `medians` has the columns launch, case_id, case, variant, size_bytes and `time_column`.
    """
    pair = medians.filter(pl.col("variant").is_in([variant, base]))
    ratios = ratios_within_launch(pair, ["launch", "case_id"], base, time_column)
    return dict(ratios.group_by("size_bytes").agg("ratio").sort("size_bytes").iter_rows())


def toolchain_speeds(
    values: pl.DataFrame, what: pl.Expr, **columns: pl.Expr | str | None
) -> pl.DataFrame:
    """`values`, a row for each launch and value, with the columns `SPEED_COLUMNS`.

    `what` names the value.  `columns` sets other columns of SPEED_COLUMNS: an expression, a text
    for every row, or None for null.  By default a value is a time in µs, from column `seconds`, and
    depends on the MPI; the remaining columns are copied from `values`.
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
        for name, dtype in SPEED_COLUMNS.items()
    )


#: How the samples of a launch become one value.
LAUNCH_SUMMARY = Summary("value of an arm", ValueKind.COST, "the samples of a launch", MEDIAN)


def launch_medians(samples: pl.LazyFrame, metric: str, by: list[str]) -> pl.DataFrame:
    """Medians of the samples of one metric in phase "measure": columns `by` and value, sorted."""
    measurements = samples.filter(phase="measure", metric=metric)
    return measurements.group_by(by).agg(LAUNCH_SUMMARY.aggregate("value")).sort(by).collect()


_DISPLAY_UNITS: dict[str, str] = {Unit.S: Unit.US, "1": Unit.PURE_NUMBER}


def display_unit(metric: str) -> str:
    """The unit in which values are printed: µs for times, otherwise the unit of the metric."""
    raw = METRICS[metric].unit
    return _DISPLAY_UNITS.get(raw, raw)


def describe_metric(metric: str) -> str:
    """The name of a metric in words: ``Operation time``."""
    return metric.replace("_", " ").capitalize()


def metric_suffix(study: Study, metric: str) -> str:
    """``, bandwidth``: names the metric after the title of an arm; "" for the study's first."""
    return "" if metric == study.metrics[0] else f", {describe_metric(metric).lower()}"


def study_module_attribute(study: Study, submodule: str, name: str) -> Any:
    """Attribute `name` of module `submodule` in the study's package; None without either."""
    path = f"{type(study).__module__}.{submodule}"
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        return None
    return getattr(module, name, None)


def derived_metrics(study: Study, own: object) -> tuple[str, ...]:
    """Metrics whose values follow from the arms; () without arms, and `more_metrics` alone if
    `own`, a module of the study, defines values."""
    if not study.arms:
        return ()
    return study.more_metrics if own else study.all_metrics


def largest_message_rows(frame: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """The rows with the largest size_bytes of those with the same `by`."""
    return frame.filter(pl.col("size_bytes") == pl.col("size_bytes").max().over(by))


def at_compared_sizes(frame: pl.DataFrame, sizes: Sequence[int], by: list[str]) -> pl.DataFrame:
    """The rows at `sizes` (bytes); if these are (0,), as where a study names none, or the metric
    has no sizes, those at the largest size of each `by`."""
    if any(sizes) and frame["size_bytes"].max():
        return frame.filter(pl.col("size_bytes").is_in(sizes))
    return largest_message_rows(frame, by)


def perf_variables(study: Study, samples: pl.DataFrame) -> dict[str, tuple[float, str]]:
    """ReFrame's performance variables of one launch by name: (finite number, unit).

    `samples` has the columns of samples.csv, of one launch; values not measured are absent.  By
    default the median of each arm at the smallest and at the largest size: ``put_8B_us``; named
    by its case, too, if the launch has several.
    """
    variables = {}
    if own_units := study_module_attribute(study, "derived", "PERF_VARIABLE_UNITS"):
        values = study_module_attribute(study, "derived", "perf_variables")(samples)
        variables = {name: (values[name], own_units[name]) for name in own_units if name in values}
    for metric in derived_metrics(study, own_units):
        variables |= _default_perf_variables(study, samples, metric)
    return {name: variable for name, variable in variables.items() if math.isfinite(variable[0])}


def _default_perf_variables(
    study: Study, samples: pl.DataFrame, metric: str
) -> dict[str, tuple[float, str]]:
    variables = {}
    unit = display_unit(metric)
    scale = units.conversion_factor(METRICS[metric].unit, unit)
    ascii_unit = "1" if unit == Unit.PURE_NUMBER else unit.replace("µ", "u")
    medians = launch_medians(samples.lazy(), metric, ["case", "variant", "size_bytes"])
    size = pl.col("size_bytes")
    ends = medians.filter((size == size.min().over("case")) | (size == size.max().over("case")))
    for row in ends.iter_rows(named=True):
        words = [
            *([row["case"]] if medians["case"].n_unique() > 1 else []),
            row["variant"],
            *([units.size_text(row["size_bytes"])] if row["size_bytes"] else []),
            *([metric] if metric != study.metrics[0] else []),
            ascii_unit.replace("/", "_per_"),
        ]
        key = re.sub(r"\W", "_", units.printable("_".join(words)).replace(" ", ""))
        variables[key] = row["value"] * scale, ascii_unit
    return variables


def speeds(study: Study, samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """The values by which two toolchains are compared at `sizes` (bytes): `SPEED_COLUMNS`.

    There is a row for each launch and value.  `samples` has the columns of samples.csv and launch,
    and holds only this study.  By default the values of all arms.
    """
    form = study_module_attribute(study, "derived", "speeds")
    values = form(samples, sizes) if form else pl.DataFrame(schema=SPEED_COLUMNS)
    metrics = derived_metrics(study, form)
    return pl.concat([values, *(_default_speeds(study, samples, one, sizes) for one in metrics)])


def headline_speeds(study: Study, samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """The few values that represent a toolchain: `SPEED_COLUMNS`; by default those of `speeds`."""
    form = study_module_attribute(study, "derived", "headline_speeds")
    values: pl.DataFrame = form(samples) if form else speeds(study, samples, sizes)
    return values


def _default_speeds(
    study: Study, samples: pl.LazyFrame, metric: str, sizes: Sequence[int]
) -> pl.DataFrame:
    medians = launch_medians(samples, metric, ["launch", "case", "variant", "size_bytes"])
    suffix = metric_suffix(study, metric)
    titles = {name: f"{arm.title}{suffix}" for name, arm in study.arms.items()}
    title = pl.col("variant").replace(titles)
    has_one_case = pl.col("case").n_unique().over("launch") == 1
    unit = display_unit(metric)
    return toolchain_speeds(
        at_compared_sizes(medians, sizes, ["launch", "case"]),
        pl.when(has_one_case).then(title).otherwise(pl.concat_str(title, pl.lit(", "), "case")),
        value=pl.col("value") * units.conversion_factor(METRICS[metric].unit, unit),
        unit=unit,
        lower_is_better=pl.lit(METRICS[metric].lower_is_better),
        size_bytes=pl.when(pl.col("size_bytes") > 0).then("size_bytes"),
        phase="measure",
        metric=metric,
    )


def audit_facts(study: Study) -> AuditFacts:
    """The facts about the study's section for the audit of the report, by default medians and the
    ratios of contrasted arms within launches; absent facts are unknown."""
    own: AuditFacts | None = study_module_attribute(study, "derived", "AUDIT_FACTS")
    facts = own or AuditFacts(build_columns=("mpi_library", "compiler", "compiler_flags"))
    metrics = derived_metrics(study, own)
    if not metrics:
        return own or AuditFacts()
    summaries, ratios = [*facts.summaries], [*(facts.ratios or ())]
    for metric in metrics:
        kind = ValueKind.COST if METRICS[metric].lower_is_better else ValueKind.RATE
        quantity = describe_metric(metric).lower()
        launch_summary = replace(LAUNCH_SUMMARY, kind=kind)
        summaries += [launch_summary, Summary(quantity, kind, "launches", LAUNCH_STATISTIC)]
        if study.contrasts_of(metric):
            name = f"{quantity} of two arms"
            ratios.append(AuditedRatio(name, launch_summary, PairingScope.LAUNCH, LAUNCH_STATISTIC))
    # Without a ratio of the further metrics, unknown stays unknown.
    all_ratios = None if own and own.ratios is None and not ratios else tuple(ratios)
    return replace(facts, summaries=tuple(dict.fromkeys(summaries)), ratios=all_ratios)
