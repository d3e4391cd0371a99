"""Draws what a figure shows: one SVG for light and dark screens and for paper.

On a page, the SVG has the page's colours and heading.  A file stands alone: it has its own title,
colours and background, in any program that reads SVG.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from importlib import resources

from markupsafe import Markup

from roundtrip.report import svg
from roundtrip.report.drawing import INK, MUTED, PAPER, SMALL, Drawing, SmallDrawing
from roundtrip.report.plot import Plot, Rule, Scale, View
from roundtrip.report.svg import TEXT, TITLE, element, number


def on_page(name: str, plot: Plot, view: View) -> Markup:
    """A view as part of a page, without heading and colours; `name` is unique on the page."""
    frame = Drawing(name, view)
    attributes = {"viewBox": frame.box(0), "style": f"max-width:{round(frame.width)}px"}
    attributes |= {
        "data-frame": " ".join(map(number, (frame.left, frame.top, frame.right, frame.bottom)))
    }
    return element(
        "svg",
        {"class": "figure", "role": "img", **attributes, "aria-label": _about(plot, view)},
        _content(name, view),
    )


def standalone(name: str, alt: str, plot: Plot, view: View) -> str:
    """A view as a file: `alt` is its title for those who cannot see it."""
    frame = Drawing(name, view)
    heading = plot.title, plot.subtitle
    drawn = [_content(name, view)]
    return document(alt, _about(plot, view), heading, frame.width, frame.height, drawn)


@lru_cache(maxsize=2048)
def _content(name: str, view: View) -> Markup:
    """What is drawn of a view: the same on a page and in its file."""
    return Markup("").join(Drawing(name, view).all())


def document(
    alt: str,
    about: str,
    heading: tuple[str, str],
    width: float,
    height: float,
    content: Iterable[Markup],
) -> str:
    """An SVG file of a drawing of that size, under its heading: title and subtitle."""
    titles = [(line, TITLE) for line in svg.lines(heading[0], width, TITLE)]
    titles += [(line, TEXT) for line in svg.lines(heading[1], width)]
    top, words = 0, []
    for line, size in titles:
        top += size + 5
        bold = {"font_weight": 600, "class_": "ink", "fill": INK} if size == TITLE else {}
        words.append(svg.text(line, 4, top, font_size=size, **bold))
    wide, high = round(width + 8), round(height + top + 10)
    attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": "figure alone",
        "role": "img",
        "width": wide,
        "height": high,
        "viewBox": f"0 0 {wide} {high}",
        "font-family": svg.FONT,
        "font-size": TEXT,
        "fill": MUTED,
    }
    paper = {"class": "paper", "width": wide, "height": high, "fill": PAPER}
    drawn = element(
        "svg",
        attributes,
        element("title", {}, alt),
        element("desc", {}, about),
        element("style", {}, _style()),
        element("rect", paper),
        *words,
        element("g", {"transform": f"translate(4,{top + 10})"}, *content),
    )
    return f"{drawn}\n"


def spark(plot: Plot, label: str) -> Markup:
    """A small copy of the first view, without axes, of which nothing leaves the frame."""
    view = plot.views[0]
    low = view.x.low if view.x.is_log else max(view.x.low, 0.0)
    rules = view.rules or ((Rule(low),) if view.rows else ())
    near = replace(view, y=view.y and _near(view, view.y), strip=None, rules=rules)
    return small(near, {"role": "img", "aria-label": label})


def small(view: View, about: Mapping[str, str], size: tuple[float, float] = SMALL) -> Markup:
    """The marks of a view alone, of that width and height; `about` are attributes of its SVG."""
    frame = SmallDrawing("", view, *size)
    attributes = {"class": "figure", "viewBox": frame.box(0), **about}
    return element("svg", attributes, *frame.marks())


@cache
def _style() -> Markup:
    folder = resources.files("roundtrip.report") / "templates"
    text = (folder / "figure.css").read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704  ours, from a file of the package


def _about(plot: Plot, view: View) -> str:
    axes = " against ".join(axis.title for axis in (view.y, view.x) if axis)
    curves = ", ".join(curve.name for curve in view.curves)
    return f"{plot.title}, {plot.subtitle}. {axes}: {curves}."


def _near(view: View, scale: Scale) -> Scale:
    """The axis without what lies beyond all values, if it is logarithmic: 0 stays on the others."""
    values = [point[1] for curve in view.curves for point in curve.points]
    if not (scale.is_log and values):
        return scale
    low, high = max(scale.low, min(values)), min(scale.high, max(values))
    return replace(scale, low=low, high=high) if low < high else scale
