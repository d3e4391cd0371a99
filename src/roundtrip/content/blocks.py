"""The blocks of a report, without their appearance: HTML and Markdown show the same blocks.

All text is data: the renderers escape it.  Emphasis and code are types, never markup in a string.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from roundtrip.content.plot import HeatMap, Plot
from roundtrip.content.series import series_link
from roundtrip.stats.verdicts import VerdictColour
from roundtrip.units import ConfidenceLevel, Quantity, count

_MAX_OPEN_ROWS = 12
StatusColour = Literal["plain", VerdictColour]
ColumnAlign = Literal["left", "right"]


@dataclass(frozen=True)
class InlineCode:
    """A machine-readable name, such as a file name."""

    text: str


@dataclass(frozen=True)
class StrongText:
    """Emphasised text."""

    text: str


InlineElement = str | InlineCode | StrongText | Quantity | ConfidenceLevel
RichText = tuple[InlineElement, ...]


@dataclass(frozen=True)
class Heading:
    """A heading of level 3 or 4, inside a section."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Running text, or a note that is set off from it."""

    text: RichText
    is_note: bool = False


@dataclass(frozen=True)
class BulletList:
    """An unordered list."""

    items: tuple[RichText, ...]


@dataclass(frozen=True)
class Verbatim:
    """The text of a file, unchanged."""

    text: str


@dataclass(frozen=True)
class Cell:
    """A table cell with an optional verdict.  Its colour says nothing that its text does not say.

    `content`: text, a quantity, or several of them.  `unit`: the unit that the text of the cell
    prints for the numbers of its row.  `series_key`: key (`series.series_key`) of the history
    series that the cell links to; "" for the series of its quantity.
    """

    content: InlineElement | RichText
    status_colour: StatusColour = "plain"
    verdict: str = ""
    unit: str = ""
    series_key: str = ""

    @property
    def content_tuple(self) -> RichText:
        return self.content if isinstance(self.content, tuple) else (self.content,)

    @property
    def text(self) -> str:
        """The content as text, without the verdict."""
        return plain_text(self.content_tuple)

    @property
    def interval_and_unit(self) -> str:
        """The interval and the unit of a cell that is one quantity; "" for any other cell."""
        return self.content.interval_and_unit if isinstance(self.content, Quantity) else ""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return tuple(part for part in self.content_tuple if isinstance(part, Quantity))

    @property
    def linked_series_key(self) -> str:
        """The key of the series that the cell links to; "" if there is none."""
        return self.series_key or next(
            (quantity.series_key for quantity in self.quantities if quantity.series_key), ""
        )


@dataclass(frozen=True)
class Column:
    """Name and alignment of a column; numbers are aligned to the right.

    `unit`: unit of the column's numbers, which the heading prints in place of ``{}`` in the name or
    after the name; "" if the caption, another cell of the row or the numbers print their unit.
    `base_name`: name of the column or row, of this section, that holds the values over which the
    column's ratios are formed, unless a ratio names its own.
    """

    name: str
    align: ColumnAlign = "left"
    unit: str = ""
    base_name: str = ""

    @property
    def heading(self) -> str:
        """The name with the unit, unless they are the same."""
        if not self.unit or self.name.lower() == self.unit:
            return self.name
        if "{}" in self.name:
            return self.name.replace("{}", self.unit)
        return f"{self.name}, {self.unit}" if self.name else self.unit


@dataclass(frozen=True)
class Table:
    """Rows with one cell for each column; the first column names the row.

    `rich_caption`: the caption; `caption_units`: the units that it prints.  ValueError if the
    caption lacks one of them, if it names confidence levels but not that of every interval, or if a
    row and the columns differ in length.
    """

    rich_caption: str | RichText
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption_units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        caption_levels = {
            float(part) for part in self.rich_caption if isinstance(part, ConfidenceLevel)
        }
        levels = {
            quantity.level for row in self.rows for cell in row for quantity in cell.quantities
        }
        if caption_levels and levels - caption_levels - {None}:
            raise ValueError(f"“{self.caption}” names another level than its intervals have")
        if missing_units := [unit for unit in self.caption_units if unit not in self.caption]:
            raise ValueError(f"“{self.caption}” does not print {missing_units[0]}")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"“{self.caption}”: a row has not one cell for each column")

    @property
    def interval_and_unit_widths(self) -> tuple[float, ...]:
        """By column the width of the longest interval with unit, in digits: it lines medians up."""
        columns = zip(*self.rows, strict=True)
        return tuple(0.85 * max(len(cell.interval_and_unit) for cell in cells) for cells in columns)

    @property
    def caption(self) -> str:
        caption = self.rich_caption
        return caption if isinstance(caption, str) else plain_text(caption)


@dataclass(frozen=True)
class Figure:
    """A plot or a map; `name`: of its file without suffix; `alt_text` says what it shows."""

    name: str
    alt_text: str
    content: Plot | HeatMap

    @property
    def plot(self) -> Plot | None:
        return self.content if isinstance(self.content, Plot) else None


@dataclass(frozen=True)
class Gallery:
    """Figures of one type beside each other, under one caption."""

    caption: RichText
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class CollapsibleBlocks:
    """Blocks that are folded under `summary` on a screen, and open on paper."""

    summary: str
    blocks: tuple[Block, ...]


Block = Heading | Paragraph | BulletList | Verbatim | Table | Gallery | CollapsibleBlocks


@dataclass(frozen=True)
class Answer:
    """One sentence that answers a question of the campaign."""

    text: RichText
    status_colour: StatusColour = "plain"


@dataclass(frozen=True)
class ReportSection:
    """A folded section of the report, and its entry at the top of the report.

    The entry consists of `question` (optional), `answers` (one short line each), `summary_tables`
    (small) and `answer_gallery` (the answer as figures).  The section begins with `panel_answers`,
    one for each panel, and `verdict_tables`.  `warnings` (one plain line each) are notices of the
    report, and the terminal prints them too.
    """

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    answers: tuple[Answer, ...] = ()
    verdict_tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()
    question: str = ""
    panel_answers: tuple[Answer, ...] = ()
    summary_tables: tuple[Table, ...] = ()
    answer_gallery: Gallery | None = None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures of the section, folded ones included; those of the answer come first."""
        galleries = [block for block in flatten_blocks(self.blocks) if isinstance(block, Gallery)]
        galleries = [self.answer_gallery, *galleries] if self.answer_gallery else galleries
        return tuple(figure for gallery in galleries for figure in gallery.figures)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables of the section, folded ones too: summary, verdicts, then those of blocks."""
        block_tables = (block for block in flatten_blocks(self.blocks) if isinstance(block, Table))
        return (*self.summary_tables, *self.verdict_tables, *block_tables)


@dataclass(frozen=True)
class Report:
    """A whole report; (name, value) pairs: `title_facts` under the title, `provenance_facts` below
    the answers.

    `history_series_keys`: keys of the series on the history page beside the published report; cells
    of these series link to that page.  If it is empty, there is no such page.
    """

    title: str
    title_facts: tuple[tuple[str, str], ...]
    notices: tuple[RichText, ...]
    sections: tuple[ReportSection, ...]
    history_series_keys: frozenset[str] = frozenset()
    provenance_facts: tuple[tuple[str, str], ...] = ()

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(figure for part in self.sections for figure in part.figures)

    def history_link(self, cell: Cell) -> str:
        """The link from a cell to all nights of its series, relative to the report; "" if none."""
        key = cell.linked_series_key
        return series_link(key) if key in self.history_series_keys else ""

    @cached_property
    def table_by_file_name(self) -> Mapping[str, Table]:
        return {
            f"{part.anchor}-{number}.csv": table
            for part in self.sections
            for number, table in enumerate(part.tables, 1)
        }

    def table_file_name(self, table: Table) -> str:
        """The file name of a table of this report."""
        return next(name for name, other in self.table_by_file_name.items() if other is table)

    @property
    def top_sections(self) -> tuple[ReportSection, ...]:
        """The sections with answers or tables at the top of the report."""
        return tuple(part for part in self.sections if part.answers or part.summary_tables)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(warning for part in self.sections for warning in part.warnings)


def make_answer(emphasised: str, plain: str, status_colour: StatusColour = "plain") -> Answer:
    """An answer that begins with an emphasised text."""
    return Answer((StrongText(emphasised), plain), status_colour)


def plain_text(text: RichText) -> str:
    """The text without emphasis, with its numbers as printed."""
    return "".join(
        part.text if isinstance(part, InlineCode | StrongText) else str(part) for part in text
    )


def text_cells(*texts: str) -> tuple[Cell, ...]:
    """A row of plain cells."""
    return tuple(Cell(text) for text in texts)


def text_items(*texts: str) -> BulletList:
    """A list of plain texts."""
    return BulletList(tuple((text,) for text in texts))


def fold_if_long(summary: str, table: Table) -> Block:
    """The table, in a fold if it has more than `_MAX_OPEN_ROWS` rows."""
    return table if len(table.rows) <= _MAX_OPEN_ROWS else CollapsibleBlocks(summary, (table,))


def count_cells(*counts: int) -> tuple[Cell, ...]:
    """A row of cells with counts."""
    return tuple(Cell(count(number)) for number in counts)


def text_columns(*names: str) -> tuple[Column, ...]:
    """Columns of text, aligned to the left."""
    return tuple(Column(name) for name in names)


def number_columns(*names: str) -> tuple[Column, ...]:
    """Columns of numbers, whose unit the numbers or their row print."""
    return tuple(Column(name, "right") for name in names)


def flatten_blocks(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """All blocks, folded ones included."""
    for block in blocks:
        yield block
        if isinstance(block, CollapsibleBlocks):
            yield from flatten_blocks(block.blocks)
