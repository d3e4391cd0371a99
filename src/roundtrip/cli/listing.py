"""Prints tables of commands: whole words on a terminal of any width, whole rows elsewhere."""

from __future__ import annotations

import os

from rich.console import Console
from rich.table import Table

#: Wider than any row.
_ANY_WIDTH = 100_000


def show(table: Table) -> None:
    """Print `table`, nothing of it cut off: folded to a terminal, else one line for each row."""
    for column in table.columns:
        column.overflow = "fold"
    console = Console(markup=False, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _ANY_WIDTH
    console.print(table)
