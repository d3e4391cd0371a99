"""Turns an SVG file of the painter into a PDF at the width of a column, with its fonts embedded.

The same drawing gives the same bytes: no date, and no compression, which differs between versions
of zlib.  Only the elements and attributes that `svg` and `drawing` write are supported.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from xml.etree import ElementTree

from reportlab.lib.colors import HexColor
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.pdfgen.pathobject import PDFPathObject

from roundtrip.report.svg import COLUMN_WIDTH_IN

#: The width of a column in points.
COLUMN_WIDTH_PT = 72 * COLUMN_WIDTH_IN
_SVG_NAMESPACE = "{http://www.w3.org/2000/svg}"
_FONT_NAME = "Vera"  # a font of reportlab
#: Characters that the font lacks: special blanks become plain ones, and arrows are drawn.
_SPACE_TRANSLATION = {0x202F: " ", 0x2009: " "}
_DIRECTION_BY_ARROW = {"↑": 1, "↓": -1}
#: In font sizes: the width of an arrow, of its line, and of the outline of bold letters.
_ARROW_WIDTH, _ARROW_LINE, _BOLD_STROKE = 0.6, 0.08, 0.045
#: Text rendering modes of PDF: filled, and filled with an outline.
_FILL_MODE, _OUTLINE_MODE = 0, 2
_INHERITED_ATTRIBUTES = ("fill", "stroke", "stroke-width", "font-size", "font-weight")
_PATH_COMMAND_PATTERN = re.compile("([MLhZ])([^MLhZ]*)")
#: ``translate(x,y)`` or ``rotate(angle x y)``.
_TRANSFORM_PATTERN = re.compile(r"(?:translate|rotate)\(([^)]*)\)")
_PDF_OPERATOR_BY_COMMAND = {"M": "m", "L": "l"}
_PDF_CODE_BY_LINE_CAP = {"butt": 0, "round": 1, "square": 2}
_SvgAttributes = Mapping[str, str]


def pdf_from_svg(text: str) -> bytes:
    """The bytes of a PDF of the text of an SVG file of `painter.svg_files`."""
    root = ElementTree.fromstring(text)  # noqa: S314  our own drawing
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    scale = COLUMN_WIDTH_PT / width
    out = io.BytesIO()
    canvas = _empty_canvas(out, scale * height)
    canvas.setTitle(root.findtext(f"{_SVG_NAMESPACE}title") or "")
    canvas.translate(0, scale * height)
    canvas.scale(scale, -scale)
    _Page(canvas, _font()).draw(root, {"fill": "#000000", "stroke": "none", "stroke-width": "1"})
    canvas.showPage()
    canvas.save()
    return out.getvalue()


def _empty_canvas(out: io.BytesIO, height: float) -> Canvas:
    """An empty page without a date: ReportLab writes SOURCE_DATE_EPOCH despite `invariant`."""
    epoch = os.environ.pop("SOURCE_DATE_EPOCH", None)
    try:
        return Canvas(out, pagesize=(COLUMN_WIDTH_PT, height), invariant=1, pageCompression=0)
    finally:
        if epoch is not None:
            os.environ["SOURCE_DATE_EPOCH"] = epoch


@cache
def _font() -> TTFont:
    font = TTFont(_FONT_NAME, f"{_FONT_NAME}.ttf")
    pdfmetrics.registerFont(font)
    return font


class _Page:
    """A page to draw elements on; `clips`: clipping rectangles by reference, ``url(#...)``."""

    def __init__(self, canvas: Canvas, font: TTFont) -> None:
        self.canvas, self.font = canvas, font
        self.clips: dict[str, ElementTree.Element] = {}

    def draw(self, node: ElementTree.Element, inherited: _SvgAttributes) -> None:
        """Draw an element and its children; `inherited`: attributes from its parent."""
        attributes = node.attrib
        own = {name: attributes[name] for name in _INHERITED_ATTRIBUTES if name in attributes}
        paint = {**inherited, **own}
        self.canvas.saveState()
        for words in _TRANSFORM_PATTERN.findall(attributes.get("transform", "")):
            *angle, x, y = map(float, re.split("[ ,]+", words))
            self.canvas.translate(x, y)
            if angle:
                self.canvas.rotate(angle[0])
                self.canvas.translate(-x, -y)
        clip = self.clips.get(attributes.get("clip-path", ""))
        if clip is not None:
            self.canvas.clipPath(self._rect_path(clip.attrib), stroke=0, fill=0)
        match node.tag.removeprefix(_SVG_NAMESPACE):
            case "svg" | "g":
                for child in node:
                    self.draw(child, paint)
            case "clipPath":
                self.clips[f"url(#{attributes['id']})"] = node[0]
            case "rect":
                self._paint_path(self._rect_path(attributes), attributes, paint)
            case "circle":
                circle = self.canvas.beginPath()
                circle.circle(*(float(attributes[name]) for name in ("cx", "cy", "r")))
                self._paint_path(circle, attributes, paint)
            case "path":
                self._paint_path(self._svg_path(attributes["d"]), attributes, paint)
            case "text":
                self._draw_text(node.text or "", attributes, paint)
        self.canvas.restoreState()

    def _rect_path(self, attributes: _SvgAttributes) -> PDFPathObject:
        path = self.canvas.beginPath()
        path.rect(*(float(attributes.get(name, "0")) for name in ("x", "y", "width", "height")))
        return path

    def _svg_path(self, path_data: str) -> PDFPathObject:
        # Numbers are copied as text: formatting each would take most of reportlab's time.
        code, x, y = ["n"], "0", "0"
        for step, place in _PATH_COMMAND_PATTERN.findall(path_data):
            if step == "Z":
                code.append("h")
            elif step == "h":  # a dot: PDF draws no square for a line without a length
                code.append(f"{float(x) + 0.01:.2f} {y} l")
            else:
                x, y = place.split(",")
                code.append(f"{x} {y} {_PDF_OPERATOR_BY_COMMAND[step]}")
        return PDFPathObject(code)

    def _paint_path(
        self, path: PDFPathObject, attributes: _SvgAttributes, paint: _SvgAttributes
    ) -> None:
        fill, stroke, canvas = paint["fill"], paint["stroke"], self.canvas
        if fill != "none":
            canvas.setFillColor(HexColor(fill))
            canvas.setFillAlpha(float(attributes.get("fill-opacity", "1")))
        if stroke != "none":
            canvas.setStrokeColor(HexColor(stroke))
            canvas.setStrokeAlpha(float(attributes.get("stroke-opacity", "1")))
            canvas.setLineWidth(float(paint["stroke-width"]))
            canvas.setLineCap(_PDF_CODE_BY_LINE_CAP[attributes.get("stroke-linecap", "butt")])
            canvas.setDash(list(map(float, attributes.get("stroke-dasharray", "").split())))
        canvas.drawPath(path, fill=int(fill != "none"), stroke=int(stroke != "none"))

    def _draw_text(self, text: str, attributes: _SvgAttributes, paint: _SvgAttributes) -> None:
        size, canvas, font = float(paint["font-size"]), self.canvas, self.font
        mode = _OUTLINE_MODE if paint.get("font-weight") == "600" else _FILL_MODE
        pieces = list(_split_at_arrows(text.translate(_SPACE_TRANSLATION), font))
        widths = [
            _ARROW_WIDTH * size if piece in _DIRECTION_BY_ARROW else font.stringWidth(piece, size)
            for piece in pieces
        ]
        anchor = attributes.get("text-anchor", "start")
        x = {"start": 0.0, "middle": -0.5, "end": -1.0}[anchor] * sum(widths)
        canvas.translate(float(attributes["x"]), float(attributes["y"]))
        canvas.scale(1, -1)  # letters stand upright on a page whose y grows downwards
        canvas.setFillColor(HexColor(paint["fill"]))
        canvas.setStrokeColor(HexColor(paint["fill"]))
        canvas.setLineWidth(_BOLD_STROKE * size)
        canvas.setFont(_FONT_NAME, size)
        for piece, width in zip(pieces, widths, strict=True):
            if piece in _DIRECTION_BY_ARROW:
                self._draw_arrow(x, size, _DIRECTION_BY_ARROW[piece])
            else:
                canvas.drawString(x, 0, piece, mode=mode)
            x += width

    def _draw_arrow(self, x: float, size: float, up: int) -> None:
        middle, centre, half = x + size * _ARROW_WIDTH / 2, size * 0.35, size * 0.35 * up
        wing, tip = size * 0.18, centre + half
        edge = tip - wing * up
        starts = (middle, centre - half), (middle - wing, edge), (middle + wing, edge)
        lines = "".join(f"M{x:.2f},{y:.2f}L{middle:.2f},{tip:.2f}" for x, y in starts)
        self.canvas.setLineWidth(_ARROW_LINE * size)
        self.canvas.drawPath(self._svg_path(lines), fill=0, stroke=1)


def _split_at_arrows(text: str, font: TTFont) -> Iterator[str]:
    """The text, split at arrows; characters that the font lacks become ``?``."""
    for piece in re.split(f"([{''.join(_DIRECTION_BY_ARROW)}])", text):
        if piece in _DIRECTION_BY_ARROW:
            yield piece
        elif piece:
            yield "".join(c if ord(c) in font.face.charToGlyph else "?" for c in piece)
