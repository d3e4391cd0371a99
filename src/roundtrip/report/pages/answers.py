"""The answers of a history page and of the section on history: what changed, and since when.

If a history is too short for verdicts, its two newest nights are compared instead.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from roundtrip import units
from roundtrip.content.blocks import Answer, make_answer
from roundtrip.content.nights import JudgedSeries, NightVerdicts, describe_step
from roundtrip.content.series import (
    NODE_SET_FACT,
    FactChange,
    describe_changes,
    display_unit,
    merge_changes,
)
from roundtrip.stats.nights.verdicts import Verdict
from roundtrip.units import Quantity, Unit

#: Minimum number of series for an estimate of the usual difference between two nights.
_MIN_SERIES_FOR_DISTANCE = 8
#: Maximum reasons, and maximum facts of a series, that a sentence names.
_MAX_NAMED_ITEMS = 3
#: Facts whose changes since the night before a report names, whatever its series did.
_ALWAYS_NAMED_FACTS = ("MPI library", "build of the MPI library", "MPI version", "processor")
DISTANCE_NOTE = (
    "Distance: change between both nights, over the median change of all series of this site."
)


@dataclass(frozen=True)
class NightPair:
    """Values of a series in the last two nights, with units; `ratio`: last over before.

    A night in which no value counts has `NO_VALUE`; `night_before_value` and `ratio` are "" if
    there is one night.  `distance`: `abs_log_ratio` over its median of all series; "" if that is
    not known.
    """

    series: JudgedSeries
    night_before_value: Quantity | str
    last_night_value: Quantity | str
    ratio: Quantity | str
    distance: Quantity | str
    abs_log_ratio: float


def has_too_few_nights(verdicts: NightVerdicts) -> bool:
    """Whether no series can be judged yet."""
    return verdicts.count_by_verdict.keys() == {Verdict.TOO_FEW_NIGHTS}


def series_with_figures(verdicts: NightVerdicts) -> Sequence[JudgedSeries]:
    """The series whose figures add something to the table of `night_pairs`.

    The table has one value for each of two nights: no second set of nodes, none that is left out.
    """
    if not has_too_few_nights(verdicts) or len(verdicts.calendar.nights) > 2:
        return verdicts.judged_series
    return [
        series
        for series in verdicts.judged_series
        if len({point.night for point in series.data.points if not point.left_out})
        != len(series.data.points)
    ]


def night_pairs(verdicts: NightVerdicts) -> Sequence[NightPair]:
    """Return a pair for each series, the largest difference first."""
    pairs = [
        _night_pair(series, verdicts.calendar.nights[-2:]) for series in verdicts.judged_series
    ]
    distances = [pair.abs_log_ratio for pair in pairs if isinstance(pair.ratio, Quantity)]
    usual_distance = median(distances) if len(distances) >= _MIN_SERIES_FOR_DISTANCE else 0.0
    for index, pair in enumerate(pairs):
        if isinstance(pair.ratio, Quantity) and usual_distance > 0:
            value = pair.abs_log_ratio / usual_distance
            distance = Quantity(value=value, unit=Unit.PURE_NUMBER, decimals=1)
            pairs[index] = replace(pair, distance=distance)
    return sorted(pairs, key=lambda pair: -pair.abs_log_ratio)


def _night_pair(series: JudgedSeries, nights: Sequence[str]) -> NightPair:
    """The values of a series in `nights`, the newest last; without a distance."""
    factor, unit = display_unit(series.data)
    points = [series.data.point_at(night) for night in nights]
    *before_texts, newest = (
        units.amount(point.median * factor, unit) if point else units.NO_VALUE for point in points
    )
    before = before_texts[0] if before_texts else ""
    medians = [point.median for point in points if point and point.median > 0]
    if len(medians) < 2:
        return NightPair(series, before, newest, units.NO_VALUE if before else "", "", 0.0)
    log_ratio = math.log(medians[1] / medians[0])
    ratio = units.ratio_to_level(math.exp(log_ratio))
    return NightPair(series, before, newest, ratio, "", abs(log_ratio))


def too_few_nights_sentence(verdicts: NightVerdicts) -> str:
    """Return how many nights series have, and what changed since the night before."""
    reasons = Counter(series.judgement.reason for series in verdicts.judged_series)
    ((reason, _),) = reasons.most_common(1)
    summary = f"{'every series has' if len(reasons) == 1 else 'most series have'} {reason}"
    nights = verdicts.calendar.nights
    if len(nights) < 2:
        return f"{summary}. There is no night to compare with yet."
    if changes := verdicts.changes_by_night.get(nights[-1], ()):
        return f"{summary}. What changed since the night before: {describe_changes(changes)}."
    return f"{summary}. No recorded fact of machine or software changed since the night before."


def history_answers(verdicts: NightVerdicts, confirmation_sentence: str = "") -> list[Answer]:
    """Answers on the newest night, on each step and on all other series."""
    if has_too_few_nights(verdicts):
        return [make_answer("Not judged yet: ", too_few_nights_sentence(verdicts))]
    return [
        *_worse_answers(verdicts, confirmation_sentence),
        *_step_answers(verdicts),
        *_non_step_answers(verdicts),
    ]


def _worse_answers(verdicts: NightVerdicts, confirmation_sentence: str) -> Iterator[Answer]:
    if judged_series := verdicts.with_verdict(Verdict.WORSE_LAST_NIGHT):
        newest_nights = (series.judgement.newest_night for series in judged_series)
        ratios = [newest_night.ratio for newest_night in newest_nights if newest_night]
        night = verdicts.calendar.nights[-1]
        rest = (
            f"({verdicts.calendar.describe(night)}): {_first_title(judged_series)}: "
            f"{units.ratio_range_text(ratios)} times the level, outside the range that earlier "
            "nights predict. What changed: "
            f"{describe_changes(verdicts.changes_by_night.get(night, ()))}. "
            f"{confirmation_sentence}"
        )
        first = f"New: {len(judged_series)} series worse last night "
        yield make_answer(first, rest.strip(), Verdict.WORSE_LAST_NIGHT.colour)


def _step_answers(verdicts: NightVerdicts) -> Iterator[Answer]:
    """Yield an answer for each night and verdict of a step: news first, then newest first."""
    groups = _group_by_step(verdicts.judged_series)
    news = {group: any(series.judgement.is_recent for series in groups[group]) for group in groups}
    for group in sorted(groups, key=lambda group: (news[group], group[0]), reverse=True):
        (night, verdict), judged_series = group, groups[group]
        ratios = [series.judgement.step.ratio for series in judged_series if series.judgement.step]
        rest = (
            f"since {verdicts.calendar.describe(night)}: {_first_title(judged_series)}: "
            f"{units.ratio_range_text(ratios)} times the level before. Changed then: "
            f"{describe_changes(_step_change_texts(judged_series))}."
        )
        prefix = "New: " if news[group] else ""
        yield make_answer(f"{prefix}{len(judged_series)} series {verdict} ", rest, verdict.colour)


def _group_by_step(
    judged_series: Sequence[JudgedSeries],
) -> dict[tuple[str, Verdict], list[JudgedSeries]]:
    """The series with a step, by its night and their verdict."""
    groups: dict[tuple[str, Verdict], list[JudgedSeries]] = defaultdict(list)
    for series in judged_series:
        if night := series.change_night or series.step_night:
            groups[night, series.judgement.verdict].append(series)
    return groups


def _step_change_texts(judged_series: Sequence[JudgedSeries]) -> list[str]:
    """Return what changed at a step of these series: recorded facts, then sets of nodes."""
    changes: list[FactChange] = []
    node_changes: list[FactChange] = []
    for series in judged_series:
        facts = [change for change in series.changes if change.name != NODE_SET_FACT]
        changes += facts[:_MAX_NAMED_ITEMS]
        node_changes += [change for change in series.changes if change.name == NODE_SET_FACT]
    texts = list(map(str, merge_changes(changes)))
    if len(set(node_changes)) > 1:
        return [*texts, f"{NODE_SET_FACT} of {len(node_changes)} series"]
    return [*texts, *dict.fromkeys(map(str, node_changes))]


def _non_step_answers(verdicts: NightVerdicts) -> Iterator[Answer]:
    """Yield answers on series without a step (flapping, drifting, ...), each with their count."""
    total = len(verdicts.judged_series)
    for verdict in Verdict:
        if verdict.explanation and (group := verdicts.with_verdict(verdict)):
            first = f"{_share_clause(len(group), total, verdict.predicate)}: "
            yield make_answer(first, f"{verdict.explanation}.", verdict.colour)
    if group := _series_with_improved_modes(verdicts):
        first = _share_clause(len(group), total, "are in the worse of two modes less often")
        rest = f": {group[0].full_title}: {group[0].judgement.ratio_text}."
        yield make_answer(first, rest, Verdict.IMPROVED.colour)
    if group := [series for series in verdicts.judged_series if series.revision_sentences]:
        first = f"Revised since the night before: {len(group)} of {total} series: "
        more = "; and others" if len(group) > 1 else ""
        sentences = "; ".join(group[0].revision_sentences)
        yield make_answer(first, f"{group[0].full_title}: {sentences}{more}.")
    if group := [series for series in verdicts.judged_series if series.acceptance]:
        first = f"The level of {len(group)} of {total} series is accepted"
        yield make_answer(first, " as baseline.")
    if group := [series for series in verdicts.judged_series if series.has_negligible_step]:
        first = f"{len(group)} of {total} series changed by less than the minimum effect"
        yield make_answer(first, " of the metric, which gives no verdict.")
    if group := verdicts.with_verdict(Verdict.UNCHANGED):
        step_text = _median_detectable_step(verdicts, group)
        who = "Half of them" if len(group) > 1 else "It"
        rest = f" {who} would have shown {step_text}" if step_text else ""
        yield make_answer(f"{_share_clause(len(group), total, 'are unchanged')}.", rest)
    if group := verdicts.with_verdict(Verdict.TOO_FEW_NIGHTS):
        reasons = sorted({series.judgement.reason for series in group} - {""})[:_MAX_NAMED_ITEMS]
        rest = f": {'; '.join(reasons)}." if reasons else "."
        first = _share_clause(len(group), total, "have too few nights")
        yield make_answer(first, rest, Verdict.TOO_FEW_NIGHTS.colour)


def _share_clause(count: int, total: int, predicate: str) -> str:
    """``3 of 40 series drift``, ``1 of 40 series drifts``: a `predicate` in the plural."""
    verb, _, rest = predicate.partition(" ")
    singular = {"are": "is", "have": "has"}.get(verb, f"{verb}s")
    return f"{count} of {total} series {verb if count > 1 else singular} {rest}".rstrip()


def _series_with_improved_modes(verdicts: NightVerdicts) -> list[JudgedSeries]:
    return [series for series in verdicts.with_verdict(Verdict.IMPROVED) if series.is_intermittent]


def _median_detectable_step(verdicts: NightVerdicts, judged_series: Sequence[JudgedSeries]) -> str:
    """Return the median detectable step of these series, as text; "" if it is not known."""
    steps = [step for series in judged_series if (step := series.judgement.detectable_step)]
    period = verdicts.detection_period_text
    return f"a step of {describe_step(median(steps))} {period}." if steps else ""


def report_answers(verdicts: NightVerdicts, confirmation_sentence: str = "") -> Iterator[Answer]:
    """Yield the answers for the section of a report: one for each night of a recent change.

    Regressions first; one answer names a changed MPI or processor, one sums up all other series.
    """
    if has_too_few_nights(verdicts):
        yield make_answer("Not judged yet: ", too_few_nights_sentence(verdicts))
        return
    worse_series = verdicts.with_verdict(Verdict.WORSE_LAST_NIGHT)
    flapping_series = verdicts.with_verdict(Verdict.FLAPPING)
    improved_series = _series_with_improved_modes(verdicts)
    if worse_series and (newest := worse_series[0].judgement.newest_night):
        ratio, low, high = map(units.ratio_to_level, (newest.ratio, newest.low, newest.high))
        deviation = f"is {ratio} times its level; {low} to {high}"
        rest = f"{_first_title(worse_series)} {deviation} was expected. "
        rest = f"{rest}{confirmation_sentence}".strip()
        yield make_answer("Worse last night: ", rest, Verdict.WORSE_LAST_NIGHT.colour)
    for first, judged_series, verdict in (
        ("Flapping: ", flapping_series, Verdict.FLAPPING),
        ("Improved: ", improved_series, Verdict.IMPROVED),
    ):
        if judged_series:
            rest = f"{_first_title(judged_series)}: {judged_series[0].judgement.ratio_text}."
            yield make_answer(first, rest, verdict.colour)
    stepped = [series for series in verdicts.judged_series if series.step_night]
    news = [series for series in stepped if series.judgement.is_recent]
    groups = _group_by_step(news)
    for night, verdict in sorted(groups, key=lambda key: (key[1].colour != "bad", key[0])):
        yield _recent_step_answer(night, verdict, groups[night, verdict], verdicts)
    if judged_series := [series for series in verdicts.judged_series if series.revision_sentences]:
        sentences = "; ".join(judged_series[0].revision_sentences)
        yield make_answer("Revised: ", f"{_first_title(judged_series)}: {sentences}.")
    changed_facts = list(_changed_fact_answers(verdicts))
    yield from changed_facts
    recent = (news, worse_series, flapping_series, improved_series, changed_facts)
    yield _summary_answer(verdicts, len(news), len(stepped) - len(news), any(recent))


def _changed_fact_answers(verdicts: NightVerdicts) -> Iterator[Answer]:
    """Yield an answer if an MPI or a processor is another than in the night before."""
    changes = verdicts.changes_by_night.get(verdicts.calendar.nights[-1], ())
    subjects: dict[FactChange, list[str]] = defaultdict(list)
    for change in changes:
        if change.name in _ALWAYS_NAMED_FACTS:
            subjects[replace(change, subject="")].append(change.subject)
    if subjects:
        texts = []
        for change, names in subjects.items():
            toolchains = ", ".join(names)
            if len(names) > _MAX_NAMED_ITEMS:
                toolchains = units.plural(len(names), "toolchain")
            texts.append(str(replace(change, subject=toolchains)))
        more = len(changes) - sum(map(len, subjects.values()))
        texts += [f"and {units.plural(more, 'other fact')}"] if more else []
        yield make_answer("What changed since the night before: ", f"{'; '.join(texts)}.")


def _summary_answer(
    verdicts: NightVerdicts, new_count: int, old_count: int, has_recent_changes: bool
) -> Answer:
    """An answer that counts series with recent changes, with older ones and with other verdicts."""
    total, counts = len(verdicts.judged_series), verdicts.count_by_verdict
    able_count = sum(count for verdict, count in counts.items() if verdict.is_judged)
    scope = f" in the {able_count} judged series" if able_count < total else ""
    nights = units.plural(len(verdicts.calendar.nights) - 1, "night")
    rest = [f"of {total} series, {new_count} changed recently"]
    rest += [f"{old_count} changed earlier"] if old_count else []
    rest += [f"{count} {verdict}" for verdict, count in counts.items() if verdict.is_undecided]
    step_text = _median_detectable_step(verdicts, verdicts.with_verdict(Verdict.UNCHANGED))
    sight = f"Half of the unchanged series would have shown {step_text}" if step_text else ""
    first = f"Nothing{' else' if has_recent_changes else ''} changed{scope} against {nights}: "
    return make_answer(first, f"{', '.join(rest)}. {sight}".strip())


def _first_title(series: Sequence[JudgedSeries]) -> str:
    more = f" (and {units.plural(len(series) - 1, 'other')})" if len(series) > 1 else ""
    return f"{series[0].full_title}{more}"


def _recent_step_answer(
    night: str, verdict: Verdict, judged_series: Sequence[JudgedSeries], verdicts: NightVerdicts
) -> Answer:
    """``Regressed: mpi, 1 B; ... takes 8 % longer since 2026-11-02, when UCX changed ...``."""
    series = judged_series[0]
    causes = [
        f"{c.name} changed from {c.before} to {c.after}{c.nodes_text}" for c in series.changes
    ]
    cause_text = f", when {'; '.join(causes)}" if causes else "; no recorded fact changed then"
    effect = series.judgement.step.ratio - 1 if series.judgement.step else 0.0
    is_time = series.data.identity["unit"] == "s"
    verb, up, down = ("takes", "longer", "less time") if is_time else ("is", "higher", "lower")
    effect_text = f"{verb} {units.percent_text(abs(effect))} {up if effect > 0 else down}"
    since = f"since {verdicts.calendar.date_text(night)}{cause_text}"
    rest = f"{_first_title(judged_series)} {effect_text} {since}."
    return make_answer(f"{verdict.capitalize()}: ", rest, verdict.colour)
