"""The study's figure, once for each toolchain and placement, and the study's own beside them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from roundtrip.report.blocks import Figure, Text
from roundtrip.report.plot import LINK
from roundtrip.report.units import Level, Unit
from roundtrip.studies import display
from roundtrip.studies.display import INTERVAL
from roundtrip.studies.ring import ARMS, FLOOR, REGION, REGION_UDP, derived
from roundtrip.studies.ring.curves import Curves, Panel
from roundtrip.studies.study import GREY, PINK, Arm, Colour


def caption(level: Level) -> Text:
    """What the figures show, with intervals at `level`."""
    return level.within(
        "Effective bandwidth over region size, as in the study's figure but log-log: bytes of "
        "the region x passes / elapsed time, one token under way; median over launches, bands "
        "are {level} rank intervals. Of a region that is handed over in place and not read "
        "this is not a rate of transfer: nothing is transferred, so the line rises with the size "
        "for ever. The axis ends at the decade above the fastest pass that moves or reads all "
        "bytes; a line that goes on where nothing physical is meant is marked ↑. “All read”: the "
        "receiver reads every byte. In a hybrid ring a region goes by reference inside a node, "
        "and by message between nodes. Dashed: the study in 2002, of the same placement."
    )


_READ = {derived.read_of(name): name for name in (REGION, "mpi")}
_BETWEEN = {REGION: "MPI", REGION_UDP: "UDP"}
_STUDY = "study"
_LINK = "link"
_COLOURS: dict[str, Colour] = {
    **{name: arm.colour for name, arm in ARMS.items() if name != FLOOR},
    derived.read_of(REGION): ("#1b7837", "#8fd49a"),
    derived.read_of("mpi"): ("#8c510a", "#d8b365"),
    _STUDY: PINK,
    _LINK: GREY,
}


def bandwidth(curves: Curves, panels: Sequence[Panel]) -> tuple[Figure, ...]:
    """One figure a panel; all with the same axes."""
    frames = [_frame(curves, panel) for panel in panels]
    physical = [_physical(panel, frame) for panel, frame in zip(panels, frames, strict=True)]
    domain = display.decades(frames)[0], display.decades(physical)[1]
    drawings = [
        display.drawing(f"ring-{number}", panel, frame, _arms(panel))
        for number, (panel, frame) in enumerate(zip(panels, frames, strict=True), 1)
    ]
    return display.over_size(
        drawings,
        "Effective bandwidth over region size",
        "Effective bandwidth",
        Unit.MB_S,
        domain,
        "Region size",
    )


def _physical(panel: Panel, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of what moves or reads all bytes; all there are if nothing does."""
    by_reference = [REGION, REGION_UDP] if panel.in_one_node else []
    moved = frame.filter(~pl.col("arm").is_in([*by_reference, _STUDY]))
    return frame if moved.is_empty() else moved


def _frame(curves: Curves, panel: Panel) -> pl.DataFrame:
    shown = curves.of(curves.bandwidth, panel).filter(pl.col("variant").is_in(list(_COLOURS)))
    ours = display.curve_rows(shown).select(*INTERVAL, "n", "arm", "x")
    rows = [
        {"arm": _STUDY, "x": size, "median": rate}
        for line in derived.PUBLISHED
        if line.ranks_on_nodes == panel.case
        for size, rate in line.points
    ]
    if panel.hub_mbit_s:
        ends = {float(x) for x in (ours["x"].min(), ours["x"].max())}  # type: ignore[arg-type]
        rows += [{"arm": _LINK, "x": x, "median": panel.hub_mbit_s / 8} for x in sorted(ends)]
    return pl.concat([ours, pl.DataFrame(rows, schema=ours.schema)])


def _arms(panel: Panel) -> dict[str, Arm]:
    return {
        name: Arm(
            _name(name, panel),
            colour,
            point=0 if name == _LINK else 3.0,
            is_dashed=name == _STUDY,
            is_bound=name == _LINK,
        )
        for name, colour in _COLOURS.items()
    }


def _name(variant: str, panel: Panel) -> str:
    if variant == _LINK:
        return LINK
    if variant == _STUDY:
        return "The study, 2002"
    if variant in _READ:
        return f"{panel.title(_READ[variant])}, all read"
    if panel.shared and panel.network and variant in _BETWEEN:
        return f"Region, {_BETWEEN[variant]} between nodes"  # its whole title has no room
    return panel.title(variant)
