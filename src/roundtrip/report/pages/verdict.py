"""What is said of a series in a row of the history page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from roundtrip.report.blocks import Tone
from roundtrip.stats.nights.told import Outcome, Step, Told


class Verdict(StrEnum):
    """The verdicts, in the order of the page."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    DRIFTING = "drifting"
    CANNOT_TELL = "cannot tell"
    UNCHANGED = "unchanged"


TONES: dict[Verdict, Tone] = {
    Verdict.REGRESSED: "bad",
    Verdict.IMPROVED: "good",
    Verdict.DRIFTING: "warn",
    Verdict.CANNOT_TELL: "muted",
    Verdict.UNCHANGED: "muted",
}


@dataclass(frozen=True)
class Said:
    """One series' verdict, with the step that it rests on, if one does.

    `ratio` is printed with its interval, and `evidence` orders the rows of one verdict: the
    statistic over its threshold, or how far a drift is from none.
    """

    verdict: Verdict
    step: Step | None
    ratio: str
    evidence: float
    would_see: float | None
    why: str

    @property
    def rank(self) -> tuple[int, float]:
        """Rows are sorted by it."""
        return (list(Verdict).index(self.verdict), -self.evidence)


def say(told: Told, *, lower_is_better: bool) -> Said:
    """The verdict on a series in words and numbers."""
    seen = told.would_see
    verdict = _verdict(told, lower_is_better)
    step = told.recent
    if step is not None:
        evidence = abs(step.evidence) / step.threshold
        return Said(verdict, step, _ratio(step.ratio, step.low, step.high), evidence, seen, "")
    if told.drift is not None:
        drift = told.drift
        ratio = f"{_ratio(drift.a_year, drift.low, drift.high)} a year"
        away = max(drift.a_year, 1 / drift.a_year) if drift.a_year > 0 else 0.0
        return Said(verdict, None, ratio, away, seen, told.why)
    outside = told.newest is not None and told.newest.is_outside
    ratio = f"{told.newest.ratio:.3f} last night" if told.newest and outside else ""
    return Said(verdict, None, ratio, float(outside), seen, told.why)


def _verdict(told: Told, lower_is_better: bool) -> Verdict:
    if told.recent is None and told.drift is not None:
        return Verdict.DRIFTING
    return {
        Outcome.REGRESSED: Verdict.REGRESSED,
        Outcome.IMPROVED: Verdict.IMPROVED,
        Outcome.UNCHANGED: Verdict.UNCHANGED,
        Outcome.CANNOT_TELL: Verdict.CANNOT_TELL,
    }[told.outcome(lower_is_better=lower_is_better)]


def _ratio(ratio: float, low: float, high: float) -> str:
    return f"{ratio:.3f} [{low:.3f},\N{NO-BREAK SPACE}{high:.3f}]"
