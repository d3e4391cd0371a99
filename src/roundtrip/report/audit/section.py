"""The audit, the last section of a report: each rule, applied to each section and study.

Rules 1-12 are those of T. Hoefler and R. Belli, Scientific Benchmarking of Parallel Computing
Systems, SC 2015; 13-18 come from its text; the others are ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

import polars as pl

from roundtrip.content.blocks import (
    BulletList,
    Cell,
    Paragraph,
    ReportSection,
    StrongText,
    Table,
    Verbatim,
    flatten_blocks,
    text_cells,
    text_columns,
)
from roundtrip.content.data import BundleData
from roundtrip.report.audit import claims, launches, pages
from roundtrip.report.audit.subject import (
    CLOCK_COLUMNS,
    COLOUR_BY_RESULT,
    AuditedSection,
    AuditRule,
    AuditSubject,
    RuleOutcome,
    RuleResult,
    RuleScope,
    rule_not_applicable,
)
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.study import Claim

RULES = sorted(
    (
        rule
        for module in (claims, launches, pages)
        for rule in vars(module).values()
        if isinstance(rule, AuditRule)
    ),
    key=attrgetter("number"),
)
#: The meaning of the worst result of a rule, the worst first.
_TEXT_BY_RESULT: dict[RuleResult, str] = {
    "fail": "Fail somewhere",
    "pass": "Pass wherever the facts are known",
    "not applicable": "Not applicable anywhere",
}
_METHOD_NOTE = (
    "Each verdict is computed from facts: from the bundle, from the layout of this report, or "
    "from the declarations of a section. If a fact is missing, the rule is not applicable, and "
    "the fact is named: the rule may be broken. The declarations of a section cover all that it "
    "can show, measured here or not."
)


def build_section(
    data: BundleData,
    verdicts: Mapping[Claim, ClaimVerdict],
    sections: Sequence[AuditedSection],
    all_sections: Sequence[ReportSection],
) -> ReportSection:
    """A row for each rule and section or study it applies to; `sections` have facts for the audit,
    `all_sections` are all of the report so far."""
    all_subjects, campaign = audit_subjects(data, verdicts, sections, all_sections)
    rule_outcomes = [
        (rule, list(_subject_outcomes(rule, all_subjects, campaign))) for rule in RULES
    ]
    rows = tuple(
        (
            *text_cells(f"C{rule.number}", rule.statement, name),
            Cell(outcome.result, COLOUR_BY_RESULT[outcome.result]),
            Cell(outcome.evidence),
        )
        for rule, outcomes in rule_outcomes
        for name, outcome in outcomes
    )
    columns = text_columns("Rule", "Says", "Of", "Result", "Evidence")
    table = Table("Each rule, for each section or study that it covers.", columns, rows)
    rules: dict[RuleResult, list[str]] = defaultdict(list)
    for rule, outcomes in rule_outcomes:
        results = {outcome.result for _, outcome in outcomes}
        worst = next(result for result in _TEXT_BY_RESULT if result in results)
        rules[worst].append(f"C{rule.number}")
    items = []
    for result in (result for result in COLOUR_BY_RESULT if rules[result]):
        title = f"{_TEXT_BY_RESULT[result]} ({len(rules[result])}): "
        items.append((StrongText(title), f"{', '.join(rules[result])}."))
    blocks = (Paragraph((_METHOD_NOTE,)), BulletList(tuple(items)), table)
    return ReportSection("audit", f"Self-audit: {len(RULES)} rules", blocks)


def _subject_outcomes(
    rule: AuditRule, section_subjects: Sequence[AuditSubject], campaign: AuditSubject
) -> Iterator[tuple[str, RuleOutcome]]:
    """Title and outcome of each subject of the rule; at least one pair."""
    if rule.scope is RuleScope.WHOLE_CAMPAIGN:
        rule_subjects = [campaign]
    else:
        rule_subjects = [subject for subject in section_subjects if rule.scope.includes(subject)]
    for subject in rule_subjects:
        yield subject.title, rule.audit_subject(subject)
    if not rule_subjects:
        yield campaign.title, rule_not_applicable(f"nothing to check it against: {rule.scope}")


def audit_subjects(
    data: BundleData,
    verdicts: Mapping[Claim, ClaimVerdict],
    sections: Sequence[AuditedSection],
    all_sections: Sequence[ReportSection],
) -> tuple[list[AuditSubject], AuditSubject]:
    """A subject for each section and for each study without one; and one for all launches."""
    printed_files = {
        block.text: f"“{part.title}”"
        for part in all_sections
        for block in flatten_blocks(part.blocks)
        if isinstance(block, Verbatim)
    }

    def subject(
        title: str,
        chapter: AuditedSection | None,
        rows: pl.DataFrame,
        claims: Mapping[Claim, ClaimVerdict],
    ) -> AuditSubject:
        is_passed = pl.col("status") == "passed"
        launches = rows.filter(is_passed)
        clocks = launches.select("launch", *CLOCK_COLUMNS)
        points = data.points.filter(pl.col("samples") > 0).join(clocks, on="launch")
        return AuditSubject(
            title=title,
            section=chapter,
            launches=launches,
            lost_launches=rows.filter(~is_passed),
            points=points.select("status", "batch", "median_s", *CLOCK_COLUMNS),
            launches_with_placement=frozenset(data.placement["launch"]),
            samples=data.samples.filter(pl.col("launch").is_in(launches["launch"].to_list())),
            verdicts=claims,
            analysis=data.analysis,
            env_records=data.env_records,
            section_title_by_text=printed_files,
            series_medians=data.series_medians,
        )

    studies = data.launches["study"].fill_null("")
    all_subjects = []
    for chapter in sections:
        claims = {claim: verdicts[claim] for claim in chapter.claims or ()}
        mask = studies == chapter.study.name if chapter.study else studies.is_null()
        all_subjects.append(subject(chapter.title, chapter, data.launches.filter(mask), claims))
    names = sorted(set(studies) - {chapter.study.name for chapter in sections if chapter.study})
    for name in names:
        title = name or "launches whose study is not known"
        all_subjects.append(subject(title, None, data.launches.filter(studies == name), {}))
    return all_subjects, subject("The campaign", None, data.launches, verdicts)
