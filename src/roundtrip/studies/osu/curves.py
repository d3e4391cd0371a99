"""The curves of the OSU section: one panel for each toolchain, placement and number of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.report import labels
from roundtrip.report.data import Data
from roundtrip.stats.intervals import Interval, median_intervals
from roundtrip.studies import panel
from roundtrip.studies.osu import derived
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
        super().__init__(data, derived.STUDY)
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

    def traced(self, panel: Panel, benchmark: str, metric: str, size: int) -> str:
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
