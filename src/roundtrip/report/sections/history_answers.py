"""The answers of the section on history: what changed lately, and since when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Strong
from roundtrip.report.nights import Judged, Line
from roundtrip.report.pages import young
from roundtrip.report.pages.verdict import TONES
from roundtrip.stats.nights.verdicts import Verdict


def answers(judged: Judged, again: str = "") -> Iterator[Answer]:
    """One for each night at which something changed lately, regressions first; then the rest.

    `again` is the sentence on what was launched again.
    """
    if young.is_young(judged):
        yield Answer((Strong("Too few nights: "), young.sentence(judged)))
        return
    if worse := judged.of(Verdict.WORSE_LAST_NIGHT):
        yield _worse(worse, again)
    if flapping := judged.of(Verdict.FLAPPING):
        yield Answer(
            (Strong("Flapping: "), f"{_first(flapping)}: {flapping[0].judgement.ratio}."),
            TONES[Verdict.FLAPPING],
        )
    if better := [line for line in judged.of(Verdict.IMPROVED) if line.comes_and_goes]:
        yield Answer(
            (Strong("Improved: "), f"{_first(better)}: {better[0].judgement.ratio}."),
            TONES[Verdict.IMPROVED],
        )
    stepped = [line for line in judged.lines if line.night]
    groups: dict[tuple[bool, str, Verdict], list[Line]] = {}
    for line in stepped:
        key = (line.judgement.is_news, line.near or line.night or "", line.judgement.verdict)
        groups.setdefault(key, []).append(line)
    news = [key for key in groups if key[0]]
    for key in sorted(news, key=lambda one: (one[2] != Verdict.REGRESSED, one[1])):
        yield _answer(key[1], key[2], groups[key], judged)
    if revised := [line for line in judged.lines if line.revised]:
        yield Answer((Strong("Revised: "), f"{_first(revised)}: {'; '.join(revised[0].revised)}."))
    total, counts = len(judged.lines), judged.counts
    old = sum(len(lines) for key, lines in groups.items() if not key[0])
    is_new = bool(news or worse or flapping or better)
    able = total - counts[Verdict.TOO_FEW_NIGHTS]
    among = f" in the {able} series that can be judged" if able < total else ""
    told = f"Nothing{' else' if is_new else ''} changed{among} against {_before(judged)}: "
    of = ", ".join(
        f"{counts[v]} {v}"
        for v in (Verdict.DRIFTING, Verdict.WANDERING, Verdict.TOO_FEW_NIGHTS)
        if counts[v]
    )
    new = sum(len(groups[key]) for key in news)
    rest = f"of {total} series, {new} changed lately"
    rest += f", {old} changed longer ago" if old else ""
    rest += f", {of}" if of else ""
    yield Answer((Strong(told), f"{rest}. {_sight(judged)}".strip()))


def _worse(lines: Sequence[Line], again: str) -> Answer:
    """``Worse last night: mpi, 1 B; ... (and 3 others) 1.52 times its level, at most 1.04 ...``."""
    newest = lines[0].judgement.newest
    assert newest is not None  # noqa: S101  the verdict rests on it
    away = f"is {newest.ratio:.3f} times its level, where {newest.low:.3f} to {newest.high:.3f}"
    return Answer(
        (
            Strong("Worse last night: "),
            f"{_first(lines)} {away} was to be expected. {again}".strip(),
        ),
        TONES[Verdict.WORSE_LAST_NIGHT],
    )


def _first(lines: Sequence[Line]) -> str:
    more = f" (and {units.plural(len(lines) - 1, 'other')})" if len(lines) > 1 else ""
    return f"{lines[0].label}{more}"


def _answer(night: str, verdict: Verdict, lines: Sequence[Line], judged: Judged) -> Answer:
    """``Regressed: mpi, 1 B; ... takes 8 % longer since 2026-11-02, when UCX changed ...``."""
    first = lines[0]
    causes = [
        f"{one.name} changed from {one.before} to {one.after}{one.where}" for one in first.changes
    ]
    when = f", when {'; '.join(causes)}" if causes else "; no recorded fact differs there"
    since = f"since {judged.calendar.label(night)}{when}."
    return Answer(
        (Strong(f"{verdict.capitalize()}: "), f"{_first(lines)} {_by(first)} {since}"),
        TONES[verdict],
    )


def _by(line: Line) -> str:
    """``takes 8 % longer``, or of a rate ``is 8 % lower``."""
    change = line.judgement.step.ratio - 1 if line.judgement.step else 0.0
    is_time = line.series.names["unit"] == "s"
    more, less = ("longer", "less time") if is_time else ("higher", "lower")
    size = units.percent(abs(change))
    return f"{'takes' if is_time else 'is'} {size} {more if change > 0 else less}"


def _sight(judged: Judged) -> str:
    seen = [
        line.judgement.would_see
        for line in judged.of(Verdict.UNCHANGED)
        if line.judgement.would_see
    ]
    if not seen:
        return ""
    return (
        "Half of those that are unchanged would have shown a step of "
        f"{units.percent(median(seen))} within 10 nights."
    )


def _before(judged: Judged) -> str:
    return units.plural(len(judged.calendar.nights) - 1, "night")
