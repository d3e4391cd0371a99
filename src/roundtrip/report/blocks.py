"""What a report consists of, without its appearance: both renderers draw the same blocks.

All text is data: the renderers escape it.  Inline marks are types, never markup in a string.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from roundtrip.report.pages.series import link
from roundtrip.report.plot import Heat, Plot

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


#: Units of numbers that need none: how many, one value over another, any other pure number.
COUNT, RATIO, PURE = "count", "ratio", "pure"
#: The unit stands in a cell of the row.
BY_ROW = "by row"


@dataclass(frozen=True)
class Cell:
    """One value in a table, and a verdict on it.  The tone never says more than the words do.

    `unit` and `base` as in `Column`, where the cell has others than its column.  `series` is the
    key (`Origins`) of the series of the history whose value this is, or of a ratio the value that
    stands above its base; "" if it is of no single one.
    """

    text: str
    tone: Tone = "plain"
    verdict: str = ""
    unit: str = ""
    base: str = ""
    series: str = ""


@dataclass(frozen=True)
class Column:
    """Name and alignment of a column; numbers are aligned to the right.

    `unit`: of its numbers, as the column's name, the caption or a cell prints it; or COUNT, RATIO,
    PURE, BY_ROW; "" if the name ends with it (``Peak, MB/s``) or each cell does (``1 KiB``).
    `base`: of ratios, what they are over: the name of a column or a row of this part where the
    base's own value stands; or a column of the table that names it in each row, alone or after a
    stroke (``one / base``).
    """

    name: str
    align: Align = "left"
    unit: str = ""
    base: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of as many cells as columns; the first column names the row."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Figure:
    """What a drawing shows; `name` is its file name without suffix, `alt` for who cannot see it."""

    name: str
    alt: str
    shown: Plot | Heat

    @property
    def plot(self) -> Plot | None:
        """What it shows, if that is no map."""
        return self.shown if isinstance(self.shown, Plot) else None


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
    """A section, which is folded away, and what it says at the top of the report.

    At the top stand its question, if it has one, its answers, one short line each, a small copy of
    its first figure that has a plot, and its summary, which are small tables.  `each` and
    `verdicts` open the section: an answer for each panel, and tables of verdicts.  Its warnings, a
    plain line each, are notices of the report, and the terminal prints them too.
    """

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    answers: tuple[Answer, ...] = ()
    verdicts: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()
    question: str = ""
    each: tuple[Answer, ...] = ()
    summary: tuple[Table, ...] = ()

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All its figures, those that are folded away included."""
        galleries = (block for block in flat(self.blocks) if isinstance(block, Gallery))
        return tuple(figure for gallery in galleries for figure in gallery.figures)


@dataclass(frozen=True)
class Report:
    """A whole report; `facts` are the (name, value) pairs under the title.

    `series` are the keys of those that the history page beside it has, once it is published; cells
    of these lead there.  Without any, there is no such page.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    notices: tuple[Text, ...]
    parts: tuple[Part, ...]
    figures: tuple[Figure, ...] = field(default=())
    series: frozenset[str] = frozenset()

    def link(self, cell: Cell) -> str:
        """From a cell to all nights of its series, relative to the report; "" if to none."""
        return link(cell.series) if cell.series in self.series else ""

    @property
    def asked(self) -> tuple[Part, ...]:
        """The parts that say something at the top."""
        return tuple(part for part in self.parts if part.answers or part.summary)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all parts."""
        return tuple(warning for part in self.parts for warning in part.warnings)


def text_cells(*texts: str) -> tuple[Cell, ...]:
    """A row of plain cells."""
    return tuple(Cell(text) for text in texts)


def flat(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """All blocks, those that are folded away included."""
    for block in blocks:
        yield block
        if isinstance(block, Fold):
            yield from flat(block.blocks)
