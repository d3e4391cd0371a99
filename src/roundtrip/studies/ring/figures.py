"""The study's figure, once for each toolchain and placement, and the study's own beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import figures, units
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.figures import LIGHT, WIDTH, Theme
from roundtrip.studies.ring import derived
from roundtrip.studies.ring.curves import Curves, Panel

CAPTION: Text = (
    "Effective bandwidth over region size, as in the study's figure but log-log: bytes of the "
    "region x passes / elapsed time, one token under way; median over launches, bands are 95 % "
    "rank intervals. Of a region that is handed over in place and not read this is not a rate of "
    "transfer: nothing is transferred, so the line rises with the size for ever. The axis ends at "
    "the decade above the fastest pass that moves or reads all bytes; a line that goes on where "
    "nothing physical is meant is marked ↑. “All read”: the receiver reads every byte. In a hybrid "
    "ring a region goes by reference inside a node, and by message between nodes. Dashed: the "
    "study in 2002, of the same placement.",
)
_HEIGHT = 300
_READ = {derived.read_of(name): name for name in (derived.REGION, "mpi")}
_BETWEEN = {derived.REGION: "MPI", derived.REGION_UDP: "UDP"}
_GAP = 16.0
#: Light and dark colour of each transport; what copies is paler than what does not.
_COLOURS = {
    derived.REGION: ("#0b4f94", "#a9d3fb"),
    derived.REGION_UDP: ("#3d8fe0", "#5c9bd6"),
    "mpi-shm": ("#2a9d8f", "#6fd3c6"),
    "mpi-rma": ("#6a3d9a", "#c9a3f5"),
    "mpi": ("#d95f02", "#ffb27a"),
    "mpi-typed": ("#e6a15c", "#a8692a"),
    "mpi-sync": ("#a84600", "#ffd3a8"),
    "pvm": ("#7a7a7a", "#c0c0c0"),
    "pvm-xdr": ("#b0b0b0", "#8a8a8a"),
    derived.read_of(derived.REGION): ("#1b7837", "#8fd49a"),
    derived.read_of("mpi"): ("#8c510a", "#d8b365"),
    "study": ("#c2185b", "#ff7fb0"),
}


def bandwidth(curves: Curves, panels: Sequence[Panel]) -> tuple[Figure, ...]:
    """One figure a panel; all with the same axes."""
    frames = [_frame(curves, panel) for panel in panels]
    tops = [_physical_top(panel, frame) for panel, frame in zip(panels, frames, strict=True)]
    top = max(tops)
    least = min(float(frame["median"].min()) for frame in frames)  # type: ignore[arg-type]
    domain = (10.0 ** math.floor(math.log10(least)), 10.0 ** math.ceil(math.log10(top)))
    return tuple(
        figures.render(
            f"ring-{number}",
            f"Effective bandwidth over region size: {panel.label}",
            partial(_chart, frame, domain, panel),
        )
        for number, (panel, frame) in enumerate(zip(panels, frames, strict=True), 1)
    )


def _physical_top(panel: Panel, frame: pl.DataFrame) -> float:
    """The largest bandwidth of what moves or reads all bytes; of all there is if nothing does."""
    by_reference = [derived.REGION, derived.REGION_UDP] if panel.in_one_node else []
    moved = frame.filter(~pl.col("variant").is_in([*by_reference, "study"]))
    shown = frame if moved.is_empty() else moved
    return float(shown["median"].max())  # type: ignore[arg-type]


def _frame(curves: Curves, panel: Panel) -> pl.DataFrame:
    columns = ["variant", "size_bytes", "median", "low", "high"]
    ours = curves.of(curves.bandwidth, panel).filter(pl.col("variant").is_in(list(_COLOURS)))
    rows = [
        {"variant": "study", "size_bytes": size, "median": rate, "low": None, "high": None}
        for line in derived.PUBLISHED
        if line.ranks_on_nodes == panel.case
        for size, rate in line.points
    ]
    study = pl.DataFrame(rows, schema={name: ours.schema[name] for name in columns})
    return pl.concat([ours.select(columns), study])


def _chart(frame: pl.DataFrame, domain: tuple[float, float], panel: Panel, theme: Theme) -> Any:
    shade = 0 if theme is LIGHT else 1
    order = [name for name in _COLOURS if name in frame["variant"].unique()]
    colour = alt.Color(
        "variant:N",
        scale=alt.Scale(domain=order, range=[_COLOURS[name][shade] for name in order]),
        legend=None,
    )
    top = int(frame["size_bytes"].max() or 1)  # type: ignore[arg-type]
    bottom = int(frame["size_bytes"].min() or 1)  # type: ignore[arg-type]
    x = alt.X(
        "size_bytes:Q",
        scale=alt.Scale(type="log", domain=[bottom, top], nice=False),
        axis=alt.Axis(
            title="Region size (bytes)",
            values=[10.0**k for k in range(1, 9)],
            labelExpr="format(datum.value, '~s')",
            gridColor=theme.grid,
        ),
    )
    decades = range(round(math.log10(domain[0])), round(math.log10(domain[1])) + 1)
    y_scale = alt.Scale(type="log", domain=list(domain))
    y = alt.Y(
        "median:Q",
        scale=y_scale,
        axis=figures.named_axis(
            "Effective bandwidth (MB/s)",
            values=[10.0**k for k in decades],
            labelExpr="format(datum.value, '~e')",
        ),
    )
    ours = alt.Chart(frame.filter(pl.col("variant") != "study"))
    study = alt.Chart(frame.filter(pl.col("variant") == "study"))
    layers = [
        ours.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.25, clip=True)
        .encode(x, y=alt.Y("low:Q", scale=y_scale), y2="high:Q", color=colour),
        ours.mark_line(
            strokeWidth=2, clip=True, point=alt.OverlayMarkDef(size=14, clip=True)
        ).encode(x, y, colour),
        study.mark_line(
            strokeDash=[5, 4], clip=True, point=alt.OverlayMarkDef(size=20, clip=True)
        ).encode(x, y, colour),
        _direct_labels(frame, {name: _name(name, panel) for name in order}, domain, theme),
    ]
    subtitle = units.plural(panel.launches, "launch", "launches")
    return alt.layer(*layers).properties(
        width=WIDTH, height=_HEIGHT, title=alt.TitleParams(panel.label, subtitle=subtitle)
    )


def _name(variant: str, panel: Panel) -> str:
    if variant == "study":
        return "The study, 2002"
    if variant in _READ:
        return f"{panel.title(_READ[variant])}, all read"
    if panel.shared and panel.network and variant in _BETWEEN:
        return f"Region, {_BETWEEN[variant]} between nodes"  # its whole title has no room
    return panel.title(variant)


def _direct_labels(
    frame: pl.DataFrame, names: Mapping[str, str], domain: tuple[float, float], theme: Theme
) -> Any:
    low, high = (math.log10(value) for value in domain)
    last = frame.sort("size_bytes").group_by("variant", maintain_order=True).last()
    ends = dict(last.select("variant", "median").iter_rows())
    wanted = {
        name: _HEIGHT * (1 - (min(math.log10(value), high) - low) / (high - low))
        for name, value in ends.items()
    }
    beyond = {name for name, value in ends.items() if math.log10(value) > high}
    places = figures.spread_apart(wanted, _GAP, 6, _HEIGHT - 2)
    shade = 0 if theme is LIGHT else 1
    rows = pl.DataFrame(
        {
            "name": [f"{text} ↑" if name in beyond else text for name, text in names.items()],
            "place": [float(places[name]) for name in names],
            "colour": [_COLOURS[name][shade] for name in names],
        }
    )
    return (
        alt.Chart(rows)
        .mark_text(align="left", baseline="middle", fontSize=13)
        .encode(
            x=alt.value(WIDTH + 8),
            y=alt.Y("place:Q", scale=None),
            text="name:N",
            color=alt.Color("colour:N", scale=None),
        )
    )
