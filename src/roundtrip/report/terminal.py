"""Tables of blocks for a terminal: nothing in them is markup or moves the cursor."""

from __future__ import annotations

from collections.abc import Mapping

import rich.table
from rich.text import Text

from roundtrip.report.blocks import Table, Tone
from roundtrip.report.units import printable

_STYLES: Mapping[Tone, str] = {"good": "green", "bad": "red"}


def table(block: Table, is_plain: bool = False) -> rich.table.Table:
    """The table under its caption; numbers are never folded.  `is_plain`: without a frame."""
    title = _text(block.caption)
    frame = {"box": None, "pad_edge": False} if is_plain else {}
    drawn = rich.table.Table(title=title, title_justify="left", **frame)  # type: ignore[arg-type]
    for column in block.columns:
        is_number = column.align == "right"
        drawn.add_column(
            _text(column.heading),
            justify=column.align,
            no_wrap=is_number,
            overflow="fold",
        )
    for row in block.rows:
        drawn.add_row(*(_text(cell.text, _STYLES.get(cell.tone, "")) for cell in row))
    return drawn


def _text(words: str, style: str = "") -> Text:
    return Text(printable(words), style)
