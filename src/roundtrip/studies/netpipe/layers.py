"""The layers of NetPIPE's figures: axes, curves with bands, and labels at their ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import figures
from roundtrip.report.figures import WIDTH, Theme
from roundtrip.studies.netpipe import derived

_LINE_GAP = 16.0
#: Hue tells the payload, shade raw MPI from Boost.MPI.
_COLOURS = {
    "mpi": ("#8cc0ea", "#2f6fae"),
    "boost": ("#0b4f94", "#a9d3fb"),
    "mpi-datatype": ("#f4b478", "#9a5a1c"),
    "boost-datatype": ("#a84600", "#ffc892"),
    "boost-serialized": ("#6a3d9a", "#c9a3f5"),
}


@dataclass(frozen=True)
class Axis:
    """Scale and axis that the layers of a chart share."""

    scale: Any
    axis: Any

    def of(self, field: str) -> Any:
        return alt.Y(field, scale=self.scale, axis=self.axis)


def decade_axis(domain: tuple[float, float], title: str) -> Any:
    exponents = range(round(math.log10(domain[0])), round(math.log10(domain[1])) + 1)
    return figures.named_axis(
        title,
        values=[10.0**exponent for exponent in exponents],
        labelExpr="datum.value >= 1 ? replace(format(datum.value, ',d'), /,/g, '\u202f') "
        ": format(datum.value, '~g')",
    )


def curve_layers(frame: pl.DataFrame, theme: Theme, y: Axis, x_axis: Any) -> list[Any]:
    """Band and line of each variant: raw MPI wide and pale below, Boost.MPI thin on top."""
    top = max(int(frame["size_bytes"].max() or 1), 8 << 20)  # type: ignore[arg-type]
    scale = alt.Scale(type="log", base=2, domain=[1, top], nice=False)
    x = alt.X("size_bytes:Q", scale=scale, axis=x_axis)
    layers: list[Any] = []
    for variant in derived.VARIANTS:
        rows = frame.filter(pl.col("variant") == variant).select(
            "size_bytes", "median", "low", "high"
        )
        if rows.is_empty():
            continue
        base = alt.Chart(rows)
        colour = figures.shade(_COLOURS[variant], theme)
        layers.append(
            base.transform_filter("isValid(datum.low)")
            .mark_area(color=colour, opacity=0.28, clip=True)
            .encode(x, y.of("low:Q"), y2="high:Q")
        )
        width = 4.5 if variant.startswith("mpi") else 1.6
        layers.append(
            base.mark_line(color=colour, strokeWidth=width, clip=True, strokeCap="round").encode(
                x, y.of("median:Q")
            )
        )
    return layers


def label_layers(
    frame: pl.DataFrame, theme: Theme, domain: tuple[float, float], height: int
) -> list[Any]:
    """The study's names at the right of the curves, apart from each other, tied to their ends."""
    ends = frame.sort("size_bytes").group_by("variant", maintain_order=True).last()
    low, high = (math.log10(value) for value in domain)
    wanted = {
        row["variant"]: height * (math.log10(row["median"]) - low) / (high - low)
        for row in ends.iter_rows(named=True)
    }
    places = figures.spread_apart(wanted, _LINE_GAP, 4.0, height - 4.0)
    rows = [
        {
            "variant": derived.VARIANTS[row["variant"]],
            "colour": figures.shade(_COLOURS[row["variant"]], theme),
            "size_bytes": row["size_bytes"],
            "end": row["median"],
            "place": 10 ** (low + places[row["variant"]] / height * (high - low)),
        }
        for row in ends.iter_rows(named=True)
    ]
    base = alt.Chart(pl.DataFrame(rows))
    return [
        base.mark_rule(strokeWidth=0.8, color=theme.muted, opacity=0.6).encode(
            x=alt.X("size_bytes:Q"), x2=alt.value(WIDTH + 9), y="end:Q", y2="place:Q"
        ),
        base.mark_rule(strokeWidth=3.5).encode(
            x=alt.value(WIDTH + 11),
            x2=alt.value(WIDTH + 19),
            y="place:Q",
            color=alt.Color("colour:N", scale=None),
        ),
        base.mark_text(align="left", baseline="middle", fontSize=13, color=theme.ink).encode(
            x=alt.value(WIDTH + 23), y="place:Q", text="variant:N"
        ),
    ]
