"""Tables as CSV, for a spreadsheet or a program, and for a terminal.

They contain no formulas, markup or control characters.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

import rich.table
from rich.text import Text

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Table, Tone
from roundtrip.report.units import Quantity

#: A spreadsheet interprets a text with such a beginning as a formula.
_FORMULA_STARTS = ("=", "+", "-", "@")
_STYLE_BY_TONE: Mapping[Tone, str] = {"good": "green", "bad": "red"}


def csv_text(table: Table) -> str:
    """The table as CSV: numbers, with interval, unit and verdict in columns of their own.

    A cell that is not a single number is written as text.
    """
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    parts = [
        _csv_columns(column.heading, column.unit, cells)
        for column, cells in zip(table.columns, columns, strict=True)
    ]
    out = io.StringIO()
    rows = zip(*(values for part in parts for values in part), strict=True)
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _csv_columns(heading: str, unit: str, cells: Sequence[Cell]) -> Iterator[list[str]]:
    """The CSV columns of one column of a table, each with its heading first."""
    numbers = [_single_quantity(cell) for cell in cells]
    quantities = [number for number in numbers if number]
    yield [
        _csv_safe_text(heading),
        *(
            _number_text(number.value) if number else _csv_safe_text(cell.text)
            for cell, number in zip(cells, numbers, strict=True)
        ),
    ]
    if not unit and any(
        number.says_unit or number.unit == units.Unit.SIZE for number in quantities
    ):
        yield [f"{heading}: unit", *(_unit(number) if number else "" for number in numbers)]
    if any(number.n is not None for number in quantities):
        for name in ("low", "high", "n"):
            ends = [getattr(number, name) if number else None for number in numbers]
            yield [
                f"{heading}: {name}",
                *("" if end is None else _number_text(end) for end in ends),
            ]
    if any(cell.verdict for cell in cells):
        yield [f"{heading}: verdict", *(_csv_safe_text(cell.verdict) for cell in cells)]


def _single_quantity(cell: Cell) -> Quantity | None:
    """The number of a cell that consists of a single number; None for other cells."""
    (first, *rest) = cell.parts or ("",)
    return first if isinstance(first, Quantity) and not rest else None


def _number_text(value: float) -> str:
    """A whole number unchanged, others with six digits, which are equal on all processors."""
    return str(int(value)) if float(value).is_integer() else repr(float(f"{value:.6g}"))


def _unit(quantity: Quantity) -> str:
    """The unit of the value itself: bytes for a size, none for a fraction."""
    if quantity.unit == units.Unit.SIZE:
        return units.Unit.BYTES
    return "" if quantity.unit in units.UNPRINTED_UNITS else quantity.unit


def _csv_safe_text(words: str) -> str:
    text = units.printable(words)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def terminal_table(block: Table, is_plain: bool = False) -> rich.table.Table:
    """The table under its caption; numbers are never folded.  `is_plain`: without a frame."""

    def words(text: str, style: str = "") -> Text:
        return Text(units.printable(text), style)

    frame = {"box": None, "pad_edge": False} if is_plain else {}
    grid = rich.table.Table(title=words(block.caption), title_justify="left", **frame)  # type: ignore[arg-type]
    for column in block.columns:
        is_number = column.align == "right"
        heading = words(column.heading)
        grid.add_column(heading, justify=column.align, no_wrap=is_number, overflow="fold")
    for row in block.rows:
        grid.add_row(*(words(cell.text, _STYLE_BY_TONE.get(cell.tone, "")) for cell in row))
    return grid
