"""Draws a report as Markdown: the same blocks as the HTML page, for diffs and terminals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from roundtrip.report.blocks import (
    Answer,
    Block,
    Cell,
    Code,
    Fold,
    Gallery,
    Heading,
    Inline,
    Items,
    Paragraph,
    Report,
    Strong,
    Table,
    Text,
    Verbatim,
)

#: Characters that could begin a link, an image, HTML, emphasis, code, a cell, an entity or maths.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")

#: Where a cell leads to, "" if to nothing.
Link = Callable[[Cell], str]


def render(report: Report) -> str:
    """The whole document, ending in a newline."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from (f"# {escape(report.title)}", "")
    yield from (f"- {escape(name)}: {escape(value)}" for name, value in report.facts)
    yield ""
    for notice in report.notices:
        yield from (f"> {_text(notice)}", "")
    if report.asked:
        yield from ("## The answer", "")
    for part in report.asked:
        yield from (f"### {escape(part.question or part.title)}", "")
        yield from _answers(part.answers)
        for table in part.summary:
            yield from _table(table, report.link)
    for part in report.parts:
        yield from (f"## {escape(part.title)}", "")
        yield from _answers(part.each)
        for table in part.verdicts:
            yield from _table(table, report.link)
        for block in part.blocks:
            yield from _block(block, report.link)


def _answers(answers: Sequence[Answer]) -> Iterator[str]:
    if answers:
        yield from (f"- {_text(answer.text)}" for answer in answers)
        yield ""


def _block(block: Block, link: Link) -> Iterator[str]:
    match block:
        case Heading(level, text):
            yield from (f"{'#' * level} {escape(text)}", "")
        case Paragraph(text, is_note):
            yield from (f"{'> ' if is_note else ''}{_text(text)}", "")
        case Items(items):
            yield from (f"- {_text(item)}" for item in items)
            yield ""
        case Verbatim(text):
            yield from _verbatim(text)
        case Table():
            yield from _table(block, link)
        case Gallery(caption, figures):
            for figure in figures:
                yield f"![{escape(figure.alt)}](figures/{figure.name}.svg)"
            yield from ("", f"*{_text(caption)}*", "")
        case Fold(summary, blocks):
            yield from (f"**{escape(summary)}**", "")
            for inner in blocks:
                yield from _block(inner, link)


def _table(table: Table, link: Link) -> Iterator[str]:
    yield from (f"*{escape(table.caption)}*", "")
    yield _row(escape(column.heading) for column in table.columns)
    yield _row("---:" if column.align == "right" else "---" for column in table.columns)
    for row in table.rows:
        yield _row(_cell(cell, link(cell)) for cell in row)
    yield ""


def _cell(cell: Cell, target: str) -> str:
    text = escape(cell.text)
    return f"{f'[{text}]({target})' if target else text} {escape(cell.verdict)}".strip()


def _row(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _verbatim(text: str) -> Iterator[str]:
    ticks = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, ticks + 1)
    yield from (f"{fence}text", text.rstrip("\n"), fence, "")


def _text(text: Text) -> str:
    return "".join(_inline(part) for part in text)


def _inline(part: Inline) -> str:
    match part:
        case Code(text):
            return f"`{text.replace('`', '')}`"
        case Strong(text):
            return f"**{escape(text.strip())}**{' ' if text.endswith(' ') else ''}"
        case _:
            return escape(str(part))


def escape(text: str) -> str:
    """`text` on one line, with every character escaped that Markdown or HTML would interpret."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.splitlines()))
