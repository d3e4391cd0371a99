"""Tests of the published statements with our measurements, and the answers of the section."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import Answer, Cell, RichText, StatusColour, StrongText, Table
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies.findings import (
    OPEN,
    SubjectVerdict,
    describe_joint_verdict,
    names_or_count,
    worst_colour,
)
from roundtrip.studies.npb import (
    BENCHMARKS_WITH_INFERRED_SPEEDUP,
    NATIVE,
    PUBLISHED_RTT_MS,
    PUBLISHED_SPEEDUPS,
    TRIAL_CLASSES,
    UDP,
    UPSTREAM,
    derived,
    describe_published_speedup,
)
from roundtrip.studies.npb.data import EMULATED_WAN, NPBLaunches, Series
from roundtrip.studies.npb.speedup import (
    SeriesClaim,
    SeriesVerdicts,
    claimed_speedups,
    speedup_over_ranks,
    transport_pairs,
)
from roundtrip.units import Quantity

COLOUR_BY_OUTCOME: dict[str, StatusColour] = {
    "holds": "good",
    "holds in part": "warn",
    "does not hold": "bad",
    OPEN: "warn",
    "not measured": "muted",
}


@dataclass(frozen=True)
class Finding:
    """Test of one published statement: the setting, the measured result, and whether it holds.

    `published_number`: the published speed-up as text.  `coverage_suffix`: text with the number of
    comparisons that were made, if the outcome covers all of them and some were not made; else "".
    """

    statement: str
    setting_text: str
    measured_result: str | Quantity = ""
    published_number: str = units.NO_VALUE
    outcome: str = "not measured"
    series: Series | None = None
    coverage_suffix: str = ""

    @property
    def verdict(self) -> str:
        return f"{self.outcome}{self.coverage_suffix}"

    @property
    def status_colour(self) -> StatusColour:
        """The colour of the verdict; a finding that was not measured everywhere is never green."""
        return "warn" if self.coverage_suffix else COLOUR_BY_OUTCOME[self.outcome]


def statement_findings(
    launches: NPBLaunches, speedups: SeriesVerdicts, transports: SeriesVerdicts
) -> list[Finding]:
    """The findings on all five published statements; "not measured" without class A or above."""
    transports = _without_trials(transports)
    udp_verdicts = [
        verdict for claim, verdict in transports.items() if claim.series.transport_role == UDP
    ]
    planned: dict[float, list[Series]] = defaultdict(list)  # launched, completed or not
    for series, rtt_ms in launches.planned_link_points:
        if series.problem_class not in TRIAL_CLASSES:
            planned[rtt_ms].append(series)
    pairs = [pair for all_series in planned.values() for pair in transport_pairs(all_series)]
    udp_count = sum(UDP in (one.transport_role, other.transport_role) for one, other in pairs)
    results = [
        _udp_finding(udp_verdicts, udp_count),
        _not_critical_finding(launches, list(transports.values()), len(pairs)),
    ]
    for benchmark, statement in derived.SCALING_STATEMENTS.items():
        target = PUBLISHED_SPEEDUPS[benchmark] * (1 - launches.settings.published_within)
        setting = f"in one cluster and over a link of {PUBLISHED_RTT_MS:g} ms"
        missing = f"no {benchmark} of class A or above {setting}"
        inferred = "inferred: " if benchmark in BENCHMARKS_WITH_INFERRED_SPEEDUP else ""
        number = f"{inferred}{PUBLISHED_SPEEDUPS[benchmark]:.2f}"
        series_results = [
            _scaling_finding(statement, number, claim, verdict, target)
            for claim, verdict in _without_trials(speedups).items()
            if (claim.series.benchmark, claim.rtt_ms) == (benchmark, PUBLISHED_RTT_MS)
        ]
        results += series_results or [Finding(statement, missing, published_number=number)]
    return results


def _without_trials(verdicts: SeriesVerdicts) -> SeriesVerdicts:
    return {
        claim: verdict
        for claim, verdict in verdicts.items()
        if claim.series.problem_class not in TRIAL_CLASSES
    }


def statement_table(launches: NPBLaunches, findings: Sequence[Finding]) -> Table:
    """Table of the published statements: a row for each series that tests one."""
    note = launches.level.fill_caption(
        f" All our results are over an {EMULATED_WAN}. Speed-up over one cluster with half of the "
        "ranks, {level} interval over rounds."
    )
    rows = []
    for one in findings:
        words: RichText = (
            (one.setting_text, ": ", one.measured_result)
            if one.measured_result
            else (one.setting_text,)
        )
        if isinstance(one.measured_result, Quantity):
            words = (*words, display.describe_slowdown([one.measured_result.value]))
        cell = Cell(words, one.status_colour, one.verdict)
        rows.append((one.statement, one.published_number, cell))
    return display.statement_table(rows, note)


def without_shared_processors(all_findings: Sequence[Finding]) -> list[Finding]:
    """Findings without those on series that share processors, if their statement has others."""
    unshared = [one for one in all_findings if not (one.series and one.series.shares_processors)]
    statements = {one.statement for one in unshared}
    return [one for one in all_findings if one in unshared or one.statement not in statements]


def _comparison_count(count: int, total: int) -> str:
    """The number of comparisons that were made, with the total if some were not made."""
    if count >= total:
        return units.plural(count, "comparison")
    return f"{count} of {units.plural(total, 'comparison')}"


def _coverage_suffix(count: int, total: int) -> str:
    return f" where measured ({_comparison_count(count, total)})" if count < total else ""


def _udp_finding(verdicts: Sequence[ClaimVerdict], total: int) -> Finding:
    statement = derived.UDP_BETTER_STATEMENT
    if not verdicts:
        lack = "UDP and another transport did not run the same kernel of class A or above"
        return Finding(statement, lack)
    counts = {
        outcome: sum(verdict.verdict is outcome for verdict in verdicts) for outcome in Verdict
    }
    text = ", ".join(f"{number} {outcome}" for outcome, number in counts.items() if number)
    half, wins = len(verdicts) / 2, counts[Verdict.FASTER]
    if wins > half:
        outcome = "holds"
    else:
        is_open = wins + counts[Verdict.CANNOT_TELL] > half
        outcome = OPEN if is_open else "does not hold"
    where = f"UDP against another transport, {_comparison_count(len(verdicts), total)}"
    coverage_suffix = "" if outcome == OPEN else _coverage_suffix(len(verdicts), total)
    return Finding(statement, where, text, outcome=outcome, coverage_suffix=coverage_suffix)


def _not_critical_finding(
    launches: NPBLaunches, verdicts: Sequence[ClaimVerdict], total: int
) -> Finding:
    statement, difference = derived.NOT_CRITICAL_STATEMENT, launches.settings.critical_difference
    if not verdicts:
        return Finding(statement, "no two transports ran the same kernel of class A or above")
    margin = 1 + difference
    intervals = [verdict.interval for verdict in verdicts]
    is_within = all(interval.within(1 / margin, margin) for interval in intervals)
    beyond = sum(one.is_above(margin) or one.is_below(1 / margin) for one in intervals)
    outcome = "holds" if is_within else "does not hold" if beyond else OPEN
    ratios = (
        f"ratios {units.ratio_range_text([interval.median for interval in intervals])}; "
        f"{beyond} beyond {units.percent_text(difference)}"
    )
    where = f"every pair of transports, {_comparison_count(len(verdicts), total)}"
    # One critical difference refutes the statement, whatever the others are.
    coverage_suffix = _coverage_suffix(len(verdicts), total) if outcome == "holds" else ""
    return Finding(statement, where, ratios, outcome=outcome, coverage_suffix=coverage_suffix)


def _scaling_finding(
    statement: str, number: str, claim: SeriesClaim, verdict: ClaimVerdict, target: float
) -> Finding:
    """Test of a speed-up at 4 ms; "in part": two clusters gain, but less than `target`."""
    interval = verdict.interval
    if interval.within(target, math.inf):
        outcome = "holds"
    elif interval.is_above(1):
        outcome = "holds in part"
    else:
        outcome = "does not hold" if interval.is_below(max(1, target)) else OPEN
    ratio = Quantity.from_claim(interval, claim.base.title)
    return Finding(statement, claim.series.title, ratio, number, outcome, claim.series)


_TEXT_BY_VERDICT = {
    verdict: str(verdict)
    for verdict in (Verdict.FASTER, Verdict.SLOWER, Verdict.ON_PAR, Verdict.CANNOT_TELL)
}


def answers_at_longest_rtt(speedups: SeriesVerdicts) -> list[Answer]:
    """One answer: which benchmarks gain from a second cluster at the longest RTT."""
    claims = [claim for claim in speedups if claim.series.source == NATIVE] or list(speedups)
    if not claims:
        return []
    rtt_ms = max(claim.rtt_ms or 0.0 for claim in claims)
    claims = [claim for claim in claims if claim.rtt_ms == rtt_ms]
    unshared = {claim.series.problem_name for claim in claims if not claim.series.shares_processors}
    outcomes: dict[str, list[SubjectVerdict]] = defaultdict(list)
    medians: dict[str, list[float]] = defaultdict(list)
    for claim in claims:
        series, verdict = claim.series, speedups[claim]
        if series.shares_processors and series.problem_name in unshared:
            continue
        is_same_size = claim.base.ranks == series.ranks
        name = series.problem_name + (" (as many ranks in one)" if is_same_size else "")
        where = series.ranks, series.ranks_and_placement
        outcomes[name].append(SubjectVerdict(series.transport_title, where, verdict.verdict))
        medians[name].append(verdict.interval.median)
    groups: dict[str, list[str]] = {words: [] for words in _TEXT_BY_VERDICT.values()}
    for name in outcomes:
        words = describe_joint_verdict(outcomes[name], _TEXT_BY_VERDICT, "transport")
        times = units.range_text([1 / median for median in medians[name]], digits=2)
        groups.setdefault(words, []).append(f"{name} ({times} times as long)")
    clauses = [f"{words} in {', '.join(names)}" for words, names in groups.items() if names]
    subject = f"Two clusters (twice the ranks) against one, {EMULATED_WAN} of {rtt_ms:g} ms"
    text = f"{subject}: {'; '.join(clauses)}."
    colour = worst_colour(one.verdict.colour for group in outcomes.values() for one in group)
    return [Answer((text,), colour)]


#: Largest ratio of a speed-up to the ideal one that the number of ranks can explain.
_MAX_RATIO_TO_IDEAL = 1.25


def answers_in_one_cluster(launches: NPBLaunches, sources: SeriesVerdicts) -> list[Answer]:
    """Answers on scaling over ranks, and on our programs against NPB's own."""
    answers = []
    speedups = {
        series: speedup.median
        for series in launches.cluster_series
        if series.source == NATIVE and (speedup := speedup_over_ranks(launches, series))
    }
    outliers = [
        series
        for series, speedup in speedups.items()
        if speedup > _MAX_RATIO_TO_IDEAL * launches.ideal_speedup(series)
    ]
    subjects = {False: "Speed-up", True: "Where ranks share processors: speed-up"}
    for is_shared, subject in subjects.items():
        group = [
            series
            for series in speedups
            if series.shares_processors is is_shared and series not in outliers
        ]
        if group:
            ranks = sorted({series.ranks for series in group})
            rank_range = " to ".join(dict.fromkeys((str(ranks[0]), str(ranks[-1]))))
            times = units.ratio_range_text([speedups[series] for series in group])
            text = f"{subject} on {rank_range} ranks over the fewest: {times} times."
            answers.append(Answer((text,)))
    if outliers:
        clauses = (
            f"{series.problem_name} on {series.ranks_and_placement}: "
            f"{units.pure_number(speedups[series])} times"
            for series in outliers
        )
        text = f"Implausible, more than the ranks explain: {'; '.join(sorted(clauses))}."
        answers.append(Answer((text,), "warn"))
    if not speedups:
        names = list(dict.fromkeys(series.problem_name for series in launches.cluster_series))
        answers.append(Answer((f"{', '.join(names)} ran and verified; see the rates below.",)))
    return [*answers, *_source_answers(sources)]


def _source_answers(sources: SeriesVerdicts) -> list[Answer]:
    """An answer on our programs against NPB's own in one cluster; [] without both."""
    verdict_by_series = {
        claim.series: sources[claim].verdict for claim in sources if claim.rtt_ms is None
    }
    name_by_series = _distinct_names(list(verdict_by_series))
    clauses = []
    for verdict, words in _TEXT_BY_VERDICT.items():
        if names := [
            name_by_series[series]
            for series in verdict_by_series
            if verdict_by_series[series] is verdict
        ]:
            clauses.append(f"{words} in {names_or_count(names, len(verdict_by_series))}")
    if not clauses:
        return []
    text = f"Against NPB 3.4's own programs: {'; '.join(clauses)}."
    return [Answer((text,), "bad" if Verdict.SLOWER in verdict_by_series.values() else "plain")]


def _distinct_names(all_series: Sequence[Series]) -> dict[Series, str]:
    """``CG A on 4 ranks``; if several series are that, each with what distinguishes it."""
    series_by_name: dict[str, list[Series]] = defaultdict(list)
    for series in all_series:
        name = f"{series.problem_name} on {units.plural(series.ranks, 'rank')}"
        series_by_name[name].append(series)
    names: dict[Series, str] = {}
    for name, group in series_by_name.items():
        texts = {series: series.title for series in group}
        if len(set(texts.values())) < len(group):
            texts = {one: f"{text}, {one.environ}, {one.partition}" for one, text in texts.items()}
        rest = labels.title_differences(set(texts.values()))
        names |= {one: f"{name} ({rest[texts[one]]})" if len(group) > 1 else name for one in group}
    return names


def answers_over_link(launches: NPBLaunches, all_findings: Sequence[Finding]) -> list[Answer]:
    """An answer for each benchmark over the link, of series that do not share processors if any."""
    answers = []
    for name in dict.fromkeys(series.problem_name for series in launches.link_series):
        group = [series for series in launches.link_series if series.problem_name == name]
        group = [series for series in group if series.source == NATIVE] or group
        group = [series for series in group if not series.shares_processors] or group
        if words := _link_text(launches, group):
            outcomes = [finding.outcome for finding in all_findings if finding.series in group]
            worst = max(outcomes, key=list(COLOUR_BY_OUTCOME).index, default="not measured")
            answers.append(Answer((StrongText(name), words), COLOUR_BY_OUTCOME[worst]))
    return answers


def _link_text(launches: NPBLaunches, group: Sequence[Series]) -> str:
    """Text on the speed-ups at the shortest and the longest RTT; "" without any."""
    rtts = sorted(
        {rtt for series in group for rtt in launches.values_by_point[series] if rtt is not None}
    )
    ends = list(dict.fromkeys((rtts[0], rtts[-1])))
    base = launches.one_cluster_base(group[0])
    comparison = f"as fast as one with {base.ranks_and_placement} " if base else ""
    speedups: list[str] = []
    waits: list[str] = []
    for rtt_ms in ends:
        if times := _speedup_range(launches, group, rtt_ms):
            speedups.append(f"{times} times {comparison}at {rtt_ms:g} ms")
            comparison = ""
        shares = [
            launch["communication"] / (launch["compute"] + launch["communication"])
            for series in group
            for launch in launches.values_at(series, rtt_ms).values()
            if launch["compute"]
        ]
        if shares:
            waits.append(f"{units.percent_text(median(shares))} at {rtt_ms:g} ms")
    if not speedups:
        return ""
    text = (
        f", {group[0].ranks_and_placement} in two clusters on an {EMULATED_WAN}: "
        f"{', '.join(speedups)} ({units.plural(len(group), 'transport')})."
    )
    if waits:
        text += f" In MPI, waiting included: {', '.join(waits)} of a rank's time."
    upstream = [replace(series, source=UPSTREAM) for series in group]
    if times := _speedup_range(launches, upstream, ends[-1]):
        text += f" NPB 3.4's own program: {times} times at {ends[-1]:g} ms."
    if group[0].benchmark in PUBLISHED_SPEEDUPS:
        text += f" The study in 2003: {describe_published_speedup(group[0].benchmark)}, at 4 ms."
    return text


def _speedup_range(launches: NPBLaunches, group: Sequence[Series], rtt_ms: float) -> str:
    """The range of the claimed speed-ups of the series that were measured; "" without any."""
    speedups = [launches.interval(claimed_speedups(launches, series, rtt_ms)) for series in group]
    medians = [speedup.median for speedup in speedups if speedup]
    return units.ratio_range_text(medians) if medians else ""
