"""The curves of the ring section: one panel for each toolchain and placement, and its figures.

Also the efficiency of a pass over the number of nodes; a lap has as many passes as ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from statistics import median
from typing import Any

import polars as pl

from roundtrip.measure.columns import setting_number
from roundtrip.report import units
from roundtrip.report.blocks import Gallery
from roundtrip.report.data import Data
from roundtrip.report.plot import LINK
from roundtrip.report.units import Unit
from roundtrip.stats.summaries import Interval, median_intervals
from roundtrip.studies import display, panel
from roundtrip.studies.derivation import ratios_by_size
from roundtrip.studies.display import INTERVAL
from roundtrip.studies.growth import Growth
from roundtrip.studies.panel import Panels, Row
from roundtrip.studies.ring import (
    ARMS,
    FLOOR,
    LAP,
    METRIC,
    NODE_PLACEMENTS,
    OVERSUBSCRIBED,
    REGION,
    REGION_UDP,
    STUDY,
    derived,
)
from roundtrip.studies.study import GREY, PINK, Arm

_BY = ["case_id", *derived.POINT]
_LAUNCH = ["launch", "case_id"]
_PLACEMENTS = {
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
        placements = list(_PLACEMENTS.values())
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
        medians = derived.launch_medians(self.samples.filter(is_listed), _LAUNCH)
        return pl.concat([medians, derived.best_two_sided(medians, _LAUNCH)])

    @cached_property
    def bandwidth(self) -> pl.DataFrame:
        """Interval of the effective bandwidth at each point: columns case_id, case, variant,
        size_bytes; median, low and high in MB/s; n.
        """
        return median_intervals(self.values, _BY, "bandwidth", self.level)

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
            self.samples.filter(pl.col("metric") == LAP)
            .filter(pl.col("variant").is_in(list(ARMS)))
            .filter((size == LAP_SIZE) | (size == ends[0]) | (size == ends[1]))
            .group_by(_BY)
            .agg(
                laps=pl.len().cast(pl.Int64),
                **{f"p{part}": value.quantile(part / 100, "higher") for part in PERCENTILES},
            )
            .sort(_BY)
            .collect()
        )

    def ratio(self, panel: Panel, variant: str, base: str, size: int) -> Interval | None:
        """Ratio of effective bandwidths at one point; None if no launch measured both."""
        ratios = ratios_by_size(self.rows(self.values, panel, size_bytes=size), variant, base)
        return self.interval(ratios.get(size, []))

    def gain(self, panel: Panel, variant: str) -> Interval | None:
        """Ratio of a region's bandwidth to that of MPI's best two-sided call, at STUDY_SIZE."""
        return self.ratio(panel, variant, derived.BEST_TWO_SIDED, derived.STUDY_SIZE)

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
        return self.history_series_key(panel, size, variant=variant, metric=METRIC)

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
        bare_times = self.pass_times(panel, FLOOR)
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
        title = str(_PLACEMENTS.get(row["placement"], row["placement"]))
        if row["placement"] == "one-per-node" and (row["ranks"] or 2) > 2:
            title = f"{row['ranks']} ranks on {row['ranks']} nodes"
        shared_passes, network_passes = _passes(row["case"], self.details.get(row["launch"], {}))
        return Panel(
            **self._common_fields(row),
            where=title + (f", {link} link" if link else ""),
            facts=(panel.place(row), row["environ"]),
            shared_passes=shared_passes,
            network_passes=network_passes,
            oversubscribed=row["placement"] == OVERSUBSCRIBED,
            hub_mbit_s=setting_number(row["emulation"], "hub_mbit_s"),
        )


def _passes(case: str, details: dict[str, Any]) -> tuple[int, int]:
    """Passes of a lap inside nodes and between them; computed from `case` if not recorded."""
    if passes := details.get("passes_per_lap"):
        return int(passes["shared"]), int(passes["network"])
    nodes = [int(ranks) for ranks in case.split()[-1].split("+")]
    return (nodes[0], 0) if len(nodes) == 1 else (sum(nodes) - len(nodes), len(nodes))


#: Region sizes in bytes: one dominated by latency, one by bandwidth.
GROWTH_SIZES = (LAP_SIZE, 1_000_000)
_GROWTH_NAMES = {"mpi": "A pass by MPI", REGION_UDP: "A pass by UDP"}


def node_growth(curves: Curves) -> Growth:
    """Efficiency of a pass at GROWTH_SIZES over the number of nodes, from two nodes on."""
    medians = curves.values.filter(
        pl.col("variant").is_in(list(_GROWTH_NAMES)) & pl.col("size_bytes").is_in(GROWTH_SIZES)
    )
    name = pl.col("variant").replace_strict(_GROWTH_NAMES)
    size = pl.col("size_bytes").replace_strict({size: units.size(size) for size in GROWTH_SIZES})
    times = medians.with_columns(thing=pl.concat_str(name, pl.lit(", "), size), value="seconds")
    return Growth.from_launches(times, curves.launches, curves.level)


_TIME_CAPTION = (
    "Time of one pass over the size of the region: median over launches, bands are {level} rank "
    "intervals. A region that is handed over in memory costs the same whatever its size; what is "
    "copied, or crosses a network, grows with it. The bare cache line is the least that a "
    "hand-over in memory can cost, the rate of the link the least over an emulated hub. Dashed, "
    "too: the study in 2002, of the same placement."
)
_BANDWIDTH_CAPTION = (
    "Effective bandwidth over region size, as in the study's figure but log-log: bytes of the "
    "region x passes / elapsed time, one token under way; median over launches, bands are {level} "
    "rank intervals. Of a region that is handed over in place and not read this is not a rate of "
    "transfer: nothing is transferred, so the line rises with the size for ever. The axis ends at "
    "the decade above the fastest pass that moves or reads all bytes; a line that goes on where "
    "nothing physical is meant is marked ↑. Curves that may lie on each other differ in width. "
    "“All read”: the receiver reads every byte. In a hybrid ring a region goes by reference inside "
    "a node, and by message between nodes. Dashed: the study in 2002, of the same placement."
)


_READ_REGION, _READ_MPI = (derived.READ_VARIANTS[name] for name in (REGION, "mpi"))
_STUDY, _LINK = "study", "link"
#: All curves; `_arms` has the titles of transports.
_CURVES = {
    **ARMS,
    FLOOR: replace(ARMS[FLOOR], is_dashed=True),
    _READ_REGION: Arm("", ("#1b7837", "#8fd49a")),
    _READ_MPI: Arm("", ("#8c510a", "#d8b365")),
    _STUDY: Arm("The study, 2002", PINK, is_dashed=True),
    _LINK: Arm(LINK, GREY, point=0, is_bound=True),
}
#: Curves in the figures at the top of the report.
_TOP_ARMS = (REGION, REGION_UDP, "mpi-shm", "mpi", "pvm", FLOOR, _STUDY, _LINK)
#: Widths of curves that may lie on each other; narrow ones are drawn later.
_WIDE, _MIDDLE, _NARROW = 8.0, 4.8, 1.6
#: Curves of each figure of effective bandwidth, few enough to be distinguished, and their widths.
_FAMILIES = {
    "what moves": {
        REGION: 2.0,
        REGION_UDP: 2.0,
        "mpi-shm": _WIDE,
        "mpi": _MIDDLE,
        "mpi-rma": _NARROW,
        _STUDY: 2.0,
        _LINK: 2.0,
    },
    "control messages and types": {
        "mpi": _WIDE,
        "mpi-sync": _MIDDLE,
        "mpi-typed": _NARROW,
        _LINK: 2.0,
    },
    "all bytes read, and PVM": {
        _READ_REGION: _MIDDLE,
        _READ_MPI: _NARROW,
        "pvm": _MIDDLE,
        "pvm-xdr": _NARROW,
        _LINK: 2.0,
    },
}
_SIZE = "Region size"


def draw_passes(curves: Curves, panels: Sequence[Panel]) -> Gallery:
    """Figures of the time per pass, one for each panel, all with the same axes."""
    seconds = median_intervals(curves.values, _BY, "seconds", curves.level)
    times = display.curve_rows(seconds, 1e6)
    drawings = [
        display.drawing(
            f"ring-{number}",
            panel,
            _frame(curves.rows(times, panel), panel, lambda size, rate: size / rate),
            _arms(panel, _TOP_ARMS),
        )
        for number, panel in enumerate(panels, 1)
    ]
    figures = display.curves_over_size(
        drawings, "Time of a pass over region size", "Time of a pass", Unit.US, None, _SIZE
    )
    return Gallery(curves.level.caption(_TIME_CAPTION), figures)


def draw_bandwidth(curves: Curves, panels: Sequence[Panel]) -> list[Gallery]:
    """For each panel the figures of effective bandwidth of families of transports.

    All axes are equal.
    """
    rates = display.curve_rows(curves.bandwidth)
    frames = {
        panel: _frame(curves.rows(rates, panel), panel, lambda _, rate: rate) for panel in panels
    }
    physical_frames = [_physical(panel, frame) for panel, frame in frames.items()]
    domain = display.decades([*frames.values()])[0], display.decades(physical_frames)[1]
    drawings = [
        display.drawing(
            f"ring-{number}-bandwidth-{index}",
            panel,
            frame,
            {name: replace(arm, width=widths[name]) for name, arm in _arms(panel, widths).items()},
            f"{panel.launch_count_text}: {family}",
        )
        for number, (panel, frame) in enumerate(frames.items(), 1)
        for index, (family, widths) in enumerate(_FAMILIES.items(), 1)
    ]
    drawings = [drawing for drawing in drawings if {*drawing.visible_arms} - {_STUDY, _LINK}]
    figures = display.curves_over_size(
        drawings,
        "Effective bandwidth over region size",
        "Effective bandwidth",
        Unit.MB_S,
        domain,
        _SIZE,
    )
    caption = curves.level.caption(_BANDWIDTH_CAPTION)
    by_panel = groupby(zip(drawings, figures, strict=True), key=lambda pair: pair[0].title)
    return [
        Gallery(
            (f"{title}: as above.",) if number else caption, tuple(figure for _, figure in group)
        )
        for number, (title, group) in enumerate(by_panel)
    ]


def _physical(panel: Panel, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of transports that move or read all bytes; all rows if there is no such transport."""
    by_reference = [REGION, REGION_UDP] if panel.in_one_node else []
    rows = frame.filter(~pl.col("arm").is_in([*by_reference, _STUDY, FLOOR]))
    return frame if rows.is_empty() else rows


def _frame(
    medians: pl.DataFrame, panel: Panel, value: Callable[[float, float], float]
) -> pl.DataFrame:
    """Rows of a panel, the study and the link; `value` maps (bytes, MB/s) to what is drawn."""
    frame = medians.filter(pl.col("variant").is_in(list(_CURVES)))
    frame = frame.select(*INTERVAL, "n", "arm", "x")
    points: list[tuple[str, float, float]] = [
        (_STUDY, size, rate) for size, rate in derived.PUBLISHED_RATES.get(panel.case, {}).items()
    ]
    if panel.hub_mbit_s:
        ends = {float(x) for x in (frame["x"].min(), frame["x"].max())}  # type: ignore[arg-type]
        points += [(_LINK, x, panel.hub_mbit_s / 8) for x in sorted(ends)]
    rows = [{"arm": arm, "x": x, "median": value(x, rate)} for arm, x, rate in points]
    return pl.concat([frame, pl.DataFrame(rows, schema=frame.schema)])


def _arms(panel: Panel, names: Iterable[str]) -> dict[str, Arm]:
    """The curves of these names, with the titles that they have in the panel."""
    titles = {name: arm.title for name, arm in _CURVES.items()}
    titles |= {name: panel.title(name) for name in ARMS}
    titles[_READ_REGION] = f"{titles[REGION]}, all read"
    titles[_READ_MPI] = f"{titles['mpi']}, all read"
    if panel.shared_passes and panel.network_passes:  # the full titles do not fit
        titles[REGION] = "Region, MPI between nodes"
        titles[REGION_UDP] = "Region, UDP between nodes"
    return {name: replace(_CURVES[name], title=titles[name]) for name in names}
