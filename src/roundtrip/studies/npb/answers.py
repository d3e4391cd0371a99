"""The answers of the NPB section over a slow link: a sentence or two for each benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Inline, Strong
from roundtrip.stats.intervals import Interval
from roundtrip.studies.npb import derived, wan
from roundtrip.studies.npb.data import Launches
from roundtrip.studies.npb.findings import TONES, Finding
from roundtrip.studies.npb.series import EMULATED, Series
from roundtrip.studies.npb.speedup import headline, waiting


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
