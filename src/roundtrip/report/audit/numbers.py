"""Numbers in the laid-out report: which cells are numbers, and which unit each of them has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from roundtrip.report.blocks import BY_ROW, COUNT, PURE, RATIO, Cell, Column, Table

#: Units that mean one thing: bytes or bits, powers of 2 or of 10.
UNITS = (
    *("s", "ms", "µs", "ns", "Hz", "kHz", "MHz", "GHz"),
    *("B", "bytes", "kB", "KiB", "MB", "MiB", "GB", "GiB"),
    *("kB/s", "KiB/s", "MB/s", "MiB/s", "GB/s", "GiB/s", "kbit/s", "Mbit/s", "Gbit/s"),
    *("Mop/s", "Mflop/s", "1/s", "messages/s", "%"),
)
_UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True))
_END = r"(?![\w/%])"
_BEGIN = r"(?<![\w/%])"
_NUMBER = r"-?\d+(?: \d{3})*(?:\.\d+)?"
_CELL = re.compile(
    rf"(?:about )?{_NUMBER}(?: (?P<unit>{_UNIT}){_END})?(?P<rest>$| \[| \(| to | at |; |: )"
)
#: ``Peak, MB/s``, ``Bandwidth (MB/s)``, ``Overhead (% of the round trip)``, ``Bytes``.
_NAMED = re.compile(rf"(?:^(?:million )?|, |\()(?P<unit>{_UNIT}){_END}", re.IGNORECASE)
#: Names of axes along which a number has no unit.
_PURE = re.compile(r"^(?:ratio|speed-up|ranks|efficiency)\b", re.IGNORECASE)
_SPACES = re.compile("[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]")


@dataclass(frozen=True)
class Number:
    """A cell that is a number; `unit` as its column or it says, "" if nothing does."""

    cell: Cell
    column: Column
    row: tuple[Cell, ...]
    unit: str


def plain(text: str) -> str:
    """With ordinary spaces."""
    return _SPACES.sub(" ", text)


def numbers(table: Table) -> Iterator[Number]:
    """Every number of a table."""
    for row in table.rows:
        for cell, column in zip(row, table.columns, strict=True):
            found = _CELL.match(plain(cell.text))
            if found:
                unit = cell.unit or column.unit or found["unit"] or named(column.name)
                yield Number(cell, column, row, unit)


def named(name: str) -> str:
    """The unit with which the name of a column or of an axis ends, "" if with none."""
    found = _NAMED.search(plain(name))
    return found["unit"] if found else ""


def is_pure(axis: str) -> bool:
    """Whether numbers along an axis of this name have no unit."""
    return bool(_PURE.match(axis))


def fault(number: Number, caption: str) -> str:
    """Why a reader cannot know the unit of a number for sure, "" if it can be known."""
    unit = number.unit
    if unit in (COUNT, RATIO, PURE):
        return ""
    texts = [plain(cell.text) for cell in number.row]
    if unit == BY_ROW:
        return "" if any(_ends(text) for text in texts if text) else "no unit in the row"
    if not unit:
        return "no unit"
    if unit not in UNITS and unit.lower() not in UNITS:
        return f"{unit!r} is no unit that means one thing"
    printed = [plain(number.column.name), plain(caption), *texts]
    return "" if any(prints(text, unit) for text in printed) else f"{unit} is not printed"


def prints(text: str, unit: str) -> bool:
    """Whether the text has the unit as a word of its own."""
    return bool(re.search(rf"{_BEGIN}{re.escape(unit)}{_END}", text, re.IGNORECASE))


def _ends(text: str) -> bool:
    return bool(re.search(rf", (?:{_UNIT})(?:,|$)", text))


def is_number(cell: Cell) -> bool:
    """Whether a cell is a number."""
    return bool(_CELL.match(plain(cell.text)))
