"""The study's three reasons, put to the test with our numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter

from roundtrip.report import units
from roundtrip.report.blocks import Tone
from roundtrip.stats.verdicts import Family, Judged, Verdict
from roundtrip.studies import finding
from roundtrip.studies.finding import Comparison, Evidence
from roundtrip.studies.ring import planned
from roundtrip.studies.ring.curves import Curves, Panel
from roundtrip.studies.ring.derived import STATEMENTS, STUDY, Statement
from roundtrip.studies.ring.thresholds import Thresholds

#: A reason of the study that does not hold means that something costs less than it did: no red.
TONES: dict[str, Tone] = {
    "holds": "good",
    "holds in part": "warn",
    "cannot tell": "warn",
    "does not hold": "plain",
}
#: Outcomes that speak of every compared size.
_EVERYWHERE = ("holds", "does not hold")


@dataclass(frozen=True, kw_only=True)
class Finding(finding.Finding[Statement, Panel]):
    """What one pair of transports in one panel says of a reason of the study."""

    variant: str
    base: str

    @property
    def told(self) -> str:
        """The verdict in a sentence: with the size from which on it holds, if there is one."""
        return _from_a_size_on(self.evidence, self.where) or self.verdict


def comparison(panel: Panel, variant: str, base: str, size: int) -> Comparison:
    """Effective bandwidth of `variant` over `base`."""
    primary = planned.is_primary(variant, base)
    family = Family.PRIMARY if primary else Family.SECONDARY
    return Comparison(STUDY, panel.key, variant, base, size, family=family)


def claims(curves: Curves, settings: Thresholds) -> dict[Comparison, Sequence[float]]:
    """The ratios, one a launch, behind every finding."""
    pairs = [pair for statement in STATEMENTS for pair in statement.pairs]
    return {
        comparison(panel, variant, base, size): ratios
        for panel in curves.panels
        for variant, base in pairs
        for size, ratios in curves.ratio(panel, variant, base).items()
        if size in settings.compared_sizes
    }


def findings(
    panel: Panel, judged: Mapping[Comparison, Judged], settings: Thresholds
) -> list[Finding]:
    """One for each pair that was measured in the panel."""
    sizes = settings.compared_sizes
    found = []
    for statement in STATEMENTS:
        for variant, base in statement.pairs:
            keys = {size: comparison(panel, variant, base, size) for size in sizes}
            if evidence := finding.evidence(judged, keys):
                outcome = _outcome([one.verdict for _, one in evidence])
                found.append(
                    Finding(
                        statement=statement,
                        panel=panel,
                        variant=variant,
                        base=base,
                        outcome=outcome,
                        settled=TONES[outcome],
                        everywhere=outcome in _EVERYWHERE,
                        evidence=evidence,
                        compared=sizes,
                    )
                )
    return found


def _outcome(verdicts: Sequence[Verdict]) -> str:
    """Of "it costs": every measured size shows it, some do, none does, or it cannot be told."""
    costs = sum(verdict is Verdict.SLOWER for verdict in verdicts)
    does_not = sum(verdict in (Verdict.ON_PAR, Verdict.FASTER) for verdict in verdicts)
    if costs == len(verdicts):
        return "holds"
    if costs:
        return "holds in part"
    return "does not hold" if does_not == len(verdicts) else "cannot tell"


def _from_a_size_on(evidence: Evidence, where: str) -> str | None:
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
