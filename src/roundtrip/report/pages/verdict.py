"""What is said of a series in a row of the history page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from roundtrip.report.blocks import Tone
from roundtrip.stats.nights.told import Step, Told


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

    `is_news`: that step was told lately.  `ratio` is printed with its interval, and `evidence`
    orders the rows of one verdict: the statistic over its threshold, or how far a drift is from
    none.
    """

    verdict: Verdict
    step: Step | None
    is_news: bool
    ratio: str
    evidence: float
    would_see: float | None
    why: str

    @property
    def rank(self) -> tuple[int, bool, float]:
        """Rows are sorted by it."""
        return (list(Verdict).index(self.verdict), not self.is_news, -self.evidence)


def say(told: Told, *, lower_is_better: bool) -> Said:
    """The verdict on a series in words and numbers.

    A step counts for as long as the newest nights belong to it, not only while it is news: a
    regression that nobody mended is still one.
    """
    step, drift, seen = told.recent, told.drift, told.would_see
    if step is None and drift is not None:
        ratio = f"{_ratio(drift.a_year, drift.low, drift.high)} a year"
        away = max(drift.a_year, 1 / drift.a_year) if drift.a_year > 0 else 0.0
        return Said(Verdict.DRIFTING, None, False, ratio, away, seen, told.why)
    if step is None and told.steps:
        step = told.steps[-1]
    if step is not None:
        is_better = (step.ratio < 1) == lower_is_better
        verdict = Verdict.IMPROVED if is_better else Verdict.REGRESSED
        evidence = abs(step.evidence) / step.threshold
        ratio = _ratio(step.ratio, step.low, step.high)
        return Said(verdict, step, told.recent is not None, ratio, evidence, seen, "")
    outside = told.newest is not None and told.newest.is_outside
    ratio = f"{told.newest.ratio:.3f} last night" if told.newest and outside else ""
    verdict = Verdict.CANNOT_TELL if told.why else Verdict.UNCHANGED
    return Said(verdict, None, False, ratio, float(outside), seen, told.why)


def _ratio(ratio: float, low: float, high: float) -> str:
    return f"{ratio:.3f} [{low:.3f},\N{NO-BREAK SPACE}{high:.3f}]"
