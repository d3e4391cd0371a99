"""A map of values between things of one kind, as nodes or processors: a square of cells.

It is drawn as SVG, for paper and where no script runs; the page's script shows the same values,
each under the pointer and by the arrow keys.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import figures
from roundtrip.report.blocks import Figure
from roundtrip.report.figures import Theme

#: Cells are this wide and high, in pixels, and a map of many is not wider than this.
_CELL, _MOST = 26, 560
#: From better than usual over usual to worse, on a light and on a dark page.
_COLOURS = {
    False: ("#4f86c6", "#f1f2f4", "#b3261e"),
    True: ("#5d8fd0", "#252c36", "#ff8a75"),
}
#: Effects beyond this, in percent, have the darkest colour.
_DARKEST = 100.0


@dataclass(frozen=True)
class Cell:
    """The value between row and column, by number, with its unit; `effect` in percent of usual.

    A positive effect is worse.  `n` launches are behind it.
    """

    row: int
    column: int
    value: str
    effect: float
    n: int


@dataclass(frozen=True)
class Heat:
    """`names` of rows and columns; those of `marked` stand out.  `what` the values are."""

    title: str
    subtitle: str
    what: str
    names: tuple[str, ...]
    marked: frozenset[str]
    cells: tuple[Cell, ...]


def figure(name: str, heat: Heat) -> Figure:
    """The drawing of `heat` in both themes, and its values for the page's script."""
    alt_text = f"{heat.title}, {heat.subtitle}: a map of {len(heat.names)} by {len(heat.names)}"
    made = figures.render(name, alt_text, lambda theme: _draw(heat, theme))
    return Figure(made.name, made.alt, made.light, made.dark, made.drawn, heat=as_json(heat))


def as_json(heat: Heat) -> str:
    """For the page's script, in the same bytes each time; no HTML can begin or end in it."""
    content = {
        "title": heat.title,
        "subtitle": heat.subtitle,
        "what": heat.what,
        "names": [_shown(heat, name) for name in heat.names],
        "sick": [name in heat.marked for name in heat.names],
        "darkest": _DARKEST,
        "colours": [list(_COLOURS[False]), list(_COLOURS[True])],
        "cells": [[c.row, c.column, c.value, round(c.effect, 1), c.n] for c in heat.cells],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _shown(heat: Heat, name: str) -> str:
    return f"* {name}" if name in heat.marked else name


def _draw(heat: Heat, theme: Theme) -> Any:
    rows = pl.DataFrame(
        [
            {
                "row": _shown(heat, heat.names[cell.row]),
                "column": _shown(heat, heat.names[cell.column]),
                "effect": max(-_DARKEST, min(_DARKEST, cell.effect)),
            }
            for cell in heat.cells
        ]
    )
    side = min(_MOST, _CELL * len(heat.names))
    order = [_shown(heat, name) for name in heat.names]
    axis = alt.Axis(
        title=None, labelFontSize=_font(heat.names), labelLimit=160, ticks=False, domain=False
    )
    colours = alt.Scale(
        domain=[-_DARKEST, 0, _DARKEST],
        range=list(_COLOURS[theme is figures.DARK]),
        interpolate="rgb",
    )
    legend = alt.Legend(
        title="worse than usual (%)", orient="bottom", gradientLength=min(220, side)
    )
    title = alt.TitleParams(heat.title, subtitle=heat.subtitle)
    return (
        alt.Chart(rows)
        .mark_rect(stroke=theme.surface, strokeWidth=1)
        .encode(
            x=alt.X("column:N", sort=order, axis=axis, scale=alt.Scale(domain=order)),
            y=alt.Y("row:N", sort=order, axis=axis, scale=alt.Scale(domain=order)),
            color=alt.Color("effect:Q", scale=colours, legend=legend),
        )
        .properties(width=side, height=side, title=title)
    )


def _font(names: Sequence[str]) -> int:
    """Names of many rows are small: a row is as high as its share of the map."""
    return max(6, min(12, _MOST // max(1, len(names)) - 2))
