"""The panels of the ring section, one for each toolchain and placement, and their launch medians.

A lap has as many passes as ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

import polars as pl

from roundtrip.measure.columns import setting_number
from roundtrip.report.data import Data
from roundtrip.stats.summaries import Interval, median_intervals
from roundtrip.studies import panel
from roundtrip.studies.derivation import ratios_by_size
from roundtrip.studies.panel import Panels, Row
from roundtrip.studies.ring import (
    ARMS,
    CACHE_LINE,
    LAP_METRIC,
    NODE_PLACEMENTS,
    OVERSUBSCRIBED_PLACEMENT,
    PASS_METRIC,
    REGION,
    REGION_UDP,
    STUDY,
    derived,
)

#: Columns that identify a point of a panel.
PANEL_POINT = ["case_id", *derived.POINT_COLUMNS]
_LAUNCH_COLUMNS = ["launch", "case_id"]
_PLACEMENT_TITLES = {
    **{name: title for name, (_, title) in NODE_PLACEMENTS.items()},
    "one-per-node": "2 ranks on 2 nodes",
    "hybrid": "3 ranks on 2 nodes",
}

#: Size at which single laps are shown, besides the smallest and the largest, bytes.
LAP_SIZE = 1_000
PERCENTILES = (1, 50, 90, 99)


@dataclass(frozen=True, kw_only=True)
class Panel(panel.Panel):
    """One toolchain in one placement, with the passes of a lap inside nodes and between nodes.

    `oversubscribed`: there are more ranks than processors, so its times measure waiting.
    """

    shared_passes: int
    network_passes: int
    oversubscribed: bool = False
    hub_mbit_s: float | None = None

    @property
    def case(self) -> str:
        """The number of ranks on each node, `2+1`."""
        return self.key[1]

    @property
    def in_one_node(self) -> bool:
        """Whether every pass is a hand-over in memory."""
        return not self.network_passes

    @property
    def passes_per_lap(self) -> int:
        return self.shared_passes + self.network_passes

    def title(self, variant: str) -> str:
        """Displayed name of a transport: regions are passed by reference only inside nodes."""
        if self.in_one_node or variant not in (REGION, REGION_UDP):
            return ARMS[variant].title if variant in ARMS else variant
        carrier = "UDP" if variant == REGION_UDP else "MPI's messages"
        if self.shared_passes:
            return f"Region by reference in a node and by {carrier} between"
        return f"Region by {carrier}"

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: oversubscribed last, measured first; by placement, toolchain and passes."""
        placements = list(_PLACEMENT_TITLES.values())
        position = next((i for i, name in enumerate(placements) if self.where.startswith(name)), 9)
        return (
            self.oversubscribed,
            bool(self.kind),
            position,
            self.toolchain,
            self.passes_per_lap,
            self.key,
        )


class Curves(Panels[Panel]):
    """Launch medians of a bundle."""

    def __init__(self, data: Data) -> None:
        super().__init__(data, STUDY.name)

    @cached_property
    def values(self) -> pl.DataFrame:
        """Medians of launches by point: columns of `derived.launch_medians`, launch, case_id.

        Also those of MPI's fastest two-sided call, as variant BEST_TWO_SIDED.
        """
        is_listed = pl.col("variant").is_in([*ARMS, *derived.READ_VARIANTS.values()])
        medians = derived.launch_medians(self.samples.filter(is_listed), _LAUNCH_COLUMNS)
        return pl.concat([medians, derived.best_two_sided_medians(medians, _LAUNCH_COLUMNS)])

    @cached_property
    def bandwidth(self) -> pl.DataFrame:
        """Interval of the effective bandwidth at each point: columns case_id, case, variant,
        size_bytes; median, low and high in MB/s; n.
        """
        return median_intervals(self.values, PANEL_POINT, "bandwidth", self.level)

    @cached_property
    def laps(self) -> pl.DataFrame:
        """Percentiles of single laps over all launches, seconds.

        Sizes: the smallest and the largest of each transport, and LAP_SIZE.  Columns: case_id,
        case, variant, size_bytes, laps (their number), and p<percentile> for each of PERCENTILES.
        """
        value, size = pl.col("value"), pl.col("size_bytes")
        transport = ["case_id", "case", "variant"]
        ends = [end.over(transport) for end in (size.min(), size.max())]
        return (
            self.samples.filter(pl.col("metric") == LAP_METRIC)
            .filter(pl.col("variant").is_in(list(ARMS)))
            .filter((size == LAP_SIZE) | (size == ends[0]) | (size == ends[1]))
            .group_by(PANEL_POINT)
            .agg(
                laps=pl.len().cast(pl.Int64),
                **{f"p{part}": value.quantile(part / 100, "higher") for part in PERCENTILES},
            )
            .sort(PANEL_POINT)
            .collect()
        )

    def ratio(self, panel: Panel, variant: str, base: str, size: int) -> Interval | None:
        """Ratio of effective bandwidths at one point; None if no launch measured both."""
        ratios = ratios_by_size(self.rows(self.values, panel, size_bytes=size), variant, base)
        return self.interval(ratios.get(size, []))

    def gain(self, panel: Panel, variant: str) -> Interval | None:
        """Ratio of a region's bandwidth to that of MPI's best two-sided call, at STUDY_SIZE."""
        return self.ratio(panel, variant, derived.BEST_TWO_SIDED_VARIANT, derived.STUDY_BYTES)

    def growth(self, panel: Panel, sizes: tuple[int, int]) -> Interval | None:
        """Ratio of a region's bandwidths: at the second size (bytes) over the first."""
        first, second = sizes
        launches = self.pass_times(panel, REGION).values()
        measured = [times for times in launches if first in times and second in times]
        return self.interval([second / first * t[first] / t[second] for t in measured])

    def bandwidth_at(self, panel: Panel, variant: str, size: int) -> Interval | None:
        """Interval of the effective bandwidth, MB/s, at one point; None if it was not measured."""
        return self.interval_at(self.bandwidth, panel, variant=variant, size_bytes=size)

    def series_key(self, panel: Panel, variant: str, size: int) -> str:
        """Key of the series of the time per pass at one point, as in `Cell.series`."""
        return self.history_series_key(panel, size, variant=variant, metric=PASS_METRIC)

    def pass_times(self, panel: Panel, variant: str) -> dict[str, dict[int, float]]:
        """Seconds per pass of a transport, by launch and size in bytes."""
        medians = self.rows(self.values, panel, variant=variant).sort("launch", "size_bytes")
        points = medians.select("launch", "size_bytes", "seconds").rows_by_key("launch")
        return {launch: dict(times) for launch, times in points.items()}

    def fixed_costs(self, panel: Panel, variant: str) -> dict[str, float]:
        """Fixed cost of a transport by launch, seconds."""
        launches = self.pass_times(panel, variant).items()
        return {launch: median(times.values()) for launch, times in launches}

    def flatness(self, panel: Panel) -> list[float]:
        """Region flatness, one for each launch."""
        launches = self.pass_times(panel, REGION).values()
        return [derived.flatness(times.values()) for times in launches]

    def flatness_in_hand_overs(self, panel: Panel) -> list[float]:
        """Region flatness in hand-overs, per launch with the bare cache line at all sizes."""
        bare_times = self.pass_times(panel, CACHE_LINE)
        values = [
            derived.flatness_in_hand_overs(times, bare_times.get(launch, {}))
            for launch, times in self.pass_times(panel, REGION).items()
        ]
        return [flatness for flatness in values if flatness is not None]

    def details_of(self, panel: Panel) -> list[tuple[str, dict[str, Any]]]:
        """Pairs (launch, its record in run.json) of the panel's launches that have a record."""
        names = self.launches.filter(pl.col("case_id") == panel.key[0])["launch"].sort()
        return [(launch, self.details[launch]) for launch in names if launch in self.details]

    def _panel(self, row: Row) -> Panel:
        """A panel named by its placement and link, with the passes that its launches recorded."""
        link = panel.parameters(row).get("link")
        title = str(_PLACEMENT_TITLES.get(row["placement"], row["placement"]))
        if row["placement"] == "one-per-node" and (row["ranks"] or 2) > 2:
            title = f"{row['ranks']} ranks on {row['ranks']} nodes"
        shared_passes, network_passes = _passes_of_lap(
            row["case"], self.details.get(row["launch"], {})
        )
        return Panel(
            **self._common_fields(row),
            where=title + (f", {link} link" if link else ""),
            facts=(panel.place(row), row["environ"]),
            shared_passes=shared_passes,
            network_passes=network_passes,
            oversubscribed=row["placement"] == OVERSUBSCRIBED_PLACEMENT,
            hub_mbit_s=setting_number(row["emulation"], "hub_mbit_s"),
        )


def _passes_of_lap(case: str, details: dict[str, Any]) -> tuple[int, int]:
    """Passes of a lap inside nodes and between them; computed from `case` if not recorded."""
    if passes := details.get("passes_per_lap"):
        return int(passes["shared"]), int(passes["network"])
    nodes = [int(ranks) for ranks in case.split()[-1].split("+")]
    return (nodes[0], 0) if len(nodes) == 1 else (sum(nodes) - len(nodes), len(nodes))
