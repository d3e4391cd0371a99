"""A comparison as JUnit XML, which systems of continuous integration read: a test case a series."""

from __future__ import annotations

from xml.etree import ElementTree

from roundtrip.compare import words
from roundtrip.compare.model import Comparison, Row, Status
from roundtrip.compare.side import Unit
from roundtrip.compare.words import printable

_SKIPPED = (Status.CANNOT_TELL, Status.NO_CLAIM)


def render(comparison: Comparison, everything: bool = False) -> str:
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
    facts = words.shown(comparison, everything)
    if facts:
        properties = ElementTree.SubElement(suite, "properties")
        for fact in facts:
            told = printable(f"{fact.base} -> {fact.new}")
            ElementTree.SubElement(properties, "property", name=printable(fact.name), value=told)
    for row in comparison.rows:
        _case(suite, row)
    for what, cases in (("removed", comparison.removed), ("added", comparison.added)):
        for unit in cases:
            _alone(suite, what, unit)
    ElementTree.SubElement(suite, "system-out").text = printable(
        "\n".join([words.summary(comparison), *words.notes(comparison)])
    )
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, row: Row) -> None:
    names = {
        "classname": printable(words.case(row)),
        "name": printable(words.series(row)),
    }
    case = ElementTree.SubElement(suite, "testcase", names)
    told = printable(f"{words.outcome(row)}: new / base {words.ratio(row)}, {words.launches(row)}")
    if row.status is Status.REGRESSED:
        ElementTree.SubElement(case, "failure", message=told, type=str(row.status))
    elif row.status in _SKIPPED:
        why = f"; {row.why}" if row.why else ""
        ElementTree.SubElement(case, "skipped", message=told + printable(why))
    else:
        ElementTree.SubElement(case, "system-out").text = told


def _alone(suite: ElementTree.Element, what: str, unit: Unit) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=what, name=printable(unit.told))
    ElementTree.SubElement(case, "skipped", message=f"{what}: it has no partner")
