"""The answers of a history page and of the section on history: what changed, and since when.

If a history is too short for verdicts, its two newest nights are compared instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from roundtrip.report import units
from roundtrip.report.blocks import Answer, answer
from roundtrip.report.nights import TONES, Line, NightVerdicts
from roundtrip.report.pages.series import NODE_SET, display_unit, merge_changes
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.nights.verdicts import Verdict

#: Minimum number of series for an estimate of the usual difference between two nights.
_USUAL_LEAST = 8
#: Maximum reasons that a sentence names.
_NAMED = 3
DISTANCE = (
    "Distance: how far apart both nights are, in units of the median over all series of this site."
)


@dataclass(frozen=True)
class NightPair:
    """A series' values in the two newest nights, with units; `ratio` is the newest over the other.

    A night without a value of it that counts has `NO_VALUE`; `before` and `ratio` are "" if there
    is only one night.  `abs_log_ratio`: absolute logarithm of `ratio`.  `distance`: the same in
    units of its median over all series of the site; "" if that is not known.
    """

    line: Line
    before: Quantity | str
    newest: Quantity | str
    ratio: Quantity | str
    distance: Quantity | str
    abs_log_ratio: float


def has_too_few_nights(verdicts: NightVerdicts) -> bool:
    """Whether no series can be judged yet."""
    return bool(verdicts.lines) and len(verdicts.with_verdict(Verdict.TOO_FEW_NIGHTS)) == len(
        verdicts.lines
    )


def is_pair_table_complete(verdicts: NightVerdicts) -> bool:
    """Whether the table of `night_pairs` has every value, so that figures would add nothing.

    The table has one value for each night, so it cannot show several sets of nodes, nor values that
    are left out.
    """
    has_few_nights = len(verdicts.calendar.nights) <= 2
    points = (line.series.points for line in verdicts.lines)
    one_a_night = all(
        len({point.night for point in series_points if not point.left_out}) == len(series_points)
        for series_points in points
    )
    return has_too_few_nights(verdicts) and has_few_nights and one_a_night


def night_pairs(verdicts: NightVerdicts) -> Sequence[NightPair]:
    """Return a pair for each series, the largest difference first."""
    nights = verdicts.calendar.nights[-2:]
    values = {line.series.key: _values(line, nights) for line in verdicts.lines}
    log_ratios = {key: _log_ratio(pair) for key, pair in values.items()}
    magnitudes = [abs(log_ratio) for log_ratio in log_ratios.values() if log_ratio is not None]
    usual_distance = median(magnitudes) if len(magnitudes) >= _USUAL_LEAST else 0.0
    lines = sorted(verdicts.lines, key=lambda line: -abs(log_ratios[line.series.key] or 0.0))
    return [
        _pair(line, values[line.series.key], log_ratios[line.series.key], usual_distance)
        for line in lines
    ]


def too_few_nights_sentence(verdicts: NightVerdicts) -> str:
    """Return the reasons for no verdict, and what changed since the night before."""
    newest = verdicts.calendar.nights[-1]
    reasons = Counter(line.judgement.reason for line in verdicts.lines)
    summary = "; ".join(
        reason if len(reasons) == 1 else f"{units.plural(count, 'series', 'series')}: {reason}"
        for reason, count in reasons.most_common(_NAMED)
    )
    if len(verdicts.calendar.nights) < 2:
        return f"{summary}. There is no night to compare with yet."
    changes = (
        "; ".join(map(str, verdicts.night_changes.get(newest, ()))) or "nothing that is recorded"
    )
    return f"{summary}. No verdict. What changed since the night before: {changes}."


def _values(line: Line, nights: Sequence[str]) -> list[float | None]:
    """Return the value of a series in each of `nights`; None without one that counts."""
    points = map(line.series.point_at, nights)
    return [point.median if point else None for point in points]


def _log_ratio(values: Sequence[float | None]) -> float | None:
    """Return the logarithm of the newest value over the previous one; None if undefined."""
    numbers = [value for value in values if value is not None and value > 0]
    return math.log(numbers[1] / numbers[0]) if len(numbers) > 1 else None


def _pair(
    line: Line, values: Sequence[float | None], log_ratio: float | None, usual_distance: float
) -> NightPair:
    *before_texts, newest = (_value_text(line, value) for value in values)
    before = before_texts[0] if before_texts else ""
    if log_ratio is None:
        return NightPair(line, before, newest, units.NO_VALUE if before else "", "", 0.0)
    ratio = units.change(math.exp(log_ratio))
    distance = (
        Quantity(value=abs(log_ratio) / usual_distance, unit=Unit.PURE, decimals=1)
        if usual_distance > 0
        else ""
    )
    return NightPair(line, before, newest, ratio, distance, abs(log_ratio))


def _value_text(line: Line, value: float | None) -> Quantity | str:
    factor, unit = display_unit(line.series)
    return units.NO_VALUE if value is None else units.amount(value * factor, unit)


_MOST = 3
_NO_VALUE_REASONS = (
    "not measured, disturbed, left out, or on nodes that no earlier night compares with."
)


def answers(verdicts: NightVerdicts, confirmation: str = "") -> list[Answer]:
    """Return answers on the newest night, on each night and verdict of a step, and on the rest.

    `confirmation`: the sentence on repeated launches.
    """
    if has_too_few_nights(verdicts):
        return [answer("Too few nights: ", too_few_nights_sentence(verdicts))]
    return [
        *_worse_answers(verdicts, confirmation),
        *_step_answers(verdicts),
        *_other_answers(verdicts),
    ]


def _worse_answers(verdicts: NightVerdicts, confirmation: str) -> Iterator[Answer]:
    if worse_lines := verdicts.with_verdict(Verdict.WORSE_LAST_NIGHT):
        ratios = [
            line.judgement.newest_night.ratio for line in worse_lines if line.judgement.newest_night
        ]
        newest = verdicts.calendar.nights[-1]
        changes = (
            "; ".join(map(str, verdicts.night_changes.get(newest, ())))
            or "nothing that is recorded"
        )
        rest = (
            f"({verdicts.calendar.describe(newest)}): {units.ratio_range_text(ratios)} times the "
            "level, outside of what the nights before predict. "
            f"What changed: {changes}. {confirmation}"
        )
        first = f"New: {len(worse_lines)} series worse last night "
        yield answer(first, rest.strip(), TONES[Verdict.WORSE_LAST_NIGHT])


def _step_answers(verdicts: NightVerdicts) -> Iterator[Answer]:
    """Yield an answer for each night and verdict of a step: news first, then newest first."""
    groups: dict[tuple[str, Verdict], list[Line]] = {}
    for line in verdicts.lines:
        if line.night:
            groups.setdefault((line.change_night or line.night, line.judgement.verdict), []).append(
                line
            )
    news = {group: any(line.judgement.is_news for line in groups[group]) for group in groups}
    for group in sorted(groups, key=lambda group: (news[group], group[0]), reverse=True):
        (night, verdict), lines = group, groups[group]
        ratios = [line.judgement.step.ratio for line in lines if line.judgement.step]
        rest = (
            f"since {verdicts.calendar.describe(night)}: {units.ratio_range_text(ratios)} times "
            "the level before. What changed there: "
            f"{'; '.join(_facts(lines)) or 'nothing that is recorded'}."
        )
        prefix = "New: " if news[group] else ""
        yield answer(f"{prefix}{len(lines)} series {verdict} ", rest, TONES[verdict])


def _facts(lines: Sequence[Line]) -> list[str]:
    """Return what changed at a step of these series: recorded facts, then sets of nodes."""
    change_lists = [
        [change for change in line.changes if change.name != NODE_SET][:_MOST] for line in lines
    ]
    facts = [
        str(change)
        for change in merge_changes(change for changes in change_lists for change in changes)
    ]
    node_changes = [change for line in lines for change in line.changes if change.name == NODE_SET]
    if len(set(node_changes)) > 1:
        return [*facts, f"{NODE_SET} of {len(node_changes)} series"]
    return [*facts, *dict.fromkeys(map(str, node_changes))]


def _other_answers(verdicts: NightVerdicts) -> Iterator[Answer]:
    """Yield the other answers (flapping, drifting and others), each with a count of series."""
    total = len(verdicts.lines)
    if flapping_lines := verdicts.with_verdict(Verdict.FLAPPING):
        rest = "bad nights come and go, more often than before."
        yield answer(
            f"{len(flapping_lines)} of {total} series flap: ", rest, TONES[Verdict.FLAPPING]
        )
    if better_lines := _better_lines(verdicts):
        first = f"{len(better_lines)} of {total} series are in the worse of two modes less often"
        rest = f": {better_lines[0].label}: {better_lines[0].judgement.ratio}."
        yield answer(first, rest, TONES[Verdict.IMPROVED])
    if drifting_lines := verdicts.with_verdict(Verdict.DRIFTING):
        rest = "they change slowly, so no step is claimed for them."
        yield answer(
            f"{len(drifting_lines)} of {total} series drift: ", rest, TONES[Verdict.DRIFTING]
        )
    if wandering_lines := verdicts.with_verdict(Verdict.WANDERING):
        rest = "their level moves slowly to and fro, so no step is claimed for them."
        yield answer(
            f"{len(wandering_lines)} of {total} series wander: ", rest, TONES[Verdict.WANDERING]
        )
    if revised_lines := [line for line in verdicts.lines if line.revisions]:
        first = f"Revised since the night before: {len(revised_lines)} of {total} series: "
        more = "; and others" if len(revised_lines) > 1 else ""
        yield answer(
            first, f"{revised_lines[0].label}: {'; '.join(revised_lines[0].revisions)}{more}."
        )
    if accepted_lines := [line for line in verdicts.lines if line.acceptance]:
        first = f"Of {len(accepted_lines)} of {total} series the level is accepted"
        yield answer(first, " as baseline.")
    if small_lines := [line for line in verdicts.lines if line.is_small]:
        first = f"{len(small_lines)} of {total} series changed by less than the least effect"
        yield answer(first, " of their metric: that is no verdict.")
    if unchanged_lines := verdicts.with_verdict(Verdict.UNCHANGED):
        step_text = _median_detectable_step(unchanged_lines)
        rest = f" Half of them would have shown {step_text}" if step_text else ""
        yield answer(f"{len(unchanged_lines)} of {total} series are unchanged.", rest)
    if silent_lines := verdicts.with_verdict(Verdict.NO_VALUE):
        first = f"{len(silent_lines)} of {total} series have no value last night: "
        yield answer(first, _NO_VALUE_REASONS, TONES[Verdict.NO_VALUE])
    if young_lines := verdicts.with_verdict(Verdict.TOO_FEW_NIGHTS):
        reason = "; ".join(
            sorted({line.judgement.reason for line in young_lines if line.judgement.reason})[:_MOST]
        )
        first = f"{len(young_lines)} of {total} series have too few nights"
        yield answer(first, f": {reason}." if reason else ".", TONES[Verdict.TOO_FEW_NIGHTS])


def _better_lines(verdicts: NightVerdicts) -> list[Line]:
    """Series that are in the worse of two modes less often than before."""
    return [line for line in verdicts.with_verdict(Verdict.IMPROVED) if line.comes_and_goes]


def _median_detectable_step(lines: Sequence[Line]) -> str:
    """Return the median detectable step of these series, as text; "" if it is not known."""
    steps = [line.judgement.detectable_step for line in lines if line.judgement.detectable_step]
    return f"a step of {units.percent(median(steps))} within 10 nights." if steps else ""


def report_answers(verdicts: NightVerdicts, confirmation: str = "") -> Iterator[Answer]:
    """Yield the answers for the section of a report: one for each night of a recent change.

    Regressions come first; one answer sums up the rest.  `confirmation`: the sentence on repeated
    launches.
    """
    if has_too_few_nights(verdicts):
        yield answer("Too few nights: ", too_few_nights_sentence(verdicts))
        return
    worse_lines, flapping_lines = (
        verdicts.with_verdict(Verdict.WORSE_LAST_NIGHT),
        verdicts.with_verdict(Verdict.FLAPPING),
    )
    if worse_lines and (newest := worse_lines[0].judgement.newest_night):
        ratio, low, high = map(units.change, (newest.ratio, newest.low, newest.high))
        deviation = f"is {ratio} times its level, where {low} to {high}"
        rest = f"{_first_label(worse_lines)} {deviation} was to be expected. {confirmation}".strip()
        yield answer("Worse last night: ", rest, TONES[Verdict.WORSE_LAST_NIGHT])
    if flapping_lines:
        rest = f"{_first_label(flapping_lines)}: {flapping_lines[0].judgement.ratio}."
        yield answer("Flapping: ", rest, TONES[Verdict.FLAPPING])
    if better_lines := _better_lines(verdicts):
        rest = f"{_first_label(better_lines)}: {better_lines[0].judgement.ratio}."
        yield answer("Improved: ", rest, TONES[Verdict.IMPROVED])
    groups: dict[tuple[bool, str, Verdict], list[Line]] = {}
    for line in verdicts.lines:
        if line.night:
            key = (line.judgement.is_news, line.change_night or line.night, line.judgement.verdict)
            groups.setdefault(key, []).append(line)
    news = [key for key in groups if key[0]]
    for key in sorted(news, key=lambda key: (key[2] != Verdict.REGRESSED, key[1])):
        yield _answer(key[1], key[2], groups[key], verdicts)
    if revised_lines := [line for line in verdicts.lines if line.revisions]:
        yield answer(
            "Revised: ", f"{_first_label(revised_lines)}: {'; '.join(revised_lines[0].revisions)}."
        )
    new_count = sum(len(groups[key]) for key in news)
    old_count = sum(map(len, groups.values())) - new_count
    yield _summary_answer(
        verdicts, new_count, old_count, bool(news or worse_lines or flapping_lines or better_lines)
    )


def _summary_answer(
    verdicts: NightVerdicts, new_count: int, old_count: int, has_news: bool
) -> Answer:
    """Return an answer that counts series with recent changes, older changes and other verdicts."""
    total, counts = len(verdicts.lines), verdicts.counts
    able_count = total - counts[Verdict.TOO_FEW_NIGHTS] - counts[Verdict.NO_VALUE]
    scope = f" in the {able_count} series that can be judged" if able_count < total else ""
    nights = units.plural(len(verdicts.calendar.nights) - 1, "night")
    other_verdicts = (
        *(Verdict.DRIFTING, Verdict.WANDERING),
        *(Verdict.TOO_FEW_NIGHTS, Verdict.NO_VALUE),
    )
    rest = [f"of {total} series, {new_count} changed lately"]
    rest += [f"{old_count} changed longer ago"] if old_count else []
    rest += [f"{counts[verdict]} {verdict}" for verdict in other_verdicts if counts[verdict]]
    step_text = _median_detectable_step(verdicts.with_verdict(Verdict.UNCHANGED))
    sight = f"Half of those that are unchanged would have shown {step_text}" if step_text else ""
    first = f"Nothing{' else' if has_news else ''} changed{scope} against {nights}: "
    return answer(first, f"{', '.join(rest)}. {sight}".strip())


def _first_label(lines: Sequence[Line]) -> str:
    more = f" (and {units.plural(len(lines) - 1, 'other')})" if len(lines) > 1 else ""
    return f"{lines[0].label}{more}"


def _answer(night: str, verdict: Verdict, lines: Sequence[Line], verdicts: NightVerdicts) -> Answer:
    """``Regressed: mpi, 1 B; ... takes 8 % longer since 2026-11-02, when UCX changed ...``."""
    line = lines[0]
    causes = [
        f"{change.name} changed from {change.before} to {change.after}{change.where}"
        for change in line.changes
    ]
    cause_text = f", when {'; '.join(causes)}" if causes else "; no recorded fact differs there"
    effect = line.judgement.step.ratio - 1 if line.judgement.step else 0.0
    is_time = line.series.names["unit"] == "s"
    verb, up, down = ("takes", "longer", "less time") if is_time else ("is", "higher", "lower")
    effect_text = f"{verb} {units.percent(abs(effect))} {up if effect > 0 else down}"
    rest = (
        f"{_first_label(lines)} {effect_text} since {verdicts.calendar.label(night)}{cause_text}."
    )
    return answer(f"{verdict.capitalize()}: ", rest, TONES[verdict])
