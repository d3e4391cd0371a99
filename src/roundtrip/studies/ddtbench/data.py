"""The data of the DDTBench section: one panel for each toolchain, placement and state of memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.report.data import Data
from roundtrip.stats.summaries import median_intervals
from roundtrip.studies import panel
from roundtrip.studies.ddtbench import APPS, BUFFERS, DDT, MANUAL, PACKING, STUDY, derived
from roundtrip.studies.panel import Panels, Row

_LAUNCH = ["launch", "case_id", "panel"]
_BY = ["panel", "buffers", "app", "size_bytes", "variant"]
_PLACEMENTS = {"shared-memory": "in one node", "one-per-node": "two nodes"}


@dataclass(frozen=True, kw_only=True)
class Panel(panel.Panel):
    """A toolchain in a placement, with what happens to memory between exchanges.

    `launches` are those of the micro-app that has the fewest.
    """

    @property
    def buffers(self) -> str:
        """What happens to memory: a key of `BUFFERS`."""
        return self.key[1]

    @property
    def order(self) -> tuple[Any, ...]:
        """The study's own state of memory first."""
        return list(BUFFERS).index(self.buffers), self.kind, self.label


@dataclass(frozen=True)
class Refusal:
    """A legal call that an MPI library refused, and the micro-apps and methods concerned."""

    toolchain: str
    library: str
    call: str
    error: str
    consequence: str
    concerned: tuple[str, ...]


class DdtData(Panels[Panel]):
    """Launch figures of a bundle."""

    by = ("panel", "buffers")

    def __init__(self, data: Data) -> None:
        super().__init__(data, STUDY.name)
        key = ["system", "partition", "environ", "placement", "kind"]
        self.launches = self.launches.with_columns(panel=pl.concat_str(key, separator="|"))
        self.samples = self.samples.join(self.launches.select("launch", "panel").lazy(), "launch")

    @cached_property
    def values(self) -> pl.DataFrame:
        """`derived.launch_figures` of every launch, with the columns launch and panel too."""
        return derived.launch_figures(self.samples, _LAUNCH)

    @cached_property
    def creations(self) -> pl.DataFrame:
        """Interval of the time to make and to free at each point of each panel: columns panel,
        buffers, app, size_bytes, variant, phase; median, low and high in seconds; n.
        """
        found = derived.creations(self.samples, _LAUNCH)
        return median_intervals(found, [*_BY, "phase"], "seconds", self.level)

    @cached_property
    def overheads(self) -> pl.DataFrame:
        """Interval of the overhead at each point of each panel: columns panel, buffers, app,
        size_bytes, variant; median, low and high, parts of 1; n.
        """
        known = self.values.filter(pl.col("overhead").is_not_null())
        packing = known.filter(pl.col("variant").is_in(PACKING))
        return median_intervals(packing, _BY, "overhead", self.level)

    @cached_property
    def round_trips(self) -> pl.DataFrame:
        """Interval of the round trip: as `overheads`, in seconds, of all methods; same columns."""
        return median_intervals(self.values, _BY, "round_trip", self.level)

    def at_largest(self, frame: pl.DataFrame, panel: Panel) -> pl.DataFrame:
        """The rows of `panel` with each micro-app's largest message, in the study's order; all
        columns of `frame`, which needs app, size_bytes and variant.
        """
        mine = self.of(frame, panel)
        top = mine.filter(pl.col("size_bytes") == pl.col("size_bytes").max().over("app"))
        order = pl.col("app").replace_strict(
            {app: i for i, app in enumerate(APPS)}, default=len(APPS)
        )
        return top.sort(order, "app", "variant")

    def gains(self, panel: Panel, by_hand: str = MANUAL) -> dict[tuple[str, int], list[float]]:
        """By (app, size in bytes): round trip by hand over that with datatypes, one per launch."""
        found = derived.gains(self.of(self.values, panel), _LAUNCH, by_hand)
        grouped = found.group_by("app", "size_bytes").agg("ratio").sort("app", "size_bytes")
        return {(app, size): ratios for app, size, ratios in grouped.iter_rows()}

    def series_key(self, panel: Panel, app: str, size: int, variant: str, phase: str) -> str:
        """The series of one epoch of a method, as `Cell.series`."""
        case = f"{app}/{panel.buffers}"
        return self.series(panel, size, case=case, variant=variant, phase=phase)

    def with_types(self, panel: Panel, app: str, size: int) -> str:
        """The series of the round trip with datatypes, as `Cell.series`."""
        return self.series_key(panel, app, size, DDT, derived.UNPACKED)

    @cached_property
    def refusals(self) -> tuple[Refusal, ...]:
        """Every refusal, once for each toolchain."""
        found: dict[tuple[str, str, str, str, str], set[str]] = {}
        told = ["finding_call", "finding_error", "finding_consequence"]
        refused = self.points.drop_nulls(told).join(self.launches, on="launch")
        columns = ["toolchain", pl.col("mpi_library").fill_null(""), *told, "case", "variant"]
        for *fact, case, variant in refused.select(columns).iter_rows():
            toolchain, library, call, error, consequence = fact
            key = (toolchain, library, call, error, consequence)
            found.setdefault(key, set()).add(f"{case.split('/')[0]} {variant}")
        return tuple(Refusal(*key, tuple(sorted(found[key]))) for key in sorted(found))

    def _rows(self) -> pl.DataFrame:
        fewest = (
            self.values.group_by("panel", "buffers", "app")
            .agg(launches=pl.col("launch").n_unique().cast(pl.Int64))
            .group_by("panel", "buffers")
            .agg(pl.col("launches").min())
        )
        return fewest.join(self.launches.unique("panel", keep="first"), on="panel")

    def _panel(self, row: Row) -> Panel:
        return Panel(
            key=(row["panel"], row["buffers"]),
            toolchain=row["toolchain"],
            where=str(_PLACEMENTS.get(row["placement"], row["placement"])),
            kind=row["kind"],
            launches=row["launches"],
        )
