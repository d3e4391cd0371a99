"""The study's three reasons, put to the test with our numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter

from roundtrip.report import units
from roundtrip.report.blocks import Tone
from roundtrip.report.evidence import where_measured
from roundtrip.stats.verdicts import Family, Judged, Verdict
from roundtrip.studies.ring import planned
from roundtrip.studies.ring.curves import Curves, Panel
from roundtrip.studies.ring.derived import STATEMENTS, Statement
from roundtrip.studies.ring.thresholds import Thresholds

#: A reason of the study that does not hold means that something costs less than it did: no red.
TONES: dict[str, Tone] = {
    "holds": "good",
    "holds in part": "warn",
    "cannot tell": "warn",
    "does not hold": "plain",
}


@dataclass(frozen=True)
class RingComparison:
    """Effective bandwidth of `variant` over `base`: a claim of the report."""

    panel: tuple[str, str]
    variant: str
    base: str
    size_bytes: int

    @property
    def family(self) -> Family:
        """What it is corrected together with."""
        primary = planned.is_primary(self.variant, self.base)
        return Family.PRIMARY if primary else Family.SECONDARY


@dataclass(frozen=True)
class Finding:
    """What one pair of transports in one panel says of a reason of the study.

    `verdict` is `outcome` with the sizes that were measured, if not all were; `told` is that in a
    sentence: with the size from which on it holds, if there is one.
    """

    statement: Statement
    panel: Panel
    variant: str
    base: str
    outcome: str
    verdict: str
    told: str
    evidence: tuple[tuple[int, Judged], ...]

    @property
    def tone(self) -> Tone:
        """What was not measured everywhere is neither green nor settled."""
        return TONES[self.outcome] if self.verdict == self.outcome else "warn"


def claims(curves: Curves, settings: Thresholds) -> dict[RingComparison, Sequence[float]]:
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
    panel: Panel, judged: Mapping[RingComparison, Judged], settings: Thresholds
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
                outcome = _outcome([one.verdict for _, one in evidence])
                where = where_measured(dict(evidence), settings.compared_sizes)
                verdict = f"{outcome}{where}" if outcome in _EVERYWHERE else outcome
                told = _from_a_size_on(evidence, where) or verdict
                finding = (statement, panel, variant, base, outcome, verdict, told, evidence)
                found.append(Finding(*finding))
    return found


#: Outcomes that speak of every compared size.
_EVERYWHERE = ("holds", "does not hold")


def worst(found: Sequence[Finding]) -> Tone:
    """Tone of several findings together: what is open outranks what is settled."""
    tones = [finding.tone for finding in found] or [TONES["cannot tell"]]
    return max(tones, key=("good", "plain", "warn").index)


def _outcome(verdicts: Sequence[Verdict]) -> str:
    """Of "it costs": every measured size shows it, some do, none does, or it cannot be told."""
    costs = sum(verdict is Verdict.SLOWER for verdict in verdicts)
    does_not = sum(verdict in (Verdict.ON_PAR, Verdict.FASTER) for verdict in verdicts)
    if costs == len(verdicts):
        return "holds"
    if costs:
        return "holds in part"
    return "does not hold" if does_not == len(verdicts) else "cannot tell"


def _from_a_size_on(evidence: Sequence[tuple[int, Judged]], where: str) -> str | None:
    """The words for what costs at all larger sizes and not at all sizes; else None.

    "At least" where the next smaller size is undecided: it may cost there as well.
    """
    ascending = [(size, judged.verdict) for size, judged in sorted(evidence, key=itemgetter(0))]
    above = list(takewhile(lambda one: one[1] is Verdict.SLOWER, reversed(ascending)))
    below = [verdict for _, verdict in ascending[: len(ascending) - len(above)]]
    if not above or not below or Verdict.SLOWER in below:
        return None
    least = "at least " if below[-1] is Verdict.CANNOT_TELL else ""
    return f"holds {least}from {units.size(above[-1][0])} on{where}"
