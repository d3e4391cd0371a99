"""The findings of the study, tested with our numbers, and the answers of the section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Inline, Strong, Tone
from roundtrip.report.units import Quantity
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.findings import listed
from roundtrip.studies.npb import (
    NATIVE,
    PUBLISHED,
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
    headline,
    over_ranks,
    same_problem,
    waiting,
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
    """What our numbers say about a finding: where, what was found, and whether it holds.

    `limits`: which part of what was to be compared stands behind an outcome that covers all of
    it; nothing if all does.
    """

    statement: Statement
    where: str
    evidence: str | Quantity
    outcome: str
    series: Series | None = None
    limits: str = ""

    @property
    def verdict(self) -> str:
        """The outcome, with what limits it."""
        return f"{self.outcome}{self.limits}"

    @property
    def tone(self) -> Tone:
        """The tone of the verdict; a finding that was not measured everywhere is never green."""
        return "warn" if self.limits else TONES[self.outcome]


def findings(
    judged: Mapping[Claim, ClaimVerdict], launches: Launches, settings: Thresholds
) -> list[Finding]:
    """All five findings of the study; "not measured" without launches of a measuring class."""
    transports = {
        key: one
        for key, one in judged.items()
        if isinstance(key, NpbTransports) and key.series.problem_class not in TRIAL_CLASSES
    }
    speedups = {
        key: one
        for key, one in judged.items()
        if isinstance(key, NpbSpeedup) and key.series.problem_class not in TRIAL_CLASSES
    }
    of_udp = [one for key, one in transports.items() if key.series.role == UDP]
    pairs = _planned(launches)
    planned_of_udp = sum(UDP in (one.role, other.role) for one, other in pairs)
    found = [
        _most_often(of_udp, planned_of_udp),
        _not_critical(list(transports.values()), len(pairs), settings),
    ]
    for statement in derived.SCALING:
        mine = [
            _scaling(launches, statement, key, one, settings)
            for key, one in speedups.items()
            if key.series.benchmark == statement.benchmark and key.rtt == STUDY_RTT_MS
        ]
        found += mine or [_not_measured(statement)]
    return found


def _not_measured(statement: Statement) -> Finding:
    here = "no launches of class A or above in this report"
    return Finding(statement, here, units.NOTHING, "not measured")


def foremost(found: Sequence[Finding]) -> list[Finding]:
    """The findings, without series whose ranks share processors if there are other series."""
    own = {one.statement for one in found if one.series and not one.series.shared}
    return [
        one
        for one in found
        if one.series is None or not one.series.shared or one.statement not in own
    ]


def _planned(launches: Launches) -> list[tuple[Series, Series]]:
    """Each pair of transports at each RTT at which both were launched, even if one was lost."""
    return [
        (one, other)
        for (one, rtt), (other, other_rtt) in combinations(launches.over_the_link_or_lost, 2)
        if rtt == other_rtt and same_problem(one, other) and one.problem_class not in TRIAL_CLASSES
    ]


def _part(measured: int, planned: int) -> str:
    """The number of comparisons that were made, and of how many if some were not."""
    if measured >= planned:
        return units.plural(measured, "comparison")
    return f"{measured} of {units.plural(planned, 'comparison')}"


def _where_measured(measured: int, planned: int) -> str:
    return f" where measured ({_part(measured, planned)})" if measured < planned else ""


def _most_often(of_udp: Sequence[ClaimVerdict], planned: int) -> Finding:
    statement = derived.MOST_OFTEN
    if not of_udp:
        return _not_measured(statement)
    count = {verdict: sum(one.verdict is verdict for one in of_udp) for verdict in Verdict}
    counts = ", ".join(f"{number} {verdict}" for verdict, number in count.items() if number)
    half, faster = len(of_udp) / 2, count[Verdict.FASTER]
    if faster > half:
        outcome = "holds"
    else:
        open_ = faster + count[Verdict.CANNOT_TELL] > half
        outcome = "cannot tell" if open_ else "does not hold"
    where = f"UDP against another transport, {_part(len(of_udp), planned)}"
    limits = "" if outcome == "cannot tell" else _where_measured(len(of_udp), planned)
    return Finding(statement, where, counts, outcome, limits=limits)


def _not_critical(all_pairs: Sequence[ClaimVerdict], planned: int, settings: Thresholds) -> Finding:
    statement = derived.NOT_CRITICAL
    if not all_pairs:
        return _not_measured(statement)
    margin = 1 + settings.critical_difference
    inside = [one.interval.within(1 / margin, margin) for one in all_pairs]
    outside = [_beyond(one.interval, margin) for one in all_pairs]
    outcome = "holds" if all(inside) else "does not hold" if any(outside) else "cannot tell"
    ratios = (
        f"ratios {units.spread([one.interval.median for one in all_pairs])}; {sum(outside)} "
        f"beyond {units.percent(settings.critical_difference)}"
    )
    where = f"every pair of transports, {_part(len(all_pairs), planned)}"
    # One difference that is critical is enough, whatever the others are.
    limits = _where_measured(len(all_pairs), planned) if outcome == "holds" else ""
    return Finding(statement, where, ratios, outcome, limits=limits)


def _beyond(interval: Interval, margin: float) -> bool:
    if interval.low is None or interval.high is None:
        return False
    return interval.low > margin or interval.high < 1 / margin


def _scaling(
    launches: Launches,
    statement: Statement,
    key: NpbSpeedup,
    one: ClaimVerdict,
    settings: Thresholds,
) -> Finding:
    """A speed-up at 4 ms; "in part": two clusters gain, but less than the study's."""
    wanted = PUBLISHED[statement.benchmark] * (1 - settings.published_within)
    low, high = one.interval.low, one.interval.high
    if low is None or high is None:
        outcome = "cannot tell"
    elif low >= wanted:
        outcome = "holds"
    elif high < 1:
        outcome = "does not hold"
    elif low > 1:
        outcome = "holds in part"
    else:
        outcome = "cannot tell" if high >= wanted else "does not hold"
    ratio = Quantity.claim(one.interval, launches.base_label(key.series))
    return Finding(statement, key.series.label, ratio, outcome, key.series)


_OUTCOMES = {Verdict.CANNOT_TELL: "open"}
_VERDICTS = (Verdict.FASTER, Verdict.SLOWER, Verdict.ON_PAR, Verdict.CANNOT_TELL)


def at_the_farthest(launches: Launches, judged: Mapping[Claim, ClaimVerdict]) -> list[Answer]:
    """Which benchmarks gain by a second cluster at the greatest delay, in one line."""
    speedups = {key: one for key, one in judged.items() if isinstance(key, NpbSpeedup)}
    mine = {key: one for key, one in speedups.items() if key.series.source == NATIVE}
    mine = mine or speedups
    if not mine:
        return []
    farthest = max(key.rtt for key in mine)
    here = {key: one for key, one in mine.items() if key.rtt == farthest}
    own = {key.series.name for key in here if not key.series.shared}
    by_name: dict[str, set[Verdict]] = {}
    for key, one in here.items():
        if not key.series.shared or key.series.name not in own:
            base = launches.base_of(key.series)
            alike = base is not None and base.ranks == key.series.ranks
            name = f"{key.series.name} (as many ranks in one)" if alike else key.series.name
            by_name.setdefault(name, set()).add(one.verdict)
    clauses = [
        f"{_OUTCOMES.get(verdict, verdict)} in {', '.join(names)}"
        for verdict in _VERDICTS
        if (names := [name for name, found in by_name.items() if found == {verdict}])
    ]
    if names := [name for name, found in by_name.items() if len(found) > 1]:
        clauses.append(f"it depends on the transport in {', '.join(names)}")
    text = f"Two clusters against one, on an {EMULATED} of {farthest:g} ms: {'; '.join(clauses)}."
    return [Answer((text,))]


#: A speed-up of more than so many times the ideal one is no effect of the ranks.
_MOST = 1.25


def _ideal(launches: Launches, series: Series) -> float:
    return series.ranks / launches.fewest_of(series).ranks


def in_one_place(launches: Launches, judged: Mapping[Claim, ClaimVerdict]) -> list[Answer]:
    """How the benchmarks scale over ranks, and how they compare with NPB's own, in a line each."""
    found = []
    every = {
        one: value.median
        for one in launches.inside
        if one.source == NATIVE and (value := launches.interval(over_ranks(launches, one)))
    }
    odd = {one for one, value in every.items() if value > _MOST * _ideal(launches, one)}
    for shared, apart in ((False, ""), (True, "Where ranks share processors: ")):
        if grown := {one: v for one, v in every.items() if one.shared is shared and one not in odd}:
            ranks = sorted({one.ranks for one in grown})
            on = " to ".join(dict.fromkeys((str(ranks[0]), str(ranks[-1]))))
            times = units.spread(list(grown.values()))
            text = f"speed-up on {on} ranks over the fewest: {times} times."
            found.append(Answer((f"{apart}{text}" if apart else f"S{text[1:]}",)))
    if odd:
        named = (f"{one.name} on {one.setup}: {units.pure(every[one])} times" for one in odd)
        text = f"Implausible, more than the ranks explain: {'; '.join(sorted(named))}."
        found.append(Answer((text,), "warn"))
    if not every:
        names = list(dict.fromkeys(one.name for one in launches.inside))
        found.append(Answer((f"{', '.join(names)} ran and verified; see the rates below.",)))
    against: dict[Verdict, list[str]] = {}
    for key, one in judged.items():
        if isinstance(key, NpbSources) and key.rtt is None:
            name = f"{key.native.name} on {units.plural(key.native.ranks, 'rank')}"
            against.setdefault(one.verdict, []).append(name)
    if against:
        count = sum(map(len, against.values()))
        named = (
            f"{_OUTCOMES.get(one, one)} in {listed(against[one], count)}"
            for one in _VERDICTS
            if one in against
        )
        text = f"Against NPB 3.4's own programs: {'; '.join(named)}."
        found.append(Answer((text,), "bad" if Verdict.SLOWER in against else "plain"))
    return found


def over_the_link(launches: Launches, found: Sequence[Finding]) -> list[Answer]:
    """An answer for each benchmark that was measured over the emulated link.

    Series in which ranks share no processors are preferred.
    """
    answers = []
    for name in dict.fromkeys(series.name for series in launches.over_the_link):
        mine = [series for series in launches.over_the_link if series.name == name]
        mine = [series for series in mine if series.source == NATIVE] or mine
        own = [series for series in mine if not series.shared] or mine
        words = _words(launches, own)
        if not words:
            continue
        outcomes = [f.outcome for f in found if f.series in own]
        worst = max(outcomes, key=list(TONES).index, default="not measured")
        answers.append(Answer((Strong(name), *words), TONES[worst]))
    return answers


def _words(launches: Launches, series: Sequence[Series]) -> tuple[Inline, ...]:
    rtts = sorted({rtt for one in series for rtt in launches.points[one] if rtt is not None})
    base = launches.base_of(series[0])
    against = f"as fast as one with {base.setup} " if base else ""
    speedups: list[str] = []
    for rtt in dict.fromkeys((rtts[0], rtts[-1])):
        middle = [value.median for one in series if (value := _speedup(launches, one, rtt))]
        if middle:
            speedups.append(f"{units.spread(middle)} times {against}at {rtt:g} ms")
            against = ""
    if not speedups:
        return ()
    name = series[0].benchmark
    study = f" The study in 2003: {published_words(name)}, at 4 ms." if name in PUBLISHED else ""
    text = (
        f", {series[0].setup} in two clusters on an {EMULATED}: {', '.join(speedups)} "
        f"({units.plural(len(series), 'transport')}).{_waits(launches, series, rtts)}"
        f"{_upstream_speedup(launches, series, rtts[-1])}{study}"
    )
    return (text,)


def _waits(launches: Launches, series: Sequence[Series], rtts: Sequence[float]) -> str:
    """Which part of its time a rank spends in MPI, at the smallest and at the largest delay."""
    parts = []
    for rtt in dict.fromkeys((rtts[0], rtts[-1])):
        shares = [share for one in series for share in waiting(launches, one, rtt)]
        middle = launches.interval(shares)
        if middle:
            parts.append(f"{units.percent(middle.median)} at {rtt:g} ms")
    return f" In MPI, waiting included: {', '.join(parts)} of a rank's time." if parts else ""


def _upstream_speedup(launches: Launches, series: Sequence[Series], rtt: float) -> str:
    """The speed-up of NPB's own programs in the same place."""
    alike = [replace(one, source=UPSTREAM) for one in series]
    there = [one for one in alike if one in launches.points]
    middle = [value.median for one in there if (value := _speedup(launches, one, rtt))]
    if not middle:
        return ""
    return f" NPB 3.4's own program: {units.spread(middle)} times at {rtt:g} ms."


def _speedup(launches: Launches, series: Series, rtt: float) -> Interval | None:
    return launches.interval(headline(launches, series, rtt))
