"""The curves of the OSU section: one panel for each toolchain, placement and number of ranks.

Figures of times and rates over message size, and how the collectives grow with the nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.report import labels, units
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.data import Data
from roundtrip.report.units import Level, Unit
from roundtrip.stats.summaries import Interval, median_intervals
from roundtrip.studies import display, panel
from roundtrip.studies.growth import Growth
from roundtrip.studies.osu import ARMS, STUDY, derived
from roundtrip.studies.panel import Panels, Row

PLACE = ["system", "partition", "environ", "placement"]


@dataclass(frozen=True, kw_only=True)
class Panel(panel.Panel):
    """`ranks` on one toolchain, placed alike; `place` has the values of PLACE."""

    place: tuple[str, ...]
    ranks: int
    versions: tuple[str, ...]

    @property
    def order(self) -> tuple[Any, ...]:
        """Measured before emulated, and from few ranks to many."""
        return bool(self.kind), self.ranks, self.key


class Curves(Panels[Panel]):
    """Typical values of each launch (`derived.typical`)."""

    by = ("panel",)

    def __init__(self, data: Data) -> None:
        super().__init__(data, STUDY.name)
        key = [*PLACE, "ranks", "kind", "toolchain"]
        self.launches = self.launches.with_columns(
            panel=pl.concat_str(key, separator="|", ignore_nulls=True)
        )

    @cached_property
    def values(self) -> pl.DataFrame:
        """One row for each launch and size.

        Columns: launch, benchmark, variant, metric, size_bytes, phase, value, panel.
        """
        found = derived.typical(self.samples, ["launch"]).rename({"case": "benchmark"})
        return found.join(self.launches.select("launch", "panel"), on="launch")

    @cached_property
    def intervals(self) -> pl.DataFrame:
        """Interval over launches: columns panel, benchmark, metric, size_bytes; median, low and
        high in the metric's unit; n.
        """
        keys = ["panel", "benchmark", "metric", "size_bytes"]
        return median_intervals(self.values, keys, "value", self.level)

    def point(self, panel: Panel, benchmark: str, metric: str, size: int) -> Interval | None:
        """The interval of one point; None if it was not measured."""
        mine = self.of(self.intervals, panel, benchmark=benchmark, metric=metric)
        return self.at(mine, panel, size_bytes=size)

    def series_key(self, panel: Panel, benchmark: str, metric: str, size: int) -> str:
        """The series of one point, as `Cell.series`; "" if launches gave different statistics."""
        mine = self.of(self.values, panel, benchmark=benchmark, metric=metric, size_bytes=size)
        phases = mine["phase"].unique().to_list()
        if len(phases) != 1:
            return ""
        return self.series(panel, size, case=benchmark, metric=metric, phase=phases[0])

    def _rows(self) -> pl.DataFrame:
        """With the column versions."""
        versions = self.samples.select("launch", "variant").unique().collect()
        told = self.launches.join(versions, on="launch").group_by("panel")
        counted = told.agg(
            versions=pl.col("variant").unique().sort(), launches=pl.len().cast(pl.Int64)
        )
        return counted.join(self.launches.unique("panel", keep="first"), on="panel")

    def _panel(self, row: Row) -> Panel:
        where = labels.PLACEMENTS.get(row["placement"], row["placement"])
        return Panel(
            key=(row["panel"],),
            toolchain=row["toolchain"],
            where=f"{row['ranks']} ranks {where}",
            kind=row["kind"],
            launches=row["launches"],
            facts=(panel.place(row), row["environ"]),
            place=tuple(row[name] for name in PLACE),
            ranks=row["ranks"],
            versions=tuple(row["versions"]),
        )


#: Bytes a rank: one that only waits, and one that moves data.
GROWTH_SIZES = (8, 64 << 10)


def node_growth(curves: Curves) -> Growth:
    """Efficiency of each collective at the shown sizes, over launches on several nodes."""
    collective = [name for name, one in derived.BENCHMARKS.items() if one.is_collective]
    shown = (
        curves.values.filter(pl.col("benchmark").is_in(collective))
        .filter(pl.col("size_bytes").is_in(GROWTH_SIZES) | (pl.col("benchmark") == "barrier"))
        .filter(pl.col("value") > 0)
    )
    things = [_thing(*row) for row in shown.select("benchmark", "size_bytes").rows()]
    times = shown.with_columns(thing=pl.Series(things, dtype=pl.String))
    return Growth.over_nodes(times, curves.launches, ideal, curves.level)


def ideal(thing: str, ranks: int) -> float:
    """Steps of a collective on `ranks` ranks: each sends to all others, or a tree of messages."""
    return float(ranks - 1) if thing.startswith("alltoall") else math.log2(ranks)


def _thing(benchmark: str, size: int) -> str:
    return benchmark if benchmark == "barrier" else f"{benchmark}, {units.size(size)}"


@dataclass(frozen=True)
class Kind:
    """Benchmarks that share a figure of `axis`; values times `scale` are in `unit`."""

    name: str
    benchmarks: tuple[str, ...]
    axis: str
    unit: Unit
    scale: float
    what: str

    def caption(self, level: Level) -> Text:
        """What its figures show, with intervals at `level`."""
        return level.within(
            f"{self.what}: median over launches, bands are {{level}} rank intervals. Where the "
            "version prints percentiles a launch's value is the median over its messages, else "
            "their mean."
        )


KINDS = (
    Kind(
        "latency",
        ("latency", "put_latency", "get_latency"),
        "Time",
        Unit.US,
        1e6,
        "Half a round trip (latency), and the time of one MPI_Put and one MPI_Get",
    ),
    Kind(
        "bandwidth",
        ("bw", "bibw", "mbw_mr", "put_bw", "get_bw"),
        "Bandwidth",
        Unit.MB_S,
        1.0,
        "Bandwidth in windows of messages; bibw both ways, mbw_mr all pairs together",
    ),
    Kind(
        "collectives",
        ("allreduce", "alltoall", "bcast"),
        "Time",
        Unit.US,
        1e6,
        "Time of a collective, mean over the ranks, by bytes a rank",
    ),
)


def draw(curves: Curves, kind: Kind) -> tuple[Figure, ...]:
    """One figure for each panel that has such benchmarks; all with the same axes."""
    framed = [(panel, _frame(curves, panel, kind)) for panel in curves.panels]
    framed = [(panel, frame) for panel, frame in framed if not frame.is_empty()]
    arms = {name: ARMS[name] for name in kind.benchmarks}
    drawings = [
        display.drawing(f"osu-{kind.name}-{number}", panel, frame, arms, ", ".join(panel.versions))
        for number, (panel, frame) in enumerate(framed, 1)
    ]
    what = f"OSU {kind.name} over message size"
    return display.over_size(drawings, what, kind.axis, kind.unit)


def _frame(curves: Curves, panel: Panel, kind: Kind) -> pl.DataFrame:
    """What a log scale can show: no empty messages, and nothing that OSU rounded to 0."""
    return (
        display.curve_rows(curves.of(curves.intervals, panel), kind.scale, "benchmark")
        .filter(pl.col("benchmark").is_in(kind.benchmarks) & (pl.col("metric") != "message_rate"))
        .filter((pl.col("size_bytes") > 0) & (pl.col("median") > 0))
        .with_columns(low=pl.when(pl.col("low") > 0).then("low"))
        .with_columns(high=pl.when(pl.col("low").is_not_null()).then("high"))
    )
