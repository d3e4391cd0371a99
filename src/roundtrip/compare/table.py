"""A comparison for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from roundtrip.compare import words
from roundtrip.compare.model import Comparison, Status

_STYLES = {Status.REGRESSED: "red", Status.IMPROVED: "green"}
#: Columns of a table in a file or a pipe.
_WIDTH = 160


def render(comparison: Comparison, everything: bool = False, console: Console | None = None) -> str:
    """The text of the comparison; `everything`: facts that do not differ too.

    `console` says how wide it is and whether there are colours; by default neither.
    """
    is_terminal = bool(console and console.is_terminal)
    told = Console(
        width=console.width if console and is_terminal else _WIDTH,
        force_terminal=is_terminal,
        color_system="auto" if is_terminal else None,
        markup=False,
        highlight=False,
    )
    with told.capture() as capture:
        for label, side in (("base", comparison.base), ("new ", comparison.new)):
            told.print(_plain(f"{label} {words.side(side)}"), soft_wrap=True)
        told.print(_provenance(comparison, everything))
        if comparison.rows:
            cases = list(dict.fromkeys(words.case(row) for row in comparison.rows))
            told.print(_rows(comparison, cases))
            for number, case in enumerate(cases, 1):
                told.print(_plain(f"Case {number}: {case}"), soft_wrap=True)
        for note in words.alone(comparison):
            told.print(_plain(note), soft_wrap=True)
        for note in words.notes(comparison):
            told.print(_plain(note), soft_wrap=True)
        told.print(_plain(words.summary(comparison)), soft_wrap=True)
    return capture.get()


def _provenance(comparison: Comparison, everything: bool) -> Table | Text:
    facts = words.shown(comparison, everything)
    if not facts:
        return Text("Provenance: everything that is recorded is the same.")
    rows = ((fact.name + ("" if fact.differs else " ="), fact.base, fact.new) for fact in facts)
    title = "All that is recorded" if everything else "What differs besides speed"
    table = Table(title=title, title_justify="left")
    for name in ("Fact", "Base", "New"):
        table.add_column(name, overflow="fold")
    return _filled(table, rows)


def _rows(comparison: Comparison, cases: list[str]) -> Table:
    table = Table(title="Speed", title_justify="left")
    heads = list(words.HEADS)
    for name in heads:
        is_number = name not in (heads[0], heads[-1])
        table.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    for row in comparison.rows:
        what, _, *numbers, outcome = words.cells(row)
        number = str(1 + cases.index(words.case(row)))
        style = _STYLES.get(row.status, "")
        table.add_row(*map(_plain, (what, number, *numbers)), Text(_plain(outcome).plain, style))
    return table


def _filled(table: Table, rows: Iterable[Iterable[str]]) -> Table:
    for row in rows:
        table.add_row(*map(_plain, row))
    return table


def _plain(text: str) -> Text:
    """Text in which nothing is markup and nothing moves the cursor."""
    return Text(words.printable(text))
