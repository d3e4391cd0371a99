"""The tables of the ring section."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from roundtrip.collect.analysis import Ring
from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Table, text_cells
from roundtrip.report.sections.ring_curves import Curves, Panel
from roundtrip.report.sections.ring_findings import TONES, Finding
from roundtrip.stats.intervals import Interval
from roundtrip.stats.verdicts import Judged
from roundtrip.studies import ring
from roundtrip.studies.ring import Statement

_NONE = Cell(units.NOTHING, "muted")
_MICRO = 1e6
_OURS = (ring.REGION, ring.REGION_UDP, ring.FLOOR)


def goals(curves: Curves, panels: Sequence[Panel], settings: Ring) -> Table:
    """Fixed cost of a region's pass, its flatness, the bare hand-over, gain over MPI."""
    study = units.number(ring.PUBLISHED_PASS * _MICRO)
    rows = [(Cell("The study, 2 on 2 processors, 2002"), Cell(study), *[_NONE] * 4)]
    for panel in panels:
        launches = curves.by_launch(panel, ring.REGION)
        fixed = [_middle(seconds) for _, seconds in launches]
        floor = [_middle(seconds) for _, seconds in curves.by_launch(panel, ring.FLOOR)]
        flat = curves.interval([ring.flatness(seconds) for _, seconds in launches])
        per = curves.interval(
            [a / b for a, b in zip(fixed, floor, strict=True)] if len(fixed) == len(floor) else []
        )
        gain = curves.interval(curves.over_best(panel).get(ring.STUDY_SIZE, []))
        rows.append(
            (
                Cell(panel.label),
                _cell(curves.interval(fixed), _MICRO),
                _cell(curves.interval(floor), _MICRO),
                limited(per, settings.most_hand_overs),
                limited(flat, 1 + settings.flat_within),
                limited(gain, settings.least_gain, is_least=True),
            )
        )
    return Table(
        "A region's pass inside a node: median over its sizes, then over launches, 95 % interval. "
        f"Expected: at most {settings.most_hand_overs:g} bare hand-overs of a cache line, flat "
        f"within {units.percent(settings.flat_within)} over all sizes, and at "
        f"{ring.STUDY_SIZE} bytes at least {settings.least_gain:g} times the effective bandwidth "
        "of MPI's best two-sided call.",
        (
            Column("Toolchain and placement"),
            Column("Fixed cost, µs", "right"),
            Column("Bare hand-over, µs", "right"),
            Column("Pass per hand-over", "right"),
            Column("Largest / smallest", "right"),
            Column("Over best MPI", "right"),
        ),
        tuple(rows),
    )


def crossovers(curves: Curves, panels: Sequence[Panel]) -> Table:
    """From which size on a region by reference is the fastest."""
    others = [name for name in ring.TRANSPORTS if name not in _OURS]
    rows = []
    for panel in panels:
        region = curves.by_launch(panel, ring.REGION)
        for other in others:
            theirs = curves.by_launch(panel, other)
            if not theirs or len(theirs) != len(region):
                continue
            found = [_crossover(mine, his) for mine, his in zip(region, theirs, strict=True)]
            finite = [size for size in found if math.isfinite(size)]
            cell = (
                Cell("never in any launch", "warn")
                if not finite
                else _cell(curves.interval(finite))
                if len(finite) == len(found)
                else Cell(f"in {len(finite)} of {len(found)} launches", "warn")
            )
            rows.append((Cell(panel.label), Cell(ring.TRANSPORTS[other]), cell))
    return Table(
        "The size in bytes from which on passing by reference is faster, interpolated between the "
        "measured sizes; the smallest measured size: it always is.",
        (Column("Toolchain and placement"), Column("Faster than"), Column("From, bytes", "right")),
        tuple(rows),
    )


def reasons(statement: Statement, ours: Sequence[Finding], settings: Ring) -> Table:
    """One reason of the study: our ratios, and whether it holds."""
    rows = []
    for finding in ours:
        evidence = dict(finding.evidence)
        cells = [_judged(evidence.get(size)) for size in settings.compared_sizes]
        pair = f"{ring.TRANSPORTS[finding.variant]} / {ring.TRANSPORTS[finding.base]}"
        outcome = Cell("", TONES[finding.outcome], finding.outcome)
        rows.append((Cell(finding.panel.label), Cell(pair), *cells, outcome))
    return Table(
        f"“{statement.words}” {statement.test} Ratio of effective bandwidths: below 1 it costs.",
        (
            Column("Toolchain and placement"),
            Column("Pair"),
            *(Column(f"{size} B", "right") for size in settings.compared_sizes),
            Column("The reason"),
        ),
        tuple(rows),
    )


def verdicts(all_findings: Sequence[Finding]) -> Table:
    """One row a panel, one column a pair."""
    pairs = [(s, pair) for s in ring.STATEMENTS for pair in s.pairs]
    rows = []
    for panel in dict.fromkeys(finding.panel for finding in all_findings):
        mine = {(f.variant, f.base): f for f in all_findings if f.panel == panel}
        cells = []
        for _, pair in pairs:
            found = mine.get(pair)
            if found is None:
                cells.append(Cell("not measured", "muted"))
            else:
                ratios = [judged.interval.median for _, judged in found.evidence]
                cells.append(Cell(units.spread(ratios), TONES[found.outcome], found.outcome))
        rows.append((Cell(panel.label), *cells))
    return Table(
        "Do the study's three reasons hold here? Ratios of effective bandwidth over the compared "
        "sizes.",
        (
            Column("Toolchain and placement"),
            *(Column(f"{s.short} ({pair[0]} / {pair[1]})") for s, pair in pairs),
        ),
        tuple(rows),
    )


def laps(curves: Curves, panels: Sequence[Panel]) -> Table:
    """Percentiles of single laps."""
    rows = []
    for panel in panels:
        found = {row["variant"]: row for row in curves.of(curves.laps, panel).iter_rows(named=True)}
        for name, title in ring.TRANSPORTS.items():
            if name not in found:
                continue
            times = [units.microseconds(found[name][f"p{part}"]) for part in (1, 50, 90, 99)]
            rows.append(text_cells(panel.label, title, str(found[name]["laps"]), *times))
    return Table(
        "Single laps of the smallest region, µs: percentiles over the laps of all launches. A lap "
        "is as many passes as there are ranks; reading the clock is part of it.",
        (
            Column("Toolchain and placement"),
            Column("Transport"),
            *(Column(name, "right") for name in ("Laps", "1 %", "50 %", "90 %", "99 %")),
        ),
        tuple(rows),
    )


def _crossover(mine: tuple[list[int], list[float]], other: tuple[list[int], list[float]]) -> float:
    theirs = dict(zip(*other, strict=True))
    both = [(n, s, theirs[n]) for n, s in zip(*mine, strict=True) if n in theirs]
    return ring.crossover([n for n, _, _ in both], [s for _, s, _ in both], [o for *_, o in both])


def _middle(values: Sequence[float]) -> float:
    return float(pl.Series(values).median())  # type: ignore[arg-type]


def _cell(interval: Interval | None, scale: float = 1.0) -> Cell:
    return _NONE if interval is None else Cell(units.interval(interval, scale))


def limited(interval: Interval | None, limit: float, is_least: bool = False) -> Cell:
    """With a verdict: whether the whole interval is on the right side of the limit."""
    if interval is None:
        return _NONE
    text = units.interval(interval)
    if interval.low is None or interval.high is None:
        return Cell(text, "warn", "cannot tell")
    inside = interval.low >= limit if is_least else interval.high <= limit
    outside = interval.high < limit if is_least else interval.low > limit
    if inside:
        return Cell(text, "good", "reached")
    return Cell(text, "bad", "not reached") if outside else Cell(text, "warn", "cannot tell")


def _judged(judged: Judged | None) -> Cell:
    if judged is None:
        return Cell("not measured", "muted")
    return Cell(units.interval(judged.interval), "plain", str(judged.verdict))
