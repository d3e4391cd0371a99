"""A comparison in Markdown, fit for a comment on a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from roundtrip.compare import words
from roundtrip.compare.model import Comparison, Status
from roundtrip.report import units

_MARKED = re.compile(r"([\\`*_{}\[\]()#+!|~])")


def render(comparison: Comparison, everything: bool = False) -> str:
    """A summary, what regressed, and the rest folded; `everything`: facts that are alike too."""
    return "\n".join(_lines(comparison, everything)) + "\n"


def _lines(comparison: Comparison, everything: bool) -> Iterator[str]:
    yield f"**{_text(words.summary(comparison))}**"
    yield ""
    for label, side in (("base", comparison.base), ("new", comparison.new)):
        yield f"- {label}: {_text(words.side(side))}"
    yield ""
    regressed = [words.cells(row) for row in comparison.rows if row.status is Status.REGRESSED]
    if regressed:
        yield from (*_table(words.HEADS, regressed), "")
    facts = words.shown(comparison, everything)
    if facts:
        rows = ((fact.name, fact.base, fact.new) for fact in facts)
        title = f"Provenance: {units.plural(len(facts), 'fact')}"
        yield from _folded(title, _table(("Fact", "Base", "New"), rows))
    if comparison.rows:
        yield from _folded("All series", _table(words.HEADS, map(words.cells, comparison.rows)))
    if alone := list(words.alone(comparison)):
        yield from _folded("Cases of one side alone", [f"- {_text(told)}" for told in alone])
    for note in words.notes(comparison):
        yield f"{_text(note)}"
        yield ""


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = list(heads)
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return lines + [f"| {' | '.join(map(_text, row))} |" for row in rows]


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"<details><summary>{_text(title)}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"
    yield ""


def _text(text: str) -> str:
    """One line in which nothing is HTML or Markdown."""
    return _MARKED.sub(r"\\\1", html.escape(words.printable(text), quote=False))
