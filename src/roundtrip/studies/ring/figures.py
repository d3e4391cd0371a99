"""The figures of the ring section: a pass over the region size, and over the number of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Gallery
from roundtrip.report.plot import LINK
from roundtrip.report.units import Unit
from roundtrip.stats.summaries import median_intervals
from roundtrip.studies import display
from roundtrip.studies.display import INTERVAL
from roundtrip.studies.growth import Growth
from roundtrip.studies.ring import ARMS, CACHE_LINE, REGION, REGION_UDP, derived
from roundtrip.studies.ring.curves import LAP_SIZE, PANEL_POINT, Curves, Panel
from roundtrip.studies.study import GREY, PINK, Arm

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
_STUDY_CURVE, _LINK_CURVE = "study", "link"
#: All curves; `_titled_arms` has the titles of transports.
_CURVE_STYLES = {
    **ARMS,
    CACHE_LINE: replace(ARMS[CACHE_LINE], is_dashed=True),
    _READ_REGION: Arm("", ("#1b7837", "#8fd49a")),
    _READ_MPI: Arm("", ("#8c510a", "#d8b365")),
    _STUDY_CURVE: Arm("The study, 2002", PINK, is_dashed=True),
    _LINK_CURVE: Arm(LINK, GREY, point=0, is_bound=True),
}
#: Curves in the figures at the top of the report.
_TOP_FIGURE_ARMS = (
    REGION,
    REGION_UDP,
    "mpi-shm",
    "mpi",
    "pvm",
    CACHE_LINE,
    _STUDY_CURVE,
    _LINK_CURVE,
)
#: Widths of curves that may lie on each other; narrow ones are drawn later.
_WIDE_LINE, _MIDDLE_LINE, _NARROW_LINE = 8.0, 4.8, 1.6
#: Curves of each figure of effective bandwidth, few enough to be distinguished, and their widths.
_CURVE_FAMILIES = {
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
_SIZE_AXIS_NAME = "Region size"


def draw_passes(curves: Curves, panels: Sequence[Panel]) -> Gallery:
    """Figures of the time per pass, one for each panel, all with the same axes."""
    seconds = median_intervals(curves.values, PANEL_POINT, "seconds", curves.level)
    times = display.curve_rows(seconds, 1e6)
    drawings = [
        display.drawing(
            f"ring-{number}",
            panel,
            _drawn_rows(curves.rows(times, panel), panel, lambda size, rate: size / rate),
            _titled_arms(panel, _TOP_FIGURE_ARMS),
        )
        for number, panel in enumerate(panels, 1)
    ]
    figures = display.curves_over_size(
        drawings,
        "Time of a pass over region size",
        "Time of a pass",
        Unit.US,
        None,
        _SIZE_AXIS_NAME,
    )
    return Gallery(curves.level.caption(_TIME_CAPTION), figures)


def draw_bandwidth(curves: Curves, panels: Sequence[Panel]) -> list[Gallery]:
    """Figures of effective bandwidth for each panel, one for each family of transports.

    All axes are equal.
    """
    rates = display.curve_rows(curves.bandwidth)
    frames = {
        panel: _drawn_rows(curves.rows(rates, panel), panel, lambda _, rate: rate)
        for panel in panels
    }
    physical_frames = [_rows_that_move_bytes(panel, frame) for panel, frame in frames.items()]
    domain = display.decades([*frames.values()])[0], display.decades(physical_frames)[1]
    drawings = [
        display.drawing(
            f"ring-{number}-bandwidth-{index}",
            panel,
            frame,
            {
                name: replace(arm, width=widths[name])
                for name, arm in _titled_arms(panel, widths).items()
            },
            f"{panel.launch_count_text}: {family}",
        )
        for number, (panel, frame) in enumerate(frames.items(), 1)
        for index, (family, widths) in enumerate(_CURVE_FAMILIES.items(), 1)
    ]
    drawings = [
        drawing for drawing in drawings if {*drawing.visible_arms} - {_STUDY_CURVE, _LINK_CURVE}
    ]
    figures = display.curves_over_size(
        drawings,
        "Effective bandwidth over region size",
        "Effective bandwidth",
        Unit.MB_S,
        domain,
        _SIZE_AXIS_NAME,
    )
    caption = curves.level.caption(_BANDWIDTH_CAPTION)
    by_panel = groupby(zip(drawings, figures, strict=True), key=lambda pair: pair[0].title)
    return [
        Gallery(
            (f"{title}: as above.",) if number else caption, tuple(figure for _, figure in group)
        )
        for number, (title, group) in enumerate(by_panel)
    ]


def _rows_that_move_bytes(panel: Panel, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of transports that move or read all bytes; all rows if there is no such transport."""
    by_reference = [REGION, REGION_UDP] if panel.in_one_node else []
    rows = frame.filter(~pl.col("arm").is_in([*by_reference, _STUDY_CURVE, CACHE_LINE]))
    return frame if rows.is_empty() else rows


def _drawn_rows(
    medians: pl.DataFrame, panel: Panel, value: Callable[[float, float], float]
) -> pl.DataFrame:
    """Rows of a panel, the study and the link; `value` maps (bytes, MB/s) to what is drawn."""
    frame = medians.filter(pl.col("variant").is_in(list(_CURVE_STYLES)))
    frame = frame.select(*INTERVAL, "n", "arm", "x")
    points: list[tuple[str, float, float]] = [
        (_STUDY_CURVE, size, rate)
        for size, rate in derived.PUBLISHED_RATES.get(panel.case, {}).items()
    ]
    if panel.hub_mbit_s:
        ends = {float(x) for x in (frame["x"].min(), frame["x"].max())}  # type: ignore[arg-type]
        points += [(_LINK_CURVE, x, panel.hub_mbit_s / 8) for x in sorted(ends)]
    rows = [{"arm": arm, "x": x, "median": value(x, rate)} for arm, x, rate in points]
    return pl.concat([frame, pl.DataFrame(rows, schema=frame.schema)])


def _titled_arms(panel: Panel, names: Iterable[str]) -> dict[str, Arm]:
    """The curves of these names, with the titles that they have in the panel."""
    titles = {name: arm.title for name, arm in _CURVE_STYLES.items()}
    titles |= {name: panel.title(name) for name in ARMS}
    titles[_READ_REGION] = f"{titles[REGION]}, all read"
    titles[_READ_MPI] = f"{titles['mpi']}, all read"
    if panel.shared_passes and panel.network_passes:  # the full titles do not fit
        titles[REGION] = "Region, MPI between nodes"
        titles[REGION_UDP] = "Region, UDP between nodes"
    return {name: replace(_CURVE_STYLES[name], title=titles[name]) for name in names}
