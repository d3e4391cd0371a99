"""Draws figures: views and maps as SVG for light and dark screens and for paper.

On a page, an SVG has the colours and the heading of the page.  A file is self-contained: it has
its own title, colours and background, in any program that reads SVG.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import resources

from markupsafe import Markup

from roundtrip.content import plot
from roundtrip.content.blocks import Figure
from roundtrip.content.plot import HeatMap, Plot
from roundtrip.report import svg
from roundtrip.report.drawing import INK, MUTED, PAPER, Drawing, plot_drawings
from roundtrip.report.svg import TEXT_SIZE, TITLE_SIZE, coordinate_text, element

#: Width and height of a map's cell, and text size of its names, in pixels.
_CELL_SIZE, _FONT_SIZE = 20, 12
#: Colours for better than usual, usual and worse, on a light and on a dark page.
_SHADE_COLOURS = (("#3a6fb0", "#f1f2f4", "#b3261e"), ("#6ea4e6", "#252c36", "#ff8a75"))
#: The effect, in percent, from which the colour is darkest; shades from usual to there.
_DARKEST_PERCENT, _SHADE_COUNT = 100.0, 10
_LEGEND_WIDTH, _LEGEND_TEXT = 200, "worse than usual (%)"
_NON_WORD_PATTERN = re.compile(r"[^a-z0-9]+")
#: Width of a file in its units, for letters of 7 points in a column, and least width of its plot.
_COLUMN_WIDTH, _MIN_WIDTH = 440.0, 180.0


def file_stems(figure: Figure) -> list[str]:
    """The file name of each view, without suffix; the first is the name of the figure."""
    views = figure.plot.views[1:] if figure.plot else ()
    words = (_NON_WORD_PATTERN.sub("-", view.name.lower()).strip("-") for view in views)
    return [figure.name, *(f"{figure.name}-{word}" for word in words)]


def svg_files(figure: Figure) -> Iterator[str]:
    """The text of an SVG file for each view, as wide as a column of a paper."""
    content = figure.content
    heading = content.title, content.subtitle
    if not isinstance(content, Plot):
        size, marks = _heat_map_size(content), _heat_map_elements(content)
        yield svg_document(figure.alt_text, content.description, heading, *size, marks)
        return
    for index, view in enumerate(content.views):
        name, words = f"{figure.name}-{index}", content.describe_view(view)
        names_width = Drawing(name, view).width - view.width
        frame = Drawing(name, replace(view, width=max(_MIN_WIDTH, _COLUMN_WIDTH - names_width)))
        size = frame.width, frame.height
        yield svg_document(figure.alt_text, words, heading, *size, frame.elements())


def page_drawings(figure: Figure) -> list[Markup]:
    """The SVG of each view, to be put into a page where the figure's name is unique."""
    content = figure.content
    if not isinstance(content, Plot):
        width, height = _heat_map_size(content)
        attributes = {
            "class": "figure heat",
            "role": "img",
            "aria-label": content.description,
            "viewBox": f"0 0 {coordinate_text(width)} {coordinate_text(height)}",
            "style": f"max-width:{round(1.2 * width)}px",
        }
        return [element("svg", attributes, *_heat_map_elements(content))]
    return plot_drawings(figure.name, content)


def values_json(figure: Figure) -> Markup:
    """The values of the figure for the page's script: the content of a JSON <script>."""
    content = figure.content
    if isinstance(content, Plot):
        return plot.plot_json(figure.name, content)
    return plot.heat_map_json(content)


def svg_document(
    alt: str,
    description: str,
    heading: tuple[str, str],
    width: float,
    height: float,
    content: Iterable[Markup],
) -> str:
    """An SVG file of a drawing of `width` and `height`, under its `heading` (title, subtitle)."""
    titles = [(line, TITLE_SIZE) for line in svg.wrap_text(heading[0], width, TITLE_SIZE)]
    titles += [(line, TEXT_SIZE) for line in svg.wrap_text(heading[1], width)]
    top, words = 0, []
    for line, size in titles:
        top += size + 5
        bold = {"font_weight": 600, "class_": "ink", "fill": INK} if size == TITLE_SIZE else {}
        words.append(svg.text_element(line, 4, top, font_size=size, **bold))
    outer_width, outer_height = round(width + 8), round(height + top + 10)
    attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": "figure alone",
        "role": "img",
        "width": f"{svg.COLUMN_WIDTH_IN}in",
        "height": f"{svg.COLUMN_WIDTH_IN * outer_height / outer_width:.3f}in",
        "viewBox": f"0 0 {outer_width} {outer_height}",
        "font-family": svg.FONT_FAMILY,
        "font-size": TEXT_SIZE,
        "fill": MUTED,
    }
    paper = {"class": "paper", "width": outer_width, "height": outer_height, "fill": PAPER}
    picture = element(
        "svg",
        attributes,
        element("title", {}, alt),
        element("desc", {}, description),
        element("style", {}, _svg_style()),
        element("rect", paper),
        *words,
        element("g", {"transform": f"translate(4,{top + 10})"}, *content),
    )
    return f"{picture}\n"


@cache
def _svg_style() -> Markup:
    folder = resources.files("roundtrip.report") / "templates"
    text = (folder / "figure.css").read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704  ours, from a file of the package


def _name_column_width(heat_map: HeatMap) -> float:
    """The space for the names beside and below the cells, in pixels."""
    widths = (svg.text_width(name, _FONT_SIZE) for name in heat_map.display_names)
    return max(widths, default=0.0) + 8


def _heat_map_size(heat_map: HeatMap) -> tuple[float, float]:
    side = _CELL_SIZE * len(heat_map.item_names) + _name_column_width(heat_map)
    return max(side + 4, _LEGEND_WIDTH + 14 + svg.text_width(_LEGEND_TEXT) + 4), side + 52


def _heat_map_elements(heat_map: HeatMap) -> Iterator[Markup]:
    left, foot = _name_column_width(heat_map), _CELL_SIZE * len(heat_map.item_names)
    for index, name in enumerate(heat_map.display_names):
        middle = _CELL_SIZE * (index + 0.5) + 4
        is_marked = heat_map.item_names[index] in heat_map.highlighted_names
        kind = {"class_": "sick", "font_weight": 600} if is_marked else {}
        attributes = {**kind, "font_size": _FONT_SIZE, "text_anchor": "end"}
        yield svg.text_element(name, left - 5, middle, **attributes)
        x, y = left + middle, foot + 6.0
        rotation = f"rotate(-90 {coordinate_text(x)} {coordinate_text(y)})"
        yield svg.text_element(name, x, y, transform=rotation, **attributes)
    squares: dict[int, list[Markup]] = defaultdict(list)
    for cell in heat_map.cells:
        shade = round(_SHADE_COUNT * max(-1.0, min(1.0, cell.effect_percent / _DARKEST_PERCENT)))
        place = {"data-at": f"{cell.row} {cell.column}"}
        x, y = left + _CELL_SIZE * cell.column, _CELL_SIZE * cell.row
        squares[shade].append(svg.rect_element(x, y, _CELL_SIZE - 1, _CELL_SIZE - 1, place))
    for shade in sorted(squares):
        yield _shade_group(shade, *squares[shade])
    yield from _heat_map_legend(foot + left + 14)


def _heat_map_legend(top: float) -> Iterator[Markup]:
    step = _LEGEND_WIDTH / (2 * _SHADE_COUNT + 1)
    for index, shade in enumerate(range(-_SHADE_COUNT, _SHADE_COUNT + 1)):
        yield _shade_group(shade, svg.rect_element(4 + step * index, top, step + 0.3, 10))
    limit = f"{_DARKEST_PERCENT:g}"
    ends = (f"\N{MINUS SIGN}{limit}", "start"), ("0", "middle"), (limit, "end")
    for end, (words, anchor) in enumerate(ends):
        x = 4 + _LEGEND_WIDTH * end / 2
        yield svg.text_element(words, x, top + 25, text_anchor=anchor, fill=MUTED)
    yield svg.text_element(_LEGEND_TEXT, _LEGEND_WIDTH + 14, top + 9.5, class_="ink", fill=INK)


def _shade_group(shade: int, *shapes: Markup) -> Markup:
    """A group in the colour of `shade`: below 0 better than usual, above 0 worse."""
    mixed = []
    for colours in _SHADE_COLOURS:
        better, usual, worse = (bytes.fromhex(colour[1:]) for colour in colours)
        ends, share = (better if shade < 0 else worse), abs(shade / _SHADE_COUNT)
        channels = (round(a + (b - a) * share) for a, b in zip(usual, ends, strict=True))
        mixed.append(f"#{bytes(channels).hex()}")
    light, dark = mixed
    attributes = {"class": "curve", "fill": light, "style": f"--light:{light};--dark:{dark}"}
    return element("g", attributes, *shapes)
