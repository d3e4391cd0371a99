"""What a report consists of, without its appearance: both renderers draw the same blocks.

All text is data: the renderers escape it.  Inline marks are types, never markup in a string.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["plain", "good", "bad", "warn", "muted"]
Align = Literal["left", "right"]


@dataclass(frozen=True)
class Code:
    """A name that a machine uses, such as a file's."""

    text: str


@dataclass(frozen=True)
class Strong:
    """An emphasised word."""

    text: str


Inline = str | Code | Strong
Text = tuple[Inline, ...]


@dataclass(frozen=True)
class Heading:
    """Level 3 or 4, inside a part."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Running text; a note is shown apart from it."""

    text: Text
    is_note: bool = False


@dataclass(frozen=True)
class Items:
    """An unordered list."""

    items: tuple[Text, ...]


@dataclass(frozen=True)
class Verbatim:
    """The text of a file, unchanged."""

    text: str


@dataclass(frozen=True)
class Cell:
    """One value in a table, and a verdict on it.  The tone never says more than the words do."""

    text: str
    tone: Tone = "plain"
    verdict: str = ""


@dataclass(frozen=True)
class Column:
    """Name and alignment of a column; numbers are aligned to the right."""

    name: str
    align: Align = "left"


@dataclass(frozen=True)
class Table:
    """Rows of as many cells as columns; the first column names the row."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Figure:
    """An SVG drawn for a light and for a dark page; `name` is its file name without suffix."""

    name: str
    alt: str
    light: str
    dark: str


@dataclass(frozen=True)
class Gallery:
    """Figures of one kind beside each other, under one caption."""

    caption: Text
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Fold:
    """Details that are folded on a screen, and open on paper."""

    summary: str
    blocks: tuple[Block, ...]


Block = Heading | Paragraph | Items | Verbatim | Table | Gallery | Fold


@dataclass(frozen=True)
class Answer:
    """One sentence that answers a question of the campaign."""

    text: Text
    tone: Tone = "plain"


@dataclass(frozen=True)
class Part:
    """A section: its answers and verdicts go to the top of the report, its blocks into the body.

    Its warnings, a plain line each, are notices of the report, and the terminal prints them too.
    """

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    answers: tuple[Answer, ...] = ()
    verdicts: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """A whole report; `facts` are the (name, value) pairs under the title."""

    title: str
    facts: tuple[tuple[str, str], ...]
    notices: tuple[Text, ...]
    parts: tuple[Part, ...]
    figures: tuple[Figure, ...] = field(default=())

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all parts."""
        return tuple(warning for part in self.parts for warning in part.warnings)


def text_cells(*texts: str) -> tuple[Cell, ...]:
    """A row of plain cells."""
    return tuple(Cell(text) for text in texts)
