"""The page of one campaign on one site: every series, with what all nights tell of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Text
from roundtrip.report.pages import changes, marks, packed, page, sparkline
from roundtrip.report.pages.answers import answers
from roundtrip.report.pages.calendar import Calendar
from roundtrip.report.pages.changes import Change
from roundtrip.report.pages.rows import Row
from roundtrip.report.pages.series import Series, split
from roundtrip.report.pages.verdict import TONES, Verdict, say
from roundtrip.stats.nights.told import Told


@dataclass(frozen=True)
class Note:
    """What a person says of a night, or of all nights from it on."""

    night: str
    text: str


@dataclass(frozen=True)
class History:
    """All that a page is made of.  `told` is by the key of the series, `reports` by the night.

    The nights that `told` counts are all nights of the history, whether the series has them or not.

    `reports` are links relative to the page, and `home` is that to the index; `notices` stand
    above everything else.
    """

    campaign: str
    site: str
    nights: pl.DataFrame
    provenance: pl.DataFrame
    told: Mapping[str, Told]
    notes: Sequence[Note] = ()
    reports: Mapping[str, str] = field(default_factory=dict)
    notices: Sequence[Text] = ()
    home: str = ""


def render(history: History) -> str:
    """The page as one HTML text: the same bytes for the same history."""
    calendar = Calendar(history.nights["night"].unique().sort().to_list())
    changed = changes.by_night(history.provenance, calendar.nights)
    every = list(split(history.nights))
    marked = marks.by_environ(history.provenance)
    notice = marks.notice(marked)
    rows = sorted(
        (_row(one, history, calendar, changed) for one in every), key=lambda row: row.order
    )
    counts = {verdict: sum(row.said.verdict is verdict for row in rows) for verdict in Verdict}
    return page.render(
        "history.html.j2",
        ("scales.js", "chart.js", "series.js", "rows.js"),
        calendar=calendar,
        home=history.home,
        newest=history.reports.get(calendar.nights[-1], ""),
        notices=[*([notice] if notice else []), *history.notices],
        marked=marked,
        title=f"{history.campaign} on {history.site}",
        facts=_facts(history, calendar, len(every)),
        answers=answers(rows, calendar),
        rows=rows,
        counts=[(verdict, count) for verdict, count in counts.items() if count],
        tones=TONES,
        studies=sorted({str(one.names["study"]) for one in every}),
        environs=sorted({one.environ for one in every} - {""}),
        nights=_nights(history, calendar, changed, rows),
        data=packed.text(_data(history, calendar, changed, every)),
    )


def _row(
    one: Series, history: History, calendar: Calendar, changed: Mapping[str, list[Change]]
) -> Row:
    told = history.told[one.key]
    said = say(told, lower_is_better=one.lower_is_better)
    points = one.points
    nodes = set("+".join(points["nodes"].unique()).split("+"))
    night = calendar.nights[said.step.night] if said.step else None
    near = calendar.near(night, changed) if night else None
    found = changes.of_series(changed[near], {one.environ, *nodes}) if near else []
    values = dict(zip(points["night"], points["median"], strict=True))
    spark = sparkline.draw(
        [values.get(each) for each in calendar.nights],
        [step.night for step in told.steps],
        told.spikes,
    )
    factor, unit = packed.shown_in(points["median"], str(one.names["unit"]))
    newest = f"{units.number(points['median'][-1] * factor)} {unit}"
    return Row(one, said, night, near if found else None, tuple(found), spark, newest)


def _facts(history: History, calendar: Calendar, count: int) -> list[tuple[str, str]]:
    first, last = calendar.nights[0], calendar.nights[-1]
    return [
        ("Campaign", history.campaign),
        ("Site", history.site),
        ("Nights", f"{len(calendar.nights)}"),
        ("Series", f"{count}"),
        ("First night", calendar.label(first)),
        ("Last night", calendar.label(last)),
    ]


def _nights(
    history: History,
    calendar: Calendar,
    changed: Mapping[str, list[Change]],
    rows: Sequence[Row],
) -> list[dict[str, object]]:
    """Newest first: number, label, link, number of steps that began there, what changed."""
    steps = [
        calendar.nights[step.night] for row in rows for step in history.told[row.series.key].steps
    ]
    notes = {
        night: [n.text for n in history.notes if n.night == night] for night in calendar.nights
    }
    return [
        {
            "number": calendar.number(night),
            "label": calendar.label(night),
            "report": history.reports.get(night, ""),
            "steps": steps.count(night),
            "changes": [str(one) for one in changed.get(night, [])],
            "notes": notes[night],
        }
        for night in reversed(calendar.nights)
    ]


def _data(
    history: History,
    calendar: Calendar,
    changed: Mapping[str, list[Change]],
    every: Sequence[Series],
) -> dict[str, object]:
    at = calendar.index
    return {
        "nights": [calendar.label(night) for night in calendar.nights],
        "days": [calendar.day(night) for night in calendar.nights],
        "reports": [history.reports.get(night, "") for night in calendar.nights],
        "changes": {
            at(night): [[one.subject, str(one)] for one in some] for night, some in changed.items()
        },
        "notes": [[at(note.night), note.text] for note in history.notes if note.night in calendar],
        **packed.data(every, history.told, calendar.nights),
    }
