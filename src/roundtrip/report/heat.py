"""Draws a map of values between things of one kind: a square of cells, and what colours mean."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from roundtrip.report import painter, svg
from roundtrip.report.drawing import INK, MUTED
from roundtrip.report.plot import Cell, Heat
from roundtrip.report.svg import element, number

#: A cell is this wide and high, and its name this large, in pixels.
_CELL, _FONT = 20, 12
#: Colours from better than usual over usual to worse, on a light and on a dark page.
_COLOURS = (("#3a6fb0", "#f1f2f4", "#b3261e"), ("#6ea4e6", "#252c36", "#ff8a75"))
#: Effects beyond this, in percent, have the darkest colour; shades from usual to there.
_DARKEST, _SHADES = 100.0, 10
_LEGEND, _MEANING = 200, "worse than usual (%)"


def on_page(heat: Heat) -> Markup:
    """The map as part of a page, without heading and colours."""
    width, height = _size(heat)
    attributes = {
        "class": "figure heat",
        "role": "img",
        "aria-label": _about(heat),
        "viewBox": f"0 0 {number(width)} {number(height)}",
        "style": f"max-width:{round(1.2 * width)}px",
    }
    return element("svg", attributes, *_all(heat))


def standalone(alt: str, heat: Heat) -> str:
    """The map as a file."""
    heading = (heat.title, heat.subtitle)
    return painter.document(alt, _about(heat), heading, *_size(heat), _all(heat))


def _about(heat: Heat) -> str:
    count = len(heat.names)
    return f"{heat.title}, {heat.subtitle}: a map of {count} by {count}"


def _edge(heat: Heat) -> float:
    """Room for the names, beside the cells and below them."""
    return max((svg.width(name, _FONT) for name in heat.labels), default=0.0) + 8


def _size(heat: Heat) -> tuple[float, float]:
    side = _CELL * len(heat.names) + _edge(heat)
    return max(side + 4, _LEGEND + 14 + svg.width(_MEANING) + 4), side + 52


def _all(heat: Heat) -> Iterator[Markup]:
    left, foot = _edge(heat), _CELL * len(heat.names)
    for at, name in enumerate(heat.labels):
        middle = _CELL * (at + 0.5) + 4
        kind = {"class_": "sick", "font_weight": 600} if heat.names[at] in heat.marked else {}
        attributes = {**kind, "font_size": _FONT, "text_anchor": "end"}
        yield svg.text(name, left - 5, middle, **attributes)
        x, y = left + middle, foot + 6.0
        turned = f"rotate(-90 {number(x)} {number(y)})"
        yield svg.text(name, x, y, transform=turned, **attributes)
    shades: dict[int, list[Cell]] = {}
    for cell in heat.cells:
        shades.setdefault(_shade(cell.effect), []).append(cell)
    for shade in sorted(shades):
        yield _coloured(
            shade,
            *(
                element(
                    "rect",
                    {
                        "data-at": f"{cell.row} {cell.column}",
                        "x": number(left + _CELL * cell.column),
                        "y": _CELL * cell.row,
                        "width": _CELL - 1,
                        "height": _CELL - 1,
                    },
                )
                for cell in shades[shade]
            ),
        )
    yield from _legend(foot + left + 14)


def _legend(top: float) -> Iterator[Markup]:
    step = _LEGEND / (2 * _SHADES + 1)
    for at, shade in enumerate(range(-_SHADES, _SHADES + 1)):
        yield _coloured(
            shade,
            element(
                "rect",
                {
                    "x": number(4 + step * at),
                    "y": number(top),
                    "width": number(step + 0.3),
                    "height": 10,
                },
            ),
        )
    for part, words in ((-1, f"\N{MINUS SIGN}{_DARKEST:g}"), (0, "0"), (1, f"{_DARKEST:g}")):
        anchor = {-1: "start", 0: "middle", 1: "end"}[part]
        yield svg.text(
            words, 4 + _LEGEND * (part + 1) / 2, top + 25, text_anchor=anchor, fill=MUTED
        )
    yield svg.text(_MEANING, _LEGEND + 14, top + 9.5, class_="ink", fill=INK)


def _shade(effect: float) -> int:
    return round(_SHADES * max(-1.0, min(1.0, effect / _DARKEST)))


def _coloured(shade: int, *inside: Markup) -> Markup:
    light, dark = (_mixed(colours, shade / _SHADES) for colours in _COLOURS)
    attributes = {"class": "curve", "fill": light, "style": f"--light:{light};--dark:{dark}"}
    return element("g", attributes, *inside)


def _mixed(colours: tuple[str, str, str], part: float) -> str:
    """The middle colour for 0, the others for -1 and 1; between them, a mixture."""
    less, none, more = ([int(text[at : at + 2], 16) for at in (1, 3, 5)] for text in colours)
    ends, share = (less if part < 0 else more), abs(part)
    mixed = (round(a + (b - a) * share) for a, b in zip(none, ends, strict=True))
    return "#" + "".join(f"{one:02x}" for one in mixed)
