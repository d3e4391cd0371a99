"""The first lines of a history page and of the section on history: what changed, and since when.

A history too short for any verdict has its two newest nights side by side instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from roundtrip.report import units
from roundtrip.report.blocks import Answer, answer
from roundtrip.report.nights import TONES, Judged, Line
from roundtrip.report.pages.series import NODE_SET, merged, shown_in
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.nights.verdicts import Verdict

#: Fewer series do not say what two nights of a site usually differ by.
_USUAL_LEAST = 8
#: So many reasons are named.
_NAMED = 3
DISTANCE = (
    "Distance: how far apart both nights are, in units of the median over all series of this site."
)


@dataclass(frozen=True)
class NightPair:
    """A series' values of its two newest nights, with units; `ratio` is the newest over the other.

    `distance` is how far they lie apart, in units of what the series of this site differ by in the
    middle; "" where that is not known.  `away` is the logarithm of `ratio`, without its sign.
    """

    line: Line
    before: Quantity | str
    newest: Quantity | str
    ratio: Quantity | str
    distance: Quantity | str
    away: float


def is_young(judged: Judged) -> bool:
    """Whether no series can be judged yet."""
    return bool(judged.lines) and len(judged.with_verdict(Verdict.TOO_FEW_NIGHTS)) == len(
        judged.lines
    )


def is_in_pairs(judged: Judged) -> bool:
    """Whether the table of `pairs` has every value, so that figures would add nothing.

    It has one value a night, so not those of several sets of nodes.
    """
    few = len(judged.calendar.nights) <= 2
    points = (line.series.points for line in judged.lines)
    one_a_night = all(len({each.night for each in some}) == len(some) for some in points)
    return is_young(judged) and few and one_a_night


def night_pairs(judged: Judged) -> Sequence[NightPair]:
    """One for each series, the farthest apart first."""
    apart = {line.series.key: _apart(line) for line in judged.lines}
    known = [abs(one) for one in apart.values() if one is not None]
    usual = median(known) if len(known) >= _USUAL_LEAST else 0.0
    ordered = sorted(judged.lines, key=lambda line: -abs(apart[line.series.key] or 0.0))
    return [_pair(line, apart[line.series.key], usual) for line in ordered]


def young_sentence(judged: Judged) -> str:
    """Why there is no verdict, and what changed since the night before."""
    newest = judged.calendar.nights[-1]
    whys = Counter(line.judgement.why for line in judged.lines)
    why = "; ".join(
        one if len(whys) == 1 else f"{units.plural(count, 'series', 'series')}: {one}"
        for one, count in whys.most_common(_NAMED)
    )
    if len(judged.calendar.nights) < 2:
        return f"{why}. There is no night to compare with yet."
    changed = "; ".join(map(str, judged.changed.get(newest, ()))) or "nothing that is recorded"
    return f"{why}. No verdict. What changed since the night before: {changed}."


def _values(line: Line) -> list[float]:
    """The values of the two newest nights of a series, or of its only one.

    Of several sets of nodes in a night, the median.
    """
    nights: dict[str, list[float]] = {}
    for point in line.series.points:
        nights.setdefault(point.night, []).append(point.median)
    return [median(values) for values in list(nights.values())[-2:]]


def _apart(line: Line) -> float | None:
    """The logarithm of the newest value over the one before; None without one."""
    values = _values(line)
    return math.log(values[1] / values[0]) if len(values) > 1 and min(values) > 0 else None


def _pair(line: Line, apart: float | None, usual: float) -> NightPair:
    factor, unit = shown_in(line.series)
    values = [units.amount(one * factor, unit) for one in _values(line)]
    before = values[0] if len(values) > 1 else ""
    if apart is None:
        return NightPair(line, before, values[-1], "", "", 0.0)
    ratio = units.change(math.exp(apart))
    far = Quantity(value=abs(apart) / usual, unit=Unit.PURE, decimals=1) if usual > 0 else ""
    return NightPair(line, before, values[-1], ratio, far, abs(apart))


_MOST = 3


def answers(judged: Judged, again: str = "") -> list[Answer]:
    """The newest night, then one answer for each night and verdict of a step, then the rest.

    `again` is the sentence on what was launched again.
    """
    if is_young(judged):
        return [answer("Too few nights: ", young_sentence(judged))]
    return [*_worse(judged, again), *_stepped(judged), *_others(judged)]


def _worse(judged: Judged, again: str) -> Iterator[Answer]:
    if worse := judged.with_verdict(Verdict.WORSE_LAST_NIGHT):
        ratios = [line.judgement.newest.ratio for line in worse if line.judgement.newest]
        newest = judged.calendar.nights[-1]
        changed = "; ".join(map(str, judged.changed.get(newest, ()))) or "nothing that is recorded"
        rest = (
            f"({judged.calendar.describe(newest)}): {units.spread(ratios)} times the level, "
            f"outside of what the nights before predict. What changed: {changed}. {again}"
        )
        first = f"New: {len(worse)} series worse last night "
        yield answer(first, rest.strip(), TONES[Verdict.WORSE_LAST_NIGHT])


def _stepped(judged: Judged) -> Iterator[Answer]:
    """News first, then the newest night; what changed on the same night is named once."""
    groups: dict[tuple[str, Verdict], list[Line]] = {}
    for line in judged.lines:
        if line.night:
            groups.setdefault((line.near or line.night, line.judgement.verdict), []).append(line)
    news = {group: any(line.judgement.is_news for line in groups[group]) for group in groups}
    for group in sorted(groups, key=lambda one: (news[one], one[0]), reverse=True):
        (night, verdict), here = group, groups[group]
        ratios = [line.judgement.step.ratio for line in here if line.judgement.step]
        rest = (
            f"since {judged.calendar.describe(night)}: {units.spread(ratios)} times the level "
            f"before. What changed there: {'; '.join(_facts(here)) or 'nothing that is recorded'}."
        )
        new = "New: " if news[group] else ""
        yield answer(f"{new}{len(here)} series {verdict} ", rest, TONES[verdict])


def _facts(lines: Sequence[Line]) -> list[str]:
    """What changed at a step of these series: recorded facts first, then other nodes."""
    every = [[one for one in line.changes if one.name != NODE_SET][:_MOST] for line in lines]
    facts = [str(one) for one in merged(one for some in every for one in some)]
    moved = [one for line in lines for one in line.changes if one.name == NODE_SET]
    if len(set(moved)) > 1:
        return [*facts, f"{NODE_SET} of {len(moved)} series"]
    return [*facts, *dict.fromkeys(map(str, moved))]


def _others(judged: Judged) -> Iterator[Answer]:
    """What is said of series that have no step, with how many they are."""
    total = len(judged.lines)
    if flapping := judged.with_verdict(Verdict.FLAPPING):
        rest = "bad nights come and go, more often than before."
        yield answer(f"{len(flapping)} of {total} series flap: ", rest, TONES[Verdict.FLAPPING])
    if better := _better(judged):
        first = f"{len(better)} of {total} series are in the worse of two modes less often"
        rest = f": {better[0].label}: {better[0].judgement.ratio}."
        yield answer(first, rest, TONES[Verdict.IMPROVED])
    if drifting := judged.with_verdict(Verdict.DRIFTING):
        rest = "they change slowly, so no step is claimed for them."
        yield answer(f"{len(drifting)} of {total} series drift: ", rest, TONES[Verdict.DRIFTING])
    if wandering := judged.with_verdict(Verdict.WANDERING):
        rest = "their level moves slowly to and fro, so no step is claimed for them."
        yield answer(f"{len(wandering)} of {total} series wander: ", rest, TONES[Verdict.WANDERING])
    if revised := [line for line in judged.lines if line.revised]:
        first = f"Revised since the night before: {len(revised)} of {total} series: "
        more = "; and others" if len(revised) > 1 else ""
        yield answer(first, f"{revised[0].label}: {'; '.join(revised[0].revised)}{more}.")
    if accepted := [line for line in judged.lines if line.accepted]:
        first = f"Of {len(accepted)} of {total} series the level is accepted"
        yield answer(first, " as baseline.")
    if small := [line for line in judged.lines if line.is_small]:
        first = f"{len(small)} of {total} series changed by less than the least effect"
        yield answer(first, " of their metric: that is no verdict.")
    if unchanged := judged.with_verdict(Verdict.UNCHANGED):
        seen = _half_would_show(unchanged)
        rest = f" Half of them would have shown {seen}" if seen else ""
        yield answer(f"{len(unchanged)} of {total} series are unchanged.", rest)
    if few := judged.with_verdict(Verdict.TOO_FEW_NIGHTS):
        why = "; ".join(sorted({line.judgement.why for line in few if line.judgement.why})[:_MOST])
        first = f"{len(few)} of {total} series have too few nights"
        yield answer(first, f": {why}." if why else ".", TONES[Verdict.TOO_FEW_NIGHTS])


def _better(judged: Judged) -> list[Line]:
    """Series that are in the worse of two modes less often than before."""
    return [line for line in judged.with_verdict(Verdict.IMPROVED) if line.comes_and_goes]


def _half_would_show(unchanged: Sequence[Line]) -> str:
    """The step that half of these series would have shown; "" where that is not known."""
    seen = [line.judgement.would_see for line in unchanged if line.judgement.would_see]
    return f"a step of {units.percent(median(seen))} within 10 nights." if seen else ""


def report_answers(judged: Judged, again: str = "") -> Iterator[Answer]:
    """For the section of a report: one answer for each night at which something changed lately.

    Regressions come first, the rest is one answer.  `again` is the sentence on what was launched
    again.
    """
    if is_young(judged):
        yield answer("Too few nights: ", young_sentence(judged))
        return
    worse, flapping = (
        judged.with_verdict(Verdict.WORSE_LAST_NIGHT),
        judged.with_verdict(Verdict.FLAPPING),
    )
    if worse and (newest := worse[0].judgement.newest):
        ratio, low, high = map(units.change, (newest.ratio, newest.low, newest.high))
        away = f"is {ratio} times its level, where {low} to {high}"
        rest = f"{_named_first(worse)} {away} was to be expected. {again}".strip()
        yield answer("Worse last night: ", rest, TONES[Verdict.WORSE_LAST_NIGHT])
    if flapping:
        rest = f"{_named_first(flapping)}: {flapping[0].judgement.ratio}."
        yield answer("Flapping: ", rest, TONES[Verdict.FLAPPING])
    if better := _better(judged):
        rest = f"{_named_first(better)}: {better[0].judgement.ratio}."
        yield answer("Improved: ", rest, TONES[Verdict.IMPROVED])
    groups: dict[tuple[bool, str, Verdict], list[Line]] = {}
    for line in judged.lines:
        if line.night:
            key = (line.judgement.is_news, line.near or line.night, line.judgement.verdict)
            groups.setdefault(key, []).append(line)
    news = [key for key in groups if key[0]]
    for key in sorted(news, key=lambda one: (one[2] != Verdict.REGRESSED, one[1])):
        yield _answer(key[1], key[2], groups[key], judged)
    if revised := [line for line in judged.lines if line.revised]:
        yield answer("Revised: ", f"{_named_first(revised)}: {'; '.join(revised[0].revised)}.")
    new = sum(len(groups[key]) for key in news)
    old = sum(map(len, groups.values())) - new
    yield _rest(judged, new, old, bool(news or worse or flapping or better))


def _rest(judged: Judged, new: int, old: int, has_news: bool) -> Answer:
    """How many series changed lately and longer ago, and what the others are."""
    total, counts = len(judged.lines), judged.counts
    able = total - counts[Verdict.TOO_FEW_NIGHTS]
    among = f" in the {able} series that can be judged" if able < total else ""
    before = units.plural(len(judged.calendar.nights) - 1, "night")
    still = (Verdict.DRIFTING, Verdict.WANDERING, Verdict.TOO_FEW_NIGHTS)
    rest = [f"of {total} series, {new} changed lately"]
    rest += [f"{old} changed longer ago"] if old else []
    rest += [f"{counts[verdict]} {verdict}" for verdict in still if counts[verdict]]
    seen = _half_would_show(judged.with_verdict(Verdict.UNCHANGED))
    sight = f"Half of those that are unchanged would have shown {seen}" if seen else ""
    first = f"Nothing{' else' if has_news else ''} changed{among} against {before}: "
    return answer(first, f"{', '.join(rest)}. {sight}".strip())


def _named_first(lines: Sequence[Line]) -> str:
    more = f" (and {units.plural(len(lines) - 1, 'other')})" if len(lines) > 1 else ""
    return f"{lines[0].label}{more}"


def _answer(night: str, verdict: Verdict, lines: Sequence[Line], judged: Judged) -> Answer:
    """``Regressed: mpi, 1 B; ... takes 8 % longer since 2026-11-02, when UCX changed ...``."""
    line = lines[0]
    causes = [
        f"{one.name} changed from {one.before} to {one.after}{one.where}" for one in line.changes
    ]
    when = f", when {'; '.join(causes)}" if causes else "; no recorded fact differs there"
    change = line.judgement.step.ratio - 1 if line.judgement.step else 0.0
    is_time = line.series.names["unit"] == "s"
    verb, more, less = ("takes", "longer", "less time") if is_time else ("is", "higher", "lower")
    by = f"{verb} {units.percent(abs(change))} {more if change > 0 else less}"
    rest = f"{_named_first(lines)} {by} since {judged.calendar.label(night)}{when}."
    return answer(f"{verdict.capitalize()}: ", rest, TONES[verdict])
