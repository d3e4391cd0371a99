"""The figures of the NetPIPE section, laid out like the study's: log-log, one curve a variant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import figures, units
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.figures import WIDTH, Theme
from roundtrip.studies.netpipe import derived, published
from roundtrip.studies.netpipe.curves import Curves, Panel
from roundtrip.studies.netpipe.layers import (
    Axis,
    curve_layers,
    decade_axis,
    label_layers,
)

BANDWIDTH_CAPTION: Text = (
    "Bandwidth over message size, in the layout of the study's figure: log-log, one curve a "
    "variant, median over launches; bands are rank intervals. Wide pale lines are raw MPI, "
    "thin dark lines Boost.MPI: where they lie on each other, the abstraction is free. All panels "
    "share their axes. The last panel is the study itself (2005), read off the published figure.",
)
_HEIGHT = 280
_CLOSE, _FAR = 120, 160
_NEAR = (0.75, 1.25)
_STUDY_TITLE = (
    "The study: Open MPI 1.1, InfiniBand, 2005",
    published.SOURCE + "; Mbit/s converted",
)


def ratio_caption(margin: float) -> Text:
    """What the ratio figures show."""
    return (
        "Bandwidth of each variant over that of raw MPI, paired within launches; bands are rank "
        "intervals over launches. Above: close to 1, on a linear scale; the shaded strip is "
        f"“on par”, within {units.percent(margin)} of 1. Below: the whole range, on a log scale.",
    )


def bandwidth(name: str, curves: Curves, panels: Sequence[Panel]) -> tuple[Figure, ...]:
    """One figure a panel, and the study's own last; all with the same axes."""
    frames = [curves.of(curves.bandwidth, panel) for panel in panels]
    titles = [(panel.label, _subtitle(panel)) for panel in panels]
    names = [f"{name}-{number}" for number in range(1, len(panels) + 1)]
    if panels[0].is_pingpong:
        frames.append(_study())
        titles.append(_STUDY_TITLE)
        names.append(f"{name}-study")
    domain = _decades(frames, 1.0)
    return tuple(
        figures.render(
            file,
            f"Bandwidth over message size: {title[0]}",
            partial(_bandwidth, frame, domain, title),
        )
        for file, frame, title in zip(names, frames, titles, strict=True)
    )


def ratio(name: str, curves: Curves, panels: Sequence[Panel], margin: float) -> tuple[Figure, ...]:
    """Ratio to raw MPI, one figure a panel; all with the same axes."""
    frames = [curves.of(curves.ratio, panel) for panel in panels]
    domain = _decades(frames, 1.0)
    return tuple(
        figures.render(
            f"{name}-{number}",
            f"Ratio to raw MPI over message size: {panel.label}",
            partial(_ratio, frame, domain, margin, (panel.label, _subtitle(panel))),
        )
        for number, (panel, frame) in enumerate(zip(panels, frames, strict=True), 1)
    )


def _subtitle(panel: Panel) -> str:
    return f"{panel.environ}, {units.plural(panel.launches, 'launch', 'launches')}"


def _study() -> pl.DataFrame:
    rows = [
        {"variant": variant, "size_bytes": size, "median": rate, "low": None, "high": None}
        for variant in derived.VARIANTS
        for size, rate in published.curve(variant)
    ]
    schema = {"variant": pl.String, "size_bytes": pl.Int64, "median": pl.Float64}
    frame = pl.DataFrame(rows, schema={**schema, "low": pl.Float64, "high": pl.Float64})
    return frame.with_columns(
        case_id=pl.lit(""), case=pl.lit(""), n=pl.lit(1, dtype=pl.Int64)
    ).select("case_id", "case", "variant", "size_bytes", "median", "low", "high", "n")


def _decades(frames: Sequence[pl.DataFrame], inside: float) -> tuple[float, float]:
    """The powers of ten around all medians and bands, and around `inside`."""
    values = pl.concat([frame.select("median", "low", "high") for frame in frames])
    low = min(inside, values.min().min_horizontal().item())
    high = max(inside, values.max().max_horizontal().item())
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def _bandwidth(
    frame: pl.DataFrame, domain: tuple[float, float], title: tuple[str, str], theme: Theme
) -> Any:
    y = Axis(alt.Scale(type="log", domain=list(domain)), decade_axis(domain, "Bandwidth (MB/s)"))
    layers = curve_layers(frame, theme, y, figures.size_axis(theme))
    layers += label_layers(frame, theme, domain, _HEIGHT)
    return alt.layer(*layers).properties(
        width=WIDTH, height=_HEIGHT, title=alt.TitleParams(title[0], subtitle=title[1])
    )


def _ratio(
    frame: pl.DataFrame,
    domain: tuple[float, float],
    margin: float,
    title: tuple[str, str],
    theme: Theme,
) -> Any:
    close_y = Axis(
        alt.Scale(domain=list(_NEAR), nice=False),
        figures.named_axis(
            "Ratio to raw MPI, close to 1", values=[0.8, 0.9, 1.0, 1.1, 1.2], format=".1f"
        ),
    )
    strip = alt.Chart(pl.DataFrame({"low": [1 / (1 + margin)], "high": [1 + margin], "one": [1.0]}))
    close = [
        strip.mark_rect(color=theme.margin, clip=True).encode(close_y.of("low:Q"), y2="high:Q"),
        strip.mark_rule(color=theme.muted).encode(close_y.of("one:Q")),
        *curve_layers(frame, theme, close_y, figures.size_axis(theme, is_titled=False)),
    ]
    far_y = Axis(
        alt.Scale(type="log", domain=list(domain)),
        decade_axis(domain, "Ratio to raw MPI, whole range"),
    )
    far = [
        strip.mark_rule(color=theme.muted).encode(far_y.of("one:Q")),
        *curve_layers(frame, theme, far_y, figures.size_axis(theme)),
        *label_layers(frame, theme, domain, _FAR),
    ]
    return alt.vconcat(
        alt.layer(*close).properties(width=WIDTH, height=_CLOSE),
        alt.layer(*far).properties(width=WIDTH, height=_FAR),
        spacing=34,
        title=alt.TitleParams(title[0], subtitle=title[1]),
    )
