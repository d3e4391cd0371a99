"""Speed-up of two simulated clusters over one against host speed, a figure a benchmark.

What was measured elsewhere is marked: the rate of one rank of a real processor by a rule, speed-ups
over an emulated link by squares, whose colour is that of the line of their round-trip time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.plot import CIRCLE, DIAMOND, SQUARE, TRIANGLE, Rule, Scale, View
from roundtrip.studies import charts
from roundtrip.studies.charts import Arm, Drawing
from roundtrip.studies.colours import GREY, PINK, Colour, palette
from roundtrip.studies.npb import wan
from roundtrip.studies.npb.hostspeeds import Curves

SIMULATED = "SIMULATED"
EMULATED = "EMULATED"
CAPTION: Text = (
    f"{SIMULATED}: speed-up of two clusters of 16 hosts over one against the speed of a host, by "
    "how much a round trip between them is longer. One simulation a point, without noise: no "
    "interval. Dashed: the study's number at 4 ms. Grey rules: 1, no gain over one cluster; 2, the "
    "most that twice the hosts can give. One host speed means different things for different "
    "benchmarks: it counts the operations of each by NPB's formula, and the same processor does "
    "many times more of one kind in a second than of another.",
)
MARKED: Text = (
    "Not simulated but measured, and marked: a dashed upright rule is how fast one rank of a real "
    f"processor is at this benchmark and class; squares and triangles are {EMULATED}, speed-ups "
    "over an emulated link at the shortest and the longest delay, with as many ranks as their name "
    "says, at the rate of one rank; the table below has their intervals. They have fewer ranks "
    "than the simulated clusters, so that each computes longer between two messages. No claim "
    "joins them with the curves, and no value of one follows from the other.",
)


def speedups(curves: Sequence[Curves]) -> tuple[Figure, ...]:
    """One figure a benchmark and class, all with the same axes."""
    drawings = [_drawing(number, one, _top(curves)) for number, one in enumerate(curves, 1)]
    values = pl.concat([one.frame.select("x", "median") for one in drawings])
    low, high = float(values["x"].min()), float(values["x"].max())  # type: ignore[arg-type]
    if high > max(speed for one in curves for speed in one.one):
        high *= _MARGIN  # a mark stands there, and not the end of a curve
    top = _top(curves)

    decades = tuple(10.0**power for power in range(9) if low <= 10.0**power <= high)
    domain = (low, high) if low < high else (low / 2, 2 * high)
    x = Scale("Speed of a host (Mflop/s)", *domain, is_log=True, ticks=decades)
    y = Scale("Speed-up over one cluster", 0.0, top, is_log=False)

    def views(one: Drawing) -> tuple[View, ...]:
        return (View("Speed-up", x, y, one.curves, rules=_LIMITS),)

    what = f"{SIMULATED}: speed-up of two clusters over one against host speed"
    return charts.figures(drawings, what, views)


_LIMITS = (Rule(1.0), Rule(2.0, "ideal speed-up"))
_MARGIN = 1.25
_SHAPES = (SQUARE, TRIANGLE, DIAMOND)


def _top(curves: Sequence[Curves]) -> float:
    """Where the axis of speed-ups ends."""
    simulated = [
        value for one in curves for rtt in one.rtts for value in one.speedups(rtt).values()
    ]
    marked = [mark.speedup for one in curves for mark in one.marks.emulated]
    return 1.1 * max([2.0, *simulated, *marked])


def _drawing(number: int, one: Curves, top: float) -> Drawing:
    names = {rtt: f"+{rtt:g} ms" for rtt in one.rtts}
    colours = palette(names.values())
    arms = {name: Arm(name, colours[name], point=3.1, shape=CIRCLE) for name in names.values()}
    rows = [
        {"arm": names[rtt], "x": speed, "median": value}
        for rtt in one.rtts
        for speed, value in one.speedups(rtt).items()
    ]
    if published := wan.PUBLISHED.get(one.benchmark):
        study = f"The study, 4 ms: {published:.2f}"
        arms[study] = Arm(study, PINK, is_dashed=True, point=0)
        ends = (min(one.one), max(one.one))
        rows += [{"arm": study, "x": speed, "median": published, "n": None} for speed in ends]
    for title, arm, places in (*_rules(one, top), *_squares(one, colours)):
        arms[title] = arm
        rows += [{"arm": title, **place} for place in places]
    frame = pl.DataFrame([{**_ONE, **row} for row in rows], schema=_ROW)
    return Drawing(f"npb-simulated-{number}", f"{one.name} ({SIMULATED})", _told(one), frame, arms)


def _told(one: Curves) -> str:
    """What the figure shows, and on which processors the rest was measured."""
    processors = dict.fromkeys(origin.processor for origin in one.marks.origins)
    return f"{SIMULATED}; measured: {', '.join(processors)}" if processors else SIMULATED


#: The columns of a row, and what a simulation has.
_ROW = {
    "arm": pl.String,
    **dict.fromkeys(("x", "median", "low", "high"), pl.Float64),
    "n": pl.Int64,
}
_ONE = {"low": None, "high": None, "n": 1}
#: A name, how it looks, and its rows.
Marked = tuple[str, Arm, list[dict[str, Any]]]


def _rules(one: Curves, top: float) -> Iterator[Marked]:
    """Upright, at the rate of one rank of each real processor."""
    for mark in one.marks.alone:
        title = f"One rank, measured: {units.number(mark.mops)} Mop/s"
        arm = Arm(title, GREY, is_dashed=True, point=0)
        yield title, arm, [{"x": mark.mops, "median": end, "n": None} for end in (top / 1000, top)]


def _squares(one: Curves, colours: Mapping[str, Colour]) -> Iterator[Marked]:
    """Emulated points at the shortest and the longest delay."""
    found = one.marks.emulated
    delays = {mark.rtt_ms for mark in found}
    ranks = sorted({mark.ranks for mark in found})
    for mark in found:
        if mark.rtt_ms in (min(delays), max(delays)):
            title = f"{EMULATED} {mark.ranks // 2} + {mark.ranks // 2}, +{mark.rtt_ms:g} ms"
            colour = colours.get(f"+{mark.rtt_ms:g} ms", GREY)
            shape = _SHAPES[ranks.index(mark.ranks) % len(_SHAPES)]
            arm = Arm(title, colour, width=0, point=4.2, shape=shape)
            yield title, arm, [{"x": mark.mops, "median": mark.speedup, "n": mark.launches}]
