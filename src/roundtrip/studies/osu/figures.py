"""The figures of the OSU section: times and rates over message size, one figure a panel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import figures
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.figures import LIGHT, WIDTH, Theme
from roundtrip.studies.osu.curves import Curves, Panel

_HEIGHT = 260
_GAP = 16.0
#: Light and dark colour of each benchmark.
_COLOURS = {
    "latency": ("#0b4f94", "#a9d3fb"),
    "put_latency": ("#a84600", "#ffc892"),
    "get_latency": ("#6a3d9a", "#c9a3f5"),
    "bw": ("#0b4f94", "#a9d3fb"),
    "bibw": ("#2a9d8f", "#6fd3c6"),
    "put_bw": ("#a84600", "#ffc892"),
    "get_bw": ("#6a3d9a", "#c9a3f5"),
    "mbw_mr": ("#7a7a7a", "#c0c0c0"),
    "allreduce": ("#0b4f94", "#a9d3fb"),
    "alltoall": ("#a84600", "#ffc892"),
    "bcast": ("#2a9d8f", "#6fd3c6"),
}


@dataclass(frozen=True)
class Kind:
    """Benchmarks that share a figure; values times `scale` are in the axis' unit."""

    name: str
    benchmarks: tuple[str, ...]
    axis: str
    scale: float
    caption: Text


_TIMES = (
    "median over launches, bands are rank intervals. Where the version prints percentiles a "
    "launch's value is the median over its messages, else their mean."
)
KINDS = (
    Kind(
        "latency",
        ("latency", "put_latency", "get_latency"),
        "Time (µs)",
        1e6,
        (f"Half a round trip (latency), and the time of one MPI_Put and one MPI_Get: {_TIMES}",),
    ),
    Kind(
        "bandwidth",
        ("bw", "bibw", "mbw_mr", "put_bw", "get_bw"),
        "Bandwidth (MB/s)",
        1.0,
        (f"Bandwidth in windows of messages; bibw both ways, mbw_mr all pairs together: {_TIMES}",),
    ),
    Kind(
        "collectives",
        ("allreduce", "alltoall", "bcast"),
        "Time (µs)",
        1e6,
        (f"Time of a collective, mean over the ranks, by bytes a rank: {_TIMES}",),
    ),
)


def draw(curves: Curves, kind: Kind) -> tuple[Figure, ...]:
    """One figure for each panel that has such benchmarks; all with the same axes."""
    framed = [(panel, _frame(curves, panel, kind)) for panel in curves.panels]
    framed = [(panel, frame) for panel, frame in framed if not frame.is_empty()]
    if not framed:
        return ()
    values = pl.concat([frame for _, frame in framed])["median"]
    least, most = float(values.min()), float(values.max())  # type: ignore[arg-type]
    domain = (10.0 ** math.floor(math.log10(least)), 10.0 ** math.ceil(math.log10(most)))
    return tuple(
        figures.render(
            f"osu-{kind.name}-{number}",
            f"OSU {kind.name} over message size: {panel.label}",
            partial(_chart, frame, domain, panel, kind),
        )
        for number, (panel, frame) in enumerate(framed, 1)
    )


def _frame(curves: Curves, panel: Panel, kind: Kind) -> pl.DataFrame:
    """What a log scale can show: no empty messages, and nothing that OSU rounded to 0."""
    scaled = [pl.col(name) * kind.scale for name in ("median", "low", "high")]
    return (
        curves.of(panel, kind.benchmarks)
        .filter((pl.col("size_bytes") > 0) & (pl.col("median") > 0))
        .filter(pl.col("metric") != "message_rate")
        .select("benchmark", "size_bytes", *scaled)
        .with_columns(low=pl.when(pl.col("low") > 0).then("low"))
        .with_columns(high=pl.when(pl.col("low").is_not_null()).then("high"))
    )


def _chart(
    frame: pl.DataFrame, domain: tuple[float, float], panel: Panel, kind: Kind, theme: Theme
) -> Any:
    shade = 0 if theme is LIGHT else 1
    order = [name for name in kind.benchmarks if name in frame["benchmark"].unique()]
    colours = [_COLOURS[name][shade] for name in order]
    colour = alt.Color("benchmark:N", scale=alt.Scale(domain=order, range=colours), legend=None)
    x = alt.X(
        "size_bytes:Q", scale=alt.Scale(type="log", nice=False), axis=figures.size_axis(theme)
    )
    scale = alt.Scale(type="log", domain=list(domain), clamp=True)
    decades = range(round(math.log10(domain[0])), round(math.log10(domain[1])) + 1)
    y = alt.Y(
        "median:Q",
        scale=scale,
        axis=figures.named_axis(kind.axis, values=[10.0**k for k in decades]),
    )
    chart = alt.Chart(frame)
    layers = [
        chart.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.25)
        .encode(x, y=alt.Y("low:Q", scale=scale), y2="high:Q", color=colour),
        chart.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=14)).encode(x, y, colour),
        _labels(frame, order, colours, domain),
    ]
    subtitle = ", ".join(panel.versions)
    return alt.layer(*layers).properties(
        width=WIDTH, height=_HEIGHT, title=alt.TitleParams(panel.label, subtitle=subtitle)
    )


def _labels(
    frame: pl.DataFrame, order: Sequence[str], colours: Sequence[str], domain: tuple[float, float]
) -> Any:
    low, high = (math.log10(value) for value in domain)
    last = frame.sort("size_bytes").group_by("benchmark", maintain_order=True).last()
    wanted = {
        name: _HEIGHT * (1 - (math.log10(value) - low) / (high - low))
        for name, value in last.select("benchmark", "median").iter_rows()
    }
    places = figures.spread_apart(wanted, _GAP, 6, _HEIGHT - 2)
    rows = {"name": order, "place": [float(places[name]) for name in order], "colour": colours}
    return (
        alt.Chart(pl.DataFrame(rows))
        .mark_text(align="left", baseline="middle", fontSize=13)
        .encode(
            x=alt.value(WIDTH + 8),
            y=alt.Y("place:Q", scale=None),
            text="name:N",
            color=alt.Color("colour:N", scale=None),
        )
    )
