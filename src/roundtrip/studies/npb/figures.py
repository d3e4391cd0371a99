"""Speed-up over one cluster against the round-trip time, one figure a benchmark and class."""

from __future__ import annotations

from typing import Any

import polars as pl

from roundtrip.report.blocks import Figure, Text
from roundtrip.report.plot import DIAMOND, Rule, Scale, View
from roundtrip.studies import charts
from roundtrip.studies.charts import Arm, Drawing
from roundtrip.studies.colours import BLUE, GREY, ORANGE, PINK, TEAL
from roundtrip.studies.npb import derived, wan
from roundtrip.studies.npb.data import Launches
from roundtrip.studies.npb.lines import told_apart
from roundtrip.studies.npb.series import EMULATED, Series
from roundtrip.studies.npb.speedup import headline

CAPTION: Text = (
    f"Speed-up over one cluster against the round-trip time of the link, {EMULATED}: median over "
    "rounds, bars are 95 % rank intervals, cut off where they leave the axes. Dashed lines: ranks "
    "share processors, so that compute "
    "time is taken as on processors of their own, unless the base shares them as well. Diamonds: "
    "the study in 2003, 16 + 16 hosts, at 4 ms. Grey rules: 1, no gain over one cluster; 2, the "
    "most that twice the ranks can give.",
)
_COLOURS = {wan.UDP: BLUE, wan.MIXED: TEAL, wan.TCP: ORANGE, None: GREY}
_NAMES = {wan.UDP: "UDP", wan.MIXED: "Memory + TCP", wan.TCP: "TCP"}


def speedups(launches: Launches) -> tuple[Figure, ...]:
    """One figure a benchmark and class, all with the same axes."""
    found: dict[str, list[dict[str, Any]]] = {}
    for series in launches.over_the_link:
        source = "" if series.source == derived.NATIVE else ", NPB 3.4"
        found.setdefault(f"{series.name}{source}", []).extend(_rows(launches, series))
    named_rows = [(name, rows) for name, rows in found.items() if rows]
    drawings = [_drawing(number, *one) for number, one in enumerate(named_rows, 1)]
    if not drawings:
        return ()
    values = pl.concat([one.frame.select("x", "median") for one in drawings])
    top = 1.1 * max([2.0, *values["median"]])
    farthest = max([wan.STUDY_RTT_MS, *values["x"]])

    x = Scale("Round-trip time of the link (ms)", 0.0, farthest, is_log=False)
    y = Scale("Speed-up over one cluster", 0.0, top, is_log=False)

    def views(one: Drawing) -> tuple[View, ...]:
        return (View("Speed-up", x, y, one.curves, rules=_rules(one), has_bars=True),)

    what = f"Speed-up over one cluster against round-trip time, {EMULATED}"
    return charts.figures(drawings, what, views)


def _drawing(number: int, name: str, rows: list[dict[str, Any]]) -> Drawing:
    """With the study's own speed-up, where it has one of this benchmark."""
    rows, arms = told_apart(rows)
    against = "" if all(row["scales"] for row in rows) else ", over as many ranks in one"
    known = all(row["low"] is not None for row in rows)
    how = "95 % intervals" if known else "too few launches for intervals"
    published = wan.PUBLISHED.get(name.split(" ")[0])
    if published is not None:
        study = f"The study, 2003: {published:.2f}"
        arms[study] = Arm(study, PINK, width=0, point=5, shape=DIAMOND)
        rows.append({"arm": study, "x": wan.STUDY_RTT_MS, "median": published})
    frame = pl.DataFrame(rows, infer_schema_length=None).select(
        "arm", "x", "median", "low", "high", "n", "scales"
    )
    return Drawing(f"npb-{number}", name, f"{EMULATED}{against}, {how}", frame, arms)


def _rules(one: Drawing) -> tuple[Rule, ...]:
    """No gain, and where all bases have fewer ranks, the most that twice the ranks can give."""
    gain, most = Rule(1.0), Rule(2.0, "ideal speed-up")
    return (gain, most) if one.frame["scales"].drop_nulls().all() else (gain,)


def _rows(launches: Launches, series: Series) -> list[dict[str, Any]]:
    half, base = series.ranks // 2, launches.base_of(series)
    # Several environments may stand for the same library: then the names have to differ.
    name = f"{_NAMES.get(series.role or '', series.transport)}, {half} + {half}"
    if sum(_kind(other) == _kind(series) for other in launches.over_the_link) > 1:
        name = f"{series.transport}, {half} + {half}"
    rows = []
    for rtt in launches.points[series]:
        found = launches.interval(headline(launches, series, rtt or 0.0))
        if found is not None:
            rows.append(
                {
                    "name": name,
                    "colour": _COLOURS[series.role],
                    "shared": series.shared,
                    "scales": base is not None and base.ranks < series.ranks,
                    "x": rtt,
                    "median": found.median,
                    "low": found.low,
                    "high": found.high,
                    "n": found.n,
                }
            )
    return rows


def _kind(series: Series) -> tuple[object, ...]:
    return series.name, series.ranks, series.role, series.source
