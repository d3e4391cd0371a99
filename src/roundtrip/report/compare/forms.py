"""A comparison for a terminal, as JSON, as Markdown, and as JUnit XML."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any
from xml.etree import ElementTree

import rich.table
from rich.console import Console
from rich.text import Text as Line

from roundtrip import output, units
from roundtrip.content.blocks import (
    Block,
    BulletList,
    Cell,
    CollapsibleBlocks,
    Column,
    Paragraph,
    StrongText,
    Table,
    text_cells,
    text_columns,
    text_items,
)
from roundtrip.report.compare import model
from roundtrip.report.compare.model import Comparison, Row, Status
from roundtrip.report.compare.side import Fact, Side, SideCase
from roundtrip.units import printable

#: Columns of a table in a file or a pipe; below `_MIN_WIDE_WIDTH` columns, the narrow table is
#: printed.
_TEXT_WIDTH, _MIN_WIDE_WIDTH = 160, 120
_STYLES = {"good": "green", "bad": "red"}
#: Number of differing facts that are shown; `--all` shows every one.
_MAX_FACTS = 3


def as_text(comparison: Comparison, all_facts: bool = False, console: Console | None = None) -> str:
    """The comparison as text; `all_facts`: include facts that do not differ.

    `console`: its width (of a pipe only if COLUMNS is set, else `_TEXT_WIDTH`) and its colours.
    """
    is_terminal = bool(console and console.is_terminal)
    has_width = is_terminal or "COLUMNS" in os.environ
    page = Console(
        width=console.width if console and has_width else _TEXT_WIDTH,
        force_terminal=is_terminal,
        color_system="auto" if is_terminal else None,
        markup=False,
        highlight=False,
    )
    with page.capture() as capture:
        for label, side in (("base", comparison.base), ("new ", comparison.new)):
            _print_line(page, f"{label} {model.describe_side(side, all_facts)}")
        _print_facts(page, comparison, all_facts)
        cases = list(dict.fromkeys(model.describe_case(row) for row in comparison.rows))
        if cases:
            if page.width >= _MIN_WIDE_WIDTH:
                page.print(_terminal_table(_wide_table(comparison.rows, cases)))
            else:
                page.print(_terminal_table(_narrow_table(comparison.rows, cases), is_plain=True))
        for number, case in enumerate(cases, 1):
            _print_line(page, f"Case {number}: {case}")
        for line in (*model.unmatched_cases(comparison), *model.notes(comparison)):
            text, found, rest = line.partition(": roundtrip ")
            _print_line(page, f"{text}:" if found else text)
            if found:
                _print_line(page, f"  roundtrip {rest}", is_pasted=True)
        _print_line(page, model.summary(comparison), is_pasted=True)
    return capture.get()


def _print_line(page: Console, text: str, is_pasted: bool = False) -> None:
    """Print `text` in lines of the page's width, or in one line if people paste it."""
    page.print(Line(printable(text)), soft_wrap=is_pasted)


def _print_facts(page: Console, comparison: Comparison, all_facts: bool) -> None:
    facts = model.facts_to_show(comparison, all_facts)
    if not facts:
        _print_line(page, "Provenance: all recorded facts are the same.")
        return
    visible_facts = facts if all_facts else [fact.brief for fact in facts[:_MAX_FACTS]]
    title = "All that is recorded" if all_facts else "What differs besides speed"
    page.print(_terminal_table(_fact_table(title, visible_facts, " =")))
    if more := len(facts) - len(visible_facts):
        _print_line(page, f"and {units.plural(more, 'other')}; --all shows every fact")


def _terminal_table(block: Table, is_plain: bool = False) -> rich.table.Table:
    """The table under its caption, without a frame if `is_plain`; numbers are never folded."""
    frame = {"box": None, "pad_edge": False} if is_plain else {}
    grid = rich.table.Table(title=Line(printable(block.caption)), title_justify="left", **frame)  # type: ignore[arg-type]
    for column in block.columns:
        is_number = column.align == "right"
        heading = Line(printable(column.heading))
        grid.add_column(heading, justify=column.align, no_wrap=is_number, overflow="fold")
    for row in block.rows:
        grid.add_row(
            *(Line(printable(cell.text), _STYLES.get(cell.status_colour, "")) for cell in row)
        )
    return grid


def _fact_table(title: str, facts: Sequence[Fact], same: str = "") -> Table:
    """A table of `facts`; `same` follows the name of a fact that does not differ."""
    rows = ((fact.name + ("" if fact.differs else same), fact.base, fact.new) for fact in facts)
    columns = text_columns("Fact", "Base", "New")
    return Table(title, columns, tuple(text_cells(*row) for row in rows))


def _wide_table(rows: Sequence[Row], cases: list[str]) -> Table:
    """All cells of each series, with the number of the case in place of its name."""
    table_rows = []
    for row in rows:
        series, _, *numbers = model.cells(row)
        case = Cell(units.count(1 + cases.index(model.describe_case(row))))
        table_rows.append((series, case, *numbers))
    columns = (model.COLUMNS[0], Column(model.COLUMNS[1].name, "right"), *model.COLUMNS[2:])
    return Table("Speed", columns, tuple(table_rows))


def _narrow_table(rows: Sequence[Row], cases: list[str]) -> Table:
    """Verdict, ratio with interval, the whole name of each series, and what an open one lacks."""
    table_rows = []
    for row in rows:
        number = f"; case {1 + cases.index(model.describe_case(row))}" if len(cases) > 1 else ""
        *_, ratio, _, _, outcome = model.cells(row)
        doubt = f": {text}" if (text := model.describe_doubt(row)) else ""
        name = Cell(f"{model.describe_series(row)}{number}{doubt}")
        table_rows.append((replace(outcome, content=str(row.status)), ratio, name))
    columns = (Column("Verdict"), Column("Ratio", "right"), Column("Series"))
    return Table("Speed, new over base", columns, tuple(table_rows))


def as_json(comparison: Comparison, all_facts: bool = False) -> str:
    """The comparison as a JSON object; `all_facts`: include facts that do not differ."""
    levels: dict[str, Any] = dict(comparison.levels)
    for study, margin in levels.pop("equivalence_margins"):
        levels[f"equivalence_margins.{study}"] = margin
    content = {
        "summary": model.summary(comparison),
        "exit_status": comparison.exit_status,
        "base": _json_side(comparison.base),
        "new": _json_side(comparison.new),
        "levels": levels,
        "sequential": comparison.is_sequential,
        "provenance": [asdict(fact) for fact in model.facts_to_show(comparison, all_facts)],
        "series": [_json_row(row) for row in comparison.rows],
        "removed": [_json_case(case) for case in comparison.removed],
        "added": [_json_case(case) for case in comparison.added],
        "refused": list(comparison.refusals),
        "notes": list(model.notes(comparison)),
    }
    return output.json_text(output.Comparison, content) + "\n"


def _json_side(side: Side) -> dict[str, Any]:
    manifest = side.data.manifest
    origin = {key: manifest.data[key] for key in ("campaign", "site", "started")}
    return {"name": side.name, **origin, "digest": manifest.digest, "chosen": dict(side.selection)}


def _json_row(row: Row) -> dict[str, Any]:
    point, verdict, missing = row.series.point, row.verdict, row.ratios_missing
    base, new = row.quantities
    p_values = {"p": verdict.p, "q": verdict.q} if verdict else {}
    return {
        "what": point.what,
        "size_bytes": point.size_bytes,
        "unit": point.unit,
        "base": {**_json_case(row.series.base), **base.to_json_object()},
        "new": {**_json_case(row.series.new), **new.to_json_object()},
        "status": str(row.status),
        "ratio": {**row.ratio_quantity.to_json_object(), **p_values},
        "why": row.why,
        "more_rounds": None if missing is None else row.rounds_per_ratio * missing,
    }


def _json_case(case: SideCase) -> dict[str, str]:
    names = ("study", "check", "parameters", "kind", "site", "partition", "toolchain")
    return {name: getattr(case, name) for name in names}


def as_markdown(comparison: Comparison, all_facts: bool = False) -> str:
    """A summary, regressed series, and the rest folded; `all_facts`: not only differing facts."""
    from roundtrip.report import renderers  # loads the template library

    lines = renderers.render_blocks_markdown(tuple(_markdown_blocks(comparison, all_facts)))
    return "\n".join(map(printable, lines)) + "\n"


def _markdown_blocks(comparison: Comparison, all_facts: bool) -> Iterator[Block]:
    yield Paragraph((StrongText(model.summary(comparison)),))
    base, new = (model.describe_side(s, all_facts) for s in (comparison.base, comparison.new))
    yield text_items(f"base: {base}", f"new: {new}")
    if regressions := [row for row in comparison.rows if row.status is Status.REGRESSED]:
        yield _series_table("Regressed", regressions)
    if facts := model.facts_to_show(comparison, all_facts):
        title = f"Provenance: {units.plural(len(facts), 'fact')}"
        yield CollapsibleBlocks(title, (_fact_table("Recorded of both", facts),))
    if comparison.rows:
        yield CollapsibleBlocks("All series", (_series_table("New against base", comparison.rows),))
    if unmatched_cases := tuple((case,) for case in model.unmatched_cases(comparison)):
        yield CollapsibleBlocks("Cases of one side alone", (BulletList(unmatched_cases),))
    for note in model.notes(comparison):
        yield Paragraph((note,))


def _series_table(title: str, rows: Sequence[Row]) -> Table:
    return Table(title, model.COLUMNS, tuple(map(model.cells, rows)))


def as_junit(comparison: Comparison, all_facts: bool = False) -> str:
    """JUnit XML: regressed series and lost cases fail; others without a verdict are skipped.

    Facts that differ are properties; `all_facts`: all facts.
    """
    name = printable(f"{comparison.new.name} against {comparison.base.name}")
    suite = ElementTree.Element("testsuite", name=name)
    if facts := model.facts_to_show(comparison, all_facts):
        properties = ElementTree.SubElement(suite, "properties")
        for fact in facts:
            change = printable(f"{fact.base} -> {fact.new}")
            ElementTree.SubElement(properties, "property", name=printable(fact.name), value=change)
    for row in comparison.rows:
        *_, ratio, _, count, outcome = (cell.text for cell in model.cells(row))
        result = row.status.junit_element
        message = f"{outcome}: new / base {ratio}, {count}"
        if result == "skipped" and row.why:
            message += f"; {row.why}"
        names = model.describe_case(row), model.describe_series(row)
        _junit_case(suite, names, result, message, str(row.status))
    for group, cases in (("removed", comparison.removed), ("added", comparison.added)):
        for case in cases:
            result = "failure" if case in comparison.lost else "skipped"
            _junit_case(suite, (group, case.label), result, f"{group}: it has no partner", group)
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ElementTree.SubElement(suite, "system-out").text = printable(
        "\n".join([model.summary(comparison), *model.notes(comparison)])
    )
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _junit_case(
    suite: ElementTree.Element, names: tuple[str, str], result: str, message: str, kind: str
) -> None:
    """Add a case with `names` (class, name) and one element `result`, of a `kind` if it failed."""
    classname, name = map(printable, names)
    case = ElementTree.SubElement(suite, "testcase", classname=classname, name=name)
    element = ElementTree.SubElement(case, result)
    if result == "system-out":
        element.text = printable(message)
        return
    element.set("message", printable(message))
    if result == "failure":
        element.set("type", kind)
