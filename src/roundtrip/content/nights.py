"""The verdict on each series of a campaign on a site, and the changes near its step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from operator import attrgetter
from typing import Any

import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.series import (
    Calendar,
    FactChange,
    HistorySeries,
    changes_by_night,
    changes_of_series,
    describe_changes,
    display_unit,
    node_set_changes,
    split_series,
)
from roundtrip.history import detection
from roundtrip.history.annotations import ACCEPTED_KIND, Annotation
from roundtrip.history.detection import SeriesNames
from roundtrip.history.night_rows import SERIES
from roundtrip.stats.nights.verdicts import ZERO_SHARE, NewestNight, SeriesHistory, Step, Verdict
from roundtrip.stats.settings import NightSettings
from roundtrip.units import Quantity


@dataclass(frozen=True)
class SeriesJudgement:
    """The verdict on one series, and the step that it rests on, if any.

    `newest_night` is set if the verdict rests on that night.  `is_recent`: only the newest nights,
    or a level of at most `news_nights` nights, support the verdict.  `is_alarm`: the series is
    worse and nobody accepted that.  `ratio_text` is the ratio with its interval.  `evidence` orders
    the series of one verdict: the evidence of the step over its threshold, or how far a drift is
    from none.  `detectable_step` is a fraction of the level, None with too few nights or a level
    of 0.
    """

    verdict: Verdict
    step: Step | None = None
    newest_night: NewestNight | None = None
    is_recent: bool = False
    is_alarm: bool = False
    ratio_text: str = ""
    evidence: float = 0.0
    detectable_step: float | None = None
    reason: str = ""

    @property
    def detectable_step_text(self) -> str:
        """The detectable step as a percentage; "" if there is none."""
        return "" if self.detectable_step is None else describe_step(self.detectable_step)

    @property
    def sort_key(self) -> tuple[int, bool, float]:
        return (list(Verdict).index(self.verdict), not self.is_recent, -self.evidence)


#: Steps below this fraction, as of series that are constant, are not distinguished.
_MIN_STEP = 1e-4


def describe_step(step: float) -> str:
    """A detectable step, a fraction, as a percentage."""
    return f"{'' if step >= _MIN_STEP else 'less than '}{units.percent_text(max(step, _MIN_STEP))}"


def judge_series(
    history: SeriesHistory, accepted_night: int = -1, since: int = 0
) -> SeriesJudgement:
    """The verdict on a series, with its step, its ratio as text and whether it is an alarm.

    A step counts as long as the newest nights belong to it, even if it is not recent: a regression
    remains one until somebody fixes or accepts it.  Change points up to `accepted_night` are the
    baseline; steps that began before night `since` are no alarm.
    """
    verdict = history.verdict(accepted_night)
    is_alarm = any(step.night >= since for step in history.unreversed_steps(accepted_night))
    base = SeriesJudgement(verdict, is_alarm=is_alarm, detectable_step=history.detectable_step)
    newest = history.newest_night
    if verdict is Verdict.WORSE_LAST_NIGHT and newest:
        distance = max(newest.ratio / newest.high, newest.low / newest.ratio)
        text = f"{units.ratio_to_level(newest.ratio)} last night"
        alarm = replace(base, newest_night=newest, is_recent=True, is_alarm=True)
        return replace(alarm, ratio_text=text, evidence=distance, reason=history.reason)
    step = history.newest_step(accepted_night)
    if verdict in (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.RECOVERED) and step:
        is_news = history.is_new_step(step) and step.night >= since
        text = str(units.ratio_to_level(step.ratio, step.low, step.high))
        evidence = abs(step.evidence) / step.threshold
        return replace(base, step=step, is_recent=is_news, ratio_text=text, evidence=evidence)
    flaps = history.worse_flapping()
    if verdict is Verdict.FLAPPING and flaps:
        share, before = map(units.percent_text, (flaps.share, flaps.share_before))
        ratio = units.ratio_to_level(flaps.ratio)
        text = f"{ratio} in {share} of {flaps.nights} nights, {before} before"
        return replace(base, is_recent=True, is_alarm=True, ratio_text=text, evidence=flaps.share)
    modes = history.worse_mode(accepted_night)
    if verdict in (Verdict.FLAPPING, Verdict.IMPROVED) and modes:
        after, before = map(units.percent_text, (modes.after, modes.before))
        mode = f"worse mode ({units.ratio_to_level(modes.ratio)})"
        text = f"{mode} in {after} of {modes.nights} nights, {before} before"
        is_news, is_worse = modes.nights <= history.news_nights, verdict is Verdict.FLAPPING
        alarm = replace(base, is_recent=is_news, is_alarm=is_worse or is_alarm)
        return replace(alarm, ratio_text=text, evidence=modes.after)
    if verdict is Verdict.DRIFTING and history.drift:
        drift, yearly_ratio = history.drift, history.drift.yearly_ratio
        text = f"{units.ratio_to_level(yearly_ratio, drift.low, drift.high)} a year"
        distance = max(yearly_ratio, 1 / yearly_ratio) if yearly_ratio > 0 else 0.0
        return replace(base, ratio_text=text, evidence=distance)
    if newest and newest.is_outside:
        text = f"{units.ratio_to_level(newest.ratio)} last night"
        return replace(base, ratio_text=text, evidence=1.0, reason=history.reason)
    return replace(base, reason=history.reason)


@dataclass(frozen=True)
class JudgedSeries:
    """One series and its verdict; its step, if any, began on `step_night`.

    `change_night` is the night near the step at which something changed.  `changes` are those near
    the step or, if the series is worse last night, of that night.  `changes_by_step` has those near
    each change point.  `emulation_label` is "" if it is measured.  `acceptance` is the newest
    annotation that accepts the level.  `revision_sentences` say how earlier reports are revised.
    """

    data: HistorySeries
    history: SeriesHistory
    judgement: SeriesJudgement
    step_night: str | None
    change_night: str | None
    changes: tuple[FactChange, ...]
    changes_by_step: tuple[tuple[FactChange, ...], ...] = ()
    emulation_label: str = ""
    acceptance: Annotation | None = None
    revision_sentences: tuple[str, ...] = ()

    @property
    def full_title(self) -> str:
        """``mpi, 1 B; half round trip time; pingpong, smp, openmpi41 (EMULATED NODES)``."""
        return _full_title(self.data, self.emulation_label)

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Sort key: the worst first, then study and variant, small messages before large ones."""
        study, variant, size = map(self.data.identity.get, ("study", "variant", "size_bytes"))
        return (*self.judgement.sort_key, str(study), str(variant), size or 0, self.full_title)

    @property
    def has_negligible_step(self) -> bool:
        """Whether its newest change point is below the least effect, or its interval includes 1."""
        steps = self.history.steps
        return bool(steps) and not steps[-1].is_effect(self.history.min_effect)

    @property
    def is_intermittent(self) -> bool:
        """Whether its verdict rests on how often nights are bad, or in the worse of two modes."""
        judgement = self.judgement
        return judgement.verdict in (Verdict.FLAPPING, Verdict.IMPROVED) and judgement.step is None

    @property
    def changes_text(self) -> str:
        """Changes in provenance near the step, or of a worse last night; "" without any."""
        if self.step_night is None and self.judgement.verdict is not Verdict.WORSE_LAST_NIGHT:
            return ""
        return describe_changes(self.changes)

    @property
    def level_before(self) -> Quantity | str:
        """The level between its step and the change point before; "" without a step."""
        step = self.judgement.step
        if step is None:
            return ""
        segments = [part for part in self.history.segments if part.begin < step.night]
        if not segments:
            return units.NO_VALUE
        factor, unit = display_unit(self.data)
        level = segments[-1].level
        values = [point.median for point in self.data.points if not point.left_out]
        # A level of 0 is lower than all other values, and logarithms are not exact.
        is_zero = all(level < 0.99 * value for value in values if value)
        return units.amount(0.0 if is_zero else level * factor, unit)

    @property
    def zero_text(self) -> str:
        """How many nights of 0 were judged, and as what; "" without any."""
        points = [point for point in self.data.points if not point.left_out]
        nights = units.plural(len({point.night for point in points if not point.median}), "night")
        others = [point.median for point in points if point.median]
        if len(others) == len(points):
            return ""
        if not others:
            return f"0 in all {nights}: a rise from 0 is no percentage"
        is_count = all(float(value).is_integer() for value in others)
        unit = "" if is_count else " times the least other value"
        return f"0 in {nights}, which counts as {ZERO_SHARE:.2g}{unit}"


@dataclass(frozen=True)
class NightVerdicts:
    """All judged series, worst first, by `settings`, and the calendar of their nights.

    `changes_by_night` has every recorded fact that differs from the night before.
    """

    calendar: Calendar
    judged_series: tuple[JudgedSeries, ...]
    changes_by_night: Mapping[str, Sequence[FactChange]]
    settings: NightSettings

    def with_verdict(self, verdict: Verdict) -> list[JudgedSeries]:
        """The series with this verdict."""
        return [series for series in self.judged_series if series.judgement.verdict is verdict]

    @property
    def detection_period_text(self) -> str:
        """``within 10 nights``: the time in which a series shows its `detectable_step`."""
        return f"within {units.plural(self.settings.sight_nights, 'night')}"

    @property
    def count_by_verdict(self) -> Mapping[Verdict, int]:
        """The number of series by verdict, without zeros, in the order of verdicts."""
        return {verdict: n for verdict in Verdict if (n := len(self.with_verdict(verdict)))}


def judge_all_series(
    nights: pl.DataFrame,
    provenance: pl.DataFrame,
    settings: NightSettings,
    acceptances: Sequence[Annotation] = (),
    since: str = "",
    histories: Mapping[SeriesNames, SeriesHistory] | None = None,
) -> NightVerdicts:
    """Judge every series of `nights` (columns `NIGHTS`); `provenance` has the columns `PROVENANCE`.

    `acceptances` make levels the baseline, also under the new name of a renamed series.  Steps that
    began before the date `since` are no alarm.  `histories`, if known, are the histories of all
    series by these settings.
    """
    if histories is None:
        histories = detection.histories(nights, settings)
    acceptances = with_carried_acceptances(nights, provenance, acceptances)
    calendar = Calendar(nights["night"].unique().sort().to_list())
    night_changes = changes_by_night(provenance, calendar.nights)
    marks = labels.history_labels_by_environ(provenance)
    judged_series: list[JudgedSeries] = []
    for series in split_series(nights):
        history = histories[tuple(series.identity[name] for name in SERIES)]
        mark = marks.get(series.environ, "")
        names = _accepted_names(series, mark)
        accepted = (each for each in acceptances if each.accepts(*names))
        acceptance = max(accepted, key=attrgetter("last"), default=None)
        accepted_night = calendar.count_before(acceptance.last) - 1 if acceptance else -1
        first_news = calendar.count_before(since, is_inclusive=False)
        verdict = judge_series(history, accepted_night, first_news)
        if not any(point.median for point in series.points if not point.left_out):
            verdict = replace(verdict, detectable_step=None)
        if verdict.verdict is Verdict.NO_VALUE:
            last_value = calendar.nights[-1 - history.nights_without_value]
            reason = f"last value that counts: {calendar.date_text(last_value)}"
            verdict = replace(verdict, reason=reason)
        step_causes = {
            step: _nearest_changes(series, calendar.nights[step.night], calendar, night_changes)
            for step in dict.fromkeys((*history.steps, *([verdict.step] if verdict.step else [])))
        }
        night, near, changes = None, None, tuple[FactChange, ...]()
        if verdict.step:
            night, (near, changes) = calendar.nights[verdict.step.night], step_causes[verdict.step]
        elif verdict.verdict is Verdict.WORSE_LAST_NIGHT:
            last = calendar.nights[-1]
            subjects = series_fact_subjects(series)
            changes = tuple(changes_of_series(night_changes.get(last, ()), subjects))
            if node_change := node_set_changes(series.points).get(last):
                changes = (*changes, node_change)
        causes = tuple(step_causes[step][1] for step in history.steps)
        texts = tuple(_revision_texts(history, calendar, accepted_night))
        facts = night, near, changes, causes, mark, acceptance, texts
        judged_series.append(JudgedSeries(series, history, verdict, *facts))
    judged_series.sort(key=attrgetter("sort_key"))
    return NightVerdicts(calendar, tuple(judged_series), night_changes, settings)


def _accepted_names(series: HistorySeries, emulation_label: str) -> tuple[str, ...]:
    # An acceptance holds on when another series takes the same short name.
    both = (replace(series, is_namesake=is_it) for is_it in (True, False))
    titles = (_full_title(each, emulation_label) for each in both)
    return *titles, str(series.identity["case_id"])


def with_carried_acceptances(
    nights: pl.DataFrame, provenance: pl.DataFrame, annotations: Sequence[Annotation]
) -> list[Annotation]:
    """`annotations`, and acceptances of levels by the names of before a renaming, by the new ones.

    `nights`, columns `NIGHTS`, are renamed.  An old name that another test has taken since means
    the renamed one only where the acceptance is older.
    """
    result = list(annotations)
    renamings = sorted(filter(attrgetter("renamed_to"), annotations), key=attrgetter("start"))
    acceptances = [each for each in annotations if each.kind == ACCEPTED_KIND]
    if not renamings or not acceptances:
        return result
    marks = labels.history_labels_by_environ(provenance)
    cases, starts = (set(nights[name]) for name in ("case_id", "night"))
    for series in split_series(nights):
        names = _accepted_names(series, marks.get(series.environ, ""))
        old_series = series
        for renaming in reversed(renamings):
            case = str(old_series.identity["case_id"])
            old_case, renamed_nights = renaming.old_name(case), [*filter(renaming.renames, starts)]
            if old_case == case or not renamed_nights:
                continue
            old_series = _with_case(old_series, old_case)
            old_names = _accepted_names(old_series, marks.get(old_series.environ, ""))
            for each in acceptances:
                is_older = each.last < renaming.start or old_case not in cases
                if is_older and each.accepts(*old_names) and not each.accepts(*names):
                    until = min(each.last, max(renamed_nights))
                    change = {"to": until, "series": escape(names[0])}
                    result.append(each.model_copy(update=change))
    return result


def _with_case(series: HistorySeries, case_id: str) -> HistorySeries:
    """The series of another case; imports have the name of the check as `case`."""
    identity = dict(series.identity)
    if identity["case"] == str(identity["case_id"]).split("/")[0]:
        identity["case"] = case_id.split("/")[0]
    return replace(series, identity={**identity, "case_id": case_id})


def _revision_texts(
    history: SeriesHistory, calendar: Calendar, accepted_night: int
) -> Iterator[str]:
    """Sentences: ``change point moved from night 41 (2026-02-10) to night 40 (2026-02-09)``."""

    def at(night: int) -> str:
        return f"night {night + 1} ({calendar.date_text(calendar.nights[night])})"

    for revision in history.revisions:
        old_night = revision.old_step.night
        if old_night > accepted_night and revision.new_step:
            yield f"change point moved from {at(old_night)} to {at(revision.new_step.night)}"
        elif old_night > accepted_night:
            ratio = units.ratio_to_level(revision.old_step.ratio)
            yield f"change point of {at(old_night)}, {ratio}, withdrawn: {revision.reason}"
    if history.previous_history and (newest := history.recovered_night()):
        night = history.previous_history.segments[-1].end - 1
        if night > accepted_night:
            ratio = units.ratio_to_level(newest.ratio)
            yield f"worse on {at(night)}, {ratio}, back at the level last night: an incident"


def series_fact_subjects(series: HistorySeries) -> frozenset[str]:
    """The subjects of facts that concern a series: its environment and its nodes."""
    nodes = "+".join({point.nodes for point in series.points}).split("+")
    return frozenset((series.environ, *nodes))


def _full_title(series: HistorySeries, emulation_label: str) -> str:
    label = f" ({emulation_label})" if emulation_label else ""
    return f"{series.title}; {series.subtitle}{label}"


def _nearest_changes(
    series: HistorySeries,
    night: str,
    calendar: Calendar,
    night_changes: Mapping[str, Sequence[FactChange]],
) -> tuple[str | None, tuple[FactChange, ...]]:
    """What changed near a step and when; facts count before nodes, which may change every night."""
    series_subjects = series_fact_subjects(series)
    facts = {
        neighbour: changes
        for neighbour in calendar.neighbours(night)
        if (changes := changes_of_series(night_changes.get(neighbour, ()), series_subjects))
    }
    set_changes = node_set_changes(series.points)
    set_night = calendar.nearest(night, set_changes)
    near = calendar.nearest(night, facts) or set_night
    changes = facts.get(near, []) if near else []
    if set_night is not None and set_night in (night, near):
        changes = [*changes, set_changes[set_night]]
    return near, tuple(changes)
