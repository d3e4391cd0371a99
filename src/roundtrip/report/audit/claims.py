"""Rules on summaries, ratios and claims."""

from __future__ import annotations

from collections import defaultdict

from roundtrip import units
from roundtrip.content.blocks import BulletList, Gallery, Paragraph, RichText, Table
from roundtrip.report.audit.subject import (
    AuditSubject,
    RuleOutcome,
    RuleScope,
    audit_rule,
    rule_broken,
    rule_kept,
    rule_not_applicable,
    unknown_without_fact,
)
from roundtrip.stats.summaries import GEOMETRIC_MEAN, MEAN
from roundtrip.stats.verdicts import ClaimVerdict, Family, decide_claim, q_values
from roundtrip.studies.derivation import AuditedRatio, PairingScope
from roundtrip.units import ConfidenceLevel

_Q_TOLERANCE = 1e-12


@audit_rule(
    3,
    RuleScope.ANY_SECTION,
    "Costs by arithmetic mean, rates by harmonic mean or total work over total time",
)
def audit_summary_statistics(subject: AuditSubject) -> RuleOutcome:
    """Each summary uses a statistic that is valid for costs or for rates."""
    summaries = subject.audit_facts.summaries
    if not summaries:
        return unknown_without_fact("how each number is summarised")
    if misfits := [each for each in summaries if each.kind not in each.statistic.valid_kinds]:
        return rule_broken("; ".join(f"{each}, of a {each.kind}" for each in misfits))
    return rule_kept("; ".join(map(str, summaries)))


@audit_rule(4, RuleScope.CLAIMING_SECTION, "Ratios are formed after summarising")
def audit_ratio_formation(subject: AuditSubject) -> RuleOutcome:
    """Ratios are formed of summaries, with at most one ratio of a claim for each launch."""
    section_ratios = subject.audit_facts.ratios
    if section_ratios is None:
        return unknown_without_fact("how each ratio is formed")
    if not section_ratios:
        if count := len(subject.verdicts):
            return rule_broken(f"{count} claimed ratios do not say how they are formed")
        return rule_not_applicable("forms no ratio")
    violations = []
    for ratio in section_ratios:
        if ratio.statistic is MEAN:
            violations.append(f"{ratio.quantity}: arithmetic mean of ratios")
        if ratio.statistic is GEOMETRIC_MEAN and not ratio.geometric_reason:
            reason = "geometric mean, without the reason why the costs are lost"
            violations.append(f"{ratio.quantity}: {reason}")
    launches = subject.launches.height
    excess = [verdict for verdict in subject.verdicts.values() if verdict.interval.n > launches > 0]
    if excess:
        violations.append(
            f"{len(excess)} claims rest on more ratios than the {launches} launches: not one "
            "value per launch"
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


@audit_rule(
    5,
    RuleScope.CLAIMING_SECTION,
    "Nondeterministic values have an interval, its level and n",
)
def audit_intervals(subject: AuditSubject) -> RuleOutcome:
    """Claims have intervals, all of them at the level that the section names."""
    verdicts = subject.verdicts.values()
    if not verdicts:
        return rule_not_applicable("claims no ratio")
    if bare_count := sum(not verdict.interval.exists for verdict in verdicts):
        share = f"{bare_count} of {len(verdicts)} ratios"
        return rule_broken(f"{share} have too few launches: no interval")
    level = subject.analysis.statistics.confidence_level
    number_levels = {number.quantity.level for number in subject.numbers} - {None}
    text_levels = set(_confidence_levels(subject))
    if other_levels := (number_levels | text_levels) - {level}:
        names = ", ".join(map(units.percent_text, sorted(filter(None, other_levels))))
        return rule_broken(f"intervals at {names} instead of {units.percent_text(level)}")
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


@audit_rule(6, RuleScope.ANY_SECTION, "No normal-theory statistic without a diagnostic")
def audit_normal_theory(subject: AuditSubject) -> RuleOutcome:
    """A statistic of normal theory has its diagnostic beside it in a table."""
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
    texts = (f"{summary}; beside it “{summary.diagnostic}”" for summary in normal)
    return rule_kept("; ".join(texts))


@audit_rule(7, RuleScope.CLAIMING_SECTION, "Faster and slower rest on a test and an effect size")
def audit_verdicts(subject: AuditSubject) -> RuleOutcome:
    """Each verdict follows from the interval and q that are printed beside it."""
    levels, verdicts = subject.analysis.statistics, subject.verdicts.values()
    mismatches = sum(
        decide_claim(verdict.interval, verdict.q, levels.for_study(claim.study))
        is not verdict.verdict
        for claim, verdict in subject.verdicts.items()
    )
    if mismatches:
        count = f"{mismatches} of {len(verdicts)} verdicts"
        return rule_broken(f"{count} do not follow from interval and q")
    claim_count = sum(v.verdict.is_difference for v in verdicts)
    if not claim_count:
        return rule_not_applicable("calls nothing faster or slower")
    count = units.plural(claim_count, "verdict")
    return rule_kept(f"{count} computed again from interval, minimum effect and q")


@audit_rule(19, RuleScope.WHOLE_CAMPAIGN, "False discoveries controlled over the whole report")
def audit_q_values(subject: AuditSubject) -> RuleOutcome:
    """The q-values of each family follow from its p-values."""
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
    return rule_kept(f"q-values of Benjamini-Hochberg, compared with {level:g}: {counts}")


@audit_rule(20, RuleScope.WHOLE_CAMPAIGN, "Minimum effect stated beside significance")
def audit_minimum_effect(subject: AuditSubject) -> RuleOutcome:
    """The minimum effect is above 0, and the report prints it."""
    if not subject.verdicts:
        return rule_not_applicable("nothing is claimed")
    effect = subject.analysis.statistics.minimum_effect
    if effect <= 0:
        return rule_broken("the minimum effect is 0: any difference may be a claim")
    if not (place := subject.section_title_by_text.get(subject.analysis.toml_text)):
        return rule_broken("the minimum effect is not printed")
    return rule_kept(f"minimum effect {units.percent_text(effect)}, printed in {place}")
