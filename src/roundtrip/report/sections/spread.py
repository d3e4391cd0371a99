"""The spread metrics of all studies, and their noise within and between launches.

A spread metric is a value that shows how the launches of one case differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import (
    Block,
    BulletList,
    Cell,
    Heading,
    RichText,
    Table,
    number_columns,
    text_cells,
    text_columns,
)
from roundtrip.content.data import BundleData
from roundtrip.stats import planning
from roundtrip.stats.settings import Levels
from roundtrip.stats.summaries import (
    MEDIAN,
    STANDARD_DEVIATION,
    Summary,
    ValueKind,
    median_interval,
)
from roundtrip.study import SpreadMetric, load_studies
from roundtrip.units import FACTOR_FROM_SECONDS, ConfidenceLevel, Quantity, Unit

#: Columns that, with launch and number, identify a value; its samples thus share one metric.
SPREAD_KEY_COLUMNS = ("case_id", "case", "variant", "metric")
#: Further columns that identify a series.
SERIES_COLUMNS = ("size_bytes", "phase")
#: Summary of the samples of a launch as one value.
LAUNCH_SUMMARY = Summary("a figure of a study", ValueKind.COST, "the samples of a launch", MEDIAN)
#: Column of the Shapiro-Wilk test.
_NORMALITY_COLUMN = "Normal, p"
#: Summary behind the spread between launches and behind the plans.
LOG_DEVIATION_SUMMARY = Summary(
    "the logarithm of a figure", ValueKind.COST, "launches", STANDARD_DEVIATION, _NORMALITY_COLUMN
)
_EXPLANATION: tuple[RichText, ...] = (
    (
        "“Reached the precision” describes one launch: its samples agree on its median. The next "
        "launch may have another median. No interval in this report depends on it: all intervals "
        "are over launches.",
    ),
    (
        "Spread between launches: the standard deviation of the launches' medians, without the "
        "part that their own samples explain. If it is much larger than the half-width in a "
        "launch, more launches help and longer ones do not. Ratios paired in a launch spread far "
        "less.",
    ),
    (
        "“Normal” is p of the Shapiro-Wilk test on the logarithms of the launches' medians. If "
        "it is small, as for launches in two groups, the spread and the plans are rough.",
    ),
    (
        "The two columns before it compare plans by the normal approximation, from these "
        "variances and the seconds of a launch outside measuring. No plan has fewer launches "
        "than “advised_launches” below.",
    ),
)


def launch_spread_values(samples: pl.LazyFrame) -> pl.DataFrame:
    """The spread metrics in the samples of a bundle, a row for each launch and metric.

    Columns: number, name and unit of the metric; launch; `SPREAD_KEY_COLUMNS`; median, and samples
    in time order, both in that unit; `SERIES_COLUMNS`, null if the samples have several values.
    """
    keys = ["launch", *SPREAD_KEY_COLUMNS]
    declarations = [
        (study.name, metric) for study in load_studies() for metric in study.spread_metrics
    ]
    frames = []
    for number, (study, metric) in enumerate(declarations):
        study_rows = _metric_samples(samples.filter(pl.col("study") == study), metric).sort("rep")
        median = LAUNCH_SUMMARY.aggregate("shown")
        launches = study_rows.group_by(keys).agg(
            *map(_unique_or_null, SERIES_COLUMNS), median=median, samples=pl.col("shown")
        )
        name, unit = pl.lit(metric.name), pl.lit(str(metric.unit))
        frames.append(launches.with_columns(number=pl.lit(number), name=name, unit=unit))
    return pl.concat(pl.collect_all(frames)).sort("number", *keys)


def _unique_or_null(column: str) -> pl.Expr:
    return pl.when(pl.col(column).n_unique() == 1).then(pl.col(column).first()).alias(column)


def _metric_samples(samples: pl.LazyFrame, metric: SpreadMetric) -> pl.LazyFrame:
    """A study's rows of the metric in units that convert to its own, in which `shown` is."""
    value, unit = pl.col("value"), metric.unit
    is_of_time = unit is Unit.MB_S or unit in FACTOR_FROM_SECONDS
    raw_units = [str(unit), *([str(Unit.S)] if is_of_time else [])]
    conversion = value * FACTOR_FROM_SECONDS.get(unit, 1)
    if unit is Unit.MB_S:
        conversion = pl.col("size_bytes") / value / 1e6
    figure = pl.when(pl.col("unit") == Unit.S).then(conversion).otherwise(value)
    samples = samples.filter(pl.col("unit").is_in(raw_units), **dict(metric.row_filter))
    return samples.with_columns(shown=figure)


def noise_blocks(data: BundleData, spread_values: pl.DataFrame) -> list[Block]:
    """A table of the noise of `launch_spread_values`, joined with facts of launches."""
    levels = data.analysis.statistics
    overhead_s = _launch_overhead_s(data)
    rows = tuple(_noise_rows(data, spread_values, overhead_s, levels))
    if not rows:
        return []
    caption = "Noise in a launch and between launches, at {level}."
    if overhead_s is not None:
        caption += f" Outside measuring, a launch took {units.amount(overhead_s, Unit.S, 2)}."
    noise = number_columns("Launches", "Half-width in a launch", "Spread between launches")
    plans = number_columns("Half-width as launched", "For the same time", _NORMALITY_COLUMN)
    columns = (*text_columns("Toolchain", "Case", "Figure"), *noise, *plans)
    table = Table(ConfidenceLevel(levels.confidence_level).fill_caption(caption), columns, rows)
    return [Heading(3, "Where the noise is"), table, BulletList(_EXPLANATION)]


def is_noise_table(block: Block) -> bool:
    """Whether a block is the table of `noise_blocks`."""
    columns = block.columns if isinstance(block, Table) else ()
    return any(column.name == _NORMALITY_COLUMN for column in columns)


def _noise_rows(
    data: BundleData, spread_values: pl.DataFrame, overhead_s: float | None, levels: Levels
) -> Iterator[tuple[Cell, ...]]:
    keys = ["number", *SPREAD_KEY_COLUMNS]
    for _, group in spread_values.group_by(keys, maintain_order=True):
        if group.height < 2:
            continue
        first = group.row(0, named=True)
        samples, medians = group["samples"].to_list(), group["median"].to_list()
        logs = [math.log(median) for median in medians if median > 0]
        seconds = group["elapsed_s"].median()
        parts = None
        if isinstance(seconds, float):
            parts = planning.variance_components(samples, seconds)
        between = math.sqrt(parts.between) if parts else None
        if parts is None:
            between = (
                pl.DataFrame({"log": logs}).select(LOG_DEVIATION_SUMMARY.aggregate("log")).item()
            )
        p, figure = planning.normality_p(logs), f"{first['name']}, {first['unit']}"
        yield (
            *text_cells(labels.add_label(first["toolchain"], first), f"{first['case']}"),
            Cell(figure, series_key=data.series_key(first["case_id"], first)),
            Cell(units.count(group.height)),
            _half_width_cell(samples, levels.confidence_level),
            _percentage_cell(between),
            *_plan_cells(parts, group.height, overhead_s, levels),
            Cell(units.NO_VALUE if p is None else units.pure_number(p, 2)),
        )


def _half_width_cell(samples: list[list[float]], level: float) -> Cell:
    """Median over launches of the relative half-width of each launch's own interval."""
    widths = []
    for values in samples:
        interval = median_interval(values, level)
        if interval.low is not None and interval.high is not None:
            width = max(interval.high - interval.median, interval.median - interval.low)
            widths.append(width / interval.median)
    return _percentage_cell(median_interval(widths, level).median if widths else None)


def _percentage_cell(fraction: float | None) -> Cell:
    return Cell(units.NO_VALUE if fraction is None else units.percentage(fraction))


def _plan_cells(
    variances: planning.VarianceComponents | None,
    launches: int,
    overhead_s: float | None,
    levels: Levels,
) -> tuple[Cell, Cell]:
    if variances is None:
        return Cell(units.NO_VALUE), Cell(units.NO_VALUE)
    level, fewest = levels.confidence_level, levels.advised_launches
    width = planning.half_width(variances, launches, variances.seconds, level)
    as_launched = _plan_cell(launches, variances.seconds, width)
    if overhead_s is None or launches < fewest:
        return as_launched, Cell(units.NO_VALUE)
    plan = planning.allocate(
        variances, launches * (overhead_s + variances.seconds), overhead_s, level, fewest
    )
    return as_launched, _plan_cell(plan.launches, plan.seconds, plan.half_width)


def _plan_cell(launches: int, seconds: float, half_width: float) -> Cell:
    duration = Quantity(value=seconds, unit=Unit.S, digits=2)
    text = (units.count(launches), " of ", duration, f" {Unit.S}: ", units.percentage(half_width))
    return Cell(text, unit=Unit.S)


def _launch_overhead_s(data: BundleData) -> float | None:
    """Median seconds from the end of a launch to the start of the next; None if it is not known."""
    start = pl.col("started").str.to_datetime(time_zone="UTC", strict=False)
    spans = data.completed_launches.select(start, "elapsed_s").drop_nulls().sort("started").rows()
    gaps = [
        (after - before).total_seconds() - duration
        for (before, duration), (after, _) in pairwise(spans)
    ]
    return max(0.0, median(gaps)) if gaps else None
