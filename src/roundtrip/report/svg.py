"""Pieces of an SVG: elements, coordinates, shapes, and how wide text is in a font nobody asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from markupsafe import Markup, escape

from roundtrip.report.plot import CIRCLE, DIAMOND, SQUARE, TRIANGLE

#: Sizes of text, in pixels: of axes and names, and of titles.
TEXT, TITLE = 13, 15
FONT = (
    "Inter, Segoe UI, Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans Condensed, "
    "sans-serif"
)
#: Widths of Helvetica's printable ASCII characters from the blank on, in thousandths of the size
#: (Adobe's font metrics); the fonts above differ by less than _WIDER.
_WIDTHS = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556),
    *(1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556),
    *(333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556),
    *(556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
_OTHER, _WIDER = 620, 1.1
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Points of half-width 1 that are no circles.
_SHAPES = {
    SQUARE: ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    TRIANGLE: ((0, -1.2), (1.2, 1), (-1.2, 1)),
    DIAMOND: ((0, -1.4), (1.2, 0), (0, 1.4), (-1.2, 0)),
}
Place = tuple[float, float]


def element(name: str, attributes: Mapping[str, object], *inside: str) -> Markup:
    """An element; every value and every text that is no Markup is escaped."""
    words = "".join(f' {key}="{_escaped(value)}"' for key, value in attributes.items())
    content = "".join(map(_escaped, inside))
    return Markup(f"<{name}{words}>{content}</{name}>" if inside else f"<{name}{words}/>")  # noqa: S704


def _escaped(value: object) -> str:
    """Without characters that no XML may have, not even escaped; Markup is so already."""
    if isinstance(value, Markup):
        return value
    text = str(escape(value))
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text) if _ILLEGAL.search(text) else text


def number(value: float) -> str:
    """A coordinate: one decimal, or none."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def path(places: Iterable[Place]) -> str:
    """A line through the places, each written as ``x,y``; "" without one."""
    corners = "L".join(f"{number(x)},{number(y)}" for x, y in places)
    return f"M{corners}" if corners else ""


def text(words: str, x: float, y: float, **attributes: object) -> Markup:
    """Words at a place; an attribute `text_anchor` is ``text-anchor``."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    return element("text", {"x": number(x), "y": number(y), **named}, words)


def dot(shape: str, x: float, y: float, size: float) -> Markup:
    """A point of half-width `size` in the colour of its group, its edge in the paper's."""
    paint = {"class": "dot", "stroke": "#ffffff"}
    if shape == CIRCLE:
        return element("circle", {**paint, "cx": number(x), "cy": number(y), "r": number(size)})
    corners = path((size * one, size * two) for one, two in _SHAPES[shape])
    at = f"translate({number(x)},{number(y)})"
    return element("path", {**paint, "d": f"{corners}Z", "transform": at})


def width(words: str, size: float = TEXT) -> float:
    """About how wide a text is, rather too wide than too narrow."""
    known = len(_WIDTHS)
    each = (_WIDTHS[ord(c) - 32] if 0 <= ord(c) - 32 < known else _OTHER for c in words)
    return _WIDER * size * sum(each) / 1000


def lines(words: str, room: float, size: float = TEXT) -> list[str]:
    """The text in lines that fit the room, as far as its words do."""
    found: list[str] = []
    for word in words.split():
        longer = f"{found[-1]} {word}" if found else word
        if found and width(longer, size) <= room:
            found[-1] = longer
        else:
            found.append(word)
    return found


def apart(wanted: Mapping[int, float], gap: float, low: float, high: float) -> dict[int, float]:
    """Positions near those wanted, at least `gap` apart, within [low, high] where they fit."""
    placed: list[tuple[int, float]] = []
    for key, position in sorted(wanted.items(), key=lambda item: (item[1], item[0])):
        floor = placed[-1][1] + gap if placed else low
        placed.append((key, max(position, floor)))
    ceiling, found = high, {}
    for key, position in reversed(placed):
        found[key] = min(position, ceiling)
        ceiling = found[key] - gap
    return found
