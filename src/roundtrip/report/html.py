"""Draws a report as one self-contained HTML file: one script of our own, no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup

from roundtrip.report import painter
from roundtrip.report.blocks import (
    Code,
    Fold,
    Gallery,
    Heading,
    Inline,
    Items,
    Paragraph,
    Part,
    Report,
    Strong,
    Table,
    Text,
    Verbatim,
)
from roundtrip.report.pages import page, series

_KINDS = {
    Heading: "heading",
    Paragraph: "paragraph",
    Items: "items",
    Verbatim: "verbatim",
    Table: "table",
    Gallery: "gallery",
    Fold: "fold",
}
#: A gallery of more figures shows the first ones and folds the others; longer tables are folded.
_FOLDING = {"most_figures": 32, "first_figures": 12, "most_rows": 200}
#: Of the page's one script, in this order.
SCRIPTS = ("scales.js", "figure.js", "controls.js", "heat.js", "page.js")


def render(report: Report) -> str:
    """The whole page as one HTML text."""
    above = {"index": series.INDEX, "history": series.HISTORY}
    return page.render("report.html.j2", SCRIPTS, _FILTERS, report=report, **above, **_FOLDING)


def _kind(block: object) -> str:
    return _KINDS[type(block)]


def _inline_all(text: Text) -> Markup:
    return Markup("").join(_inline(part) for part in text)


def _inline(part: Inline) -> Markup:
    match part:
        case Code(text):
            return Markup("<code>{}</code>").format(text)
        case Strong(text):
            return Markup("<strong>{}</strong>").format(text)
        case _:
            return Markup("{}").format(str(part))


def _spark(part: Part) -> Markup:
    """A small copy of the part's first figure that has a plot, linked to it; else nothing."""
    for figure in part.figures:
        if figure.plot:
            drawing = painter.spark(figure.plot, figure.alt)
            link = Markup('<a class="spark" href="#{}">{}</a>')
            return link.format(f"figure-{figure.name}", drawing)
    return Markup("")


_FILTERS: Mapping[str, Callable[..., object]] = {
    "inline": _inline_all,
    "kind": _kind,
    "drawings": painter.on_page,
    "values": painter.values,
    "spark": _spark,
}
