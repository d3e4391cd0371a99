"""The answers of the NetPIPE section: one sentence for each toolchain."""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Inline, Strong
from roundtrip.stats.verdicts import Verdict
from roundtrip.studies.finding import worst
from roundtrip.studies.netpipe.findings import AGREES, BETTER, DIFFERS, UNKNOWN, Finding


def headline(plain: Sequence[Finding]) -> Answer:
    """The answer to the campaign's question; `plain` are the first findings of all toolchains."""
    compared = [finding for finding in plain if finding.evidence]
    alone = [finding.panel.label for finding in plain if not finding.evidence]
    if not compared:
        text = "Boost.MPI was not compared with raw MPI: only one of the two was measured."
        return Answer((Strong(text),), "warn")
    on_par = sum(finding.verdict == AGREES for finding in compared)
    parts: list[Inline] = [
        Strong(f"Boost.MPI is on par with raw MPI on {on_par} of {_toolchains(compared)}.")
    ]
    for outcome, words in _OTHERWISE.items():
        if names := [finding.panel.label for finding in compared if finding.verdict == outcome]:
            parts.append(f" {words} on {'; '.join(names)}.")
    for finding in compared:
        if finding.outcome == AGREES and finding.where:
            lacking = ", ".join(map(units.size, finding.not_measured))
            here = f"On {finding.panel.label} it is{finding.where}; no launch reached {lacking}."
            parts.append(f" {here}")
    if alone:
        parts.append(f" Nothing was compared on {'; '.join(alone)}.")
    return Answer(tuple(parts), worst(finding.tone for finding in plain))


_OTHERWISE = {
    DIFFERS: "It is not",
    BETTER: "It is faster",
    UNKNOWN: "It cannot be told",
}


def _toolchains(findings: Sequence[Finding]) -> str:
    alone = len({finding.panel.toolchain for finding in findings}) == len(findings)
    return units.plural(len(findings), "toolchain" if alone else "setting")


def sentence(findings: Sequence[Finding]) -> Answer:
    """What the four findings of one panel say together."""
    plain, datatypes, own, serialized = findings
    panel = plain.panel
    clauses = [
        _on_par(plain, "Boost.MPI", "raw MPI"),
        _on_par(datatypes, "with derived datatypes Boost.MPI", "MPI"),
        _slower(own),
        _greatly(serialized),
    ]
    told = [clause for clause in clauses if clause]
    text = "; ".join(told) if told else "nothing was compared"
    return Answer((Strong(panel.label), f": {text}."), worst((plain.tone, datatypes.tone)))


def _on_par(finding: Finding, subject: str, base: str) -> str:
    if not finding.evidence:
        return ""
    ratios = units.spread(finding.ratios)
    if finding.outcome == AGREES:
        return f"{subject} is on par with {base}{finding.where} ({ratios} of its bandwidth)"
    if finding.outcome == UNKNOWN:
        return f"whether {subject} is on par with {base} cannot be told (medians {ratios})"
    contrary = [
        f"{judged.verdict} at {units.size(size)} (ratio {units.interval(judged.interval)})"
        for size, judged in finding.evidence
        if judged.verdict in (Verdict.FASTER, Verdict.SLOWER)
    ]
    return f"{subject} is not on par with {base}: {', '.join(contrary)}"


def _slower(finding: Finding) -> str:
    if not finding.evidence:
        return ""
    ratios = units.spread(finding.ratios)
    if finding.outcome == AGREES:
        slower = f"MPI's own derived datatypes are slower than bytes{finding.where}"
        return f"{slower} ({ratios} of the bandwidth)"
    if finding.outcome == UNKNOWN:
        return f"whether MPI's own datatypes are slower than bytes cannot be told ({ratios})"
    where = [
        f"{judged.verdict} at {units.size(size)}"
        for size, judged in finding.evidence
        if judged.verdict in (Verdict.FASTER, Verdict.ON_PAR)
    ]
    return f"MPI's own derived datatypes are not slower everywhere ({', '.join(where)})"


def _greatly(finding: Finding) -> str:
    if not finding.evidence:
        return ""
    size, worst = min(finding.evidence, key=lambda item: item[1].interval.median)
    cost = f"{units.factor(worst.interval.median)} slower than raw MPI at {units.size(size)}"
    if finding.outcome == AGREES:
        where = f",{finding.where}," if finding.where else ""
        return f"serializing every byte{where} is {cost}"
    if finding.outcome == UNKNOWN:
        return f"whether serializing every byte costs that much cannot be told (median: {cost})"
    return f"serializing every byte costs less than the study says (at worst {cost})"
