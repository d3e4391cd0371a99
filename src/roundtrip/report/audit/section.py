"""The last part of a report: each rule, held against each section and study of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from roundtrip.report.audit import printed
from roundtrip.report.audit.outcome import TONES, Outcome, Result, no_case
from roundtrip.report.audit.rules import RULES, Of, Rule
from roundtrip.report.audit.subject import Chapter, Subject, campaign, subjects
from roundtrip.report.blocks import Cell, Column, Items, Paragraph, Part, Strong, Table
from roundtrip.report.data import Data
from roundtrip.stats.verdicts import Judged
from roundtrip.studies.study import Claim

_HOW = (
    "Each verdict is computed from facts: from the bundle, from this report as it is laid out, or "
    "from what a section supplies of itself. Where a fact is missing the rule is not applicable, "
    "and the fact is named: whether the rule was broken is not known then. What a section supplies "
    "of itself holds for all that it can show, measured here or not."
)


def part(
    data: Data,
    judged: Mapping[Claim, Judged],
    chapters: Sequence[Chapter],
    laid_out: Sequence[Part],
) -> Part:
    """All rules, a row for each section or study that a rule is about.

    `chapters` are the sections with what they supply of themselves, `laid_out` all parts of the
    report so far.
    """
    there = printed.printed(laid_out)
    about = subjects(data, judged, chapters, there)
    whole = campaign(data, judged, there)
    found = [
        (number, rule, list(_held(rule, about, whole))) for number, rule in enumerate(RULES, 1)
    ]
    rows = [
        (
            *(Cell(f"C{number}"), Cell(rule.says), Cell(name)),
            Cell(outcome.result, TONES[outcome.result]),
            Cell(outcome.evidence),
        )
        for number, rule, outcomes in found
        for name, outcome in outcomes
    ]
    names = ("Rule", "Says", "Of", "Result", "Evidence")
    table = Table(
        "Each rule, of each section or study that it is about.",
        tuple(Column(name) for name in names),
        tuple(rows),
    )
    overall = {f"C{number}": _overall(outcomes) for number, _, outcomes in found}
    told = Items(tuple(_told(result, overall) for result in TONES if result in overall.values()))
    return Part("audit", f"Self-audit: {len(RULES)} rules", (Paragraph((_HOW,)), told, table))


def _held(rule: Rule, about: Sequence[Subject], whole: Subject) -> Iterator[tuple[str, Outcome]]:
    """(of whom, outcome) of everything that the rule is about; never nothing."""
    mine = [whole] if rule.of is Of.CAMPAIGN else [one for one in about if _is_about(rule.of, one)]
    for one in mine:
        yield one.title, rule.check(one)
    if not mine:
        yield whole.title, no_case(f"nothing to hold it against: {rule.of}")


def _is_about(of: Of, one: Subject) -> bool:
    chapter = one.chapter
    if of is Of.LAUNCHES:
        return chapter is None or bool(chapter.study)
    if of is Of.CLAIMS:
        return chapter is not None and chapter.claims is not None
    return chapter is not None


def _overall(outcomes: Sequence[tuple[str, Outcome]]) -> Result:
    """Broken by one is broken; kept by some and broken by none is kept."""
    results = {outcome.result for _, outcome in outcomes}
    if "fail" in results:
        return "fail"
    return "pass" if "pass" in results else "not applicable"


def _told(result: Result, overall: Mapping[str, Result]) -> tuple[Strong | str, ...]:
    rules = [rule for rule, found in overall.items() if found == result]
    meaning = {
        "pass": "pass wherever the facts are known",
        "fail": "fail somewhere",
        "not applicable": "are not applicable anywhere",
    }
    return Strong(f"{len(rules)} {meaning[result]}: "), f"{', '.join(rules)}."
