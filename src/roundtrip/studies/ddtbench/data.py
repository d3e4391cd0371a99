"""The data of the DDTBench section: one panel for each toolchain, placement and state of memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from roundtrip.report import labels
from roundtrip.report.data import Data
from roundtrip.stats.intervals import Interval, median_interval, median_intervals
from roundtrip.studies.ddtbench import derived

_LAUNCH = ["launch", "case_id", "panel"]
_PLACEMENTS = {"shared-memory": "in one node", "one-per-node": "two nodes"}


@dataclass(frozen=True)
class Panel:
    """A toolchain in a placement, with what happens to memory between exchanges."""

    key: str  # of toolchain, partition and placement
    toolchain: str
    placement: str
    kind: str
    buffers: str
    launches: int  # of the micro-app that has the fewest

    @property
    def label(self) -> str:
        """Name on every row and figure."""
        named = f"{self.toolchain}, {self.placement}"
        return f"{named} ({self.kind})" if self.kind else named


@dataclass(frozen=True)
class Refused:
    """A legal call that an MPI library refused, and the micro-apps and methods concerned."""

    toolchain: str
    library: str
    call: str
    error: str
    consequence: str
    concerned: tuple[str, ...]


class DdtData:
    """Launch figures of a bundle; intervals are over launches at `level`."""

    def __init__(self, data: Data) -> None:
        self.level = data.analysis.statistics.confidence_level
        passed = data.passed(derived.STUDY)
        self.launches = passed.with_columns(
            panel=pl.struct(
                "system", "partition", "environ", "parameters", "emulated", "simulated"
            ).map_elements(_panel_key, return_dtype=pl.String)
        )
        self._points = data.points
        self._samples = data.samples.filter(pl.col("study") == derived.STUDY)

    @cached_property
    def figures(self) -> pl.DataFrame:
        """`derived.launch_figures` of every launch, with column panel."""
        panels = self.launches.select("launch", "panel").lazy()
        return derived.launch_figures(self._samples.join(panels, on="launch"), _LAUNCH)

    @cached_property
    def creations(self) -> pl.DataFrame:
        """Interval of the time to make and to free, seconds, at each point of each panel."""
        panels = self.launches.select("launch", "panel").lazy()
        found = derived.creations(self._samples.join(panels, on="launch"), _LAUNCH)
        by = ["panel", "buffers", "app", "size_bytes", "variant", "phase"]
        return median_intervals(found, by, "seconds", self.level)

    @cached_property
    def overheads(self) -> pl.DataFrame:
        """Interval of the overhead at each point of each panel."""
        known = self.figures.filter(pl.col("overhead").is_not_null())
        return self._intervals(known.filter(pl.col("variant").is_in(derived.PACKING)), "overhead")

    @cached_property
    def round_trips(self) -> pl.DataFrame:
        """Interval of the round trip, seconds, at each point of each panel."""
        return self._intervals(self.figures, "round_trip")

    def _intervals(self, frame: pl.DataFrame, value: str) -> pl.DataFrame:
        by = ["panel", "buffers", "app", "size_bytes", "variant"]
        return median_intervals(frame, by, value, self.level)

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        """In the order to be shown: the study's own state of memory first."""
        fewest = (
            self.figures.group_by("panel", "buffers", "app")
            .agg(launches=pl.col("launch").n_unique().cast(pl.Int64))
            .group_by("panel", "buffers")
            .agg(pl.col("launches").min())
            .join(self.launches.unique("panel", keep="first"), on="panel")
        )
        panels = [_panel(row) for row in fewest.iter_rows(named=True)]
        states = list(derived.BUFFERS)
        return tuple(sorted(panels, key=lambda p: (states.index(p.buffers), p.kind, p.label)))

    def of(self, frame: pl.DataFrame, panel: Panel) -> pl.DataFrame:
        """Rows of `frame` that belong to `panel`."""
        mine = (pl.col("panel") == panel.key) & (pl.col("buffers") == panel.buffers)
        return frame.filter(mine)

    def at_largest(self, frame: pl.DataFrame, panel: Panel) -> pl.DataFrame:
        """Rows of `panel` with each micro-app's largest message, in the study's order."""
        mine = self.of(frame, panel)
        top = mine.filter(pl.col("size_bytes") == pl.col("size_bytes").max().over("app"))
        order = pl.col("app").replace_strict(
            {app: i for i, app in enumerate(derived.APPS)}, default=len(derived.APPS)
        )
        return top.sort(order, "app", "variant")

    def gains(
        self, panel: Panel, by_hand: str = derived.MANUAL
    ) -> dict[tuple[str, int], list[float]]:
        """(app, size): round trip by hand over that with datatypes, one a launch."""
        found = derived.gains(self.of(self.figures, panel), _LAUNCH, by_hand).with_columns(
            app=pl.col("case").str.split("/").list.first()
        )
        grouped = found.group_by("app", "size_bytes").agg("gain").sort("app", "size_bytes")
        return {(app, size): ratios for app, size, ratios in grouped.iter_rows()}

    def interval(self, values: list[float]) -> Interval:
        """Over launches."""
        return median_interval(values, self.level)

    @cached_property
    def refused(self) -> tuple[Refused, ...]:
        """Every refusal, told once for each toolchain."""
        found: dict[tuple[str, str, str, str, str], set[str]] = {}
        told = ["finding_call", "finding_error", "finding_consequence"]
        refused = self._points.drop_nulls(told).join(self.launches, on="launch")
        columns = ["toolchain", pl.col("mpi_library").fill_null(""), *told, "case", "variant"]
        for *fact, case, variant in refused.select(columns).iter_rows():
            toolchain, library, call, error, consequence = fact
            key = (toolchain, library, call, error, consequence)
            found.setdefault(key, set()).add(f"{case.split('/')[0]} {variant}")
        return tuple(Refused(*key, tuple(sorted(found[key]))) for key in sorted(found))


def _panel_key(row: dict[str, object]) -> str:
    placement = json.loads(str(row["parameters"] or "{}")).get("placement", "")
    parts = [row["system"], row["partition"], row["environ"], placement]
    return "|".join(str(part) for part in [*parts, row["emulated"] or "", bool(row["simulated"])])


def _panel(row: dict[str, object]) -> Panel:
    placement = str(json.loads(str(row["parameters"] or "{}")).get("placement", ""))
    return Panel(
        key=str(row["panel"]),
        toolchain=str(row["toolchain"]),
        placement=_PLACEMENTS.get(placement, placement),
        kind=labels.kind(row["emulated"], row["simulated"]),
        buffers=str(row["buffers"]),
        launches=int(str(row["launches"])),
    )
