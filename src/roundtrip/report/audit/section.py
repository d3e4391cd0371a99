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
    TONES,
    Chapter,
    Outcome,
    Result,
    Subject,
    failure,
    missing_fact,
    not_applicable,
    subjects,
    success,
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
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict, decide, q_values
from roundtrip.studies.derivation import AuditedRatio, PairingScope
from roundtrip.studies.study import Claim

_ROUNDING = 1e-12


def costs_and_rates(subject: Subject) -> Outcome:
    """Rule 3."""
    summaries = subject.facts.summaries
    if not summaries:
        return missing_fact("how each number is summarised")
    if misfits := [each for each in summaries if each.kind not in each.statistic.valid_kinds]:
        return failure("; ".join(f"{each}, of a {each.kind}" for each in misfits))
    return success("; ".join(map(str, summaries)))


def ratios(subject: Subject) -> Outcome:
    """Rule 4: the section's facts about its ratios, and the number of ratios of each claim."""
    section_ratios = subject.facts.ratios
    if section_ratios is None:
        return missing_fact("how each ratio is formed")
    if not section_ratios:
        if subject.verdicts:
            return failure(f"{len(subject.verdicts)} ratios are claimed, how is not said")
        return not_applicable("forms no ratio")
    faults = []
    for ratio in section_ratios:
        if ratio.statistic is MEAN:
            faults.append(f"{ratio.quantity}: arithmetic mean of ratios")
        if ratio.statistic is GEOMETRIC_MEAN and not ratio.geometric_reason:
            reason = "geometric mean, and not said why the costs are lost"
            faults.append(f"{ratio.quantity}: {reason}")
    launches = subject.launches.height
    excess = [verdict for verdict in subject.verdicts.values() if verdict.interval.n > launches > 0]
    if excess:
        faults.append(
            f"{len(excess)} claims rest on more ratios than the {launches} launches: not formed "
            "of one value a launch"
        )
    if faults:
        return failure("; ".join(faults))
    return success("; ".join(map(_describe, section_ratios)))


def _describe(ratio: AuditedRatio) -> str:
    step = f", then the {ratio.statistic.name}" if ratio.statistic else ""
    note = f" ({ratio.geometric_reason})" if ratio.geometric_reason else ""
    prefix = "" if ratio.pairing is PairingScope.UNPAIRED else "paired "
    summary = f"{ratio.summary.statistic.name} over {ratio.summary.population}"
    return f"{ratio.quantity}: of the {summary}, {prefix}{ratio.pairing}{step}{note}"


def intervals(subject: Subject) -> Outcome:
    """Rule 5: the intervals of claims, and all intervals that the section prints or draws."""
    verdicts = subject.verdicts.values()
    if not verdicts:
        return not_applicable("claims no ratio")
    if bare_count := sum(not verdict.interval.exists for verdict in verdicts):
        return failure(f"{bare_count} of {len(verdicts)} ratios have too few launches: no interval")
    level = subject.analysis.statistics.confidence_level
    number_levels = {number.quantity.level for number in subject.numbers} - {None}
    text_levels = set(_levels(subject))
    if other_levels := (number_levels | text_levels) - {level}:
        names = ", ".join(map(units.percent_text, sorted(filter(None, other_levels))))
        return failure(f"intervals at {names}, where {units.percent_text(level)} is asked for")
    if number_levels and not text_levels:
        return failure(f"no text says that its intervals are at {units.percent_text(level)}")
    minimum = min(verdict.interval.n for verdict in verdicts)
    rest = f"an interval at {units.percent_text(level)}, over {minimum} launches or more"
    return success(f"{units.plural(len(verdicts), 'ratio has', 'ratios have')} {rest}")


def _levels(subject: Subject) -> list[float]:
    texts: list[RichText] = []
    for block in subject.blocks:
        match block:
            case Table(rich_caption=tuple() as text) | Gallery(caption=text) | Paragraph(text=text):
                texts.append(text)
            case BulletList(items):
                texts += items
    return [float(part) for text in texts for part in text if isinstance(part, ConfidenceLevel)]


def normal_theory(subject: Subject) -> Outcome:
    """Rule 6."""
    summaries = subject.facts.summaries
    if not summaries:
        return missing_fact("which statistic stands behind each number")
    normal = [summary for summary in summaries if summary.statistic.is_normal]
    if not normal:
        names = ", ".join(dict.fromkeys(summary.statistic.name for summary in summaries))
        return success(f"none of normal theory: {names}")
    column_names = {column.name for table in subject.tables for column in table.columns}
    if gaps := [str(summary) for summary in normal if summary.diagnostic not in column_names]:
        return failure(f"no diagnostic is shown of {'; '.join(gaps)}")
    return success("; ".join(f"{summary}; beside it “{summary.diagnostic}”" for summary in normal))


def directions(subject: Subject) -> Outcome:
    """Rule 7: derive each verdict again from the interval and q that are printed beside it."""
    levels, verdicts = subject.analysis.statistics, subject.verdicts.values()
    mismatches = sum(
        decide(verdict.interval, verdict.q, levels.for_study(claim.study)) is not verdict.verdict
        for claim, verdict in subject.verdicts.items()
    )
    if mismatches:
        count = f"{mismatches} of {len(verdicts)} verdicts"
        return failure(f"{count} do not follow from interval and q")
    claim_count = sum(v.verdict in (Verdict.FASTER, Verdict.SLOWER) for v in verdicts)
    if not claim_count:
        return not_applicable("calls nothing faster or slower")
    count = units.plural(claim_count, "verdict")
    return success(f"{count} taken again from interval, minimum effect and q")


def discoveries(subject: Subject) -> Outcome:
    """Rule 19: recompute each family's q-values from its p-values."""
    if not subject.verdicts:
        return not_applicable("nothing is claimed")
    families: dict[Family, list[ClaimVerdict]] = defaultdict(list)
    for claim, verdict in subject.verdicts.items():
        if verdict.interval.exists:
            families[claim.family].append(verdict)
    if not families:
        return not_applicable("no claim has an interval")
    mismatches = sum(
        abs(verdict.q - q) > _ROUNDING
        for members in families.values()
        for verdict, q in zip(members, q_values([member.p for member in members]), strict=True)
    )
    counts = ", ".join(f"{len(members)} {family}" for family, members in families.items())
    if mismatches:
        return failure(f"{mismatches} q-values are not those of Benjamini-Hochberg ({counts})")
    level = subject.analysis.statistics.false_discovery_level
    return success(f"q-values of Benjamini-Hochberg, held against {level:g}: {counts}")


def minimum_effect(subject: Subject) -> Outcome:
    """Rule 20."""
    if not subject.verdicts:
        return not_applicable("nothing is claimed")
    effect = subject.analysis.statistics.minimum_effect
    if effect <= 0:
        return failure("the minimum effect is 0: any difference may be called one")
    if not (place := subject.printed_files.get(subject.analysis.toml_text)):
        return failure("the minimum effect is not printed")
    return success(f"minimum effect {units.percent_text(effect)}, printed in {place}")


class Scope(StrEnum):
    """The kind of subject that a rule applies to."""

    LAUNCHES = "the launches of a study"
    CLAIMS = "a section that claims"
    PAGES = "a section of the report"
    CAMPAIGN = "the campaign as a whole"


@dataclass(frozen=True)
class Rule:
    """A rule: its statement, its scope, and the check of one subject."""

    statement: str
    scope: Scope
    check: Callable[[Subject], Outcome]


RULES = (
    Rule("A ratio names its base and shows the base's value", Scope.PAGES, pages.bases),
    Rule("Everything left out is listed with a reason", Scope.LAUNCHES, launches.omissions),
    Rule(
        "Costs by arithmetic mean, rates by harmonic mean or total work over total time",
        Scope.PAGES,
        costs_and_rates,
    ),
    Rule("Ratios are formed after summarising", Scope.CLAIMS, ratios),
    Rule("Nondeterministic values have an interval, its level and n", Scope.CLAIMS, intervals),
    Rule("No normal-theory statistic without a diagnostic", Scope.PAGES, normal_theory),
    Rule("Faster and slower rest on a test and an effect size", Scope.CLAIMS, directions),
    Rule("Tail percentiles where latency matters", Scope.LAUNCHES, launches.tails),
    Rule("All factors and the setup are recorded", Scope.LAUNCHES, launches.setup_record),
    Rule(
        "Timer, synchronisation, summary over ranks; timer fine enough",
        Scope.LAUNCHES,
        launches.clock,
    ),
    Rule("Upper bounds are drawn where they exist", Scope.PAGES, pages.bounds),
    Rule("Spread on plots; lines only where interpolation is valid", Scope.PAGES, pages.spreads),
    Rule("Repetitions until a target precision; more than 5", Scope.LAUNCHES, launches.repetitions),
    Rule("Warm-up excluded and said so; cache state said", Scope.LAUNCHES, launches.warm_up),
    Rule("Outliers kept, or their removal reported", Scope.LAUNCHES, launches.outliers),
    Rule("Units are unambiguous", Scope.PAGES, pages.units_printed),
    Rule("Uncontrolled factors are randomised", Scope.CAMPAIGN, launches.order),
    Rule("Single events are timed", Scope.LAUNCHES, launches.single_events),
    Rule("False discoveries controlled over the whole report", Scope.CAMPAIGN, discoveries),
    Rule("Minimum effect stated beside significance", Scope.CAMPAIGN, minimum_effect),
    Rule("Every threshold printed", Scope.PAGES, pages.thresholds),
    Rule("Printed values are those of the launches", Scope.PAGES, pages.values),
)

#: The meaning of the worst result of a rule, the worst first.
_MEANINGS: dict[Result, str] = {
    "fail": "fail somewhere",
    "pass": "pass wherever the facts are known",
    "not applicable": "are not applicable anywhere",
}
_HOW = (
    "Each verdict is computed from facts: from the bundle, from this report as it is laid out, or "
    "from what a section supplies of itself. Where a fact is missing the rule is not applicable, "
    "and the fact is named: whether the rule was broken is not known then. What a section supplies "
    "of itself holds for all that it can show, measured here or not."
)


def part(
    data: BundleData,
    verdicts: Mapping[Claim, ClaimVerdict],
    chapters: Sequence[Chapter],
    parts: Sequence[ReportSection],
) -> ReportSection:
    """The audit: all rules, a row for each section or study that a rule applies to.

    `chapters`: the sections with their facts; `parts`: all parts of the report so far.
    """
    all_subjects, campaign = subjects(data, verdicts, chapters, parts)
    rule_outcomes = [
        (number, rule, list(_outcomes(rule, all_subjects, campaign)))
        for number, rule in enumerate(RULES, 1)
    ]
    rows = tuple(
        (
            *text_cells(f"C{number}", rule.statement, name),
            Cell(outcome.result, TONES[outcome.result]),
            Cell(outcome.evidence),
        )
        for number, rule, outcomes in rule_outcomes
        for name, outcome in outcomes
    )
    columns = text_columns("Rule", "Says", "Of", "Result", "Evidence")
    table = Table("Each rule, of each section or study that it is about.", columns, rows)
    rules: dict[Result, list[str]] = defaultdict(list)
    for number, _, outcomes in rule_outcomes:
        results = {outcome.result for _, outcome in outcomes}
        rules[next(result for result in _MEANINGS if result in results)].append(f"C{number}")
    items = tuple(
        (StrongText(f"{len(rules[result])} {_MEANINGS[result]}: "), f"{', '.join(rules[result])}.")
        for result in TONES
        if rules[result]
    )
    blocks = (Paragraph((_HOW,)), BulletList(items), table)
    return ReportSection("audit", f"Self-audit: {len(RULES)} rules", blocks)


def _outcomes(
    rule: Rule, all_subjects: Sequence[Subject], campaign: Subject
) -> Iterator[tuple[str, Outcome]]:
    """(Title, outcome) of each subject of the rule; at least one."""
    if rule.scope is Scope.CAMPAIGN:
        rule_subjects = [campaign]
    else:
        rule_subjects = [subject for subject in all_subjects if _is_about(rule.scope, subject)]
    for subject in rule_subjects:
        yield subject.title, rule.check(subject)
    if not rule_subjects:
        yield campaign.title, not_applicable(f"nothing to hold it against: {rule.scope}")


def _is_about(scope: Scope, subject: Subject) -> bool:
    chapter = subject.chapter
    if scope is Scope.LAUNCHES:
        return chapter is None or chapter.study is not None
    if scope is Scope.CLAIMS:
        return chapter is not None and chapter.claims is not None
    return chapter is not None
