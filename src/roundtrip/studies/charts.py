"""The figures of all studies: curves over size with bands, and dots with intervals.

There is one figure for each panel, and all figures of a call share their axes.  A study passes rows
of medians and intervals, and says how its arms look::

    arms = {"mpi": Arm("MPI_Barrier", BLUE), "ring": Arm("Messages in a ring", ORANGE)}
    frame = layers.rows(panels.intervals, scale=1e6)
    drawings = [
        drawing(f"barrier-{number}", panel, panels.of(frame, panel), arms)
        for number, panel in enumerate(panels.panels, 1)
    ]
    figures = dots(drawings, "Time of a barrier", "Time (µs)")

For anything beside the curves, a study makes its own layers and calls `rendered`, with the views
that the page's script shall show of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import drawn, figures
from roundtrip.report.blocks import Figure
from roundtrip.report.figures import LIGHT, WIDTH, Theme, shade
from roundtrip.report.plot import Curve, Plot, Scale, View, points
from roundtrip.studies import axes, layers
from roundtrip.studies.axes import INTERVAL, Axis
from roundtrip.studies.layers import Arm, Drawing
from roundtrip.studies.panel import Panel

_HEIGHT = 280
_DOT_ROW = 26
#: Makes the horizontal axis of a page.
SizeAxis = Callable[[Theme], Any]
#: Makes what the page's script shows of a drawing; the first view is that of the drawing itself.
Views = Callable[[Drawing], tuple[View, ...]]


def drawing(
    name: str, panel: Panel, frame: pl.DataFrame, arms: Mapping[str, Arm], subtitle: str = ""
) -> Drawing:
    """The arms' rows of `frame`, titled as the panel, with the number of its launches if nothing
    else is told.
    """
    known = frame.filter(pl.col("arm").is_in(list(arms)))
    return Drawing(name, panel.label, subtitle or panel.counted, known, arms)


def over_size(
    drawings: Sequence[Drawing],
    what: str,
    y_title: str,
    y_domain: tuple[float, float] | None = None,
    size_axis: SizeAxis = figures.size_axis,
    more: Views = lambda one: (),
) -> tuple[Figure, ...]:
    """Curves over message size on two log axes, with the band of their interval.

    `what` names the figures for those who cannot see them.  No row may have size 0, or a value of 0
    or less.  `y_domain` are powers of ten, by default those around all values.  `more` views of a
    drawing are offered where a script runs.
    """
    if not drawings:
        return ()
    domain = y_domain or axes.decades([one.frame for one in drawings])
    y = axes.log_axis(domain, axes.decade_axis(domain, y_title))

    def draw(one: Drawing, theme: Theme) -> Any:
        return curves(one, drawings, sizes(drawings, size_axis(theme)), y, theme)

    def views(one: Drawing) -> tuple[View, ...]:
        name = y_title.partition(" (")[0]
        return view(one, name, sizes(drawings, size_axis(LIGHT)), y), *more(one)

    return rendered(drawings, what, draw, views)


def view(one: Drawing, name: str, x: Axis, y: Axis, **settings: Any) -> View:
    """The curves of a drawing for the page's script; `settings` as in `View`."""
    return View(name, x.plotted, y.plotted, one.plotted, **settings)


def sizes(drawings: Sequence[Drawing], axis: Any) -> Axis:
    """An axis from the smallest size of all drawings to the largest."""
    found = pl.concat([one.frame["x"] for one in drawings]).to_list()
    low, high = float(min(found)), float(max(found))
    return axes.log_axis((low, high) if low < high else (low / 2, 2 * high), axis)


def curves(
    one: Drawing,
    drawings: Sequence[Drawing],
    x: Axis,
    y: Axis,
    theme: Theme,
    height: int = _HEIGHT,
    has_bars: bool = False,
    below: Sequence[Any] = (),
) -> Any:
    """A chart of one of the drawings: curves, names at their ends, and under them `below`."""
    marks = layers.curves(one, x, y, theme, has_bars)
    named = [*layers.end_labels(one, x, y, height, theme), layers.room(drawings, height)]
    return alt.layer(*below, *marks, *named).properties(width=WIDTH, height=height)


def dots(drawings: Sequence[Drawing], what: str, x_title: str) -> tuple[Figure, ...]:
    """Figures with a row for each arm: the median is a dot, its interval a line; from 0 on."""
    if not drawings:
        return ()
    values = pl.concat([one.frame.select(INTERVAL) for one in drawings])
    top = 1.05 * float(values.max().max_horizontal().item())

    def draw(one: Drawing, theme: Theme) -> Any:
        axis = alt.Axis(title=x_title, tickCount=5, gridColor=theme.grid)
        x = axes.linear_axis((0.0, top), axis)
        y_axis = alt.Axis(title=None, ticks=False, labelPadding=6, labelLimit=240)
        y = alt.Y("row:N", sort=[arm.title for arm in one.drawn.values()], axis=y_axis)
        marks = []
        for name, arm in one.drawn.items():
            chart = alt.Chart(one.of(name).with_columns(row=pl.lit(arm.title)))
            colour = shade(arm.colour, theme)
            marks += [
                drawn.spread(
                    chart.transform_filter("isValid(datum.low)")
                    .mark_rule(color=colour, strokeWidth=2)
                    .encode(x.x("low:Q"), y, x2="high:Q")
                ),
                chart.mark_point(color=colour, filled=True, opacity=1, size=60).encode(
                    x.x("median:Q"), y
                ),
            ]
        return alt.layer(*marks).properties(width=WIDTH, height=alt.Step(_DOT_ROW))

    def views(one: Drawing) -> tuple[View, ...]:
        found = [
            Curve(arm.title, arm.colour, points(rows.iter_rows(named=True), "row"))
            for row, (name, arm) in enumerate(one.drawn.items())
            for rows in [one.of(name).with_columns(row=pl.lit(row))]
        ]
        scale = Scale(x_title, 0.0, top, is_log=False)
        names = tuple(arm.title for arm in one.drawn.values())
        return (View(x_title.partition(" (")[0], scale, None, tuple(found), names),)

    return rendered(drawings, what, draw, views)


def rendered(
    drawings: Sequence[Drawing],
    what: str,
    draw: Callable[[Drawing, Theme], Any],
    views: Views = lambda one: (),
) -> tuple[Figure, ...]:
    """One figure for each drawing, with its title; the page's script shows `views` of it, if any.

    The values of the first view have to be those that `draw` draws.
    """

    def titled(one: Drawing, theme: Theme) -> Any:
        title = alt.TitleParams(one.title, subtitle=one.subtitle)
        return draw(one, theme).properties(title=title)

    def figure(one: Drawing) -> Figure:
        shown = views(one)
        made = figures.render(
            one.name, f"{what}: {one.title}", partial(titled, one), one.is_published
        )
        return replace(made, plot=Plot(one.title, one.subtitle, shown) if shown else None)

    return tuple(figure(one) for one in drawings)
