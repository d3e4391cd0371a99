"""A comparison for a terminal, as JSON, as Markdown, and as JUnit XML."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table
from rich.text import Text

from roundtrip.compare import model
from roundtrip.compare.model import Comparison, Row, Status, printable
from roundtrip.compare.side import Side, Unit
from roundtrip.report import units
from roundtrip.stats.summaries import Interval

_SKIPPED = (Status.CANNOT_TELL, Status.NO_CLAIM)
#: What Markdown reads as markup.
_MARKED = re.compile(r"([\\`*_{}\[\]()#+!|~])")
_STYLES = {Status.REGRESSED: "red", Status.IMPROVED: "green"}
#: Columns of a table in a file or a pipe; in fewer than `_WIDE`, rows have what decides alone.
_WIDTH, _WIDE = 160, 120
#: So many facts that differ are shown; `--all` shows every one.
_FACTS = 3


def as_text(
    comparison: Comparison, everything: bool = False, console: Console | None = None
) -> str:
    """The text of the comparison; `everything`: facts that do not differ too.

    `console` says how wide it is and whether there are colours; by default neither.  Where it is no
    terminal, the variable COLUMNS says how wide.
    """
    is_terminal = bool(console and console.is_terminal)
    has_width = is_terminal or "COLUMNS" in os.environ
    page = Console(
        width=console.width if console and has_width else _WIDTH,
        force_terminal=is_terminal,
        color_system="auto" if is_terminal else None,
        markup=False,
        highlight=False,
    )
    with page.capture() as capture:
        for label, side in (("base", comparison.base), ("new ", comparison.new)):
            page.print(_plain(f"{label} {model.describe_side(side)}"), soft_wrap=True)
        for block in _text_facts(comparison, everything):
            page.print(block)
        lines = [*model.unmatched(comparison), *model.notes(comparison), model.summary(comparison)]
        if comparison.rows:
            cases = list(dict.fromkeys(model.describe_case(row) for row in comparison.rows))
            form = _text_rows if page.width >= _WIDE else _narrow_rows
            page.print(form(comparison, cases))
            lines = [f"Case {number}: {case}" for number, case in enumerate(cases, 1)] + lines
        for line in lines:
            page.print(_plain(line), soft_wrap=True)
    return capture.get()


def _text_facts(comparison: Comparison, everything: bool) -> Iterator[Table | Text]:
    facts = model.facts_to_show(comparison, everything)
    if not facts:
        yield Text("Provenance: everything that is recorded is the same.")
        return
    title = "All that is recorded" if everything else "What differs besides speed"
    shown = facts if everything else facts[:_FACTS]
    table = Table(title=title, title_justify="left")
    for name in ("Fact", "Base", "New"):
        table.add_column(name, overflow="fold")
    for fact in shown:
        name = fact.name + ("" if fact.differs else " =")
        table.add_row(*map(_plain, (name, fact.base, fact.new)))
    yield table
    if more := len(facts) - len(shown):
        yield Text(f"and {units.plural(more, 'other')}; --all shows every fact")


def _text_rows(comparison: Comparison, cases: list[str]) -> Table:
    table = Table(title="Speed", title_justify="left")
    for name in model.HEADS:
        is_number = name not in (model.HEADS[0], model.HEADS[-1])
        table.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    for row in comparison.rows:
        what, _, *numbers, outcome = model.cells(row)
        number = str(1 + cases.index(model.describe_case(row)))
        style = _STYLES.get(row.status, "")
        table.add_row(*map(_plain, (what, number, *numbers)), Text(_plain(outcome).plain, style))
    return table


def _narrow_rows(comparison: Comparison, cases: list[str]) -> Table:
    """Verdict, ratio with interval, and the whole name of each series."""
    table = Table(title="Speed, new over base", title_justify="left", box=None, pad_edge=False)
    for name in ("Verdict", "Ratio", "Series"):
        table.add_column(name, no_wrap=name != "Series", overflow="fold")
    for row in comparison.rows:
        what, _, _, _, ratio, *_ = model.cells(row)
        number = f"; case {1 + cases.index(model.describe_case(row))}" if len(cases) > 1 else ""
        verdict = Text(str(row.status), _STYLES.get(row.status, ""))
        table.add_row(verdict, _plain(ratio), _plain(f"{what}{number}"))
    return table


def _plain(text: str) -> Text:
    """Text in which nothing is markup and nothing moves the cursor."""
    return Text(model.printable(text))


def as_json(comparison: Comparison, everything: bool = False) -> str:
    """All of it as one object; `everything`: facts that do not differ too."""
    content = {
        "schema": 1,
        "summary": model.summary(comparison),
        "exit_status": comparison.exit_status,
        "base": _json_side(comparison.base),
        "new": _json_side(comparison.new),
        "levels": dict(comparison.levels),
        "sequential": comparison.is_sequential,
        "provenance": [asdict(fact) for fact in model.facts_to_show(comparison, everything)],
        "series": [_json_row(row) for row in comparison.rows],
        "removed": [_json_unit(unit) for unit in comparison.removed],
        "added": [_json_unit(unit) for unit in comparison.added],
        "refused": list(comparison.refused),
        "notes": list(model.notes(comparison)),
    }
    return json.dumps(content, indent=1) + "\n"


def _json_side(side: Side) -> dict[str, Any]:
    facts = side.data.manifest
    known = {key: facts.data[key] for key in ("campaign", "site", "started")}
    return {"name": side.name, **known, "digest": facts.digest, "chosen": dict(side.chosen)}


def _json_row(row: Row) -> dict[str, Any]:
    point, judged = row.series.point, row.judged
    return {
        "what": point.what,
        "size_bytes": point.size_bytes,
        "unit": point.unit,
        "base": {**_json_unit(row.series.base), **_json_interval(row.base)},
        "new": {**_json_unit(row.series.new), **_json_interval(row.new)},
        "status": str(row.status),
        "ratio": {**_json_interval(judged.interval), "p": judged.p, "q": judged.q}
        if judged
        else {"median": row.ratio},
        "why": row.why,
        "more_rounds": None if row.more is None else row.each * row.more,
    }


def _json_unit(unit: Unit) -> dict[str, str]:
    names = ("study", "check", "parameters", "kind", "site", "partition", "toolchain")
    return {name: getattr(unit, name) for name in names}


def _json_interval(interval: Interval) -> dict[str, float | int | None]:
    return {name: getattr(interval, name) for name in ("median", "low", "high", "n")}


def as_markdown(comparison: Comparison, everything: bool = False) -> str:
    """A summary, what regressed, and the rest folded; `everything`: facts that are alike too."""
    return "\n".join(_markdown_lines(comparison, everything)) + "\n"


def _markdown_lines(comparison: Comparison, everything: bool) -> Iterator[str]:
    yield f"**{_escape(model.summary(comparison))}**"
    yield ""
    for label, side in (("base", comparison.base), ("new", comparison.new)):
        yield f"- {label}: {_escape(model.describe_side(side))}"
    yield ""
    regressed = [model.cells(row) for row in comparison.rows if row.status is Status.REGRESSED]
    if regressed:
        yield from (*_markdown_table(model.HEADS, regressed), "")
    facts = model.facts_to_show(comparison, everything)
    if facts:
        rows = ((fact.name, fact.base, fact.new) for fact in facts)
        title = f"Provenance: {units.plural(len(facts), 'fact')}"
        yield from _folded(title, _markdown_table(("Fact", "Base", "New"), rows))
    if comparison.rows:
        yield from _folded(
            "All series", _markdown_table(model.HEADS, map(model.cells, comparison.rows))
        )
    if alone := list(model.unmatched(comparison)):
        yield from _folded("Cases of one side alone", [f"- {_escape(case)}" for case in alone])
    for note in model.notes(comparison):
        yield f"{_escape(note)}"
        yield ""


def _markdown_table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = list(heads)
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return lines + [f"| {' | '.join(map(_escape, row))} |" for row in rows]


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"<details><summary>{_escape(title)}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"
    yield ""


def _escape(text: str) -> str:
    """One line in which nothing is HTML or Markdown."""
    return _MARKED.sub(r"\\\1", html.escape(model.printable(text), quote=False))


def as_junit(comparison: Comparison, everything: bool = False) -> str:
    """Regressed series failed; what cannot be told, and cases of one side alone, were skipped.

    Facts that differ are properties; `everything`: all facts.
    """
    alone = [*comparison.removed, *comparison.added]
    skipped = sum(comparison.counts[one] for one in _SKIPPED) + len(alone)
    suite = ElementTree.Element(
        "testsuite",
        name=printable(f"{comparison.new.name} against {comparison.base.name}"),
        tests=str(len(comparison.rows) + len(alone)),
        failures=str(comparison.counts[Status.REGRESSED]),
        errors="0",
        skipped=str(skipped),
    )
    facts = model.facts_to_show(comparison, everything)
    if facts:
        properties = ElementTree.SubElement(suite, "properties")
        for fact in facts:
            change = printable(f"{fact.base} -> {fact.new}")
            ElementTree.SubElement(properties, "property", name=printable(fact.name), value=change)
    for row in comparison.rows:
        _junit_case(suite, row)
    for what, cases in (("removed", comparison.removed), ("added", comparison.added)):
        for unit in cases:
            case = ElementTree.SubElement(
                suite, "testcase", classname=what, name=printable(unit.label)
            )
            ElementTree.SubElement(case, "skipped", message=f"{what}: it has no partner")
    ElementTree.SubElement(suite, "system-out").text = printable(
        "\n".join([model.summary(comparison), *model.notes(comparison)])
    )
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _junit_case(suite: ElementTree.Element, row: Row) -> None:
    names = {
        "classname": printable(model.describe_case(row)),
        "name": printable(model.describe_series(row)),
    }
    case = ElementTree.SubElement(suite, "testcase", names)
    *_, ratio, _, count, outcome = model.cells(row)
    message = printable(f"{outcome}: new / base {ratio}, {count}")
    if row.status is Status.REGRESSED:
        ElementTree.SubElement(case, "failure", message=message, type=str(row.status))
    elif row.status in _SKIPPED:
        why = f"; {row.why}" if row.why else ""
        ElementTree.SubElement(case, "skipped", message=message + printable(why))
    else:
        ElementTree.SubElement(case, "system-out").text = message
