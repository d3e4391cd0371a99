"""The tables of the ring section: what a pass costs, on a hub and when the receiver reads
everything, and what follows for the study's reasons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Block, Cell, Column, Heading, Paragraph, Table
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.summaries import Interval
from roundtrip.studies import display
from roundtrip.studies.ring import ARMS, FLOOR, REGION, REGION_UDP, Thresholds, derived
from roundtrip.studies.ring.curves import Curves, Panel
from roundtrip.studies.ring.derived import Statement
from roundtrip.studies.ring.findings import Finding

_MICRO = 1e6
_OURS = (REGION, REGION_UDP, FLOOR)


def goals(curves: Curves, panels: Sequence[Panel], settings: Thresholds) -> Table:
    """Fixed cost of a region's pass, its flatness, the bare hand-over, gain over MPI."""
    study = Cell(Quantity(value=derived.PUBLISHED_PASS * _MICRO, unit=Unit.US))
    rows = [(Cell("The study, 2 on 2 processors, 2002"), study, *[display.NONE] * 6)]
    for panel in panels:
        launches = curves.by_launch(panel, REGION)
        fixed = {name: derived.fixed_cost(by_size.values()) for name, by_size in launches.items()}
        bare = curves.by_launch(panel, FLOOR)
        floor = {name: derived.fixed_cost(by_size.values()) for name, by_size in bare.items()}
        flat = [derived.flatness(by_size.values()) for by_size in launches.values()]
        per = [fixed[name] / floor[name] for name in fixed if name in floor]
        gain = curves.over_best(panel).get(derived.STUDY_SIZE, [])
        best = curves.best(panel, derived.STUDY_SIZE)
        in_hand_overs = curves.flatness_in_hand_overs(panel)
        found = [list(fixed.values()), list(floor.values()), per, flat, in_hand_overs, gain, best]
        costs, hand_overs, *judged, two_sided = map(curves.interval, found)
        shown = [
            display.value(costs, Unit.US, _MICRO),
            display.value(hand_overs, Unit.US, _MICRO),
            limited(judged[0], settings.most_hand_overs, Unit.RATIO),
            limited(judged[1], 1 + settings.flat_within),
            limited(judged[2], 1 + settings.flat_within),
            replace(
                limited(judged[3], settings.least_gain, Unit.RATIO, is_least=True),
                series=curves.series_key(panel, REGION, derived.STUDY_SIZE),
            ),
            display.value(two_sided, Unit.MB_S),
        ]
        counted = [_counted(c, len(f), panel) for c, f in zip(shown, found, strict=True)]
        rows.append((Cell(panel.label), *counted))
    return Table(
        curves.level.within(
            "A region's pass inside a node: median over its sizes, then over launches, {level} "
            f"interval. Expected: at most {settings.most_hand_overs:g} bare hand-overs of a cache "
            f"line, flat within {units.percent(settings.flat_within)} over all sizes, and at "
            f"{units.size(derived.STUDY_SIZE)} at least {settings.least_gain:g} times the "
            "effective bandwidth of MPI's best two-sided call. In hand-overs: each size's time "
            "over the bare hand-over measured along with it, so that it does not count if the "
            "ranks move to other processors between two sizes."
        ),
        (
            Column("Toolchain and placement"),
            Column("Fixed cost", "right", Unit.US),
            Column("Bare hand-over", "right", Unit.US),
            Column("Pass per hand-over", "right", base="Bare hand-over"),
            Column("Largest / smallest", "right"),
            Column("Largest / smallest, in hand-overs", "right"),
            Column("Over best MPI", "right", base="Best MPI"),
            Column("Best MPI", "right", Unit.MB_S),
        ),
        tuple(rows),
    )


def crossovers(curves: Curves, panels: Sequence[Panel]) -> Table:
    """From which size on a region by reference is the fastest, where some pass goes so."""
    others = [name for name in ARMS if name not in _OURS]
    rows = []
    for panel in panels:
        for mine in (REGION, REGION_UDP):
            for other in others:
                found, largest = _crossovers(curves, panel, mine, other)
                if found:
                    cell = _counted(_size(curves, found, largest), len(found), panel)
                    names = (panel.label, panel.title(mine), panel.title(other))
                    rows.append((*map(Cell, names), cell))
    return Table(
        "The size in bytes from which a pass by reference is faster, interpolated between the "
        "measured sizes. The smallest measured size means that it is always faster. Only rings "
        "with a pass inside a node are listed, because elsewhere nothing goes by reference.",
        (
            Column("Toolchain and placement"),
            Column("Region"),
            Column("Faster than"),
            Column("From", "right", Unit.BYTES),
        ),
        tuple(rows),
    )


def reasons(
    curves: Curves, statement: Statement, ours: Sequence[Finding], settings: Thresholds
) -> Table:
    """One reason of the study: our ratios, and whether it holds."""
    rows = []
    for finding in ours:
        evidence = dict(finding.evidence)
        ratios = [
            display.verdict(
                evidence.get(size),
                base=finding.panel.title(finding.base),
                series=curves.series_key(finding.panel, finding.variant, size),
            )
            for size in settings.compared_sizes
        ]
        pair = " / ".join(finding.panel.title(name) for name in (finding.variant, finding.base))
        outcome = Cell("", finding.tone, finding.verdict)
        rows.append((Cell(finding.panel.label), Cell(pair), *ratios, outcome))
    return Table(
        f"“{statement.words}” {statement.test} Ratio of effective bandwidths: below 1 it costs.",
        (
            Column("Toolchain and placement"),
            Column("Pair"),
            *(Column(units.size(size), "right") for size in settings.compared_sizes),
            Column("The reason"),
        ),
        tuple(rows),
    )


def verdicts(all_findings: Sequence[Finding]) -> Table:
    """A row for each panel, and a column for each pair."""
    pairs = {
        pair: f"{s.short} ({' / '.join(pair)})" for s in derived.STATEMENTS for pair in s.pairs
    }
    found = {
        panel: {(f.variant, f.base): f.cell for f in all_findings if f.panel == panel}
        for panel in dict.fromkeys(finding.panel for finding in all_findings)
    }
    return display.grid(
        "Do the study's three reasons hold here? Ratios of effective bandwidth over the compared "
        "sizes.",
        "Toolchain and placement",
        pairs,
        [(panel.label, row) for panel, row in found.items()],
        {pair: ARMS[pair[1]].title for pair in pairs},
    )


def _crossovers(
    curves: Curves, panel: Panel, mine: str, other: str
) -> tuple[list[float], int | None]:
    """One for each launch that measured both at some size; and up to which size all of them did."""
    theirs = curves.by_launch(panel, other)
    found = []
    largest: int | None = None
    for launch, by_size in curves.by_launch(panel, mine).items():
        base = theirs.get(launch, {})
        if sizes := [size for size in by_size if size in base]:
            times = [by_size[size] for size in sizes], [base[size] for size in sizes]
            found.append(derived.crossover(sizes, *times))
            largest = max(sizes) if largest is None else min(largest, max(sizes))
    return found, largest


def _size(curves: Curves, found: Sequence[float], largest: int | None) -> Cell:
    finite = [size for size in found if math.isfinite(size)]
    otherwise = f"not up to {units.size(largest or 0)}"
    if not finite:
        return Cell(otherwise, "warn")
    if len(finite) < len(found):
        some = ("in ", units.count(len(finite)), f" of {len(found)} launches, else {otherwise}")
        return Cell(some, "warn")
    return display.value(curves.interval(finite), Unit.BYTES)


def _counted(cell: Cell, launches: int, panel: Panel) -> Cell:
    """Says so if only some launches of the panel stand behind a cell."""
    if not 0 < launches < panel.launches:
        return cell
    some = ("; measured in ", units.count(launches), f" of {panel.launches} launches")
    return replace(cell, shown=(*cell.parts, *some))


def limited(
    interval: Interval | None, limit: float, unit: Unit = Unit.PURE, is_least: bool = False
) -> Cell:
    """With a verdict: whether the whole interval is on the right side of the limit."""
    if interval is None:
        return display.NONE
    shown = Quantity.over(interval, unit)
    if interval.low is None or interval.high is None:
        return Cell(shown, "warn", "cannot tell")
    inside = interval.low >= limit if is_least else interval.high <= limit
    outside = interval.high < limit if is_least else interval.low > limit
    if inside:
        return Cell(shown, "good", "reached")
    return Cell(shown, "bad", "not reached") if outside else Cell(shown, "warn", "cannot tell")


#: Size at which the study's Ethernet line reaches its end, bytes.
_HUB_SIZE = 1_000
_WIRE = "What the wire can carry"


def goodput(curves: Curves, panels: Sequence[Panel], least: float) -> Table:
    """Each transport between two nodes on a hub, as a share of the theoretical goodput.

    A region is expected to reach `least` of it.
    """
    rows: list[tuple[Cell, ...]] = []
    for panel in panels:
        rate = panel.hub_mbit_s or 0.0
        most = derived.theoretical_goodput(rate, _HUB_SIZE)
        carried = Cell(Quantity(value=most, unit=Unit.MB_S))
        rows.append((Cell(panel.label), Cell(_WIRE), carried, display.NONE))
        medians = curves.of(curves.values, panel).filter(pl.col("size_bytes") == _HUB_SIZE)
        for name in ARMS:
            rates = medians.filter(pl.col("variant") == name)["bandwidth"].to_list()
            found = curves.interval(rates)
            if found is None:
                continue
            share = curves.interval([one / most for one in rates])
            is_ours = name == REGION_UDP
            rows.append(
                (
                    Cell(panel.label),
                    Cell(panel.title(name)),
                    display.value(
                        found, Unit.MB_S, series=curves.series_key(panel, name, _HUB_SIZE)
                    ),
                    limited(share, least, Unit.RATIO, is_least=True)
                    if is_ours
                    else display.value(share, Unit.RATIO),
                )
            )
    return Table(
        f"Goodput at {units.size(_HUB_SIZE)} on a hub, one token under way, as a share of what "
        f"Ethernet can carry: {_HUB_SIZE} bytes in one UDP datagram take "
        f"{_HUB_SIZE + derived.FRAME_OVERHEAD} byte times. "
        f"Expected of regions by UDP: at least {units.percent(least)}.",
        (
            Column("Toolchain and placement"),
            Column("Transport"),
            Column("", "right", Unit.MB_S),
            Column("Of the theoretical", "right", base=_WIRE),
        ),
        tuple(rows),
    )


_READ_HOW = (
    "Above, the receiver looks at one cache line only, and a region by reference costs the same "
    "whatever its size. Here, in other arms of the same launches, every rank reads all bytes of "
    "the region and adds one to a word of each 64 bytes. So the next rank finds every line "
    "changed, and none in its cache. The sum of all bytes is checked at each pass."
)


def when_read(curves: Curves, panels: Sequence[Panel], sizes: Sequence[int]) -> list[Block]:
    """Nothing where no launch has such arms."""
    rows = [row for panel in panels for row in _read_rows(curves, panel, sizes)]
    if not rows:
        return []
    table = Table(
        curves.level.within(
            f"Effective bandwidth in {Unit.MB_S} when every byte is read, and the ratio of a "
            "region by reference to each copy; the last rows: the same when nobody reads. Median "
            "over launches, {level} rank interval; ratios are paired in the launch. No verdict "
            "is attached to them."
        ),
        (
            Column("Toolchain and placement"),
            Column("What"),
            *(Column(units.size(size), "right") for size in sizes),
        ),
        tuple(rows),
        (Unit.MB_S,),
    )
    return [Heading(3, "When the receiver reads everything"), Paragraph((_READ_HOW,)), table]


def _read_rows(curves: Curves, panel: Panel, sizes: Sequence[int]) -> list[tuple[Cell, ...]]:
    measured = curves.of(curves.values, panel)["variant"].unique()
    names = [name for name in derived.READ if derived.read_of(name) in measured]
    rows = []
    for name in names:
        variant = derived.read_of(name)
        found = [curves.bandwidth_at(panel, variant, size) for size in sizes]
        keys = [curves.series_key(panel, variant, size) for size in sizes]
        what = Cell((panel.title(name), f", {Unit.MB_S}"))
        values = [
            display.value(one, Unit.MB_S, otherwise=display.NOT_MEASURED, series=series)
            for one, series in zip(found, keys, strict=True)
        ]
        rows.append((Cell(panel.label), what, *values))
    if REGION not in names:
        return rows
    all_read = [(derived.read_of(REGION), derived.read_of(name)) for name in names]
    unread = [(REGION, name) for name in names]
    for suffix, pairs in ((", all read", all_read), (", nobody reads", unread)):
        for (region, other), name in zip(pairs, names, strict=True):
            if name != REGION:
                ratios = curves.ratio(panel, region, other)
                base = panel.title(name)
                shares = [
                    replace(
                        display.value(
                            curves.interval(ratios.get(size, [])),
                            Unit.RATIO,
                            otherwise=display.NOT_MEASURED,
                            base=base,
                        ),
                        series=curves.series_key(panel, region, size),
                    )
                    for size in sizes
                ]
                rows.append((Cell(panel.label), Cell(f"Region over {base}{suffix}"), *shares))
    return rows
