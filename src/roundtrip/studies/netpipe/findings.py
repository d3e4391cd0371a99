"""The study's four findings, tested with our numbers, and the answers of the section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtrip.report import labels
from roundtrip.report.blocks import Answer, Strong, Tone
from roundtrip.stats.settings import Levels
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import findings as shared
from roundtrip.studies.findings import Comparison, VerdictAt, comparison, line, worst_tone
from roundtrip.studies.netpipe import STUDY, Thresholds
from roundtrip.studies.netpipe.curves import Panel
from roundtrip.studies.netpipe.derived import STATEMENTS, Statement

AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "cannot tell"
#: Our result differs from the study only by a smaller loss.
BETTER = "differs, for the better"
#: A difference for the better is not red.
_TONES: dict[str, Tone] = {AGREES: "good", DIFFERS: "bad", BETTER: "good", UNKNOWN: "warn"}
Finding = shared.Finding[Statement, Panel]


def findings(
    panel: Panel, verdicts: Mapping[Comparison, ClaimVerdict], settings: Thresholds, levels: Levels
) -> list[Finding]:
    """The four findings of one panel."""
    return [_finding(statement, panel, verdicts, settings, levels) for statement in STATEMENTS]


def _finding(
    statement: Statement,
    panel: Panel,
    verdicts: Mapping[Comparison, ClaimVerdict],
    settings: Thresholds,
    levels: Levels,
) -> Finding:
    sizes = tuple(
        size
        for size in settings.compared_sizes
        if statement.expectation == "on par" or size >= settings.many_bytes
    )
    pair = statement.variant, statement.base
    keys = {size: comparison(STUDY, panel, *pair, size) for size in sizes}
    evidence = shared.evidence(verdicts, keys)
    outcome = _outcome(statement.expectation, [claim for _, claim in evidence], settings, levels)
    return Finding(
        statement=statement,
        panel=panel,
        outcome=outcome,
        outcome_tone=_TONES[outcome],
        is_about_all_sizes=outcome == AGREES,
        evidence=evidence,
        compared_sizes=sizes,
    )


def _outcome(
    expectation: str, evidence: Sequence[ClaimVerdict], settings: Thresholds, levels: Levels
) -> str:
    """Return "agrees" if every size shows `expectation`, "differs" if one shows the contrary."""
    if not evidence:
        return UNKNOWN
    verdicts = [claim.verdict for claim in evidence]
    if expectation == "on par":
        agrees = all(verdict is Verdict.ON_PAR for verdict in verdicts)
        differs = any(verdict in (Verdict.FASTER, Verdict.SLOWER) for verdict in verdicts)
    elif expectation == "slower":
        agrees = all(verdict is Verdict.SLOWER for verdict in verdicts)
        differs = any(verdict in (Verdict.FASTER, Verdict.ON_PAR) for verdict in verdicts)
    else:
        bound = settings.great_loss
        agrees = all(
            claim.interval.within(0, bound) and claim.q < levels.false_discovery_level
            for claim in evidence
        )
        differs = any(
            claim.interval.low is not None and claim.interval.low > bound for claim in evidence
        )
    if agrees or not differs:
        return AGREES if agrees else UNKNOWN
    return DIFFERS if expectation == "on par" and Verdict.SLOWER in verdicts else BETTER


_NONE = "Boost.MPI was not compared with raw MPI: no launch has both at a compared size."


def overall(all_findings: Sequence[Sequence[Finding]]) -> tuple[Answer, ...]:
    """One line for each statement over all panels; `all_findings` has four for each panel."""
    groups = [group for group in all_findings if any(finding.evidence for finding in group)]
    if not groups and labels.is_only_simulated(group[0].panel.kind for group in all_findings):
        return (Answer((labels.ONLY_SIMULATED,)),)
    if not groups:
        return (Answer((Strong(_NONE),), "warn"),)
    other_panels = [group[0].panel.label for group in all_findings if group not in groups]
    answers: list[Answer] = []
    for statement_findings in zip(*groups, strict=True):
        points = [point for finding in statement_findings for point in verdict_points(finding)]
        statement = statement_findings[0].statement
        text = f"{line(statement.subject, statement.base_title, points)}."
        if other_panels and not answers:
            text += f" Nothing was compared on {'; '.join(other_panels)}."
        tone: Tone = worst_tone(finding.tone for finding in statement_findings)
        answers.append(Answer((text,), "warn" if other_panels and not answers else tone))
    return tuple(answers)


def panel_answer(findings: Sequence[Finding]) -> Answer:
    """The answer for one panel, from its four findings."""
    lines = [
        f"{line(finding.statement.subject, finding.statement.base_title, verdict_points(finding))}."
        for finding in findings
        if finding.evidence
    ]
    text = " ".join(lines) or "Nothing was compared."
    plain, datatypes, *_ = findings
    return Answer(
        (Strong(plain.panel.label), f": {text}"), worst_tone((plain.tone, datatypes.tone))
    )


def verdict_points(finding: Finding) -> list[VerdictAt]:
    """The verdict at every compared size, measured or not."""
    verdicts = dict(finding.evidence)
    return [
        VerdictAt(finding.panel.label, size, verdicts.get(size)) for size in finding.compared_sizes
    ]
