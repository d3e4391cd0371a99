"""Tests the findings of the study with our numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from roundtrip.report import units
from roundtrip.report.blocks import Tone
from roundtrip.stats.intervals import Interval
from roundtrip.stats.verdicts import Judged, Verdict
from roundtrip.studies.npb import wan
from roundtrip.studies.npb.data import Launches
from roundtrip.studies.npb.derived import TRIAL_CLASSES
from roundtrip.studies.npb.series import Series
from roundtrip.studies.npb.speedup import NpbSpeedup, NpbTransports, same_problem
from roundtrip.studies.npb.thresholds import Thresholds
from roundtrip.studies.npb.wan import Statement
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

    `limits`: which part of what was to be compared stands behind an outcome that speaks of all of
    it; nothing if all does.
    """

    statement: Statement
    where: str
    evidence: str
    outcome: str
    series: Series | None = None
    limits: str = ""

    @property
    def told(self) -> str:
        """The outcome, with what limits it."""
        return f"{self.outcome}{self.limits}"

    @property
    def tone(self) -> Tone:
        """The tone of the verdict; a finding that was not measured everywhere is never green."""
        return "warn" if self.limits else TONES[self.outcome]


def findings(
    judged: Mapping[Claim, Judged], launches: Launches, settings: Thresholds
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
    of_udp = [one for key, one in transports.items() if key.series.role == wan.UDP]
    pairs = _planned(launches)
    planned_of_udp = sum(wan.UDP in (one.role, other.role) for one, other in pairs)
    found = [
        _most_often(of_udp, planned_of_udp),
        _not_critical(list(transports.values()), len(pairs), settings),
    ]
    for statement in wan.SCALING:
        mine = [
            _scaling(statement, key, one, settings)
            for key, one in speedups.items()
            if key.series.benchmark == statement.benchmark and key.rtt == wan.STUDY_RTT_MS
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


def _most_often(of_udp: Sequence[Judged], planned: int) -> Finding:
    statement = wan.MOST_OFTEN
    if not of_udp:
        return _not_measured(statement)
    count = {verdict: sum(one.verdict is verdict for one in of_udp) for verdict in Verdict}
    told = ", ".join(f"{number} {verdict}" for verdict, number in count.items() if number)
    half, faster = len(of_udp) / 2, count[Verdict.FASTER]
    if faster > half:
        outcome = "holds"
    else:
        open_ = faster + count[Verdict.CANNOT_TELL] > half
        outcome = "cannot tell" if open_ else "does not hold"
    where = f"UDP against another transport, {_part(len(of_udp), planned)}"
    limits = "" if outcome == "cannot tell" else _where_measured(len(of_udp), planned)
    return Finding(statement, where, told, outcome, limits=limits)


def _not_critical(all_pairs: Sequence[Judged], planned: int, settings: Thresholds) -> Finding:
    statement = wan.NOT_CRITICAL
    if not all_pairs:
        return _not_measured(statement)
    margin = 1 + settings.critical_difference
    inside = [one.interval.within(1 / margin, margin) for one in all_pairs]
    outside = [_beyond(one.interval, margin) for one in all_pairs]
    outcome = "holds" if all(inside) else "does not hold" if any(outside) else "cannot tell"
    told = (
        f"ratios {units.spread([one.interval.median for one in all_pairs])}; {sum(outside)} "
        f"beyond {units.percent(settings.critical_difference)}"
    )
    where = f"every pair of transports, {_part(len(all_pairs), planned)}"
    # One difference that is critical is enough, whatever the others are.
    limits = _where_measured(len(all_pairs), planned) if outcome == "holds" else ""
    return Finding(statement, where, told, outcome, limits=limits)


def _beyond(interval: Interval, margin: float) -> bool:
    if interval.low is None or interval.high is None:
        return False
    return interval.low > margin or interval.high < 1 / margin


def _scaling(statement: Statement, key: NpbSpeedup, one: Judged, settings: Thresholds) -> Finding:
    """A speed-up at 4 ms; "in part": two clusters gain, but less than the study's."""
    wanted = wan.PUBLISHED[statement.benchmark] * (1 - settings.published_within)
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
    return Finding(statement, key.series.label, units.interval(one.interval), outcome, key.series)
