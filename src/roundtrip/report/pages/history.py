"""The history page of one campaign on one site: every series over all nights."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl
from markupsafe import Markup

from roundtrip.history.annotations import Annotation
from roundtrip.history.detection import SeriesNames
from roundtrip.report import labels, nights, plot, renderers, units
from roundtrip.report.blocks import RichText
from roundtrip.report.confirmation import NO_CONFIRMATION, ConfirmationResult
from roundtrip.report.nights import TONES, Line, NightVerdicts
from roundtrip.report.pages import chart
from roundtrip.report.pages.answers import (
    DISTANCE,
    figure_lines,
    has_too_few_nights,
    history_answers,
    night_pairs,
)
from roundtrip.report.pages.series import Change, describe_changes, display_unit
from roundtrip.stats.nights.verdicts import SeriesHistory
from roundtrip.stats.settings import NightSettings

#: Maximum changes of provenance that a row names; the figure of the series has all of them.
_MAX_NAMED_CHANGES = 2
#: Files that form the page's script, in this order.
HISTORY_SCRIPTS = ("scales.js", "figure.js", "controls.js", "series.js", "rows.js")


@dataclass(frozen=True)
class History:
    """The content of a history page.

    `series_histories`: by the names of the series, judged by `settings`; they count all nights of
    the history, including nights without the series.  `reports`: by night, links relative to the
    page; `home`: the link to the index.  `notes`: (night, text) of each person's remark on a night,
    or on all from it on.  `notices` are at the top.  `confirmation`: repeated launches after the
    newest night.  `searches`: (link to the report, finding) of each search for a cause.
    """

    campaign: str
    site: str
    nights: pl.DataFrame
    provenance: pl.DataFrame
    series_histories: Mapping[SeriesNames, SeriesHistory]
    settings: NightSettings
    notes: Sequence[tuple[str, str]] = ()
    reports: Mapping[str, str] = field(default_factory=dict)
    notices: Sequence[RichText] = ()
    home: str = ""
    acceptances: Sequence[Annotation] = ()
    confirmation: ConfirmationResult = NO_CONFIRMATION
    searches: Sequence[tuple[str, str]] = ()

    @property
    def verdicts(self) -> NightVerdicts:
        histories = self.series_histories
        return nights.judge(
            self.nights, self.provenance, self.settings, self.acceptances, histories=histories
        )


@dataclass(frozen=True)
class _SeriesRow:
    """A series with its sparkline, figures, findings in sentences, and last night's value.

    `newest`: with unit; `NO_VALUE` if the night has none that counts.
    """

    line: Line
    sparkline: Markup
    drawings: Sequence[Markup]
    newest: str
    story: str

    @property
    def abs_log_ratio(self) -> str:
        """The absolute logarithm of its step's ratio; 0 without a step."""
        step = self.line.judgement.step
        return f"{abs(math.log(step.ratio)):.4f}" if step and step.ratio > 0 else "0"

    @property
    def detectable_step(self) -> str:
        """The smallest step that `sight_nights` more nights would show; "" if it is not known."""
        step = self.line.judgement.detectable_step
        return "" if step is None else units.percent_text(step)

    @property
    def changes_text(self) -> str:
        """The first changes near its step, or at a worse last night; "" without either."""
        more = len(self.line.changes) - _MAX_NAMED_CHANGES
        if more <= 0:
            return self.line.changes_text
        first_changes = "; ".join(str(change) for change in self.line.changes[:_MAX_NAMED_CHANGES])
        return f"{first_changes}; and {more} more"


def render(history: History) -> str:
    """The page as HTML; the same history gives the same bytes."""
    verdicts = history.verdicts
    calendar = verdicts.calendar
    all_series = [line.series for line in verdicts.lines]
    notes = [(calendar.index(night), text) for night, text in history.notes if night in calendar]
    lines = figure_lines(verdicts)
    notice = labels.label_notice(labels.history_labels_by_environ(history.provenance))
    return renderers.template_page(
        "history.html.j2",
        HISTORY_SCRIPTS,
        calendar=calendar,
        home=history.home,
        newest=history.reports.get(calendar.nights[-1], ""),
        notices=[*([notice] if notice else []), *history.notices],
        title=f"{history.campaign} on {history.site}",
        facts=[
            ("Campaign", history.campaign),
            ("Site", history.site),
            ("Nights", f"{len(calendar.nights)}"),
            ("Series", f"{len(all_series)}"),
            ("First night", calendar.label(calendar.nights[0])),
            ("Last night", calendar.label(calendar.nights[-1])),
        ],
        answers=history_answers(verdicts, history.confirmation.sentence),
        searches=history.searches,
        rows=[
            _row(line, verdicts, notes, history.confirmation.describe_line(line)) for line in lines
        ],
        night_pairs=night_pairs(verdicts) if has_too_few_nights(verdicts) else (),
        level=units.ConfidenceLevel(history.settings.confidence_level),
        sight=f"{units.plural(history.settings.sight_nights, 'more night')} would show with a "
        f"probability of {units.percent_text(history.settings.sight_power)}",
        drawn={line.series.key for line in lines},
        distance=DISTANCE,
        counts=[(verdict, count) for verdict, count in verdicts.counts.items() if count],
        tones=TONES,
        studies=sorted({str(series.names["study"]) for series in all_series}),
        environs=sorted({series.environ for series in all_series} - {""}),
        nights=_night_entries(history, verdicts),
        recorded=bool(history.reports or history.notes or verdicts.night_changes),
        data=plot.escaped_json(_data(history, verdicts, lines)),
    )


def _night_entries(history: History, verdicts: NightVerdicts) -> list[dict[str, object]]:
    """The nights, newest first: number, label, link, count of steps, changes, notes."""
    calendar = verdicts.calendar
    steps = [calendar.nights[step.night] for line in verdicts.lines for step in line.history.steps]
    notes: dict[str, list[str]] = defaultdict(list)
    for night, text in history.notes:
        notes[night].append(text)
    return [
        {
            "number": calendar.number(night),
            "label": calendar.label(night),
            "report": history.reports.get(night, ""),
            "steps": steps.count(night),
            "changes": [str(change) for change in verdicts.night_changes.get(night, [])],
            "notes": notes[night],
        }
        for night in reversed(calendar.nights)
    ]


def _data(history: History, verdicts: NightVerdicts, lines: Sequence[Line]) -> dict[str, object]:
    calendar = verdicts.calendar
    return {
        "nights": [calendar.label(night) for night in calendar.nights],
        "days": [calendar.day(night) for night in calendar.nights],
        "reports": [history.reports.get(night, "") for night in calendar.nights],
        "changes": {
            calendar.index(night): list(map(_change_entry, changes))
            for night, changes in verdicts.night_changes.items()
        },
        **chart.packed_series(lines, verdicts),
    }


def _change_entry(change: Change) -> list[object]:
    """Subject, text and nodes of a change; the script names the nodes of a series."""
    nodes = [list(change.nodes)] if change.nodes else []
    return [change.subject, str(replace(change, nodes=())), *nodes]


def _row(
    line: Line, verdicts: NightVerdicts, notes: Sequence[tuple[int, str]], confirmation: str
) -> _SeriesRow:
    factor, unit = display_unit(line.series)
    nights = verdicts.calendar.nights
    point = line.series.point_at(nights[-1])
    newest = str(units.amount(point.median * factor, unit)) if point else units.NO_VALUE
    story = _findings_text(line, verdicts, confirmation)
    medians = {point.night: point.median for point in line.series.points}
    steps = [step.night for step in line.history.steps]
    levels = [medians.get(night) for night in nights]
    sparkline = chart.sparkline(levels, steps, line.history.spikes)
    return _SeriesRow(line, sparkline, chart.draw_views(line, verdicts, notes), newest, story)


def _findings_text(line: Line, verdicts: NightVerdicts, confirmation: str) -> str:
    """What detection found in a series and what repeated launches confirm, in sentences."""
    series_history, calendar = line.history, verdicts.calendar
    lines = [
        f"Change point at {calendar.describe(calendar.nights[step.night])}: "
        f"{units.ratio_to_level(step.ratio, step.low, step.high)} times the level before, "
        f"statistic {units.pure_number(abs(step.evidence))} against a threshold of "
        f"{units.pure_number(step.threshold)}. What changed there: {describe_changes(causes)}."
        for step, causes in zip(series_history.steps, line.causes, strict=True)
    ]
    lines += [f"Revised since the night before: {revision}." for revision in line.revisions]
    if drift := series_history.drift:
        ratio = units.ratio_to_level(drift.yearly_ratio, drift.low, drift.high)
        lines.append(f"Drift: {ratio} times in a year.")
    if line.comes_and_goes:
        lines.append(f"How often nights are bad has changed: {line.judgement.ratio}.")
    if (newest := series_history.newest_night) and newest.is_outside:
        ratio, low, high = map(units.ratio_to_level, (newest.ratio, newest.low, newest.high))
        level = f"{ratio} times the level, where {low} to {high} was expected"
        lines.append(f"The last night stands out: {level}.")
    if confirmation:
        lines.append(f"Launched again: {confirmation}.")
    if series_history.reason:
        lines.append(f"It cannot be judged: {series_history.reason}.")
    elif not lines:
        lines.append("No change point and no drift.")
    if series_history.detectable_step is not None:
        step = units.percent_text(series_history.detectable_step)
        lines.append(f"A step of {step} would show {verdicts.sight}.")
    if annotation := line.acceptance:
        accepted = f"Accepted as baseline up to {annotation.last}, by an annotation"
        lines.append(f"{accepted}: {annotation.text}.")
    usage = f"{series_history.nights_used} of {len(line.series.points)} values were used."
    return " ".join([usage, *lines])
