"""The history page of one campaign on one site: every series over all nights."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl
from markupsafe import Markup

from roundtrip import units
from roundtrip.content import labels, nights, plot
from roundtrip.content.blocks import RichText
from roundtrip.content.nights import JudgedSeries, NightVerdicts
from roundtrip.content.series import FactChange, describe_changes, display_unit
from roundtrip.history.annotations import Annotation
from roundtrip.history.detection import SeriesNames
from roundtrip.report import renderers
from roundtrip.report.confirmation import NO_CONFIRMATION, ConfirmationResult
from roundtrip.report.drawing import plot_drawings
from roundtrip.report.pages import answers, chart
from roundtrip.stats.nights.verdicts import SeriesHistory, Verdict
from roundtrip.stats.settings import NightSettings

#: Maximum changes of provenance that a row names; the figure of the series has all of them.
_MAX_NAMED_CHANGES = 2
#: Files that form the page's script, in this order.
HISTORY_SCRIPTS = ("scales.js", "figure.js", "controls.js", "series.js", "rows.js")


@dataclass(frozen=True)
class HistoryPage:
    """The content of a history page.

    `series_histories` are judged by `settings`, and keyed by the identity of the series; they count
    all nights of the history, also nights without the series.  The links of `report_link_by_night`
    and `index_link` are relative to the page.  `night_notes` has (night, text) of each remark, on
    this night or on all from it on.  `notices` are at the top.  `confirmation` is the result of
    repeated launches after the newest night.  `cause_searches` has (link to the report, finding) of
    each search for a cause.
    """

    campaign: str
    site: str
    nights: pl.DataFrame
    provenance: pl.DataFrame
    series_histories: Mapping[SeriesNames, SeriesHistory]
    settings: NightSettings
    night_notes: Sequence[tuple[str, str]] = ()
    report_link_by_night: Mapping[str, str] = field(default_factory=dict)
    notices: Sequence[RichText] = ()
    index_link: str = ""
    acceptances: Sequence[Annotation] = ()
    confirmation: ConfirmationResult = NO_CONFIRMATION
    cause_searches: Sequence[tuple[str, str]] = ()

    @property
    def verdicts(self) -> NightVerdicts:
        histories = self.series_histories
        return nights.judge_all_series(
            self.nights, self.provenance, self.settings, self.acceptances, histories=histories
        )


@dataclass(frozen=True)
class _SeriesRow:
    """A series as its row and its figures show it."""

    series: JudgedSeries
    sparkline: Markup
    drawings: Sequence[Markup]
    last_night_value: str
    findings_text: str

    @property
    def abs_log_ratio(self) -> str:
        step = self.series.judgement.step
        return f"{abs(math.log(step.ratio)):.4f}" if step and step.ratio > 0 else "0"

    @property
    def changes_text(self) -> str:
        """The first changes near its step, or at a worse last night; "" without either."""
        more = len(self.series.changes) - _MAX_NAMED_CHANGES
        if more <= 0:
            return self.series.changes_text
        first_changes = "; ".join(map(str, self.series.changes[:_MAX_NAMED_CHANGES]))
        return f"{first_changes}; and {more} more"


def render_page(page: HistoryPage) -> str:
    """The page as HTML; the same history gives the same bytes."""
    verdicts = page.verdicts
    calendar = verdicts.calendar
    all_series = [series.data for series in verdicts.judged_series]
    notes = [(calendar.index(night), text) for night, text in page.night_notes if night in calendar]
    judged_series = answers.series_with_figures(verdicts)
    plots = [chart.series_plot(series, verdicts, notes) for series in judged_series]
    notice = labels.label_notice(labels.history_labels_by_environ(page.provenance))
    return renderers.render_template(
        "history.html.j2",
        HISTORY_SCRIPTS,
        calendar=calendar,
        home=page.index_link,
        newest=page.report_link_by_night.get(calendar.nights[-1], ""),
        notices=[*([notice] if notice else []), *page.notices],
        title=f"{page.campaign} on {page.site}",
        facts=[
            ("Campaign", page.campaign),
            ("Site", page.site),
            ("Nights", f"{len(calendar.nights)}"),
            ("Series", f"{len(all_series)}"),
            ("First night", calendar.date_text(calendar.nights[0])),
            ("Last night", calendar.date_text(calendar.nights[-1])),
        ],
        answers=answers.history_answers(verdicts, page.confirmation.sentence),
        searches=page.cause_searches,
        rows=[
            _series_row(series, verdicts, figure, page.confirmation.describe_series(series))
            for series, figure in zip(judged_series, plots, strict=True)
        ],
        night_pairs=answers.night_pairs(verdicts) if answers.has_too_few_nights(verdicts) else (),
        level=units.ConfidenceLevel(page.settings.confidence_level),
        sight=f"{units.plural(page.settings.sight_nights, 'more night')} would show with a "
        f"probability of {units.percent_text(page.settings.sight_power)}",
        drawn={series.data.key for series in judged_series},
        distance=answers.DISTANCE_NOTE,
        counts=verdicts.count_by_verdict.items(),
        studies=sorted({str(series.identity["study"]) for series in all_series}),
        environs=sorted({series.environ for series in all_series} - {""}),
        nights=_night_entries(page, verdicts),
        recorded=bool(page.report_link_by_night or page.night_notes or verdicts.changes_by_night),
        data=plot.escaped_json(_script_data(page, verdicts, judged_series, plots)),
    )


def _night_entries(page: HistoryPage, verdicts: NightVerdicts) -> list[dict[str, object]]:
    calendar = verdicts.calendar
    all_steps = (step for series in verdicts.judged_series for step in series.history.steps)
    steps = [calendar.nights[step.night] for step in all_steps]
    notes: dict[str, list[str]] = defaultdict(list)
    for night, text in page.night_notes:
        notes[night].append(text)
    return [
        {
            "number": calendar.index(night) + 1,
            "label": calendar.date_text(night),
            "report": page.report_link_by_night.get(night, ""),
            "steps": steps.count(night),
            "changes": [str(change) for change in verdicts.changes_by_night.get(night, [])],
            "notes": notes[night],
        }
        for night in reversed(calendar.nights)
    ]


def _script_data(
    page: HistoryPage,
    verdicts: NightVerdicts,
    judged_series: Sequence[JudgedSeries],
    plots: Sequence[plot.Plot],
) -> dict[str, object]:
    calendar = verdicts.calendar
    return {
        "nights": [calendar.date_text(night) for night in calendar.nights],
        "days": [calendar.days_since_1970(night) for night in calendar.nights],
        "reports": [page.report_link_by_night.get(night, "") for night in calendar.nights],
        "changes": {
            calendar.index(night): list(map(_change_entry, changes))
            for night, changes in verdicts.changes_by_night.items()
        },
        **chart.pack_all_series(judged_series, plots, calendar),
    }


def _change_entry(change: FactChange) -> list[object]:
    """Subject, text and nodes of a change; the script names the nodes of a series."""
    nodes = [list(change.nodes)] if change.nodes else []
    return [change.subject, str(replace(change, nodes=())), *nodes]


def _series_row(
    series: JudgedSeries,
    verdicts: NightVerdicts,
    figure: plot.Plot,
    confirmation_sentence: str,
) -> _SeriesRow:
    factor, unit = display_unit(series.data)
    nights = verdicts.calendar.nights
    point = series.data.point_at(nights[-1])
    newest = str(units.amount(point.median * factor, unit)) if point else units.NO_VALUE
    story = _findings_text(series, verdicts, confirmation_sentence)
    medians = {point.night: point.median for point in series.data.points}
    steps = [step.night for step in series.history.steps]
    levels = [medians.get(night) for night in nights]
    sparkline = chart.sparkline(levels, steps, series.history.spikes)
    drawings = plot_drawings(series.data.key, figure)
    return _SeriesRow(series, sparkline, drawings, newest, story)


def _findings_text(
    series: JudgedSeries, verdicts: NightVerdicts, confirmation_sentence: str
) -> str:
    """What detection found in a series and what repeated launches confirm, in sentences."""
    series_history, calendar = series.history, verdicts.calendar
    sentences = [
        f"Change point at {calendar.describe(calendar.nights[step.night])}: "
        f"{units.ratio_to_level(step.ratio, step.low, step.high)} times the level before, "
        f"statistic {units.pure_number(abs(step.evidence))} against a threshold of "
        f"{units.pure_number(step.threshold)}. Changed then: {describe_changes(causes)}."
        for step, causes in zip(series_history.steps, series.changes_by_step, strict=True)
    ]
    sentences += [
        f"Revised since the night before: {revision}." for revision in series.revision_sentences
    ]
    if drift := series_history.drift:
        ratio = units.ratio_to_level(drift.yearly_ratio, drift.low, drift.high)
        sentences.append(f"Drift: {ratio} times in a year.")
    if series.judgement.verdict is Verdict.WANDERING:
        sentences.append("Its level moves slowly up and down, so no step is claimed.")
    if series.is_intermittent:
        sentences.append(f"The share of bad nights has changed: {series.judgement.ratio_text}.")
    if (newest := series_history.newest_night) and newest.is_outside:
        ratio, low, high = map(units.ratio_to_level, (newest.ratio, newest.low, newest.high))
        level = f"{ratio} times the level; {low} to {high} was expected"
        sentences.append(f"Last night was outside the expected range: {level}.")
    if confirmation_sentence:
        sentences.append(f"Launched again: {confirmation_sentence}.")
    if series_history.reason:
        sentences.append(f"It cannot be judged: {series_history.reason}.")
    elif not sentences:
        sentences.append("No change point and no drift.")
    if step := series.judgement.detectable_step_text:
        sentences.append(f"A step of {step} would show {verdicts.detection_period_text}.")
    if annotation := series.acceptance:
        accepted = f"Accepted as baseline up to {annotation.last}, by an annotation"
        sentences.append(f"{accepted}: {annotation.text}.")
    count = len(series.data.points)
    usage = f"{series_history.nights_used} of {units.plural(count, 'value')} "
    usage += "was used." if count == 1 else "were used."
    zeros = f"{series.zero_text}." if series.zero_text else ""
    return " ".join(filter(None, [usage, zeros, *sentences]))
