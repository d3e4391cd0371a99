"""Renders a report as one self-contained HTML file and as Markdown, and its tables as CSV.

A page has one script, allowed by its sha256, and loads nothing from a network.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from roundtrip import units
from roundtrip.content import series
from roundtrip.content.blocks import (
    Answer,
    Block,
    BulletList,
    Cell,
    CollapsibleBlocks,
    Gallery,
    Heading,
    InlineCode,
    Paragraph,
    Report,
    RichText,
    StrongText,
    Table,
    Verbatim,
)
from roundtrip.measure import manifest, store
from roundtrip.report import painter
from roundtrip.units import Quantity, Unit


def render_template(template: str, scripts: Sequence[str], **values: Any) -> str:
    """A page; `scripts`: files in templates/, joined in this order, without comments."""
    folder = resources.files("roundtrip.report") / "templates"
    texts = [(folder / name).read_text(encoding="utf-8") for name in scripts]
    lines = [
        line for text in texts for line in text.splitlines() if line.strip()[:2] not in ("", "//")
    ]
    script = "\n".join(['"use strict";', *lines, ""])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    markup = Markup(script)  # noqa: S704  ours, from files of the package
    page = _jinja_environment().get_template(template)
    return page.render(script=markup, digest=digest, **values)


@cache
def _jinja_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("roundtrip.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        inline=_html_text,
        kind=lambda block: type(block).__name__.lower(),
        drawings=painter.page_drawings,
        stems=painter.file_stems,
        values=painter.values_json,
    )
    return environment


#: A gallery of more figures shows the first ones and folds the others, with a lower limit at the
#: top of the report; longer tables are folded.
_FOLD_LIMITS = {"most_figures": 32, "first_figures": 12, "most_foremost": 4, "most_rows": 200}
_SAMPLES_FILE = store.bundle_file_path(manifest.table_file("samples"))
#: The files beside the page, and their content.
LISTED_FILES = (
    (store.SUMMARY_FILE, "the summary above"),
    (store.MARKDOWN_FILE, "this page as Markdown"),
    (store.bundle_file_path(manifest.table_file("medians")), "the median of each launch"),
    (_SAMPLES_FILE, "every timing"),
    (store.bundle_file_path(manifest.MANIFEST_FILE), "the files of the bundle with their digests"),
    (store.FACTS_FILE, "the digest of every file of this report"),
)
#: The most lines of text in a summary.
_MAX_SUMMARY_LINES = 10
#: The files of the page's script, in order.
REPORT_SCRIPTS = ("scales.js", "figure.js", "controls.js", "heat.js", "page.js")


def render_html(report: Report) -> str:
    """The report as one HTML page."""
    return render_template(
        "report.html.j2",
        REPORT_SCRIPTS,
        report=report,
        summary=render_summary(report),
        files=LISTED_FILES,
        samples_file=_SAMPLES_FILE,
        index=series.INDEX,
        history=series.HISTORY,
        **_FOLD_LIMITS,
    )


def _html_text(text: RichText) -> Markup:
    html = Markup("")
    for part in text:
        match part:
            case InlineCode(words):
                html += Markup("<code>{}</code>").format(words)
            case StrongText(words):
                html += Markup("<strong>{}</strong>").format(words)
            case _:
                html += str(part)
    return html


#: Characters that could begin a link, an image, HTML, emphasis, code, a cell, an entity or maths.
_SPECIAL_CHARACTER_PATTERN = re.compile(r"([\\`*_\[\]<>|~&$])")


def render_markdown(report: Report) -> str:
    """The report as a Markdown document that ends in a newline."""
    return "\n".join(_markdown_lines(report)).rstrip() + "\n"


def _markdown_lines(report: Report) -> Iterator[str]:
    yield from (f"# {escape_markdown(report.title)}", "")
    yield from _fact_lines(report.title_facts)
    for notice in report.notices:
        yield from (f"> {_markdown_text(notice)}", "")
    if report.top_sections:
        yield from ("## The answer", "")
    for part in report.top_sections:
        if part.answers:
            yield from (f"### {escape_markdown(part.question or part.title)}", "")
            yield from _answer_lines(part.answers)
    if report.provenance_facts:
        yield from ("### Tested and measured with", "")
        yield from _fact_lines(report.provenance_facts)
    for part in report.top_sections:
        picture = (part.answer_gallery,) if part.answer_gallery else ()
        if blocks := (*part.summary_tables, *picture):
            yield from (f"### {escape_markdown(part.title)}", "")
            yield from _markdown_blocks(blocks, report.history_link)
    for part in report.sections:
        yield from (f"## {escape_markdown(part.title)}", "")
        yield from _answer_lines(part.panel_answers)
        yield from _markdown_blocks((*part.verdict_tables, *part.blocks), report.history_link)


def _fact_lines(facts: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield from (f"- {escape_markdown(name)}: {escape_markdown(value)}" for name, value in facts)
    yield ""


def render_blocks_markdown(blocks: Sequence[Block]) -> Iterator[str]:
    """Markdown of blocks outside a report, such as a comment on a change; folds can be opened."""
    for block in blocks:
        if isinstance(block, CollapsibleBlocks):
            yield from (f"<details><summary>{Markup.escape(block.summary)}</summary>", "")
            yield from render_blocks_markdown(block.blocks)
            yield from ("</details>", "")
        else:
            yield from _markdown_block(block, lambda cell: "")


def render_summary(report: Report) -> str:
    """A Markdown summary for a pull request: title, facts, notices and answers."""
    facts = (*report.title_facts, *report.provenance_facts)
    fact_texts = (f"{escape_markdown(name)}: {escape_markdown(value)}" for name, value in facts)
    answers = [section.answers for section in report.top_sections if section.answers]
    lines = [
        f"**{escape_markdown(report.title)}**",
        f"- {'; '.join(fact_texts)}",
        *(f"- {_markdown_text(notice)}" for notice in report.notices),
        *(f"- {_markdown_text(group[0].text)}" for group in answers),
        *(f"- {_markdown_text(answer.text)}" for group in answers for answer in group[1:]),
    ]
    if len(lines) > _MAX_SUMMARY_LINES:
        rest = units.plural(len(lines) - _MAX_SUMMARY_LINES + 1, "more line")
        lines[_MAX_SUMMARY_LINES - 1 :] = [f"- {rest} in the report"]
    return "\n".join([lines[0], "", *lines[1:], ""])


def _answer_lines(answers: Sequence[Answer]) -> Iterator[str]:
    if answers:
        yield from (f"- {_markdown_text(answer.text)}" for answer in answers)
        yield ""


def _markdown_block(block: Block, link: Callable[[Cell], str]) -> Iterator[str]:
    match block:
        case Heading(level, text):
            yield from (f"{'#' * level} {escape_markdown(text)}", "")
        case Paragraph(text, is_note):
            yield from (f"{'> ' if is_note else ''}{_markdown_text(text)}", "")
        case BulletList(items):
            yield from (f"- {_markdown_text(item)}" for item in items)
            yield ""
        case Verbatim(text):
            ticks = max((len(run) for run in re.findall("`+", text)), default=0)
            fence = "`" * max(3, ticks + 1)
            yield from (f"{fence}text", text.rstrip("\n"), fence, "")
        case Table():
            yield from (f"*{escape_markdown(block.caption)}*", "")
            yield _row_markdown(escape_markdown(column.heading) for column in block.columns)
            rules = {"left": "---", "right": "---:"}
            yield _row_markdown(rules[column.align] for column in block.columns)
            for row in block.rows:
                yield _row_markdown(_cell_markdown(cell, link(cell)) for cell in row)
            yield ""
        case Gallery(caption, figures):
            for figure in figures:
                yield f"![{escape_markdown(figure.alt_text)}](figures/{figure.name}.svg)"
            yield from ("", f"*{_markdown_text(caption)}*", "")
        case CollapsibleBlocks(summary, blocks):
            yield from (f"**{escape_markdown(summary)}**", "")
            yield from _markdown_blocks(blocks, link)


def _markdown_blocks(blocks: Sequence[Block], link: Callable[[Cell], str]) -> Iterator[str]:
    for block in blocks:
        yield from _markdown_block(block, link)


def _cell_markdown(cell: Cell, target: str) -> str:
    text = escape_markdown(cell.text)
    return f"{f'[{text}]({target})' if target else text} {escape_markdown(cell.verdict)}".strip()


def _row_markdown(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_text(text: RichText) -> str:
    markdown = ""
    for part in text:
        match part:
            case InlineCode(words):
                markdown += f"`{words.replace('`', '')}`"
            case StrongText(words):
                blank = " " if words.endswith(" ") else ""
                markdown += f"**{escape_markdown(words.strip())}**{blank}"
            case _:
                markdown += escape_markdown(str(part))
    return markdown


def escape_markdown(text: str) -> str:
    """`text` on one line, with all special characters of Markdown and HTML escaped."""
    return _SPECIAL_CHARACTER_PATTERN.sub(r"\\\1", " ".join(text.splitlines()))


#: A spreadsheet interprets a text with such a beginning as a formula.
_FORMULA_STARTS = ("=", "+", "-", "@")


def render_csv(table: Table) -> str:
    """The table as CSV, without formulas; interval, unit and verdict of numbers have columns."""
    table_cells = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    columns: list[list[str]] = []
    for column, cells in zip(table.columns, table_cells, strict=True):
        columns += _csv_columns(column.heading, column.unit, cells)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(zip(*columns, strict=True))
    return out.getvalue()


def _csv_columns(heading: str, unit: str, cells: Sequence[Cell]) -> Iterator[list[str]]:
    """A column's values and, if any, unit, interval and verdict, each with its heading."""
    numbers: list[Quantity | None] = []
    for cell in cells:
        (first, *rest) = cell.content_tuple or ("",)
        numbers.append(first if isinstance(first, Quantity) and not rest else None)
    quantities = [number for number in numbers if number]
    texts = [
        _csv_number(number.value) if number else _csv_text(cell.text)
        for cell, number in zip(cells, numbers, strict=True)
    ]
    yield [_csv_text(heading), *texts]
    has_units = any(each.prints_unit or each.unit == Unit.BYTE_SIZE for each in quantities)
    if has_units and not unit:
        names = dict.fromkeys(units.UNPRINTED_UNITS, "") | {Unit.BYTE_SIZE: Unit.BYTES}
        number_units = (number.unit if number else "" for number in numbers)
        yield [f"{heading}: unit", *(names.get(name, name) for name in number_units)]
    if any(number.n is not None for number in quantities):
        for name in ("low", "high", "n"):
            ends = (getattr(number, name, None) for number in numbers)
            yield [f"{heading}: {name}", *("" if end is None else _csv_number(end) for end in ends)]
    if any(cell.verdict for cell in cells):
        yield [f"{heading}: verdict", *(_csv_text(cell.verdict) for cell in cells)]


def _csv_number(value: float) -> str:
    """A whole number unchanged, others with six digits, which are equal on all processors."""
    return str(int(value)) if float(value).is_integer() else repr(float(f"{value:.6g}"))


def _csv_text(text: str) -> str:
    text = units.printable(text)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
