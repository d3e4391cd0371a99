"""The answers of the NetPIPE section: what each of the study's findings is here, in a line each."""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.report import labels
from roundtrip.report.blocks import Answer, Strong, Tone
from roundtrip.studies.briefly import Told, line
from roundtrip.studies.finding import worst
from roundtrip.studies.netpipe.findings import Finding

#: Of each statement of the study, in its order: what costs over what.
_SUBJECTS = (
    ("Boost.MPI", "raw MPI"),
    ("Boost.MPI with derived datatypes", "MPI's"),
    ("MPI with derived datatypes", "MPI with bytes"),
    ("Serializing every byte", "raw MPI"),
)
_NONE = "Boost.MPI was not compared with raw MPI: only one of the two was measured."


def over_all(found: Sequence[Sequence[Finding]]) -> tuple[Answer, ...]:
    """One line for each statement over all panels; `found` are the four findings of each."""
    compared = [four for four in found if any(finding.evidence for finding in four)]
    if not compared and labels.only_simulated(four[0].panel.kind for four in found):
        return (Answer((labels.ONLY_SIMULATED,)),)
    if not compared:
        return (Answer((Strong(_NONE),), "warn"),)
    alone = [four[0].panel.label for four in found if four not in compared]
    answers: list[Answer] = []
    for (subject, base), findings in zip(_SUBJECTS, zip(*compared, strict=True), strict=True):
        told = [one for finding in findings for one in _told(finding)]
        text = f"{line(subject, base, told)}."
        if alone and not answers:
            text += f" Nothing was compared on {'; '.join(alone)}."
        tone: Tone = worst(finding.tone for finding in findings)
        answers.append(Answer((text,), "warn" if alone and not answers else tone))
    return tuple(answers)


def of_panel(findings: Sequence[Finding]) -> Answer:
    """What the four findings of one panel say together."""
    lines = [
        f"{line(*subject, _told(finding))}."
        for subject, finding in zip(_SUBJECTS, findings, strict=True)
        if finding.evidence
    ]
    told = " ".join(lines) or "Nothing was compared."
    plain, datatypes, *_ = findings
    return Answer((Strong(plain.panel.label), f": {told}"), worst((plain.tone, datatypes.tone)))


def _told(finding: Finding) -> list[Told]:
    """Every size that was to be compared, measured or not."""
    there = dict(finding.evidence)
    return [Told(finding.panel.label, size, there.get(size)) for size in finding.compared]
