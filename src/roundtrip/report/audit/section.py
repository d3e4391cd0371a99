"""The audit, the last section of a report: each rule, applied to each section and study.

Rules 1-12 are those of T. Hoefler and R. Belli, Scientific Benchmarking of Parallel Computing
Systems, SC 2015; 13-18 come from its text; 19-22 are ours.  This module has rules 3 to 7, 19 and
20, on summaries and claims; `launches` and `pages` have the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from roundtrip.report import units
from roundtrip.report.audit import launches, pages
from roundtrip.report.audit.subject import (
    COLOUR_BY_RESULT,
    AuditedSection,
    AuditSubject,
    RuleOutcome,
    RuleResult,
    audit_subjects,
    rule_broken,
    rule_kept,
    rule_not_applicable,
    unknown_without_fact,
)
from roundtrip.report.blocks import (
    BulletList,
    Cell,
    Gallery,
    Paragraph,
    ReportSection,
    RichText,
    StrongText,
    Table,
    text_cells,
    text_columns,
)
from roundtrip.report.data import BundleData
from roundtrip.report.units import ConfidenceLevel
from roundtrip.stats.summaries import GEOMETRIC_MEAN, MEAN
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict, decide_claim, q_values
from roundtrip.studies.derivation import AuditedRatio, PairingScope
from roundtrip.studies.study import Claim

_Q_TOLERANCE = 1e-12


def audit_summary_statistics(subject: AuditSubject) -> RuleOutcome:
    """Rule 3: each summary uses a statistic that is valid for costs or for rates."""
    summaries = subject.audit_facts.summaries
    if not summaries:
        return unknown_without_fact("how each number is summarised")
    if misfits := [each for each in summaries if each.kind not in each.statistic.valid_kinds]:
        return rule_broken("; ".join(f"{each}, of a {each.kind}" for each in misfits))
    return rule_kept("; ".join(map(str, summaries)))


def audit_ratio_formation(subject: AuditSubject) -> RuleOutcome:
    """Rule 4: ratios are formed of summaries, with at most one ratio of a claim for each launch."""
    section_ratios = subject.audit_facts.ratios
    if section_ratios is None:
        return unknown_without_fact("how each ratio is formed")
    if not section_ratios:
        if subject.verdicts:
            return rule_broken(f"{len(subject.verdicts)} ratios are claimed, how is not said")
        return rule_not_applicable("forms no ratio")
    violations = []
    for ratio in section_ratios:
        if ratio.statistic is MEAN:
            violations.append(f"{ratio.quantity}: arithmetic mean of ratios")
        if ratio.statistic is GEOMETRIC_MEAN and not ratio.geometric_reason:
            reason = "geometric mean, and not said why the costs are lost"
            violations.append(f"{ratio.quantity}: {reason}")
    launches = subject.launches.height
    excess = [verdict for verdict in subject.verdicts.values() if verdict.interval.n > launches > 0]
    if excess:
        violations.append(
            f"{len(excess)} claims rest on more ratios than the {launches} launches: not formed "
            "of one value a launch"
        )
    if violations:
        return rule_broken("; ".join(violations))
    return rule_kept("; ".join(map(_describe_ratio, section_ratios)))


def _describe_ratio(ratio: AuditedRatio) -> str:
    step = f", then the {ratio.statistic.name}" if ratio.statistic else ""
    note = f" ({ratio.geometric_reason})" if ratio.geometric_reason else ""
    prefix = "" if ratio.pairing is PairingScope.UNPAIRED else "paired "
    summary = f"{ratio.summary.statistic.name} over {ratio.summary.population}"
    return f"{ratio.quantity}: of the {summary}, {prefix}{ratio.pairing}{step}{note}"


def audit_intervals(subject: AuditSubject) -> RuleOutcome:
    """Rule 5: claims have intervals, all of them at the level that the section names."""
    verdicts = subject.verdicts.values()
    if not verdicts:
        return rule_not_applicable("claims no ratio")
    if bare_count := sum(not verdict.interval.exists for verdict in verdicts):
        return rule_broken(
            f"{bare_count} of {len(verdicts)} ratios have too few launches: no interval"
        )
    level = subject.analysis.statistics.confidence_level
    number_levels = {number.quantity.level for number in subject.numbers} - {None}
    text_levels = set(_confidence_levels(subject))
    if other_levels := (number_levels | text_levels) - {level}:
        names = ", ".join(map(units.percent_text, sorted(filter(None, other_levels))))
        return rule_broken(f"intervals at {names}, where {units.percent_text(level)} is asked for")
    if number_levels and not text_levels:
        return rule_broken(f"no text says that its intervals are at {units.percent_text(level)}")
    minimum = min(verdict.interval.n for verdict in verdicts)
    rest = f"an interval at {units.percent_text(level)}, over {minimum} launches or more"
    return rule_kept(f"{units.plural(len(verdicts), 'ratio has', 'ratios have')} {rest}")


def _confidence_levels(subject: AuditSubject) -> list[float]:
    texts: list[RichText] = []
    for block in subject.blocks:
        match block:
            case Table(rich_caption=tuple() as text) | Gallery(caption=text) | Paragraph(text=text):
                texts.append(text)
            case BulletList(items):
                texts += items
    return [float(part) for text in texts for part in text if isinstance(part, ConfidenceLevel)]


def audit_normal_theory(subject: AuditSubject) -> RuleOutcome:
    """Rule 6: a statistic of normal theory has its diagnostic beside it in a table."""
    summaries = subject.audit_facts.summaries
    if not summaries:
        return unknown_without_fact("which statistic stands behind each number")
    normal = [summary for summary in summaries if summary.statistic.is_normal]
    if not normal:
        names = ", ".join(dict.fromkeys(summary.statistic.name for summary in summaries))
        return rule_kept(f"none of normal theory: {names}")
    column_names = {column.name for table in subject.tables for column in table.columns}
    if gaps := [str(summary) for summary in normal if summary.diagnostic not in column_names]:
        return rule_broken(f"no diagnostic is shown of {'; '.join(gaps)}")
    return rule_kept(
        "; ".join(f"{summary}; beside it “{summary.diagnostic}”" for summary in normal)
    )


def audit_verdicts(subject: AuditSubject) -> RuleOutcome:
    """Rule 7: each verdict follows from the interval and q that are printed beside it."""
    levels, verdicts = subject.analysis.statistics, subject.verdicts.values()
    mismatches = sum(
        decide_claim(verdict.interval, verdict.q, levels.for_study(claim.study))
        is not verdict.verdict
        for claim, verdict in subject.verdicts.items()
    )
    if mismatches:
        count = f"{mismatches} of {len(verdicts)} verdicts"
        return rule_broken(f"{count} do not follow from interval and q")
    claim_count = sum(v.verdict in (Verdict.FASTER, Verdict.SLOWER) for v in verdicts)
    if not claim_count:
        return rule_not_applicable("calls nothing faster or slower")
    count = units.plural(claim_count, "verdict")
    return rule_kept(f"{count} taken again from interval, minimum effect and q")


def audit_q_values(subject: AuditSubject) -> RuleOutcome:
    """Rule 19: the q-values of each family follow from its p-values."""
    if not subject.verdicts:
        return rule_not_applicable("nothing is claimed")
    families: dict[Family, list[ClaimVerdict]] = defaultdict(list)
    for claim, verdict in subject.verdicts.items():
        if verdict.interval.exists:
            families[claim.family].append(verdict)
    if not families:
        return rule_not_applicable("no claim has an interval")
    mismatches = sum(
        abs(verdict.q - q) > _Q_TOLERANCE
        for members in families.values()
        for verdict, q in zip(members, q_values([member.p for member in members]), strict=True)
    )
    counts = ", ".join(f"{len(members)} {family}" for family, members in families.items())
    if mismatches:
        return rule_broken(f"{mismatches} q-values are not those of Benjamini-Hochberg ({counts})")
    level = subject.analysis.statistics.false_discovery_level
    return rule_kept(f"q-values of Benjamini-Hochberg, held against {level:g}: {counts}")


def audit_minimum_effect(subject: AuditSubject) -> RuleOutcome:
    """Rule 20: the minimum effect is above 0, and the report prints it."""
    if not subject.verdicts:
        return rule_not_applicable("nothing is claimed")
    effect = subject.analysis.statistics.minimum_effect
    if effect <= 0:
        return rule_broken("the minimum effect is 0: any difference may be called one")
    if not (place := subject.section_title_by_text.get(subject.analysis.toml_text)):
        return rule_broken("the minimum effect is not printed")
    return rule_kept(f"minimum effect {units.percent_text(effect)}, printed in {place}")


class RuleScope(StrEnum):
    """What a rule applies to."""

    STUDY_LAUNCHES = "the launches of a study"
    CLAIMING_SECTION = "a section that claims"
    ANY_SECTION = "a section of the report"
    WHOLE_CAMPAIGN = "the campaign as a whole"


@dataclass(frozen=True)
class AuditRule:
    """A rule: its statement, its scope, and the function that audits one subject."""

    statement: str
    scope: RuleScope
    audit_subject: Callable[[AuditSubject], RuleOutcome]


RULES = (
    AuditRule(
        "A ratio names its base and shows the base's value",
        RuleScope.ANY_SECTION,
        pages.audit_ratio_bases,
    ),
    AuditRule(
        "Everything left out is listed with a reason",
        RuleScope.STUDY_LAUNCHES,
        launches.audit_lost_launches,
    ),
    AuditRule(
        "Costs by arithmetic mean, rates by harmonic mean or total work over total time",
        RuleScope.ANY_SECTION,
        audit_summary_statistics,
    ),
    AuditRule(
        "Ratios are formed after summarising", RuleScope.CLAIMING_SECTION, audit_ratio_formation
    ),
    AuditRule(
        "Nondeterministic values have an interval, its level and n",
        RuleScope.CLAIMING_SECTION,
        audit_intervals,
    ),
    AuditRule(
        "No normal-theory statistic without a diagnostic",
        RuleScope.ANY_SECTION,
        audit_normal_theory,
    ),
    AuditRule(
        "Faster and slower rest on a test and an effect size",
        RuleScope.CLAIMING_SECTION,
        audit_verdicts,
    ),
    AuditRule(
        "Tail percentiles where latency matters",
        RuleScope.STUDY_LAUNCHES,
        launches.audit_tail_percentiles,
    ),
    AuditRule(
        "All factors and the setup are recorded",
        RuleScope.STUDY_LAUNCHES,
        launches.audit_setup_record,
    ),
    AuditRule(
        "Timer, synchronisation, summary over ranks; timer fine enough",
        RuleScope.STUDY_LAUNCHES,
        launches.audit_clock,
    ),
    AuditRule(
        "Upper bounds are drawn where they exist", RuleScope.ANY_SECTION, pages.audit_upper_bounds
    ),
    AuditRule(
        "Spread on plots; lines only where interpolation is valid",
        RuleScope.ANY_SECTION,
        pages.audit_figure_spreads,
    ),
    AuditRule(
        "Repetitions until a target precision; more than 5",
        RuleScope.STUDY_LAUNCHES,
        launches.audit_repetitions,
    ),
    AuditRule(
        "Warm-up excluded and said so; cache state said",
        RuleScope.STUDY_LAUNCHES,
        launches.audit_warm_up,
    ),
    AuditRule(
        "Outliers kept, or their removal reported",
        RuleScope.STUDY_LAUNCHES,
        launches.audit_kept_samples,
    ),
    AuditRule("Units are unambiguous", RuleScope.ANY_SECTION, pages.audit_units),
    AuditRule(
        "Uncontrolled factors are randomised", RuleScope.WHOLE_CAMPAIGN, launches.audit_case_order
    ),
    AuditRule("Single events are timed", RuleScope.STUDY_LAUNCHES, launches.audit_single_events),
    AuditRule(
        "False discoveries controlled over the whole report",
        RuleScope.WHOLE_CAMPAIGN,
        audit_q_values,
    ),
    AuditRule(
        "Minimum effect stated beside significance", RuleScope.WHOLE_CAMPAIGN, audit_minimum_effect
    ),
    AuditRule("Every threshold printed", RuleScope.ANY_SECTION, pages.audit_thresholds),
    AuditRule(
        "Printed values are those of the launches",
        RuleScope.ANY_SECTION,
        pages.audit_printed_values,
    ),
)

#: The meaning of the worst result of a rule, the worst first.
_TEXT_BY_RESULT: dict[RuleResult, str] = {
    "fail": "fail somewhere",
    "pass": "pass wherever the facts are known",
    "not applicable": "are not applicable anywhere",
}
_METHOD_NOTE = (
    "Each verdict is computed from facts: from the bundle, from this report as it is laid out, or "
    "from what a section supplies of itself. Where a fact is missing the rule is not applicable, "
    "and the fact is named: whether the rule was broken is not known then. What a section supplies "
    "of itself holds for all that it can show, measured here or not."
)


def build_section(
    data: BundleData,
    verdicts: Mapping[Claim, ClaimVerdict],
    sections: Sequence[AuditedSection],
    all_sections: Sequence[ReportSection],
) -> ReportSection:
    """The section on the audit: all rules, a row for each section or study that a rule applies to.

    `sections`: those with facts for the audit; `all_sections`: all of the report so far.
    """
    all_subjects, campaign = audit_subjects(data, verdicts, sections, all_sections)
    rule_outcomes = [
        (number, rule, list(_subject_outcomes(rule, all_subjects, campaign)))
        for number, rule in enumerate(RULES, 1)
    ]
    rows = tuple(
        (
            *text_cells(f"C{number}", rule.statement, name),
            Cell(outcome.result, COLOUR_BY_RESULT[outcome.result]),
            Cell(outcome.evidence),
        )
        for number, rule, outcomes in rule_outcomes
        for name, outcome in outcomes
    )
    columns = text_columns("Rule", "Says", "Of", "Result", "Evidence")
    table = Table("Each rule, of each section or study that it is about.", columns, rows)
    rules: dict[RuleResult, list[str]] = defaultdict(list)
    for number, _, outcomes in rule_outcomes:
        results = {outcome.result for _, outcome in outcomes}
        rules[next(result for result in _TEXT_BY_RESULT if result in results)].append(f"C{number}")
    items = tuple(
        (
            StrongText(f"{len(rules[result])} {_TEXT_BY_RESULT[result]}: "),
            f"{', '.join(rules[result])}.",
        )
        for result in COLOUR_BY_RESULT
        if rules[result]
    )
    blocks = (Paragraph((_METHOD_NOTE,)), BulletList(items), table)
    return ReportSection("audit", f"Self-audit: {len(RULES)} rules", blocks)


def _subject_outcomes(
    rule: AuditRule, section_subjects: Sequence[AuditSubject], campaign: AuditSubject
) -> Iterator[tuple[str, RuleOutcome]]:
    """Title and outcome of each subject of the rule; at least one pair."""
    if rule.scope is RuleScope.WHOLE_CAMPAIGN:
        rule_subjects = [campaign]
    else:
        rule_subjects = [
            subject for subject in section_subjects if _applies_to(rule.scope, subject)
        ]
    for subject in rule_subjects:
        yield subject.title, rule.audit_subject(subject)
    if not rule_subjects:
        yield campaign.title, rule_not_applicable(f"nothing to hold it against: {rule.scope}")


def _applies_to(scope: RuleScope, subject: AuditSubject) -> bool:
    chapter = subject.section
    if scope is RuleScope.STUDY_LAUNCHES:
        return chapter is None or chapter.study is not None
    if scope is RuleScope.CLAIMING_SECTION:
        return chapter is not None and chapter.claims is not None
    return chapter is not None
