"""The last part of a report: each rule, held against each section and study of it.

Rules 1-12 are those of T. Hoefler and R. Belli, Scientific Benchmarking of Parallel Computing
Systems, SC 2015; 13-18 come from its text; 19-22 are ours.  Rules 3 to 7, 19 and 20, on how numbers
are formed and what is claimed of them, are here; `launches` and `pages` have the others.
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
    campaign,
    held,
    missing,
    no_case,
    printed,
    subjects,
)
from roundtrip.report.blocks import (
    Cell,
    Column,
    Gallery,
    Items,
    Paragraph,
    Part,
    Strong,
    Table,
    Text,
)
from roundtrip.report.data import Data
from roundtrip.report.units import Level
from roundtrip.stats.summaries import GEOMETRIC_MEAN, MEAN
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict, decide, q_values
from roundtrip.studies.derivation import Pairing, Ratio
from roundtrip.studies.study import Claim

_DIRECTED = (Verdict.FASTER, Verdict.SLOWER)
_ROUNDING = 1e-12


def costs_and_rates(one: Subject) -> Outcome:
    """Rule 3."""
    summaries = one.facts.summaries
    if not summaries:
        return missing("how each number is summarised")
    misfits = [summary for summary in summaries if not summary.fits_kind]
    if misfits:
        return held(False, "; ".join(f"{summary}, of a {summary.kind}" for summary in misfits))
    return held(True, "; ".join(map(str, summaries)))


def ratios(one: Subject) -> Outcome:
    """Rule 4: by what the section says of its ratios, and by how many each claim rests on."""
    section_ratios = one.facts.ratios
    if section_ratios is None:
        return missing("how each ratio is formed")
    if not section_ratios:
        if one.claims:
            return held(False, f"{len(one.claims)} ratios are claimed, how is not said")
        return no_case("forms no ratio")
    faults = [fault for ratio in section_ratios if (fault := _fault(ratio))]
    launches = one.launches.height
    excess = [verdict for verdict in one.claims.values() if verdict.interval.n > launches > 0]
    if excess:
        faults.append(
            f"{len(excess)} claims rest on more ratios than the {launches} launches: not formed "
            "of one value a launch"
        )
    if faults:
        return held(False, "; ".join(faults))
    return held(True, "; ".join(map(_described, section_ratios)))


def _fault(ratio: Ratio) -> str:
    if ratio.then is MEAN:
        return f"{ratio.what}: arithmetic mean of ratios"
    if ratio.then is GEOMETRIC_MEAN and not ratio.costs_lost:
        return f"{ratio.what}: geometric mean, and not said why the costs are lost"
    return ""


def _described(ratio: Ratio) -> str:
    step = f", then the {ratio.then.name}" if ratio.then else ""
    note = f" ({ratio.costs_lost})" if ratio.costs_lost else ""
    prefix = "" if ratio.paired is Pairing.APART else "paired "
    mode = f"{prefix}{ratio.paired}"
    return (
        f"{ratio.what}: of the {ratio.of.statistic.name} over {ratio.of.over}, {mode}{step}{note}"
    )


def intervals(one: Subject) -> Outcome:
    """Rule 5: of the claims, and of every interval that the section prints or draws."""
    verdicts = one.claims.values()
    if not verdicts:
        return no_case("claims no ratio")
    bare_count = sum(not verdict.interval.exists for verdict in verdicts)
    if bare_count:
        return held(
            False, f"{bare_count} of {len(verdicts)} ratios have too few launches: no interval"
        )
    level = one.analysis.statistics.confidence_level
    number_levels = {number.quantity.level for number in one.numbers} - {None}
    text_levels = set(_levels(one))
    if other_levels := (number_levels | text_levels) - {level}:
        names = ", ".join(
            units.percent(other_level) for other_level in sorted(filter(None, other_levels))
        )
        return held(False, f"intervals at {names}, where {units.percent(level)} is asked for")
    if number_levels and not text_levels:
        return held(False, f"no text says that its intervals are at {units.percent(level)}")
    minimum = min(verdict.interval.n for verdict in verdicts)
    rest = f"an interval at {units.percent(level)}, over {minimum} launches or more"
    return held(True, f"{units.plural(len(verdicts), 'ratio has', 'ratios have')} {rest}")


def _levels(subject: Subject) -> list[float]:
    """Every confidence level that its texts name."""
    texts: list[Text] = []
    for block in subject.blocks:
        if isinstance(block, Table):
            texts.append(block.words if isinstance(block.words, tuple) else ())
        elif isinstance(block, Items):
            texts += block.items
        elif isinstance(block, Gallery):
            texts.append(block.caption)
        elif isinstance(block, Paragraph):
            texts.append(block.text)
    return [float(part) for text in texts for part in text if isinstance(part, Level)]


def normal_theory(one: Subject) -> Outcome:
    """Rule 6."""
    summaries = one.facts.summaries
    if not summaries:
        return missing("which statistic stands behind each number")
    normal_summaries = [summary for summary in summaries if summary.statistic.is_normal]
    if not normal_summaries:
        names = ", ".join(dict.fromkeys(summary.statistic.name for summary in summaries))
        return held(True, f"none of normal theory: {names}")
    column_names = {column.name for table in one.tables for column in table.columns}
    gaps = [str(summary) for summary in normal_summaries if summary.diagnostic not in column_names]
    if gaps:
        return held(False, f"no diagnostic is shown of {'; '.join(gaps)}")
    return held(
        True,
        "; ".join(f"{summary}; beside it “{summary.diagnostic}”" for summary in normal_summaries),
    )


def directed(one: Subject) -> Outcome:
    """Rule 7: each verdict is taken again, from the interval and q that are printed beside it."""
    levels, verdicts = one.analysis.statistics, one.claims.values()
    mismatches = sum(
        decide(verdict.interval, verdict.q, levels) is not verdict.verdict for verdict in verdicts
    )
    if mismatches:
        return held(
            False, f"{mismatches} of {len(verdicts)} verdicts do not follow from interval and q"
        )
    claims = [verdict for verdict in verdicts if verdict.verdict in _DIRECTED]
    if not claims:
        return no_case("calls nothing faster or slower")
    return held(
        True,
        f"{units.plural(len(claims), 'verdict')} taken again from interval, minimum effect and q",
    )


def discoveries(one: Subject) -> Outcome:
    """Rule 19: each family's q-values are computed again from its p-values."""
    if not one.claims:
        return no_case("nothing is claimed")
    families: dict[Family, list[ClaimVerdict]] = defaultdict(list)
    for claim, verdict in one.claims.items():
        if verdict.interval.exists:
            families[claim.family].append(verdict)
    if not families:
        return no_case("no claim has an interval")
    mismatches = sum(
        abs(verdict.q - q) > _ROUNDING
        for members in families.values()
        for verdict, q in zip(members, q_values([member.p for member in members]), strict=True)
    )
    counts = ", ".join(f"{len(members)} {family}" for family, members in families.items())
    if mismatches:
        return held(False, f"{mismatches} q-values are not those of Benjamini-Hochberg ({counts})")
    level = one.analysis.statistics.false_discovery_level
    return held(True, f"q-values of Benjamini-Hochberg, held against {level:g}: {counts}")


def minimum_effect(one: Subject) -> Outcome:
    """Rule 20."""
    if not one.claims:
        return no_case("nothing is claimed")
    effect = one.analysis.statistics.minimum_effect
    if effect <= 0:
        return held(False, "the minimum effect is 0: any difference may be called one")
    if not (place := one.printed.get(one.analysis.text)):
        return held(False, "the minimum effect is not printed")
    return held(True, f"minimum effect {units.percent(effect)}, printed in {place}")


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
        costs_and_rates,
    ),
    Rule("Ratios are formed after summarising", Of.CLAIMS, ratios),
    Rule("Nondeterministic values have an interval, its level and n", Of.CLAIMS, intervals),
    Rule("No normal-theory statistic without a diagnostic", Of.PAGES, normal_theory),
    Rule("Faster and slower rest on a test and an effect size", Of.CLAIMS, directed),
    Rule("Tail percentiles where latency matters", Of.LAUNCHES, launches.tails),
    Rule("All factors and the setup are recorded", Of.LAUNCHES, launches.recorded),
    Rule(
        "Timer, synchronisation, summary over ranks; timer fine enough", Of.LAUNCHES, launches.clock
    ),
    Rule("Upper bounds are drawn where they exist", Of.PAGES, pages.bounds),
    Rule("Spread on plots; lines only where interpolation is valid", Of.PAGES, pages.spreads),
    Rule("Repetitions until a target precision; more than 5", Of.LAUNCHES, launches.repetitions),
    Rule("Warm-up excluded and said so; cache state said", Of.LAUNCHES, launches.warm_up),
    Rule("Outliers kept, or their removal reported", Of.LAUNCHES, launches.kept),
    Rule("Units are unambiguous", Of.PAGES, pages.units_printed),
    Rule("Uncontrolled factors are randomised", Of.CAMPAIGN, launches.order),
    Rule("Single events are timed", Of.LAUNCHES, launches.single_events),
    Rule("False discoveries controlled over the whole report", Of.CAMPAIGN, discoveries),
    Rule("Minimum effect stated beside significance", Of.CAMPAIGN, minimum_effect),
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
    printed_files = printed(laid_out)
    all_subjects = subjects(data, judged, chapters, printed_files)
    campaign_subject = campaign(data, judged, printed_files)
    rule_outcomes = [
        (number, rule, list(_held(rule, all_subjects, campaign_subject)))
        for number, rule in enumerate(RULES, 1)
    ]
    rows = [
        (
            *(Cell(f"C{number}"), Cell(rule.says), Cell(name)),
            Cell(outcome.result, TONES[outcome.result]),
            Cell(outcome.evidence),
        )
        for number, rule, outcomes in rule_outcomes
        for name, outcome in outcomes
    ]
    names = ("Rule", "Says", "Of", "Result", "Evidence")
    table = Table(
        "Each rule, of each section or study that it is about.",
        tuple(Column(name) for name in names),
        tuple(rows),
    )
    overall = {f"C{number}": _overall(outcomes) for number, _, outcomes in rule_outcomes}
    summary = Items(
        tuple(_rules_item(result, overall) for result in TONES if result in overall.values())
    )
    return Part("audit", f"Self-audit: {len(RULES)} rules", (Paragraph((_HOW,)), summary, table))


def _held(
    rule: Rule, all_subjects: Sequence[Subject], campaign_subject: Subject
) -> Iterator[tuple[str, Outcome]]:
    """(of whom, outcome) of everything that the rule is about; never nothing."""
    rule_subjects = (
        [campaign_subject]
        if rule.of is Of.CAMPAIGN
        else [subject for subject in all_subjects if _is_about(rule.of, subject)]
    )
    for subject in rule_subjects:
        yield subject.title, rule.check(subject)
    if not rule_subjects:
        yield campaign_subject.title, no_case(f"nothing to hold it against: {rule.of}")


def _is_about(scope: Of, subject: Subject) -> bool:
    chapter = subject.chapter
    if scope is Of.LAUNCHES:
        return chapter is None or chapter.study is not None
    if scope is Of.CLAIMS:
        return chapter is not None and chapter.claims is not None
    return chapter is not None


def _overall(outcomes: Sequence[tuple[str, Outcome]]) -> Result:
    """Broken by one is broken; kept by some and broken by none is kept."""
    results = {outcome.result for _, outcome in outcomes}
    if "fail" in results:
        return "fail"
    return "pass" if "pass" in results else "not applicable"


def _rules_item(result: Result, overall: Mapping[str, Result]) -> tuple[Strong | str, ...]:
    rules = [rule for rule, rule_result in overall.items() if rule_result == result]
    meaning = {
        "pass": "pass wherever the facts are known",
        "fail": "fail somewhere",
        "not applicable": "are not applicable anywhere",
    }
    return Strong(f"{len(rules)} {meaning[result]}: "), f"{', '.join(rules)}."
