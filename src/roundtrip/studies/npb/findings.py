"""Tests of the study's findings with our measurements, and the answers of the section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from roundtrip.report import labels, units
from roundtrip.report.blocks import Answer, Inline, Strong, Tone
from roundtrip.report.units import Quantity
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.findings import Outcome, joint_words, names_or_count
from roundtrip.studies.npb import (
    NATIVE,
    PUBLISHED_SPEEDUPS,
    STUDY_RTT_MS,
    TRIAL_CLASSES,
    UDP,
    UPSTREAM,
    Thresholds,
    derived,
    published_words,
)
from roundtrip.studies.npb.data import EMULATED, Launches, Series
from roundtrip.studies.npb.derived import Statement
from roundtrip.studies.npb.speedup import (
    NpbSources,
    NpbSpeedup,
    NpbTransports,
    claimed_speedups,
    communication_shares,
    same_problem,
    speedups_over_ranks,
)
from roundtrip.studies.study import Claim

TONES: dict[str, Tone] = {
    "holds": "good",
    "holds in part": "warn",
    "does not hold": "bad",
    "cannot tell": "warn",
    "not measured": "muted",
}


@dataclass(frozen=True)
class Finding:
    """Test of one finding of the study: where, the evidence, and whether the finding holds.

    `limits`: text with the number of comparisons that were made, if the outcome covers all of them
    and some were not made; else "".
    """

    statement: Statement
    where: str
    evidence: str | Quantity
    outcome: str
    series: Series | None = None
    limits: str = ""

    @property
    def verdict(self) -> str:
        """The outcome with its limits."""
        return f"{self.outcome}{self.limits}"

    @property
    def tone(self) -> Tone:
        """The tone of the verdict; a finding that was not measured everywhere is never green."""
        return "warn" if self.limits else TONES[self.outcome]


def findings(
    verdicts: Mapping[Claim, ClaimVerdict], launches: Launches, settings: Thresholds
) -> list[Finding]:
    """Return all five findings of the study; "not measured" without class A or above."""
    transports = {
        key: verdict
        for key, verdict in verdicts.items()
        if isinstance(key, NpbTransports) and key.series.problem_class not in TRIAL_CLASSES
    }
    speedups = {
        key: verdict
        for key, verdict in verdicts.items()
        if isinstance(key, NpbSpeedup) and key.series.problem_class not in TRIAL_CLASSES
    }
    udp_verdicts = [verdict for key, verdict in transports.items() if key.series.role == UDP]
    pairs = _planned_pairs(launches)
    udp_count = sum(UDP in (one.role, other.role) for one, other in pairs)
    results = [
        _udp_mostly_better(udp_verdicts, udp_count),
        _not_critical(list(transports.values()), len(pairs), settings),
    ]
    for statement in derived.SCALING_STATEMENTS:
        series_results = [
            _scaling(launches, statement, key, verdict, settings)
            for key, verdict in speedups.items()
            if key.series.benchmark == statement.benchmark and key.rtt == STUDY_RTT_MS
        ]
        results += series_results or [_not_measured(statement)]
    return results


def _not_measured(statement: Statement) -> Finding:
    """`statement` without a comparison; the cell says which launches it lacks."""
    if statement.benchmark:
        place = f"in one cluster and over a link of {STUDY_RTT_MS:g} ms"
        where = f"no {statement.benchmark} of class A or above {place}"
    elif statement is derived.UDP_MOSTLY_BETTER:
        where = "UDP and another transport did not run the same kernel of class A or above"
    else:
        where = "no two transports ran the same kernel of class A or above"
    return Finding(statement, where, units.NO_VALUE, "not measured")


def prefer_unshared(all_findings: Sequence[Finding]) -> list[Finding]:
    """Findings without series whose ranks share processors, if the statement has other series."""
    statements = {
        finding.statement
        for finding in all_findings
        if finding.series and not finding.series.shares_processors
    }
    return [
        finding
        for finding in all_findings
        if finding.series is None
        or not finding.series.shares_processors
        or finding.statement not in statements
    ]


def _planned_pairs(launches: Launches) -> list[tuple[Series, Series]]:
    """Pairs of transports at each RTT for which both were launched, completed or not."""
    return [
        (one, other)
        for (one, rtt), (other, other_rtt) in combinations(launches.planned_link_points, 2)
        if rtt == other_rtt and same_problem(one, other) and one.problem_class not in TRIAL_CLASSES
    ]


def _comparison_count(count: int, total: int) -> str:
    """Text: number of comparisons that were made, with the total if some were not made."""
    if count >= total:
        return units.plural(count, "comparison")
    return f"{count} of {units.plural(total, 'comparison')}"


def _where_measured(count: int, total: int) -> str:
    return f" where measured ({_comparison_count(count, total)})" if count < total else ""


def _udp_mostly_better(verdicts: Sequence[ClaimVerdict], total: int) -> Finding:
    statement = derived.UDP_MOSTLY_BETTER
    if not verdicts:
        return _not_measured(statement)
    counts = {kind: sum(verdict.verdict is kind for verdict in verdicts) for kind in Verdict}
    text = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    half, wins = len(verdicts) / 2, counts[Verdict.FASTER]
    if wins > half:
        outcome = "holds"
    else:
        is_open = wins + counts[Verdict.CANNOT_TELL] > half
        outcome = "cannot tell" if is_open else "does not hold"
    where = f"UDP against another transport, {_comparison_count(len(verdicts), total)}"
    limits = "" if outcome == "cannot tell" else _where_measured(len(verdicts), total)
    return Finding(statement, where, text, outcome, limits=limits)


def _not_critical(verdicts: Sequence[ClaimVerdict], total: int, settings: Thresholds) -> Finding:
    statement = derived.DIFFERENCES_NOT_CRITICAL
    if not verdicts:
        return _not_measured(statement)
    margin = 1 + settings.critical_difference
    within = [verdict.interval.within(1 / margin, margin) for verdict in verdicts]
    beyond = [_is_beyond(verdict.interval, margin) for verdict in verdicts]
    outcome = "holds" if all(within) else "does not hold" if any(beyond) else "cannot tell"
    ratios = (
        f"ratios {units.ratio_range_text([verdict.interval.median for verdict in verdicts])}; "
        f"{sum(beyond)} beyond {units.percent(settings.critical_difference)}"
    )
    where = f"every pair of transports, {_comparison_count(len(verdicts), total)}"
    # One critical difference refutes the statement, whatever the others are.
    limits = _where_measured(len(verdicts), total) if outcome == "holds" else ""
    return Finding(statement, where, ratios, outcome, limits=limits)


def _is_beyond(interval: Interval, margin: float) -> bool:
    if interval.low is None or interval.high is None:
        return False
    return interval.low > margin or interval.high < 1 / margin


def _scaling(
    launches: Launches,
    statement: Statement,
    key: NpbSpeedup,
    verdict: ClaimVerdict,
    settings: Thresholds,
) -> Finding:
    """Test of a speed-up at 4 ms; "in part": two clusters gain, but less than in the study."""
    target = PUBLISHED_SPEEDUPS[statement.benchmark] * (1 - settings.published_within)
    low, high = verdict.interval.low, verdict.interval.high
    if low is None or high is None:
        outcome = "cannot tell"
    elif low >= target:
        outcome = "holds"
    elif high < 1:
        outcome = "does not hold"
    elif low > 1:
        outcome = "holds in part"
    else:
        outcome = "cannot tell" if high >= target else "does not hold"
    ratio = Quantity.claim(verdict.interval, launches.base_label(key.series))
    return Finding(statement, key.series.label, ratio, outcome, key.series)


_VERDICTS = (Verdict.FASTER, Verdict.SLOWER, Verdict.ON_PAR, Verdict.CANNOT_TELL)
_WORDS = {kind: "open" if kind is Verdict.CANNOT_TELL else str(kind) for kind in _VERDICTS}


def answers_at_longest_rtt(
    launches: Launches, verdicts: Mapping[Claim, ClaimVerdict]
) -> list[Answer]:
    """Return one answer: benchmarks that gain from a second cluster at the longest RTT."""
    speedups = {key: verdict for key, verdict in verdicts.items() if isinstance(key, NpbSpeedup)}
    selection = {key: verdict for key, verdict in speedups.items() if key.series.source == NATIVE}
    selection = selection or speedups
    if not selection:
        return []
    rtt = max(key.rtt for key in selection)
    verdicts_at_rtt = {key: verdict for key, verdict in selection.items() if key.rtt == rtt}
    unshared_names = {
        key.series.name for key in verdicts_at_rtt if not key.series.shares_processors
    }
    by_name: dict[str, list[Outcome]] = {}
    medians: dict[str, list[float]] = {}
    for key, verdict in verdicts_at_rtt.items():
        if not key.series.shares_processors or key.series.name not in unshared_names:
            base = launches.base_of(key.series)
            is_same_size = base is not None and base.ranks == key.series.ranks
            name = f"{key.series.name} (as many ranks in one)" if is_same_size else key.series.name
            where = key.series.ranks, key.series.setup
            outcome = Outcome(key.series.transport, where, verdict.verdict)
            by_name.setdefault(name, []).append(outcome)
            medians.setdefault(name, []).append(verdict.interval.median)
    speedup_texts = {
        name: f"{name} ({units.ratio_range_text(values)} times as fast)"
        for name, values in medians.items()
    }
    groups: dict[str, list[str]] = {words: [] for words in _WORDS.values()}
    for name, outcomes in by_name.items():
        words = joint_words(outcomes, _WORDS, "transport")
        groups.setdefault(words, []).append(speedup_texts[name])
    clauses = [f"{words} in {', '.join(names)}" for words, names in groups.items() if names]
    text = f"Two clusters against one, on an {EMULATED} of {rtt:g} ms: {'; '.join(clauses)}."
    return [Answer((text,))]


#: Largest ratio of a speed-up to the ideal one that the number of ranks can explain.
_MAX_IDEAL_RATIO = 1.25


def _ideal(launches: Launches, series: Series) -> float:
    return series.ranks / launches.fewest_ranks_base(series).ranks


def answers_in_one_cluster(
    launches: Launches, verdicts: Mapping[Claim, ClaimVerdict]
) -> list[Answer]:
    """Return answers on scaling over ranks, and on our programs against NPB's own."""
    answers = []
    speedups = {
        series: value.median
        for series in launches.cluster_series
        if series.source == NATIVE
        and (value := launches.interval(speedups_over_ranks(launches, series)))
    }
    outliers = {
        series
        for series, speedup in speedups.items()
        if speedup > _MAX_IDEAL_RATIO * _ideal(launches, series)
    }
    for is_shared, prefix in ((False, ""), (True, "Where ranks share processors: ")):
        if group := {
            series: speedup
            for series, speedup in speedups.items()
            if series.shares_processors is is_shared and series not in outliers
        }:
            ranks = sorted({series.ranks for series in group})
            rank_range = " to ".join(dict.fromkeys((str(ranks[0]), str(ranks[-1]))))
            times = units.ratio_range_text(list(group.values()))
            text = f"speed-up on {rank_range} ranks over the fewest: {times} times."
            answers.append(Answer((f"{prefix}{text}" if prefix else f"S{text[1:]}",)))
    if outliers:
        clauses = (
            f"{series.name} on {series.setup}: {units.pure_number(speedups[series])} times"
            for series in outliers
        )
        text = f"Implausible, more than the ranks explain: {'; '.join(sorted(clauses))}."
        answers.append(Answer((text,), "warn"))
    if not speedups:
        names = list(dict.fromkeys(series.name for series in launches.cluster_series))
        answers.append(Answer((f"{', '.join(names)} ran and verified; see the rates below.",)))
    source_verdicts = {
        key.native: verdict.verdict
        for key, verdict in verdicts.items()
        if isinstance(key, NpbSources) and key.rtt is None
    }
    source_names = _distinct_names(list(source_verdicts))
    names_by_kind: dict[Verdict, list[str]] = {}
    for series, kind in source_verdicts.items():
        names_by_kind.setdefault(kind, []).append(source_names[series])
    if names_by_kind:
        count = sum(map(len, names_by_kind.values()))
        clauses = (
            f"{_WORDS[kind]} in {names_or_count(names_by_kind[kind], count)}"
            for kind in _VERDICTS
            if kind in names_by_kind
        )
        text = f"Against NPB 3.4's own programs: {'; '.join(clauses)}."
        answers.append(Answer((text,), "bad" if Verdict.SLOWER in names_by_kind else "plain"))
    return answers


def _distinct_names(all_series: Sequence[Series]) -> dict[Series, str]:
    """``CG A on 4 ranks``; if several series are that, each with what distinguishes it."""
    series_by_name: dict[str, list[Series]] = {}
    for series in all_series:
        name = f"{series.name} on {units.plural(series.ranks, 'rank')}"
        series_by_name.setdefault(name, []).append(series)
    names: dict[Series, str] = {}
    for name, group in series_by_name.items():
        texts = {series: series.label for series in group}
        if len(set(texts.values())) < len(group):
            texts = {one: f"{text}, {one.environ}, {one.partition}" for one, text in texts.items()}
        rest = labels.differences(set(texts.values()))
        names |= {one: f"{name} ({rest[texts[one]]})" if len(group) > 1 else name for one in group}
    return names


def answers_over_link(launches: Launches, all_findings: Sequence[Finding]) -> list[Answer]:
    """An answer for each benchmark that was measured over the emulated link.

    Series whose ranks do not share processors are preferred.
    """
    answers = []
    for name in dict.fromkeys(series.name for series in launches.link_series):
        group = [series for series in launches.link_series if series.name == name]
        group = [series for series in group if series.source == NATIVE] or group
        selection = [series for series in group if not series.shares_processors] or group
        words = _words(launches, selection)
        if not words:
            continue
        outcomes = [finding.outcome for finding in all_findings if finding.series in selection]
        worst = max(outcomes, key=list(TONES).index, default="not measured")
        answers.append(Answer((Strong(name), *words), TONES[worst]))
    return answers


def _words(launches: Launches, group: Sequence[Series]) -> tuple[Inline, ...]:
    rtts = sorted({rtt for series in group for rtt in launches.points[series] if rtt is not None})
    base = launches.base_of(group[0])
    comparison = f"as fast as one with {base.setup} " if base else ""
    speedups: list[str] = []
    for rtt in dict.fromkeys((rtts[0], rtts[-1])):
        medians = [
            speedup.median for series in group if (speedup := _speedup(launches, series, rtt))
        ]
        if medians:
            speedups.append(f"{units.ratio_range_text(medians)} times {comparison}at {rtt:g} ms")
            comparison = ""
    if not speedups:
        return ()
    name = group[0].benchmark
    study = (
        f" The study in 2003: {published_words(name)}, at 4 ms."
        if name in PUBLISHED_SPEEDUPS
        else ""
    )
    text = (
        f", {group[0].setup} in two clusters on an {EMULATED}: {', '.join(speedups)} "
        f"({units.plural(len(group), 'transport')}).{_waiting_words(launches, group, rtts)}"
        f"{_upstream_speedup(launches, group, rtts[-1])}{study}"
    )
    return (text,)


def _waiting_words(launches: Launches, group: Sequence[Series], rtts: Sequence[float]) -> str:
    """Text on a rank's share of time in MPI, at the shortest and the longest RTT."""
    parts = []
    for rtt in dict.fromkeys((rtts[0], rtts[-1])):
        shares = [
            share for series in group for share in communication_shares(launches, series, rtt)
        ]
        interval = launches.interval(shares)
        if interval:
            parts.append(f"{units.percent(interval.median)} at {rtt:g} ms")
    return f" In MPI, waiting included: {', '.join(parts)} of a rank's time." if parts else ""


def _upstream_speedup(launches: Launches, group: Sequence[Series], rtt: float) -> str:
    """Text on the speed-up of NPB's own programs in the same place; "" without one."""
    twins = [replace(series, source=UPSTREAM) for series in group]
    upstream = [series for series in twins if series in launches.points]
    medians = [
        speedup.median for series in upstream if (speedup := _speedup(launches, series, rtt))
    ]
    if not medians:
        return ""
    return f" NPB 3.4's own program: {units.ratio_range_text(medians)} times at {rtt:g} ms."


def _speedup(launches: Launches, series: Series, rtt: float) -> Interval | None:
    return launches.interval(claimed_speedups(launches, series, rtt))
