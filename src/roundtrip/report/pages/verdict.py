"""The verdict on a series, in words and numbers, and the marks of what is no real network."""

from __future__ import annotations

from dataclasses import dataclass

from roundtrip.report import units
from roundtrip.report.blocks import Tone
from roundtrip.stats.nights.verdicts import Newest, SeriesHistory, Step, Verdict

TONES: dict[Verdict, Tone] = {
    Verdict.WORSE_LAST_NIGHT: "bad",
    Verdict.REGRESSED: "bad",
    Verdict.FLAPPING: "bad",
    Verdict.DRIFTING: "warn",
    Verdict.RECOVERED: "good",
    Verdict.IMPROVED: "good",
    Verdict.WANDERING: "warn",
    Verdict.TOO_FEW_NIGHTS: "muted",
    Verdict.UNCHANGED: "muted",
}
#: Verdicts that only those who ask for all series are shown.
STILL = (Verdict.WANDERING, Verdict.TOO_FEW_NIGHTS, Verdict.UNCHANGED)


@dataclass(frozen=True)
class Judgement:
    """One series' verdict, with the step that it rests on, if one does.

    `newest` is the newest night, if the verdict rests on it.  `is_news`: the newest nights alone,
    or a level of so few nights as settings say.  `is_alarm`: it is worse, and nobody accepted that.
    `ratio` is printed with its interval, and `evidence` orders the rows of one verdict: that of the
    step over its threshold, or how far a drift is from none.
    """

    verdict: Verdict
    step: Step | None = None
    newest: Newest | None = None
    is_news: bool = False
    is_alarm: bool = False
    ratio: str = ""
    evidence: float = 0.0
    would_see: float | None = None
    why: str = ""

    @property
    def rank(self) -> tuple[int, bool, float]:
        """Rows are sorted by it."""
        return (list(Verdict).index(self.verdict), not self.is_news, -self.evidence)


def judgement(
    known: SeriesHistory, *, lower_is_better: bool, accepted: int = -1, since: int = 0
) -> Judgement:
    """The verdict on a series in words and numbers.

    A step counts for as long as the newest nights belong to it, not only while it is news: a
    regression that nobody mended or accepted is still one.  Change points up to night `accepted`
    are the baseline; what began before night `since` is no alarm.
    """
    verdict = known.verdict(lower_is_better=lower_is_better, accepted=accepted)
    standing = known.standing(lower_is_better=lower_is_better, accepted=accepted)
    is_alarm = any(step.night >= since for step in standing)
    step = known.step(accepted)
    seen, why = known.would_see, known.why
    if verdict is Verdict.WORSE_LAST_NIGHT and known.newest:
        one = known.newest
        away = max(one.ratio / one.high, one.low / one.ratio)
        text = f"{one.ratio:.3f} last night"
        return Judgement(verdict, None, one, True, True, text, away, seen, why)
    if verdict in (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.RECOVERED) and step:
        is_news = step.nights <= known.news_nights and step.night >= since
        ratio = _ratio(step.ratio, step.low, step.high)
        evidence = abs(step.evidence) / step.threshold
        return Judgement(verdict, step, None, is_news, is_alarm, ratio, evidence, seen)
    flaps = known.flaps(lower_is_better=lower_is_better)
    if verdict is Verdict.FLAPPING and flaps:
        text = (
            f"{flaps.ratio:.3f} in {units.percent(flaps.share)} of {flaps.nights} nights, "
            f"{units.percent(flaps.share_before)} before"
        )
        return Judgement(verdict, None, None, True, True, text, flaps.share, seen)
    modes = known.worse_mode(lower_is_better=lower_is_better, accepted=accepted)
    if verdict in (Verdict.FLAPPING, Verdict.IMPROVED) and modes:
        text = (
            f"worse mode ({modes.ratio:.3f}) in {units.percent(modes.after)} of {modes.nights} "
            f"nights, {units.percent(modes.before)} before"
        )
        is_new, is_worse = modes.nights <= known.news_nights, verdict is Verdict.FLAPPING
        alarm = is_worse or is_alarm
        return Judgement(verdict, None, None, is_new, alarm, text, modes.after, seen)
    if verdict is Verdict.DRIFTING and known.drift:
        drift = known.drift
        ratio = f"{_ratio(drift.a_year, drift.low, drift.high)} a year"
        away = max(drift.a_year, 1 / drift.a_year) if drift.a_year > 0 else 0.0
        return Judgement(verdict, None, None, False, is_alarm, ratio, away, seen)
    outside = known.newest is not None and known.newest.is_outside
    ratio = f"{known.newest.ratio:.3f} last night" if known.newest and outside else ""
    return Judgement(verdict, None, None, False, is_alarm, ratio, float(outside), seen, why)


def _ratio(ratio: float, low: float, high: float) -> str:
    return f"{ratio:.3f} [{low:.3f},\N{NO-BREAK SPACE}{high:.3f}]"
