"""The study's four findings, tested with our numbers: the answers of the section, and its tables
with the study's words beside our findings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtrip.report import labels, units
from roundtrip.report.blocks import Answer, Cell, Column, Inline, Strong, Table, Text, Tone, answer
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.settings import Levels
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies import findings as shared
from roundtrip.studies.findings import (
    OPEN,
    Comparison,
    VerdictAt,
    comparison,
    joint_verdict,
    line,
    line_tone,
    worst_tone,
)
from roundtrip.studies.netpipe import ARMS, STUDY, Thresholds, tables
from roundtrip.studies.netpipe.curves import Curves, Panel
from roundtrip.studies.netpipe.derived import STATEMENTS, Statement, published_ratio

AGREES, DIFFERS = "agrees", "differs"
#: Our result differs from the study only by a smaller loss.
BETTER_OUTCOME = "differs, for the better"
#: A difference for the better is not red.
_OUTCOME_TONES: dict[str, Tone] = {
    AGREES: "good",
    DIFFERS: "bad",
    BETTER_OUTCOME: "good",
    OPEN: "warn",
}
Finding = shared.Finding[Statement, Panel]


def findings(
    panel: Panel, verdicts: Mapping[Comparison, ClaimVerdict], settings: Thresholds, levels: Levels
) -> list[Finding]:
    """The four findings of one panel."""
    results = []
    for statement in STATEMENTS:
        least = 0 if statement.expectation == "on par" else settings.many_bytes
        sizes = tuple(size for size in settings.compared_sizes if size >= least)
        pair = statement.variant, statement.base
        keys = {size: comparison(STUDY, panel, *pair, size) for size in sizes}
        evidence = shared.evidence(verdicts, keys)
        claims = [claim for _, claim in evidence]
        outcome = _outcome_of(statement.expectation, claims, settings, levels)
        results.append(
            Finding(
                statement=statement,
                panel=panel,
                outcome=outcome,
                outcome_tone=_OUTCOME_TONES[outcome],
                is_about_all_sizes=outcome == AGREES,
                evidence=evidence,
                compared_sizes=sizes,
            )
        )
    return results


def _outcome_of(
    expectation: str, evidence: Sequence[ClaimVerdict], settings: Thresholds, levels: Levels
) -> str:
    """Return "agrees" if every size shows `expectation`, "differs" if one shows the contrary."""
    if not evidence:
        return OPEN
    verdicts = {claim.verdict for claim in evidence}
    if expectation == "on par":
        agrees = verdicts == {Verdict.ON_PAR}
        differs = bool(verdicts & {Verdict.FASTER, Verdict.SLOWER})
    elif expectation == "slower":
        agrees = verdicts == {Verdict.SLOWER}
        differs = bool(verdicts & {Verdict.FASTER, Verdict.ON_PAR})
    else:
        bound = settings.great_loss
        agrees = all(
            claim.interval.within(0, bound) and claim.q < levels.false_discovery_level
            for claim in evidence
        )
        differs = any(claim.interval.is_above(bound) for claim in evidence)
    if agrees or not differs:
        return AGREES if agrees else OPEN
    return DIFFERS if expectation == "on par" and Verdict.SLOWER in verdicts else BETTER_OUTCOME


def overall(all_findings: Sequence[Sequence[Finding]]) -> tuple[Answer, ...]:
    """One line for each statement over all panels; `all_findings` has four for each panel."""
    if not all_findings:
        text = "No ping-pong launch completed: the study's question stays open."
        return (Answer((text,), "warn"),)
    groups = [group for group in all_findings if any(finding.evidence for finding in group)]
    if not groups and labels.is_only_simulated(group[0].panel.kind for group in all_findings):
        return (Answer((labels.ONLY_SIMULATED_NOTE,)),)
    if not groups:
        text = "Boost.MPI was not compared with raw MPI: no launch has both at a compared size."
        return (Answer((Strong(text),), "warn"),)
    lines = [
        (f"{_sentence(group)}.", line_tone(_verdict_points(group)))
        for group in zip(*groups, strict=True)
    ]
    if others := [group[0].panel.label for group in all_findings if group not in groups]:
        lines[0] = f"{lines[0][0]} Nothing was compared on {'; '.join(others)}.", "warn"
    return tuple(Answer((text,), tone) for text, tone in lines)


def panel_answer(findings: Sequence[Finding]) -> Answer:
    """The answer for one panel, from its four findings."""
    lines = " ".join(f"{_sentence([finding])}." for finding in findings if finding.evidence)
    return answer(findings[0].panel.label, f": {lines}", line_tone(_verdict_points(findings)))


def _sentence(findings: Sequence[Finding]) -> str:
    """A sentence on one statement in all panels, at every compared size, measured or not."""
    statement = findings[0].statement
    return line(statement.subject, statement.base_title, _verdict_points(findings))


def _verdict_points(findings: Sequence[Finding]) -> list[VerdictAt]:
    return [
        VerdictAt(finding.panel.label, size, dict(finding.evidence).get(size))
        for finding in findings
        for size in finding.compared_sizes
    ]


def verdict_table(all_findings: Sequence[Sequence[Finding]]) -> Table:
    """A row for each toolchain and setting, and a column for each finding of the study."""
    has_settings = len({group[0].panel.setting for group in all_findings}) > 1
    rows = []
    for group in all_findings:
        panel = group[0].panel
        name = f"{panel.label}; {panel.setting}" if has_settings else panel.label
        rows.append(((name,), {finding.statement: finding.cell for finding in group}))
    return display.grid(
        "Do the study's findings hold here? Ratios of bandwidth over the compared sizes, and "
        "whether we agree with the study.",
        ("Toolchain",),
        {
            statement: Column(statement.short, base=ARMS[statement.base].title)
            for statement in STATEMENTS
        },
        rows,
    )


def finding_table(curves: Curves, number: int, findings: Sequence[Finding]) -> Table:
    """A table of one finding of the study: its words, its numbers and ours."""
    statement, sizes = findings[0].statement, sorted(set(findings[0].compared_sizes))
    variant, base = ARMS[statement.variant].title, ARMS[statement.base].title
    study = [_published_cell(statement, size) for size in sizes]
    rows = [(Cell("The study, read off its figure"), *study, display.NONE)]
    for finding in findings:
        evidence = dict(finding.evidence)
        ratios = [
            tables.ratio_cell(
                evidence[size], curves.series_key(finding.panel, statement.variant, size)
            )
            if size in evidence
            else tables.nearest_ratio(curves, finding.panel, statement, size)
            for size in sizes
        ]
        outcome = Cell("", finding.tone, finding.verdict)
        rows.append((Cell(finding.panel.label), *ratios, outcome))
    return Table(
        f"Finding {number}: “{statement.words}”: bandwidth of {variant} over {base}.",
        (
            Column("Toolchain"),
            *(Column(units.size(size), "right", base=base) for size in sizes),
            Column("Our finding"),
        ),
        tuple(rows),
    )


def _published_cell(statement: Statement, size: int) -> Cell:
    ratio = published_ratio(statement, size)
    if ratio is None:
        return display.NONE
    return Cell(("about ", Quantity(value=ratio, unit=Unit.RATIO, digits=2)))


_BOTTLENECK_STATEMENT = (
    "“the bottleneck is in the underlying MPI implementation itself”: datatypes of Boost.MPI "
    "against MPI's"
)
_WORST_CASE_STATEMENT = (
    "“This particular instance is the worst possible case for Boost.MPI, because we are "
    "serializing millions of individual characters.”"
)
_CONCLUSION_STATEMENT = (
    "“Overall, the additional abstraction provided by Boost.MPI does not impair its performance.”"
)


def study_table(all_findings: Sequence[Sequence[Finding]]) -> Table:
    """The study's statements beside our findings; `all_findings` has four for each panel."""
    rows: list[tuple[str, Inline | Text, Cell]] = []
    for group in zip(*all_findings, strict=True):
        statement = group[0].statement
        published = [published_ratio(statement, size) for size in group[0].compared_sizes]
        ratios = [ratio for ratio in published if ratio is not None]
        number = (
            f"{units.ratio_range_text(ratios)} times{display.slowdown(ratios)}, read off its figure"
            if ratios
            else units.NO_VALUE
        )
        rows.append((f"“{statement.words}”", number, _joint_cell(_sentence(group), group)))
    boost_types = [group[1] for group in all_findings]
    rows.insert(
        3, (_BOTTLENECK_STATEMENT, units.NO_VALUE, _joint_cell(_sentence(boost_types), boost_types))
    )
    rows.append((_WORST_CASE_STATEMENT, units.NO_VALUE, _worst_case_cell(all_findings)))
    rows.append((_CONCLUSION_STATEMENT, units.NO_VALUE, _conclusion_cell(all_findings)))
    return display.study_table(rows)


def _worst_case_cell(all_findings: Sequence[Sequence[Finding]]) -> Cell:
    """Serialized characters against the other three comparisons, over all panels and sizes."""
    serialized = [ratio for group in all_findings for ratio in group[3].ratios]
    others = [ratio for group in all_findings for finding in group[:3] for ratio in finding.ratios]
    if not serialized or not others:
        return display.NOT_MEASURED
    mark = labels.label_suffix(group[3].panel.kind for group in all_findings)
    words = (
        f"{units.ratio_range_text(serialized)} times the bandwidth of MPI; every other comparison "
        f"has {units.ratio_range_text(others)} times{mark}."
    )
    is_worst = max(serialized) < min(others)
    return Cell(words, "good" if is_worst else "plain", AGREES if is_worst else DIFFERS)


def _conclusion_cell(all_findings: Sequence[Sequence[Finding]]) -> Cell:
    """Boost.MPI over MPI with both kinds of types: the first two findings of each panel."""
    pairs = [group[:2] for group in all_findings]
    findings = [finding for pair in pairs for finding in pair]
    ratios = [ratio for finding in findings for ratio in finding.ratios]
    if not ratios:
        return display.NOT_MEASURED
    times = units.ratio_range_text(ratios)
    words = f"Boost.MPI has {times} times the bandwidth of MPI, with both kinds of types"
    outcomes = [_worst_outcome({finding.outcome for finding in pair}) for pair in pairs]
    return _outcome_cell(words, findings, [pair[0].panel.label for pair in pairs], outcomes)


def _worst_outcome(outcomes: set[str]) -> str:
    return next(
        outcome for outcome in (DIFFERS, OPEN, BETTER_OUTCOME, AGREES) if outcome in outcomes
    )


def _joint_cell(words: str, findings: Sequence[Finding]) -> Cell:
    panels = [finding.panel.label for finding in findings]
    return _outcome_cell(words, findings, panels, [finding.outcome for finding in findings])


def _outcome_cell(
    words: str, findings: Sequence[Finding], panels: Sequence[str], outcomes: Sequence[str]
) -> Cell:
    """`words`, and the outcome in each panel; panels are named where outcomes differ."""
    suffix = labels.label_suffix(finding.panel.kind for finding in findings)
    tone = worst_tone(finding.tone for finding in findings)
    names = labels.distinct_labels(set(panels))
    verdict = joint_verdict([names[panel] for panel in panels], outcomes, "on")
    return Cell(f"{words}{suffix}.", tone, verdict)
