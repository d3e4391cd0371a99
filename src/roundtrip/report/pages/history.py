"""The page of one campaign on one site: every series, with what all nights tell of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from roundtrip.history.annotations import Annotation
from roundtrip.history.judged import Names
from roundtrip.report import nights
from roundtrip.report.blocks import Text
from roundtrip.report.nights import Judged
from roundtrip.report.pages import marks, packed, page, rows, young
from roundtrip.report.pages.answers import answers
from roundtrip.report.pages.calendar import Calendar
from roundtrip.report.pages.changes import Change
from roundtrip.report.pages.verdict import TONES
from roundtrip.stats.nights.verdicts import SeriesHistory


@dataclass(frozen=True)
class Note:
    """What a person says of a night, or of all nights from it on."""

    night: str
    text: str


@dataclass(frozen=True)
class History:
    """All that a page is made of.  `told` is by the names of the series, `reports` by the night.

    The nights that `told` counts are all nights of the history, whether the series has them or not.
    `reports` are links relative to the page, and `home` is that to the index; `notices` stand
    above everything else.
    """

    campaign: str
    site: str
    nights: pl.DataFrame
    provenance: pl.DataFrame
    told: Mapping[Names, SeriesHistory]
    notes: Sequence[Note] = ()
    reports: Mapping[str, str] = field(default_factory=dict)
    notices: Sequence[Text] = ()
    home: str = ""
    accepted: Sequence[Annotation] = ()


def render(history: History) -> str:
    """The page as one HTML text: the same bytes for the same history."""
    judged = nights.lines(history.nights, history.provenance, history.told, history.accepted)
    calendar = judged.calendar
    every = [line.series for line in judged.lines]
    notice = marks.notice(marks.by_environ(history.provenance))
    return page.render(
        "history.html.j2",
        ("scales.js", "chart.js", "series.js", "rows.js"),
        calendar=calendar,
        home=history.home,
        newest=history.reports.get(calendar.nights[-1], ""),
        notices=[*([notice] if notice else []), *history.notices],
        title=f"{history.campaign} on {history.site}",
        facts=_facts(history, calendar, len(every)),
        answers=answers(judged),
        rows=[rows.of(line, calendar.nights) for line in judged.lines],
        young=young.pairs(judged) if young.is_young(judged) else (),
        counts=[(verdict, count) for verdict, count in judged.counts.items() if count],
        tones=TONES,
        studies=sorted({str(one.names["study"]) for one in every}),
        environs=sorted({one.environ for one in every} - {""}),
        nights=_nights(history, judged),
        data=packed.text(_data(history, judged)),
    )


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


def _nights(history: History, judged: Judged) -> list[dict[str, object]]:
    """Newest first: number, label, link, number of steps that began there, what changed."""
    calendar = judged.calendar
    steps = [calendar.nights[step.night] for line in judged.lines for step in line.told.steps]
    notes: dict[str, list[str]] = {}
    for note in history.notes:
        notes.setdefault(note.night, []).append(note.text)
    return [
        {
            "number": calendar.number(night),
            "label": calendar.label(night),
            "report": history.reports.get(night, ""),
            "steps": steps.count(night),
            "changes": [str(one) for one in judged.changed.get(night, [])],
            "notes": notes.get(night, []),
        }
        for night in reversed(calendar.nights)
    ]


def _data(history: History, judged: Judged) -> dict[str, object]:
    calendar = judged.calendar
    at = calendar.index
    return {
        "nights": [calendar.label(night) for night in calendar.nights],
        "days": [calendar.day(night) for night in calendar.nights],
        "reports": [history.reports.get(night, "") for night in calendar.nights],
        "changes": {
            at(night): [[one.subject, *_split(one)] for one in some]
            for night, some in judged.changed.items()
        },
        "notes": [[at(note.night), note.text] for note in history.notes if note.night in calendar],
        **packed.data([(line.series, line.told) for line in judged.lines], calendar.nights),
    }


def _split(change: Change) -> list[object]:
    """What changed, and on which nodes, for the script to name those of a series."""
    return [str(replace(change, nodes=())), *([list(change.nodes)] if change.nodes else [])]
