"""Draws a report as one self-contained HTML file: no script, no network."""

from __future__ import annotations

import re

import jinja2
from markupsafe import Markup

from roundtrip.report.blocks import (
    Code,
    Fold,
    Gallery,
    Heading,
    Inline,
    Items,
    Paragraph,
    Report,
    Strong,
    Table,
    Text,
    Verbatim,
)

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


def render(report: Report) -> str:
    """The whole page as one HTML text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("roundtrip.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(inline=_inline_all, kind=_kind, svg=_svg)
    return environment.get_template("report.html.j2").render(report=report)


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
