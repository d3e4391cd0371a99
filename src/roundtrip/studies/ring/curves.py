"""The panels of the ring section, one for each toolchain and placement, their launch medians, and
the figures: a pass over the region size, and over the number of nodes.

A lap has as many passes as ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from statistics import median
from typing import Any

import polars as pl

from roundtrip import units
from roundtrip.content.blocks import Gallery
from roundtrip.content.data import BundleData
from roundtrip.content.plot import LINK_BOUND_NAME
from roundtrip.measure.columns import setting_number
from roundtrip.stats.summaries import Interval
from roundtrip.studies import display, panel
from roundtrip.studies.derivation import ratios_by_size
from roundtrip.studies.display import INTERVAL_COLUMNS
from roundtrip.studies.node_efficiency import NodeEfficiency
from roundtrip.studies.panel import CaseRow, Panels
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
    Thresholds,
    derived,
)
from roundtrip.study import GREY, PINK, Arm
from roundtrip.units import Unit

_LAUNCH_COLUMNS = ["launch", "case_id"]
_TITLE_BY_PLACEMENT = {
    **{name: title for name, (_, title) in NODE_PLACEMENTS.items()},
    "one-per-node": "2 ranks on 2 nodes",
    "hybrid": "3 ranks on 2 nodes",
}

#: Size at which single laps are shown, besides the smallest and the largest, bytes.
LAP_SIZE_BYTES = 1_000
LAP_PERCENTILES = (1, 50, 90, 99)


@dataclass(frozen=True, kw_only=True)
class Panel(panel.Panel):
    """One toolchain in one placement; `is_oversubscribed`: more ranks than processors.

    `shared_passes` and `network_passes`: passes of a lap in memory and between nodes.
    """

    shared_passes: int
    network_passes: int
    is_oversubscribed: bool = False
    hub_mbit_s: float | None = None

    @property
    def case(self) -> str:
        """The number of ranks on each node, `2+1`."""
        return self.key[1]

    @property
    def is_in_one_node(self) -> bool:
        """Whether every pass is a hand-over in memory."""
        return not self.network_passes

    @property
    def passes_per_lap(self) -> int:
        return self.shared_passes + self.network_passes

    def variant_title(self, variant: str) -> str:
        """Title of a transport in this panel: regions are passed by reference only inside nodes."""
        if self.is_in_one_node or variant not in (REGION, REGION_UDP):
            return ARMS[variant].title if variant in ARMS else variant
        carrier = "UDP" if variant == REGION_UDP else "MPI's messages"
        if self.shared_passes:
            return f"Region by reference in a node and by {carrier} between"
        return f"Region by {carrier}"

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Sort key: oversubscribed last, measured first; by placement, toolchain and passes."""
        placements = list(_TITLE_BY_PLACEMENT.values())
        position = next(
            (i for i, name in enumerate(placements) if self.placement_text.startswith(name)), 9
        )
        return (
            self.is_oversubscribed,
            bool(self.emulation_label),
            position,
            self.toolchain,
            self.passes_per_lap,
            self.key,
        )


class RingCurves(Panels[Panel]):
    """The ring launches of a bundle by panel: medians and intervals over the region size."""

    def __init__(self, data: BundleData) -> None:
        super().__init__(data, STUDY.name)
        self.series_values = {"metric": PASS_METRIC}
        self.settings = data.analysis.study_thresholds(Thresholds)

    @cached_property
    def launch_values(self) -> pl.DataFrame:
        """Launch medians of each transport, and of MPI's fastest two-sided call: columns launch,
        case_id and those of `derived.launch_medians`."""
        is_listed = pl.col("variant").is_in([*ARMS, *derived.READ_VARIANT_BY_TRANSPORT.values()])
        medians = derived.launch_medians(self.samples.filter(is_listed), _LAUNCH_COLUMNS)
        return pl.concat([medians, derived.best_two_sided_medians(medians, _LAUNCH_COLUMNS)])

    @cached_property
    def bandwidth_intervals(self) -> pl.DataFrame:
        """Intervals of effective bandwidth [MB/s] over launches; columns of `column_intervals`."""
        return self.column_intervals("bandwidth")

    @cached_property
    def lap_percentiles(self) -> pl.DataFrame:
        """The `percentiles` of single laps over all launches, seconds, by `key_columns`, variant
        and size_bytes: the smallest and the largest of each transport, and LAP_SIZE_BYTES.
        """
        size, transport = pl.col("size_bytes"), [*self.key_columns, "variant"]
        ends = [end.over(transport) for end in (size.min(), size.max())]
        laps = (
            self.samples.filter(pl.col("metric") == LAP_METRIC)
            .filter(pl.col("variant").is_in(list(ARMS)))
            .filter((size == LAP_SIZE_BYTES) | (size == ends[0]) | (size == ends[1]))
        )
        return panel.percentiles(laps, [*transport, "size_bytes"], LAP_PERCENTILES)

    def bandwidth_ratio(self, panel: Panel, variant: str, base: str, size: int) -> Interval | None:
        """Interval of a ratio of effective bandwidths at one point; None if no launch has both."""
        rows = self.panel_rows(self.launch_values, panel, size_bytes=size)
        return self.interval(ratios_by_size(rows, variant, base).get(size, []))

    def gain_over_mpi(self, panel: Panel, variant: str) -> Interval | None:
        """Interval of a region's bandwidth over MPI's best two-sided call, at PUBLISHED_BYTES."""
        return self.bandwidth_ratio(
            panel, variant, derived.BEST_TWO_SIDED_VARIANT, derived.PUBLISHED_BYTES
        )

    def bandwidth_growth(self, panel: Panel, sizes: tuple[int, int]) -> Interval | None:
        """Interval of a region's bandwidth at the second size (bytes) over that at the first."""
        first, second = sizes
        launches = self.pass_seconds(panel, REGION).values()
        complete_launches = [times for times in launches if first in times and second in times]
        return self.interval([second / first * t[first] / t[second] for t in complete_launches])

    def bandwidth_at(self, panel: Panel, variant: str, size: int) -> Interval | None:
        """Interval of the effective bandwidth, MB/s, at one point; None if it was not measured."""
        return self.interval_at(self.bandwidth_intervals, panel, variant=variant, size_bytes=size)

    def pass_seconds(self, panel: Panel, variant: str) -> dict[str, dict[int, float]]:
        """Seconds per pass of a transport, by launch and size in bytes."""
        medians = self.panel_rows(self.launch_values, panel, variant=variant)
        columns = medians.select("launch", "size_bytes", "seconds")
        points = columns.sort("launch", "size_bytes").rows_by_key("launch")
        return {launch: dict(times) for launch, times in points.items()}

    def fixed_cost_seconds(self, panel: Panel, variant: str) -> dict[str, float]:
        """The fixed cost of a transport by launch [s]: its median pass over all region sizes."""
        launches = self.pass_seconds(panel, variant).items()
        return {launch: median(times.values()) for launch, times in launches}

    def run_records_of(self, panel: Panel) -> list[tuple[str, dict[str, Any]]]:
        """Pairs (launch, its record in run.json) of the panel's launches that have a record."""
        names = self.launches.filter(pl.col("case_id") == panel.key[0])["launch"].sort()
        records = self.run_records
        return [(launch, records[launch]) for launch in names if launch in records]

    def _panel(self, row: CaseRow) -> Panel:
        """A panel named by its placement and link, with the passes that its launches recorded."""
        link = panel.check_parameters(row).get("link")
        title = str(_TITLE_BY_PLACEMENT.get(row["placement"], row["placement"]))
        if row["placement"] == "one-per-node" and (row["ranks"] or 2) > 2:
            title = f"{row['ranks']} ranks on {row['ranks']} nodes"
        if passes := self.run_records.get(row["launch"], {}).get("passes_per_lap"):
            shared_passes, network_passes = int(passes["shared"]), int(passes["network"])
        else:
            nodes = [int(ranks) for ranks in row["case"].split()[-1].split("+")]
            network_passes = len(nodes) if len(nodes) > 1 else 0
            shared_passes = sum(nodes) - network_passes
        return Panel(
            **self._panel_fields(row),
            placement_text=title + (f", {link} link" if link else ""),
            setting_clauses=(panel.describe_partition(row), row["environ"]),
            shared_passes=shared_passes,
            network_passes=network_passes,
            is_oversubscribed=row["placement"] == OVERSUBSCRIBED_PLACEMENT,
            hub_mbit_s=setting_number(row["emulation"], "hub_mbit_s"),
        )


#: Region sizes in bytes: one dominated by latency, one by bandwidth.
EFFICIENCY_SIZES_BYTES = (LAP_SIZE_BYTES, 1_000_000)
_EFFICIENCY_SUBJECTS = {"mpi": "A pass by MPI", REGION_UDP: "A pass by UDP"}


def node_efficiency(curves: RingCurves) -> NodeEfficiency:
    """Efficiency of a pass at `EFFICIENCY_SIZES_BYTES` over the nodes, from two nodes on."""
    medians = curves.launch_values.filter(
        pl.col("variant").is_in(list(_EFFICIENCY_SUBJECTS))
        & pl.col("size_bytes").is_in(EFFICIENCY_SIZES_BYTES)
    )
    name = pl.col("variant").replace_strict(_EFFICIENCY_SUBJECTS)
    titles = {size: units.size_text(size) for size in EFFICIENCY_SIZES_BYTES}
    size = pl.col("size_bytes").replace_strict(titles)
    times = medians.with_columns(subject=pl.concat_str(name, pl.lit(", "), size), value="seconds")
    return NodeEfficiency.from_launches(times, curves.launches, curves.level)


_TIME_CAPTION = (
    "Time of one pass over the size of the region: median over launches, bands are {level} rank "
    "intervals. A region passed in memory costs the same at any size; copies and network "
    "transfers grow with the size. Lower limits are the bare cache line in memory and the rate "
    "of the link over an emulated hub. Also dashed: the study in 2002 in the same placement."
)
_BANDWIDTH_CAPTION = (
    "Effective bandwidth over region size, as in the study's figure but log-log: bytes of the "
    "region x passes / elapsed time, one token; median over launches, bands are {level} rank "
    "intervals. For a region that is passed in place and not read, this is no transfer rate: no "
    "byte moves, so the line rises with the size. The axis ends at the decade above the fastest "
    "pass that moves or reads all bytes; ↑ marks a line that goes on above it. Curves that may "
    "overlap differ in width. “All read”: the receiver reads every byte. A hybrid ring passes a "
    "region by reference inside a node, and by message between nodes. Dashed: the study in 2002 "
    "in the same placement."
)


_READ_REGION, _READ_MPI = (derived.READ_VARIANT_BY_TRANSPORT[name] for name in (REGION, "mpi"))
_STUDY_CURVE, _LINK_CURVE = "study", "link"
#: All curves; `_titled_arms` has the titles of transports.
_ARM_BY_CURVE = {
    **ARMS,
    CACHE_LINE: replace(ARMS[CACHE_LINE], is_dashed=True),
    _READ_REGION: Arm("", ("#1b7837", "#8fd49a")),
    _READ_MPI: Arm("", ("#8c510a", "#d8b365")),
    _STUDY_CURVE: Arm("The study, 2002", PINK, is_dashed=True),
    _LINK_CURVE: Arm(LINK_BOUND_NAME, GREY, point_radius=0, is_upper_bound=True),
}
#: Curves in the figures at the top of the report.
_PASS_FIGURE_CURVES = (
    *(REGION, REGION_UDP, "mpi-shm", "mpi", "pvm", CACHE_LINE),
    *(_STUDY_CURVE, _LINK_CURVE),
)
#: Widths of curves that may lie on each other; narrow ones are drawn later.
_WIDE_LINE, _MIDDLE_LINE, _NARROW_LINE = 8.0, 4.8, 1.6
#: Curves of each figure of effective bandwidth, few enough to be distinguished, and their widths.
_CURVE_WIDTHS_BY_FIGURE = {
    "what moves": {
        REGION: 2.0,
        REGION_UDP: 2.0,
        "mpi-shm": _WIDE_LINE,
        "mpi": _MIDDLE_LINE,
        "mpi-rma": _NARROW_LINE,
        _STUDY_CURVE: 2.0,
        _LINK_CURVE: 2.0,
    },
    "control messages and types": {
        "mpi": _WIDE_LINE,
        "mpi-sync": _MIDDLE_LINE,
        "mpi-typed": _NARROW_LINE,
        _LINK_CURVE: 2.0,
    },
    "all bytes read, and PVM": {
        _READ_REGION: _MIDDLE_LINE,
        _READ_MPI: _NARROW_LINE,
        "pvm": _MIDDLE_LINE,
        "pvm-xdr": _NARROW_LINE,
        _LINK_CURVE: 2.0,
    },
}
_SIZE_AXIS_LABEL = "Region size"


def pass_gallery(curves: RingCurves) -> Gallery:
    """Figures of the time per pass, one for each panel, all with the same axes."""
    times = display.curve_rows(curves.column_intervals("seconds", 1e6))
    drawings = [
        display.panel_drawing(
            f"ring-{number}",
            panel,
            _drawn_rows(curves.panel_rows(times, panel), panel, lambda size, rate: size / rate),
            _titled_arms(panel, _PASS_FIGURE_CURVES),
        )
        for number, panel in enumerate(curves.panels, 1)
    ]
    figures = display.curve_figures_over_size(
        drawings,
        "Time of a pass over region size",
        "Time of a pass",
        Unit.US,
        size_name=_SIZE_AXIS_LABEL,
    )
    return Gallery(curves.level.fill_caption(_TIME_CAPTION), figures)


def bandwidth_galleries(curves: RingCurves) -> list[Gallery]:
    """A gallery for each panel: a figure of effective bandwidth for each family of transports."""
    rates = display.curve_rows(curves.bandwidth_intervals)
    frames = {
        panel: _drawn_rows(curves.panel_rows(rates, panel), panel, lambda _, rate: rate)
        for panel in curves.panels
    }
    physical_frames = []  # what moves or reads all bytes; all rows if nothing does
    for one, frame in frames.items():
        by_reference = [REGION, REGION_UDP] if one.is_in_one_node else []
        rows = frame.filter(~pl.col("arm").is_in([*by_reference, _STUDY_CURVE, CACHE_LINE]))
        physical_frames.append(frame if rows.is_empty() else rows)
    domain = display.decade_range([*frames.values()])[0], display.decade_range(physical_frames)[1]
    drawings = [
        display.panel_drawing(
            f"ring-{number}-bandwidth-{index}",
            panel,
            frame,
            {
                name: replace(arm, line_width=widths[name])
                for name, arm in _titled_arms(panel, widths).items()
            },
            f"{panel.launch_count_text}: {family}",
        )
        for number, (panel, frame) in enumerate(frames.items(), 1)
        for index, (family, widths) in enumerate(_CURVE_WIDTHS_BY_FIGURE.items(), 1)
    ]
    drawings = [
        drawing for drawing in drawings if {*drawing.visible_arms} - {_STUDY_CURVE, _LINK_CURVE}
    ]
    figures = display.curve_figures_over_size(
        drawings,
        "Effective bandwidth over region size",
        "Effective bandwidth",
        Unit.MB_S,
        domain,
        _SIZE_AXIS_LABEL,
    )
    caption = curves.level.fill_caption(_BANDWIDTH_CAPTION)
    by_panel = groupby(zip(drawings, figures, strict=True), key=lambda pair: pair[0].title)
    return [
        Gallery(
            (f"{title}: as above.",) if number else caption, tuple(figure for _, figure in group)
        )
        for number, (title, group) in enumerate(by_panel)
    ]


def _drawn_rows(
    medians: pl.DataFrame, panel: Panel, value: Callable[[float, float], float]
) -> pl.DataFrame:
    """Rows of a panel, the study and the link; `value` maps (bytes, MB/s) to what is drawn."""
    frame = medians.filter(pl.col("variant").is_in(list(_ARM_BY_CURVE)))
    frame = frame.select(*INTERVAL_COLUMNS, "n", "arm", "x")
    points: list[tuple[str, float, float]] = [
        (_STUDY_CURVE, size, rate)
        for size, rate in derived.PUBLISHED_MB_PER_S.get(panel.case, {}).items()
    ]
    if panel.hub_mbit_s:
        ends = {float(x) for x in (frame["x"].min(), frame["x"].max())}  # type: ignore[arg-type]
        points += [(_LINK_CURVE, x, panel.hub_mbit_s / 8) for x in sorted(ends)]
    rows = [{"arm": arm, "x": x, "median": value(x, rate)} for arm, x, rate in points]
    return pl.concat([frame, pl.DataFrame(rows, schema=frame.schema)])


def _titled_arms(panel: Panel, names: Iterable[str]) -> dict[str, Arm]:
    """The curves of these names, with the titles that they have in the panel."""
    titles = {name: arm.title for name, arm in _ARM_BY_CURVE.items()}
    titles |= {name: panel.variant_title(name) for name in ARMS}
    titles[_READ_REGION] = f"{titles[REGION]}, all read"
    titles[_READ_MPI] = f"{titles['mpi']}, all read"
    if panel.shared_passes and panel.network_passes:  # the full titles do not fit
        titles[REGION] = "Region, MPI between nodes"
        titles[REGION_UDP] = "Region, UDP between nodes"
    return {name: replace(_ARM_BY_CURVE[name], title=titles[name]) for name in names}
