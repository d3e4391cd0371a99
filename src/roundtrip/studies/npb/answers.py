"""The answers of the NPB section: short ones at the top, and over a slow link one a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Inline, Strong
from roundtrip.stats.intervals import Interval
from roundtrip.stats.verdicts import Judged, Verdict
from roundtrip.studies.npb import derived, wan
from roundtrip.studies.npb.data import Launches
from roundtrip.studies.npb.findings import TONES, Finding
from roundtrip.studies.npb.series import EMULATED, Series
from roundtrip.studies.npb.speedup import (
    NpbSources,
    NpbSpeedup,
    headline,
    over_ranks,
    waiting,
)
from roundtrip.studies.study import Claim

_ORDER = (Verdict.FASTER, Verdict.SLOWER, Verdict.ON_PAR, Verdict.CANNOT_TELL)


def at_the_farthest(launches: Launches, judged: Mapping[Claim, Judged]) -> list[Answer]:
    """Which benchmarks gain by a second cluster at the greatest delay, in one line."""
    speedups = {key: one for key, one in judged.items() if isinstance(key, NpbSpeedup)}
    mine = {key: one for key, one in speedups.items() if key.series.source == derived.NATIVE}
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
    told = [
        f"{verdict} in {', '.join(names)}"
        for verdict in _ORDER
        if (names := [name for name, found in by_name.items() if found == {verdict}])
    ]
    if names := [name for name, found in by_name.items() if len(found) > 1]:
        told.append(f"not the same by every transport in {', '.join(names)}")
    text = f"Two clusters against one, on an {EMULATED} of {farthest:g} ms: {'; '.join(told)}."
    return [Answer((text,))]


def in_one_place(launches: Launches, judged: Mapping[Claim, Judged]) -> list[Answer]:
    """How the benchmarks scale over ranks, and how they compare with NPB's own, in a line each."""
    found = []
    grown = {
        one: value.median
        for one in launches.inside
        if one.source == derived.NATIVE and (value := launches.interval(over_ranks(launches, one)))
    }
    if grown:
        ranks = sorted({one.ranks for one in grown})
        on = " to ".join(dict.fromkeys((str(ranks[0]), str(ranks[-1]))))
        told = units.spread(list(grown.values()))
        found.append(Answer((f"Speed-up on {on} ranks over the fewest: {told} times.",)))
    else:
        names = list(dict.fromkeys(one.name for one in launches.inside))
        found.append(Answer((f"{', '.join(names)} ran and verified; see the rates below.",)))
    counted = Counter(
        one.verdict
        for key, one in judged.items()
        if isinstance(key, NpbSources) and key.rtt is None
    )
    if counted:
        told = ", ".join(f"{one} in {counted[one]}" for one in _ORDER if counted[one])
        text = f"Against NPB 3.4's own programs, of {counted.total()}: {told}."
        found.append(Answer((text,), "bad" if counted[Verdict.SLOWER] else "plain"))
    return found


def over_the_link(launches: Launches, found: Sequence[Finding]) -> list[Answer]:
    """An answer for each benchmark over the link, first from series that share no processors."""
    answers = []
    for name in dict.fromkeys(series.name for series in launches.over_the_link):
        mine = [series for series in launches.over_the_link if series.name == name]
        mine = [series for series in mine if series.source == derived.NATIVE] or mine
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
    told: list[str] = []
    for rtt in dict.fromkeys((rtts[0], rtts[-1])):
        middle = [value.median for one in series if (value := _speedup(launches, one, rtt))]
        if middle:
            told.append(f"{units.spread(middle)} times {against}at {rtt:g} ms")
            against = ""
    if not told:
        return ()
    published = wan.PUBLISHED.get(series[0].benchmark)
    study = f" The study in 2003: {published:g} times at 4 ms." if published else ""
    text = (
        f", {series[0].setup} in two clusters on an {EMULATED}: {', '.join(told)} "
        f"({units.plural(len(series), 'transport')}).{_waits(launches, series, rtts)}"
        f"{_upstream(launches, series, rtts[-1])}{study}"
    )
    return (text,)


def _waits(launches: Launches, series: Sequence[Series], rtts: Sequence[float]) -> str:
    """Which part of its time a rank spends in MPI, at the smallest and at the largest delay."""
    told = []
    for rtt in dict.fromkeys((rtts[0], rtts[-1])):
        shares = [share for one in series for share in waiting(launches, one, rtt)]
        middle = launches.interval(shares)
        if middle:
            told.append(f"{units.percent(middle.median)} at {rtt:g} ms")
    return f" In MPI, waiting included: {', '.join(told)} of a rank's time." if told else ""


def _upstream(launches: Launches, series: Sequence[Series], rtt: float) -> str:
    """The speed-up of NPB's own programs in the same place."""
    alike = [replace(one, source=derived.UPSTREAM) for one in series]
    there = [one for one in alike if one in launches.points]
    middle = [value.median for one in there if (value := _speedup(launches, one, rtt))]
    if not middle:
        return ""
    return f" NPB 3.4's own program: {units.spread(middle)} times at {rtt:g} ms."


def _speedup(launches: Launches, series: Series, rtt: float) -> Interval | None:
    return launches.interval(headline(launches, series, rtt))
