"""The last part of a report: each rule, held against each section and study of it.

Rules 1-12 are those of T. Hoefler and R. Belli, Scientific Benchmarking of Parallel Computing
Systems, SC 2015; 13-18 come from its text; 19-22 are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from roundtrip.report.audit import claims, launches, pages
from roundtrip.report.audit.subject import (
    TONES,
    Chapter,
    Outcome,
    Result,
    Subject,
    campaign,
    no_case,
    printed,
    subjects,
)
from roundtrip.report.blocks import Cell, Column, Items, Paragraph, Part, Strong, Table
from roundtrip.report.data import Data
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies.study import Claim


class Of(StrEnum):
    """What a rule is about."""

    LAUNCHES = "the launches of a study"
    CLAIMS = "a section that claims"
    PAGES = "a section of the report"
    CAMPAIGN = "the campaign as a whole"


@dataclass(frozen=True)
class Rule:
    """What it `says`; `check` holds one subject against it."""

    says: str
    of: Of
    check: Callable[[Subject], Outcome]


RULES = (
    Rule("A ratio names its base and shows the base's value", Of.PAGES, pages.bases),
    Rule("Everything left out is listed with a reason", Of.LAUNCHES, launches.left_out),
    Rule(
        "Costs by arithmetic mean, rates by harmonic mean or total work over total time",
        Of.PAGES,
        claims.costs_and_rates,
    ),
    Rule("Ratios are formed after summarising", Of.CLAIMS, claims.ratios),
    Rule("Nondeterministic values have an interval, its level and n", Of.CLAIMS, claims.intervals),
    Rule("No normal-theory statistic without a diagnostic", Of.PAGES, claims.normal_theory),
    Rule("Faster and slower rest on a test and an effect size", Of.CLAIMS, claims.directed),
    Rule("Tail percentiles where latency matters", Of.LAUNCHES, launches.tails),
    Rule("All factors and the setup are recorded", Of.LAUNCHES, launches.recorded),
    Rule(
        "Timer, synchronisation, summary over ranks; timer fine enough", Of.LAUNCHES, launches.clock
    ),
    Rule("Upper bounds are drawn where they exist", Of.PAGES, pages.bounds),
    Rule("Spread on plots; lines only where interpolation is valid", Of.PAGES, pages.spreads),
    Rule("Repetitions until a target precision; more than 5", Of.LAUNCHES, launches.repetitions),
    Rule("Warm-up excluded and said so; cache state said", Of.LAUNCHES, launches.warm_up),
    Rule("Outliers kept, or their removal told", Of.LAUNCHES, launches.kept),
    Rule("Units are unambiguous", Of.PAGES, pages.units_printed),
    Rule("Uncontrolled factors are randomised", Of.CAMPAIGN, launches.order),
    Rule("Single events are timed", Of.LAUNCHES, launches.single_events),
    Rule("False discoveries controlled over the whole report", Of.CAMPAIGN, claims.discoveries),
    Rule("Minimum effect stated beside significance", Of.CAMPAIGN, claims.minimum_effect),
    Rule("Every threshold printed", Of.PAGES, pages.thresholds),
    Rule("Printed values are those of the launches", Of.PAGES, pages.values),
)

_HOW = (
    "Each verdict is computed from facts: from the bundle, from this report as it is laid out, or "
    "from what a section supplies of itself. Where a fact is missing the rule is not applicable, "
    "and the fact is named: whether the rule was broken is not known then. What a section supplies "
    "of itself holds for all that it can show, measured here or not."
)


def part(
    data: Data,
    judged: Mapping[Claim, ClaimVerdict],
    chapters: Sequence[Chapter],
    laid_out: Sequence[Part],
) -> Part:
    """All rules, a row for each section or study that a rule is about.

    `chapters` are the sections with what they supply of themselves, `laid_out` all parts of the
    report so far.
    """
    there = printed(laid_out)
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
