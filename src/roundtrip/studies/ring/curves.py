"""The curves of the ring section: one panel for each toolchain and placement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.report import labels
from roundtrip.report.data import Data
from roundtrip.stats.intervals import Interval, median_interval, median_intervals
from roundtrip.studies.ring import derived

_BY = ["case_id", "case", "variant", "size_bytes"]
_LAUNCH = ["launch", "case_id"]
_PLACEMENTS = {
    "shared-memory": "2 ranks in one node",
    "oversubscribed": "3 ranks on 2 processors",
    "one-per-node": "2 ranks on 2 nodes",
    "hybrid": "3 ranks on 2 nodes",
}

#: The size between the ends at which single laps are shown, bytes.
LAP_SIZE = 1_000
PERCENTILES = (1, 50, 90, 99)


@dataclass(frozen=True)
class Panel:
    """One toolchain in one placement; `case` is the number of ranks on each node, `2+1`.

    `shared` and `network` are the passes of a lap inside nodes and between them.
    """

    case_id: str
    case: str
    toolchain: str
    placement: str
    kind: str
    launches: int
    shared: int
    network: int
    hub_mbit_s: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Identity in the frames."""
        return self.case_id, self.case

    @property
    def in_one_node(self) -> bool:
        """Whether every pass is a hand-over in memory."""
        return not self.network

    @property
    def passes(self) -> int:
        """Passes of a lap."""
        return self.shared + self.network

    def title(self, variant: str) -> str:
        """Name of a transport here: a region that goes nowhere by reference is not called so."""
        return derived.title(variant, self.shared, self.network)

    @property
    def label(self) -> str:
        """Name on every row and figure."""
        named = f"{self.toolchain}, {self.placement}"
        return f"{named} ({self.kind})" if self.kind else named


class Curves:
    """Launch medians of a bundle; intervals are over launches at `level`."""

    def __init__(self, data: Data) -> None:
        self.level = data.analysis.statistics.confidence_level
        self.launches = data.passed(derived.STUDY)
        self.points = data.points.filter(pl.col("study") == derived.STUDY)
        self._samples = data.samples.filter(pl.col("study") == derived.STUDY)

    @cached_property
    def medians(self) -> pl.DataFrame:
        """Time per pass and effective bandwidth of each launch at each point."""
        known = pl.col("variant").is_in([*derived.TRANSPORTS, *map(derived.read_of, derived.READ)])
        return derived.launch_medians(self._samples.filter(known), _LAUNCH)

    @cached_property
    def bandwidth(self) -> pl.DataFrame:
        """Interval of the effective bandwidth, MB/s, at each point."""
        return median_intervals(self.medians, _BY, "bandwidth", self.level)

    @cached_property
    def laps(self) -> pl.DataFrame:
        """Single laps of all launches together: percentiles, seconds.

        At the smallest size, at LAP_SIZE, and at each transport's largest.
        """
        value, size = pl.col("value"), pl.col("size_bytes")
        transport = ["case_id", "case", "variant"]
        ends = [end.over(transport) for end in (size.min(), size.max())]
        return (
            self._samples.filter(pl.col("metric") == "lap_time")
            .filter(pl.col("variant").is_in(list(derived.TRANSPORTS)))
            .filter((size == LAP_SIZE) | (size == ends[0]) | (size == ends[1]))
            .group_by(_BY)
            .agg(
                laps=pl.len().cast(pl.Int64),
                **{f"p{part}": value.quantile(part / 100, "higher") for part in PERCENTILES},
            )
            .sort(_BY)
            .collect()
        )

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        """Every toolchain and placement, in the order to be shown."""
        counts = (
            self.medians.group_by("case_id", "case")
            .agg(launches=pl.col("launch").n_unique().cast(pl.Int64))
            .join(self.launches.unique("case_id", keep="first"), on="case_id")
        )
        panels = [_panel(row) for row in counts.iter_rows(named=True)]
        order = list(_PLACEMENTS.values())
        return tuple(
            sorted(
                panels,
                key=lambda p: (
                    bool(p.kind),
                    next((i for i, name in enumerate(order) if p.placement.startswith(name)), 9),
                    p.toolchain,
                    p.case_id,
                ),
            )
        )

    def of(self, frame: pl.DataFrame, panel: Panel) -> pl.DataFrame:
        """Rows of `frame` that belong to `panel`."""
        return frame.filter((pl.col("case_id") == panel.case_id) & (pl.col("case") == panel.case))

    def ratio(self, panel: Panel, variant: str, base: str) -> dict[int, list[float]]:
        """Ratios of effective bandwidth, one a launch, at each size."""
        found = derived.ratios(self.of(self.medians, panel), _LAUNCH, variant, base)
        grouped = found.group_by("size_bytes").agg("ratio").sort("size_bytes")
        return dict(grouped.iter_rows())

    def bandwidth_at(self, panel: Panel, variant: str, size: int) -> Interval | None:
        """Interval of the effective bandwidth, MB/s, at one point; None if it was not measured."""
        at = (pl.col("variant") == variant) & (pl.col("size_bytes") == size)
        return self.interval(self.of(self.medians, panel).filter(at)["bandwidth"].to_list())

    def over_best(self, panel: Panel, variant: str = derived.REGION) -> dict[int, list[float]]:
        """Effective bandwidth of a region over MPI's best two-sided call, one a launch."""
        medians = self.of(self.medians, panel)
        both = pl.concat([medians, derived.best_two_sided(medians, _LAUNCH)])
        found = derived.ratios(both, _LAUNCH, variant, "best")
        return dict(found.group_by("size_bytes").agg("ratio").sort("size_bytes").iter_rows())

    def by_launch(self, panel: Panel, variant: str) -> dict[str, dict[int, float]]:
        """Seconds per pass at each size, of each launch that measured the transport."""
        mine = self.of(self.medians, panel).filter(pl.col("variant") == variant)
        found: dict[str, dict[int, float]] = {}
        rows = mine.sort("launch", "size_bytes").select("launch", "size_bytes", "seconds")
        for launch, size, seconds in rows.iter_rows():
            found.setdefault(launch, {})[size] = seconds
        return found

    def flatness_in_hand_overs(self, panel: Panel) -> list[float]:
        """Of a region, one for each launch that has the bare cache line at all its sizes."""
        bare = self.by_launch(panel, derived.FLOOR)
        launches = self.by_launch(panel, derived.REGION).items()
        found = [
            derived.flatness_in_hand_overs(by_size, bare.get(name, {}))
            for name, by_size in launches
        ]
        return [flat for flat in found if flat is not None]

    def told(self, panel: Panel, column: str) -> list[tuple[str, Any]]:
        """(launch, content) of a column of JSON, of the panel's launches that have it."""
        mine = self.launches.filter(pl.col("case_id") == panel.case_id).sort("launch")
        rows = mine.select("launch", column).iter_rows()
        return [(launch, json.loads(text)) for launch, text in rows if text]

    def interval(self, values: Sequence[float]) -> Interval | None:
        """Over launches; None of nothing."""
        return median_interval(values, self.level) if values else None


def _panel(row: dict[str, object]) -> Panel:
    parameters = json.loads(str(row["parameters"] or "{}"))
    placement = str(parameters.get("placement", ""))
    link = parameters.get("link")
    named = _PLACEMENTS.get(placement, placement) + (f", {link} link" if link else "")
    case = str(row["case"])
    shared, network = _passes(case, json.loads(str(row["details"] or "{}")))
    return Panel(
        case_id=str(row["case_id"]),
        case=case,
        toolchain=str(row["toolchain"]),
        placement=named,
        kind=labels.kind(row["emulated"], row["simulated"]),
        launches=int(str(row["launches"])),
        shared=shared,
        network=network,
        hub_mbit_s=json.loads(str(row["emulated"] or "{}")).get("hub_mbit_s"),
    )


def _passes(case: str, details: dict[str, Any]) -> tuple[int, int]:
    """Passes of a lap inside nodes and between them; if untold, with neighbours on a node."""
    if told := details.get("passes_per_lap"):
        return int(told["shared"]), int(told["network"])
    nodes = [int(ranks) for ranks in case.split()[-1].split("+")]
    return (nodes[0], 0) if len(nodes) == 1 else (sum(nodes) - len(nodes), len(nodes))
