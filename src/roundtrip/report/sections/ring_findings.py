"""The study's three reasons, put to the test with our numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter

from roundtrip.collect.analysis import Ring
from roundtrip.report import units
from roundtrip.report.blocks import Tone
from roundtrip.report.sections.ring_curves import Curves, Panel
from roundtrip.stats.verdicts import Judged, Verdict
from roundtrip.studies.ring import STATEMENTS, Statement

TONES: dict[str, Tone] = {
    "holds": "good",
    "holds at the sizes measured": "warn",
    "holds in part": "warn",
    "cannot tell": "warn",
    "does not hold at the sizes measured": "warn",
    "does not hold": "bad",
}


@dataclass(frozen=True)
class RingComparison:
    """Effective bandwidth of `variant` over `base`: a claim of the report."""

    panel: tuple[str, str]
    variant: str
    base: str
    size_bytes: int


@dataclass(frozen=True)
class Finding:
    """What one pair of transports in one panel says of a reason of the study.

    `told` is `outcome` in a sentence: with the size from which on it holds, if there is one.
    """

    statement: Statement
    panel: Panel
    variant: str
    base: str
    outcome: str
    told: str
    evidence: tuple[tuple[int, Judged], ...]


def claims(curves: Curves, settings: Ring) -> dict[RingComparison, Sequence[float]]:
    """The ratios, one a launch, behind every finding."""
    pairs = [pair for statement in STATEMENTS for pair in statement.pairs]
    return {
        RingComparison(panel.key, variant, base, size): ratios
        for panel in curves.panels
        for variant, base in pairs
        for size, ratios in curves.ratio(panel, variant, base).items()
        if size in settings.compared_sizes
    }


def findings(
    panel: Panel, judged: Mapping[RingComparison, Judged], settings: Ring
) -> list[Finding]:
    """One for each pair that was measured in the panel."""
    found = []
    for statement in STATEMENTS:
        for variant, base in statement.pairs:
            keys = {
                size: RingComparison(panel.key, variant, base, size)
                for size in settings.compared_sizes
            }
            evidence = tuple((size, judged[key]) for size, key in keys.items() if key in judged)
            if evidence:
                outcome = _outcome([one.verdict for _, one in evidence], len(keys))
                told = _from_a_size_on(evidence, len(keys)) or outcome
                found.append(Finding(statement, panel, variant, base, outcome, told, evidence))
    return found


def worst(outcomes: Sequence[str]) -> Tone:
    """Tone of several outcomes together: what does not hold outranks what cannot be told."""
    tones = [TONES[outcome] for outcome in outcomes] or [TONES["cannot tell"]]
    return max(tones, key=("good", "warn", "bad").index)


def _outcome(verdicts: Sequence[Verdict], compared: int) -> str:
    """Of "it costs": every compared size shows it, some do, none does, or it cannot be told.

    What was found at every size says so if a compared size was not measured.
    """
    everywhere = "" if len(verdicts) == compared else " at the sizes measured"
    costs = sum(verdict is Verdict.SLOWER for verdict in verdicts)
    does_not = sum(verdict in (Verdict.ON_PAR, Verdict.FASTER) for verdict in verdicts)
    if costs == len(verdicts):
        return f"holds{everywhere}"
    if costs:
        return "holds in part"
    return f"does not hold{everywhere}" if does_not == len(verdicts) else "cannot tell"


def _from_a_size_on(evidence: Sequence[tuple[int, Judged]], compared: int) -> str | None:
    """The words for what costs at all larger sizes and not at all sizes; else None.

    "At least" where the next smaller size is undecided: it may cost there as well.
    """
    ascending = [(size, judged.verdict) for size, judged in sorted(evidence, key=itemgetter(0))]
    above = list(takewhile(lambda one: one[1] is Verdict.SLOWER, reversed(ascending)))
    below = [verdict for _, verdict in ascending[: len(ascending) - len(above)]]
    if not above or not below or Verdict.SLOWER in below:
        return None
    least = "at least " if below[-1] is Verdict.CANNOT_TELL else ""
    everywhere = "" if len(evidence) == compared else ", at the sizes measured"
    return f"holds {least}from {units.size(above[-1][0])} on{everywhere}"
