"""The curves of the ring section: one panel for each toolchain and placement, and its figures.

Also the efficiency of a pass over the number of nodes; a lap has as many passes as ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.collect.columns import setting_number
from roundtrip.report import units
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.data import Data
from roundtrip.report.plot import LINK
from roundtrip.report.units import Level, Unit
from roundtrip.stats.summaries import Interval, median_intervals
from roundtrip.studies import display, growth, panel
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
from roundtrip.studies.study import GREY, PINK, Arm, Colour

_BY = ["case_id", "case", "variant", "size_bytes"]
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
    def passes(self) -> int:
        """Number of passes in a lap."""
        return self.shared_passes + self.network_passes

    def title(self, variant: str) -> str:
        """Displayed name of a transport: regions are passed by reference only inside nodes."""
        return derived.title(variant, self.shared_passes, self.network_passes)

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: oversubscribed last, measured first; by placement, toolchain and passes."""
        placements = list(_PLACEMENTS.values())
        position = next((i for i, name in enumerate(placements) if self.where.startswith(name)), 9)
        return self.oversubscribed, bool(self.kind), position, self.toolchain, self.passes, self.key


class Curves(Panels[Panel]):
    """Launch medians of a bundle."""

    def __init__(self, data: Data) -> None:
        super().__init__(data, STUDY.name)

    @cached_property
    def values(self) -> pl.DataFrame:
        """Medians of launches by point: columns of `derived.launch_medians`, launch, case_id."""
        is_listed = pl.col("variant").is_in(
            [*ARMS, *map(derived.read_variant, derived.READ_TRANSPORTS)]
        )
        return derived.launch_medians(self.samples.filter(is_listed), _LAUNCH)

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

    def bandwidth_ratios(self, panel: Panel, variant: str, base: str) -> dict[int, list[float]]:
        """Ratios of effective bandwidth, one for each launch, by size in bytes."""
        return ratios_by_size(self.rows(self.values, panel), variant, base)

    def bandwidth_at(self, panel: Panel, variant: str, size: int) -> Interval | None:
        """Interval of the effective bandwidth, MB/s, at one point; None if it was not measured."""
        return self.interval_at(self.bandwidth, panel, variant=variant, size_bytes=size)

    def series_key(self, panel: Panel, variant: str, size: int) -> str:
        """Key of the series of the time per pass at one point, as in `Cell.series`."""
        return self.series(panel, size, variant=variant, metric=METRIC)

    def gains_over_mpi(self, panel: Panel, variant: str = REGION) -> dict[int, list[float]]:
        """Ratios of a region's bandwidth to MPI's best two-sided call, one per launch, by size."""
        medians = self.rows(self.values, panel)
        frame = pl.concat([medians, derived.best_two_sided(medians, _LAUNCH)])
        return ratios_by_size(frame, variant, "best")

    def read_gain(self, panel: Panel) -> Interval | None:
        """Bandwidth ratio of a region to MPI two-sided at STUDY_SIZE, with every byte read."""
        region, mpi = derived.read_variant(REGION), derived.read_variant(derived.TWO_SIDED[0])
        return self.interval(self.bandwidth_ratios(panel, region, mpi).get(derived.STUDY_SIZE, []))

    def best_mpi_bandwidths(self, panel: Panel, size: int) -> list[float]:
        """Effective bandwidths of MPI's best two-sided call at `size`, MB/s, one per launch."""
        rows = derived.best_two_sided(self.rows(self.values, panel), _LAUNCH)
        return rows.filter(pl.col("size_bytes") == size)["bandwidth"].to_list()

    def pass_times(self, panel: Panel, variant: str) -> dict[str, dict[int, float]]:
        """Seconds per pass of a transport, by launch and size in bytes."""
        medians = self.rows(self.values, panel, variant=variant)
        times: dict[str, dict[int, float]] = {}
        rows = medians.sort("launch", "size_bytes").select("launch", "size_bytes", "seconds")
        for launch, size, seconds in rows.iter_rows():
            times.setdefault(launch, {})[size] = seconds
        return times

    def flatness_in_hand_overs(self, panel: Panel) -> list[float]:
        """Region flatness in hand-overs, per launch with the bare cache line at all sizes."""
        bare_launches = self.pass_times(panel, FLOOR)
        launches = self.pass_times(panel, REGION).items()
        values = [
            derived.flatness_in_hand_overs(by_size, bare_launches.get(name, {}))
            for name, by_size in launches
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
            key=(row["case_id"], row["case"]),
            toolchain=row["toolchain"],
            where=title + (f", {link} link" if link else ""),
            kind=row["kind"],
            launches=row["launches"],
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
    things = [
        f"{_GROWTH_NAMES[variant]}, {units.size(size)}"
        for variant, size in medians.select("variant", "size_bytes").rows()
    ]
    times = medians.with_columns(thing=pl.Series(things, dtype=pl.String), value="seconds")
    return Growth.from_launches(times, curves.launches, growth.constant_time, curves.level)


def pass_caption(level: Level) -> Text:
    """Caption of the figures of the time per pass, with intervals at `level`."""
    return level.caption(
        "Time of one pass over the size of the region: median over launches, bands are {level} "
        "rank intervals. A region that is handed over in memory costs the same whatever its size; "
        "what is copied, or crosses a network, grows with it. The bare cache line is the least "
        "that a hand-over in memory can cost, the rate of the link the least over an emulated hub. "
        "Dashed, too: the study in 2002, of the same placement."
    )


def caption(level: Level) -> Text:
    """Caption of the figures of effective bandwidth, with intervals at `level`."""
    return level.caption(
        "Effective bandwidth over region size, as in the study's figure but log-log: bytes of "
        "the region x passes / elapsed time, one token under way; median over launches, bands "
        "are {level} rank intervals. Of a region that is handed over in place and not read "
        "this is not a rate of transfer: nothing is transferred, so the line rises with the size "
        "for ever. The axis ends at the decade above the fastest pass that moves or reads all "
        "bytes; a line that goes on where nothing physical is meant is marked ↑. “All read”: the "
        "receiver reads every byte. In a hybrid ring a region goes by reference inside a node, "
        "and by message between nodes. Dashed: the study in 2002, of the same placement."
    )


_READ_VARIANTS = {derived.read_variant(name): name for name in (REGION, "mpi")}
_NETWORK_TITLES = {REGION: "MPI", REGION_UDP: "UDP"}
_STUDY, _LINK = "study", "link"
_COLOURS: dict[str, Colour] = {
    **{name: arm.colour for name, arm in ARMS.items()},
    derived.read_variant(REGION): ("#1b7837", "#8fd49a"),
    derived.read_variant("mpi"): ("#8c510a", "#d8b365"),
    _STUDY: PINK,
    _LINK: GREY,
}
#: Curves in the figures at the top of the report.
_TOP_ARMS = (REGION, REGION_UDP, "mpi-shm", "mpi", "pvm", FLOOR, _STUDY, _LINK)
#: Curves of each figure of effective bandwidth: few enough to be distinguished.
_FAMILIES = {
    "what moves": (REGION, REGION_UDP, "mpi-shm", "mpi-rma", "mpi", _STUDY, _LINK),
    "control messages and types": ("mpi", "mpi-sync", "mpi-typed", _LINK),
    "all bytes read, and PVM": (*_READ_VARIANTS, "pvm", "pvm-xdr", _LINK),
}


def draw_passes(curves: Curves, panels: Sequence[Panel]) -> tuple[Figure, ...]:
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
    return display.curves_over_size(
        drawings, "Time of a pass over region size", "Time of a pass", Unit.US, None, _SIZE
    )


def draw(curves: Curves, panels: Sequence[Panel]) -> tuple[Figure, ...]:
    """Figures of effective bandwidth for each panel and family of transports, with equal axes."""
    rates = display.curve_rows(curves.bandwidth)
    frames = [_frame(curves.rows(rates, panel), panel, lambda _, rate: rate) for panel in panels]
    physical_frames = [_physical(panel, frame) for panel, frame in zip(panels, frames, strict=True)]
    domain = display.decades(frames)[0], display.decades(physical_frames)[1]
    drawings = [
        display.drawing(
            f"ring-{number}-bandwidth-{index}",
            panel,
            frame,
            _arms(panel, names),
            f"{panel.launch_count_text}: {family}",
        )
        for number, (panel, frame) in enumerate(zip(panels, frames, strict=True), 1)
        for index, (family, names) in enumerate(_FAMILIES.items(), 1)
    ]
    return display.curves_over_size(
        [drawing for drawing in drawings if {*drawing.frame["arm"]} - {_STUDY, _LINK}],
        "Effective bandwidth over region size",
        "Effective bandwidth",
        Unit.MB_S,
        domain,
        _SIZE,
    )


_SIZE = "Region size"


def _physical(panel: Panel, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of transports that move or read all bytes; all rows if there is no such transport."""
    by_reference = [REGION, REGION_UDP] if panel.in_one_node else []
    rows = frame.filter(~pl.col("arm").is_in([*by_reference, _STUDY, FLOOR]))
    return frame if rows.is_empty() else rows


def _frame(
    medians: pl.DataFrame, panel: Panel, value: Callable[[float, float], float]
) -> pl.DataFrame:
    """Rows of a panel, the study and the link; `value` maps (bytes, MB/s) to what is drawn."""
    frame = medians.filter(pl.col("variant").is_in(list(_COLOURS)))
    frame = frame.select(*INTERVAL, "n", "arm", "x")
    points: list[tuple[str, float, float]] = [
        (_STUDY, size, rate)
        for line in derived.PUBLISHED_LINES
        if line.ranks_on_nodes == panel.case
        for size, rate in line.points
    ]
    if panel.hub_mbit_s:
        ends = {float(x) for x in (frame["x"].min(), frame["x"].max())}  # type: ignore[arg-type]
        points += [(_LINK, x, panel.hub_mbit_s / 8) for x in sorted(ends)]
    rows = [{"arm": arm, "x": x, "median": value(x, rate)} for arm, x, rate in points]
    return pl.concat([frame, pl.DataFrame(rows, schema=frame.schema)])


def _arms(panel: Panel, names: Sequence[str]) -> dict[str, Arm]:
    return {
        name: Arm(
            _name(name, panel),
            _COLOURS[name],
            point=0 if name == _LINK else 3.0,
            is_dashed=name in (_STUDY, FLOOR),
            is_bound=name == _LINK,
        )
        for name in names
    }


def _name(variant: str, panel: Panel) -> str:
    if variant == _LINK:
        return LINK
    if variant == _STUDY:
        return "The study, 2002"
    if variant in _READ_VARIANTS:
        return f"{panel.title(_READ_VARIANTS[variant])}, all read"
    if panel.shared_passes and panel.network_passes and variant in _NETWORK_TITLES:
        return f"Region, {_NETWORK_TITLES[variant]} between nodes"  # the full title does not fit
    return panel.title(variant)
