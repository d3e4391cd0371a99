"""Where the noise is: in launches or between them, and how the same time would be spent better."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import polars as pl

from roundtrip.report import labels, units, yardsticks
from roundtrip.report.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Items,
    Table,
    Text,
    text_cells,
)
from roundtrip.report.data import Data
from roundtrip.report.origins import Origins
from roundtrip.report.units import Level, Quantity, Unit
from roundtrip.stats.planning import Components, allocate, components, half_width, normality_p
from roundtrip.stats.settings import Levels
from roundtrip.stats.summaries import DEVIATION, Kind, Summary, median_interval

#: The column with the test of Shapiro and Wilk.
_NORMAL = "Normal, p"
#: What the spread between launches and the plans rest on.
DEVIATED = Summary(
    "the logarithm of a figure",
    Kind.COST,
    "launches",
    DEVIATION,
    _NORMAL,
)
_READING: tuple[Text, ...] = (
    (
        "“Reached the precision” is said of one launch: its own samples agree on its median. It "
        "does not mean that the next launch would find the same. No interval in this report "
        "depends on it: all intervals are over launches.",
    ),
    (
        "Spread between launches: the standard deviation of the launches' medians, without the "
        "part that their own samples explain. Where it is much larger than the half-width in a "
        "launch, more launches help and longer ones do not. Ratios that are paired in a launch "
        "spread far less.",
    ),
    (
        "“Normal” is p of the test of Shapiro and Wilk on the logarithms of the launches' medians: "
        "where it is small, as of launches in two groups, the spread and the plans are rough.",
    ),
    (
        "The two columns before it compare plans by the normal approximation. It uses these "
        "variances and the seconds that a launch took without measuring. No plan has fewer "
        "launches than “advised_launches” below.",
    ),
)


def blocks(data: Data, found: pl.DataFrame) -> list[Block]:
    """A table of `found` (`yardsticks.by_launch`, with the facts of each launch)."""
    levels = data.analysis.statistics
    level = levels.confidence_level
    overhead = _overhead(data)
    rows = tuple(_rows(data.origins, found, overhead, levels))
    if not rows:
        return []
    told = "" if overhead is None else f" A launch took {units.number(overhead, 2)} s besides."
    names = (
        *("Half-width in a launch", "Spread between launches"),
        *("Half-width as launched", "For the same time"),
    )
    table = Table(
        Level(level).within(f"Noise in a launch and between launches, at {{level}}.{told}"),
        (
            *(Column(name) for name in ("Toolchain", "Case", "Figure")),
            Column("Launches", "right"),
            *(Column(name, "right") for name in names),
            Column(_NORMAL, "right"),
        ),
        rows,
    )
    return [Heading(3, "Where the noise is"), table, Items(_READING)]


def is_shown(block: Block) -> bool:
    """Whether a block is the table of `blocks`."""
    return isinstance(block, Table) and any(column.name == _NORMAL for column in block.columns)


def _rows(
    origins: Origins, found: pl.DataFrame, overhead: float | None, levels: Levels
) -> Iterator[tuple[Cell, ...]]:
    keys = ["number", *yardsticks.SAME]
    for _, group in found.group_by(keys, maintain_order=True):
        first = group.row(0, named=True)
        samples = group["samples"].to_list()
        if group.height < 2:
            continue
        kind = labels.kind(first["emulation"], first["simulated"])
        seconds = group["elapsed_s"].median()
        parts = components(samples, seconds) if isinstance(seconds, float) else None
        yield (
            *text_cells(f"{first['toolchain']} {kind}".strip(), f"{first['case']}"),
            Cell(f"{first['name']}, {first['unit']}", series=yardsticks.traced(origins, first)),
            Cell(units.count(group.height)),
            _in_launch(samples, levels.confidence_level),
            _between(group["median"].to_list(), parts),
            *_plans(parts, group.height, overhead, levels),
            _normal(group["median"].to_list()),
        )


def _in_launch(samples: list[list[float]], level: float) -> Cell:
    """Median over launches of the relative half-width of each launch's own interval."""
    widths = []
    for one in samples:
        interval = median_interval(one, level)
        if interval.low is not None and interval.high is not None:
            farther = max(interval.high - interval.median, interval.median - interval.low)
            widths.append(farther / interval.median)
    return _share(median_interval(widths, level).median if widths else None)


def _share(of_value: float | None) -> Cell:
    """A part of the value, nothing where it is not known."""
    return Cell(units.NOTHING if of_value is None else units.part(of_value))


def _between(medians: list[float], parts: Components | None) -> Cell:
    if parts is not None:
        return _share(math.sqrt(parts.between))
    logs = pl.Series([math.log(median) for median in medians if median > 0])
    spread = logs.to_frame("log").select(DEVIATED.aggregate("log")).item()
    return _share(spread)


def _normal(medians: list[float]) -> Cell:
    p = normality_p([math.log(median) for median in medians if median > 0])
    return Cell(units.NOTHING if p is None else units.pure(p, 2))


def _plans(
    parts: Components | None, launches: int, overhead: float | None, levels: Levels
) -> tuple[Cell, Cell]:
    if parts is None:
        return Cell(units.NOTHING), Cell(units.NOTHING)
    level, fewest = levels.confidence_level, levels.advised_launches
    here = half_width(parts, launches, parts.seconds, level)
    as_launched = _plan(launches, parts.seconds, here)
    if overhead is None or launches < fewest:
        return as_launched, Cell(units.NOTHING)
    plan = allocate(parts, launches * (overhead + parts.seconds), overhead, level, fewest)
    return as_launched, _plan(plan.launches, plan.seconds, plan.half_width)


def _plan(launches: int, seconds: float, width: float) -> Cell:
    each = Quantity(value=seconds, unit=Unit.S, digits=2)
    shown = (units.count(launches), " of ", each, f" {Unit.S}: ", units.part(width))
    return Cell(shown, unit=Unit.S)


def _overhead(data: Data) -> float | None:
    """Median seconds from the end of a launch to the start of the next; None if untold."""
    passed = data.launches.filter(pl.col("status") == "passed").drop_nulls(["started", "elapsed_s"])
    spans = (
        passed.select(pl.col("started").str.to_datetime(time_zone="UTC", strict=False), "elapsed_s")
        .drop_nulls()
        .sort("started")
        .rows()
    )
    gaps = [
        (after - before).total_seconds() - elapsed
        for (before, elapsed), (after, _) in pairwise(spans)
    ]
    return max(0.0, float(pl.Series(gaps).median())) if gaps else None  # type: ignore[arg-type]
