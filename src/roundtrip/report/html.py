"""Draws a report as one self-contained HTML file: one script of our own, no network."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from markupsafe import Markup

from roundtrip.report import plot, sparks
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
from roundtrip.report.pages import links, page
from roundtrip.report.plot import Plot

_KINDS = {
    Heading: "heading",
    Paragraph: "paragraph",
    Items: "items",
    Verbatim: "verbatim",
    Table: "table",
    Gallery: "gallery",
    Fold: "fold",
}
_SIZE = re.compile(r'^<svg([^>]*?) width="[\d.]+" height="[\d.]+"')
_ID = re.compile(r'(\bid="|url\(#|href="#)')


#: Of the page's one script, in this order.
SCRIPTS = ("scales.js", "figure.js", "controls.js", "heat.js", "page.js")


def render(report: Report) -> str:
    """The whole page as one HTML text."""
    above = {"index": links.INDEX, "history": links.HISTORY}
    return page.render("report.html.j2", SCRIPTS, _FILTERS, report=report, **above)


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
            return Markup("{}").format(part)


def _svg(svg: str, prefix: str) -> Markup:
    """A drawing as part of the page: it scales, and no other drawing has its identifiers."""
    fluid = _SIZE.sub(r"<svg\1", svg.strip())
    return Markup(_ID.sub(rf"\g<1>{prefix}-", fluid))  # noqa: S704  drawn by us, text escaped


def _data(shown: Plot, name: str) -> Markup:
    """The plot of figure `name` as the content of a <script> of JSON."""
    return Markup(plot.as_json(name, shown))  # noqa: S704  no < and no & in it


def _raw(text: str) -> Markup:
    """The values of a map as the content of a <script> of JSON."""
    return Markup(text)  # noqa: S704  no < and no & in it: heat.as_json


def _spark(part: Part) -> Markup:
    """A small copy of the part's first figure that has a plot, linked to it; else nothing."""
    for figure in part.figures:
        if figure.plot:
            drawn = sparks.draw(figure.plot, figure.alt)
            link = Markup('<a class="spark" href="#{}">{}</a>')
            return link.format(f"figure-{figure.name}", drawn)
    return Markup("")


_FILTERS: Mapping[str, Callable[..., Markup | str]] = {
    "inline": _inline_all,
    "kind": _kind,
    "svg": _svg,
    "data": _data,
    "raw": _raw,
    "spark": _spark,
}
