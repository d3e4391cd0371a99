"""The first lines of a history page: what changed, since when, and what could not be told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Strong
from roundtrip.report.pages.calendar import Calendar
from roundtrip.report.pages.rows import Row
from roundtrip.report.pages.verdict import TONES, Verdict

_NAMED = 3


def answers(rows: Sequence[Row], calendar: Calendar) -> list[Answer]:
    """One answer for each night and direction of a step, then one for each other verdict."""
    return [*_stepped(rows, calendar), *_others(rows)]


def _stepped(rows: Sequence[Row], calendar: Calendar) -> Iterator[Answer]:
    """News first, then the newest night; what changed on the same night is told once."""
    groups: dict[tuple[str, Verdict], list[Row]] = {}
    for row in rows:
        if row.night:
            groups.setdefault((row.near or row.night, row.said.verdict), []).append(row)
    news = {group: any(row.said.is_news for row in groups[group]) for group in groups}
    for group in sorted(groups, key=lambda one: (news[one], one[0]), reverse=True):
        (night, verdict), here = group, groups[group]
        ratios = [row.said.step.ratio for row in here if row.said.step]
        facts = "; ".join(dict.fromkeys(str(one) for row in here for one in row.changes[:_NAMED]))
        yield Answer(
            (
                Strong(f"{'New: ' if news[group] else ''}{len(here)} series {verdict} "),
                f"since {calendar.told(night)}: ",
                f"{units.spread(ratios)} times the level before. ",
                f"What changed there: {facts or 'nothing that is recorded'}.",
            ),
            TONES[verdict],
        )


def _others(rows: Sequence[Row]) -> Iterator[Answer]:
    total = len(rows)
    some = {verdict: [r for r in rows if r.said.verdict is verdict] for verdict in Verdict}
    if drifting := some[Verdict.DRIFTING]:
        yield Answer(
            (
                Strong(f"{len(drifting)} of {total} series drift: "),
                "they change slowly, so no step is claimed for them.",
            ),
            TONES[Verdict.DRIFTING],
        )
    if unchanged := some[Verdict.UNCHANGED]:
        seen = [row.said.would_see for row in unchanged if row.said.would_see]
        least = f"a step of {units.percent(median(seen))} within 10 nights." if seen else ""
        yield Answer(
            (
                Strong(f"{len(unchanged)} of {total} series are unchanged."),
                f" Half of them would have shown {least}" if seen else "",
            ),
        )
    if mute := some[Verdict.CANNOT_TELL]:
        why = "; ".join(sorted({row.said.why for row in mute if row.said.why})[:_NAMED])
        yield Answer(
            (
                Strong(f"Of {len(mute)} of {total} series nothing can be told"),
                f": {why}." if why else ".",
            ),
            TONES[Verdict.CANNOT_TELL],
        )
