"""The answers of the section on history: what changed lately, and since when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Strong
from roundtrip.report.nights import Judged, Line
from roundtrip.report.pages.verdict import TONES, Verdict


def answers(judged: Judged) -> Iterator[Answer]:
    """One for each night at which something changed lately, regressions first; then the rest."""
    stepped = [line for line in judged.lines if line.night]
    groups: dict[tuple[bool, str, Verdict], list[Line]] = {}
    for line in stepped:
        key = (line.said.is_news, line.near or line.night or "", line.said.verdict)
        groups.setdefault(key, []).append(line)
    news = [key for key in groups if key[0]]
    for key in sorted(news, key=lambda one: (one[2] != Verdict.REGRESSED, one[1])):
        yield _answer(key[1], key[2], groups[key], judged)
    total, counts = len(judged.lines), judged.counts
    if total and not stepped and total == counts[Verdict.CANNOT_TELL]:
        reasons = Counter(line.said.why for line in judged.lines if line.said.why)
        why = "".join(f": {reason}" for reason, _ in reasons.most_common(1))
        none = f"there is no verdict on any of {units.plural(total, 'series', 'series')}{why}."
        yield Answer((Strong(f"Cannot tell against {_before(judged)}: "), none))
        return
    old = sum(len(lines) for key, lines in groups.items() if not key[0])
    told = f"{'Nothing' if not news else 'Nothing else'} changed against {_before(judged)}: "
    of = ", ".join(f"{counts[v]} {v}" for v in (Verdict.DRIFTING, Verdict.CANNOT_TELL) if counts[v])
    new = sum(len(groups[key]) for key in news)
    rest = f"of {total} series, {new} changed lately"
    rest += f", {old} changed longer ago" if old else ""
    rest += f", {of}" if of else ""
    yield Answer((Strong(told), f"{rest}. {_sight(judged)}".strip()))


def _answer(night: str, verdict: Verdict, lines: Sequence[Line], judged: Judged) -> Answer:
    """``Regressed: mpi, 1 B; ... takes 8 % longer since 2026-11-02, when UCX changed ...``."""
    first = lines[0]
    more = f" (and {units.plural(len(lines) - 1, 'other')})" if len(lines) > 1 else ""
    causes = [
        f"{one.name} changed from {one.before} to {one.after}{one.where}" for one in first.changes
    ]
    when = f", when {'; '.join(causes)}" if causes else "; no recorded fact differs there"
    since = f"since {judged.calendar.label(night)}{when}."
    return Answer(
        (Strong(f"{verdict.capitalize()}: "), f"{first.label}{more} {_by(first)} {since}"),
        TONES[verdict],
    )


def _by(line: Line) -> str:
    """``takes 8 % longer``, or of a rate ``is 8 % lower``."""
    change = line.said.step.ratio - 1 if line.said.step else 0.0
    is_time = line.series.names["unit"] == "s"
    more, less = ("longer", "less time") if is_time else ("higher", "lower")
    size = units.percent(abs(change))
    return f"{'takes' if is_time else 'is'} {size} {more if change > 0 else less}"


def _sight(judged: Judged) -> str:
    seen = [line.said.would_see for line in judged.of(Verdict.UNCHANGED) if line.said.would_see]
    if not seen:
        return ""
    return (
        "Half of those that are unchanged would have shown a step of "
        f"{units.percent(median(seen))} within 10 nights."
    )


def _before(judged: Judged) -> str:
    return units.plural(len(judged.calendar.nights) - 1, "night")
