"""Nodes whose clocks disagree with those of other nodes, by launches that two of them shared."""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from roundtrip.report import labels, nodes, units
from roundtrip.report.blocks import Answer, Strong
from roundtrip.report.data import Data
from roundtrip.stats.clocks import ClockComparison, OddClock, odd_clocks

#: Wall clocks of nodes that differ by more are not set by NTP.
_UTC_LIMIT_S = 1.0


def answers(data: Data) -> Iterator[Answer]:
    """Nodes whose clocks run at another rate than those of others, or tell another time."""
    environs = labels.by_environ(data.launches)
    mark = nodes.marked(environs, environs)
    limit = data.analysis.disturbance.clock_rate
    for odd in odd_clocks(_rates(data), math.log1p(limit)):
        title, rest = _named(odd, f"runs {math.exp(odd.excess):.4g} times as fast as")
        yield Answer((Strong(f"{title}{mark} "), f"{rest}: its times are wrong."), "bad")
    for odd in odd_clocks(_offsets(data), _UTC_LIMIT_S):
        side = "ahead of" if odd.excess > 0 else "behind"
        title, rest = _named(odd, f"is {abs(odd.excess):.3g} s {side}", "wall clock")
        yield Answer((Strong(f"{title}{mark} "), f"{rest}: its logs are misdated."), "warn")


def _named(odd: OddClock, differs: str, clock: str = "clock") -> tuple[str, str]:
    if odd.other:
        told = f"{differs} that of {odd.other}; of two alone nobody knows which is right"
    else:
        told = f"{differs} {'those' if odd.partners > 1 else 'that'} of " + units.plural(
            odd.partners, "other node"
        )
    return f"The {clock} of {odd.node}", told


def _rates(data: Data) -> Iterator[ClockComparison]:
    for one, other, (rate, error) in _against_root(data, "clock_rate", "clock_rate_error"):
        if rate > 0:
            yield ClockComparison(one, other, math.log(rate), error / rate)


def _offsets(data: Data) -> Iterator[ClockComparison]:
    for one, other, (ahead_s,) in _against_root(data, "utc_ahead_s"):
        yield ClockComparison(one, other, ahead_s, 0.0)


def _against_root(data: Data, *names: str) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """The host of rank 0, that of another rank of the launch, and what its clock was against it."""
    if data.placement.is_empty():
        return
    hosts = data.placement.select("launch", "rank", "host")
    root = hosts.filter(pl.col("rank") == 0).select("launch", root="host")
    known = data.disturbance.select("launch", "rank", *names).drop_nulls()
    rows = known.join(hosts, on=["launch", "rank"]).join(root, on="launch")
    for one, other, *values in rows.sort("launch", "rank").select("root", "host", *names).rows():
        yield one, other, tuple(values)
