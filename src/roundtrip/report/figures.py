"""A figure on a page and as files: each view drawn by the painter, each map by `heat`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup

from roundtrip.report import heat, painter, plot
from roundtrip.report.blocks import Figure
from roundtrip.report.plot import Plot

_WORD = re.compile(r"[^a-z0-9]+")


def files(figure: Figure) -> Iterator[tuple[str, str]]:
    """Name and text of each file: an SVG for each view, the first named as the figure."""
    shown = figure.shown
    if not isinstance(shown, Plot):
        yield f"{figure.name}.svg", heat.standalone(figure.alt, shown)
        return
    for number, view in enumerate(shown.views):
        word = _WORD.sub("-", view.name.lower()).strip("-")
        name = f"{figure.name}-{word}" if number else figure.name
        text = painter.standalone(f"{figure.name}-{number}", figure.alt, shown, view)
        yield f"{name}.svg", text


def drawing(figure: Figure) -> str:
    """The SVG file of a figure's first view."""
    return next(text for _, text in files(figure))


def on_page(figure: Figure) -> list[Markup]:
    """The SVG of each view as part of a page."""
    shown = figure.shown
    if not isinstance(shown, Plot):
        return [heat.on_page(shown)]
    return [
        painter.on_page(f"{figure.name}-{number}", shown, view)
        for number, view in enumerate(shown.views)
    ]


def values(figure: Figure) -> Markup:
    """What the page's script reads out, as the content of a <script> of JSON."""
    shown = figure.shown
    text = plot.as_json(figure.name, shown) if isinstance(shown, Plot) else plot.heat_json(shown)
    return Markup(text)  # noqa: S704  no < and no & in it
