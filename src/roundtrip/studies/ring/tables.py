"""The tables of the ring section: cost of a pass, goodput on a hub, passes with every byte read.

Also percentiles of single laps, with batch sizes and wait policies, and the transports that
launches skipped, with the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Block, Cell, Column, Fold, Heading, Paragraph, Table, text_cells
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.summaries import Interval
from roundtrip.studies import display
from roundtrip.studies.ring import ARMS, FLOOR, REGION, REGION_UDP, Thresholds, derived
from roundtrip.studies.ring.curves import LAP_SIZE, PERCENTILES, Curves, Panel
from roundtrip.studies.ring.findings import is_within

_MICRO = 1e6
_REGION_ARMS = (REGION, REGION_UDP, FLOOR)


def goals(curves: Curves, panels: Sequence[Panel], settings: Thresholds) -> Table:
    """Table of a region's fixed cost and flatness, the bare hand-over, and the gain over MPI."""
    study = Cell(Quantity(value=derived.PUBLISHED_PASS * _MICRO, unit=Unit.US))
    rows = [(Cell("The study, 2 on 2 processors, 2002"), study, *[display.NONE] * 6)]
    for panel in panels:
        launches = curves.pass_times(panel, REGION)
        fixed_costs = {
            name: derived.fixed_cost(by_size.values()) for name, by_size in launches.items()
        }
        bare_launches = curves.pass_times(panel, FLOOR)
        floor_costs = {
            name: derived.fixed_cost(by_size.values()) for name, by_size in bare_launches.items()
        }
        flatness = [derived.flatness(by_size.values()) for by_size in launches.values()]
        per_hand_over = [
            fixed_costs[name] / floor_costs[name] for name in fixed_costs if name in floor_costs
        ]
        gain = curves.gains_over_mpi(panel).get(derived.STUDY_SIZE, [])
        best = curves.best_mpi_bandwidths(panel, derived.STUDY_SIZE)
        in_hand_overs = curves.flatness_in_hand_overs(panel)
        samples = [
            list(fixed_costs.values()),
            list(floor_costs.values()),
            per_hand_over,
            flatness,
            in_hand_overs,
            gain,
            best,
        ]
        costs, hand_overs, *intervals, two_sided = map(curves.interval, samples)
        cells = [
            display.value(costs, Unit.US, _MICRO),
            display.value(hand_overs, Unit.US, _MICRO),
            limit_verdict(intervals[0], settings.most_hand_overs, Unit.RATIO),
            limit_verdict(intervals[1], 1 + settings.flat_within),
            limit_verdict(intervals[2], 1 + settings.flat_within),
            replace(
                limit_verdict(intervals[3], settings.least_gain, Unit.RATIO, is_least=True),
                series=curves.series_key(panel, REGION, derived.STUDY_SIZE),
            ),
            display.value(two_sided, Unit.MB_S),
        ]
        counted_cells = [
            _with_launch_count(cell, len(sample), panel)
            for cell, sample in zip(cells, samples, strict=True)
        ]
        rows.append((Cell(panel.label), *counted_cells))
    return Table(
        curves.level.caption(
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
    """Table of sizes from which on a region is faster; each panel has a pass inside a node."""
    transports = [name for name in ARMS if name not in _REGION_ARMS]
    rows = []
    for panel in panels:
        for region in (REGION, REGION_UDP):
            for transport in transports:
                crossings, largest = _crossovers(curves, panel, region, transport)
                if crossings:
                    cell = _with_launch_count(
                        _crossover_cell(curves, crossings, largest), len(crossings), panel
                    )
                    names = (panel.label, panel.title(region), panel.title(transport))
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


def _crossovers(
    curves: Curves, panel: Panel, region: str, transport: str
) -> tuple[list[float], int | None]:
    """Return the crossover size of each launch that measured both transports at some size.

    The second value is the largest size that all these launches reach; None without a launch.
    """
    transport_times = curves.pass_times(panel, transport)
    crossings = []
    largest: int | None = None
    for launch, by_size in curves.pass_times(panel, region).items():
        base = transport_times.get(launch, {})
        if sizes := [size for size in by_size if size in base]:
            times = [by_size[size] for size in sizes], [base[size] for size in sizes]
            crossings.append(derived.crossover(sizes, *times))
            largest = max(sizes) if largest is None else min(largest, max(sizes))
    return crossings, largest


def _crossover_cell(curves: Curves, crossings: Sequence[float], largest: int | None) -> Cell:
    finite = [size for size in crossings if math.isfinite(size)]
    limit = f"not up to {units.size(largest or 0)}"
    if not finite:
        return Cell(limit, "warn")
    if len(finite) < len(crossings):
        words = ("in ", units.count(len(finite)), f" of {len(crossings)} launches, else {limit}")
        return Cell(words, "warn")
    return display.value(curves.interval(finite), Unit.BYTES)


def _with_launch_count(cell: Cell, launches: int, panel: Panel) -> Cell:
    """Return the cell, with the number of launches if only some of the panel measured it."""
    if not 0 < launches < panel.launches:
        return cell
    words = ("; measured in ", units.count(launches), f" of {panel.launches} launches")
    return replace(cell, content=(*cell.parts, *words))


def limit_verdict(
    interval: Interval | None, limit: float, unit: Unit = Unit.PURE, is_least: bool = False
) -> Cell:
    """Return the interval and whether all of it is within `limit` (a minimum if `is_least`)."""
    if interval is None:
        return display.NONE
    value = Quantity.from_interval(interval, unit)
    is_reached = is_within(interval, limit, is_least=is_least)
    if is_reached is None:
        return Cell(value, "warn", "cannot tell")
    return Cell(value, "good", "reached") if is_reached else Cell(value, "bad", "not reached")


#: Region size of the study's 10BASE-T point, bytes.
_HUB_SIZE = 1_000
_WIRE = "What the wire can carry"


def goodput(curves: Curves, panels: Sequence[Panel], least_goodput: float) -> Table:
    """Table of goodput between two nodes on a hub, and its share of the theoretical goodput.

    A region by UDP is expected to reach a share of `least_goodput`.
    """
    rows: list[tuple[Cell, ...]] = []
    for panel in panels:
        hub_rate = panel.hub_mbit_s or 0.0
        limit = derived.theoretical_goodput(hub_rate, _HUB_SIZE)
        limit_cell = Cell(Quantity(value=limit, unit=Unit.MB_S))
        rows.append((Cell(panel.label), Cell(_WIRE), limit_cell, display.NONE))
        medians = curves.rows(curves.values, panel).filter(pl.col("size_bytes") == _HUB_SIZE)
        for name in ARMS:
            rates = medians.filter(pl.col("variant") == name)["bandwidth"].to_list()
            interval = curves.interval(rates)
            if interval is None:
                continue
            share = curves.interval([rate / limit for rate in rates])
            is_ours = name == REGION_UDP
            rows.append(
                (
                    Cell(panel.label),
                    Cell(panel.title(name)),
                    display.value(
                        interval, Unit.MB_S, series=curves.series_key(panel, name, _HUB_SIZE)
                    ),
                    limit_verdict(share, least_goodput, Unit.RATIO, is_least=True)
                    if is_ours
                    else display.value(share, Unit.RATIO),
                )
            )
    return Table(
        f"Goodput at {units.size(_HUB_SIZE)} on a hub, one token under way, as a share of what "
        f"Ethernet can carry: {_HUB_SIZE} bytes in one UDP datagram take "
        f"{_HUB_SIZE + derived.FRAME_OVERHEAD} byte times. "
        f"Expected of regions by UDP: at least {units.percent(least_goodput)}.",
        (
            Column("Toolchain and placement"),
            Column("Transport"),
            Column("", "right", Unit.MB_S),
            Column("Of the theoretical", "right", base=_WIRE),
        ),
        tuple(rows),
    )


_READ_NOTE = (
    "Above, the receiver looks at one cache line only, and a region by reference costs the same "
    "whatever its size. Here, in other arms of the same launches, every rank reads all bytes of "
    "the region and adds one to a word of each 64 bytes. So the next rank finds every line "
    "changed, and none in its cache. The sum of all bytes is checked at each pass."
)


def read_blocks(curves: Curves, panels: Sequence[Panel], sizes: Sequence[int]) -> list[Block]:
    """Return the blocks on passes with every byte read; [] if no launch has such arms."""
    rows = [row for panel in panels for row in _read_rows(curves, panel, sizes)]
    if not rows:
        return []
    table = Table(
        curves.level.caption(
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
    return [Heading(3, "When the receiver reads everything"), Paragraph((_READ_NOTE,)), table]


def _read_rows(curves: Curves, panel: Panel, sizes: Sequence[int]) -> list[tuple[Cell, ...]]:
    variants = curves.rows(curves.values, panel)["variant"].unique()
    names = [name for name in derived.READ_TRANSPORTS if derived.read_variant(name) in variants]
    rows = []
    for name in names:
        variant = derived.read_variant(name)
        intervals = [curves.bandwidth_at(panel, variant, size) for size in sizes]
        keys = [curves.series_key(panel, variant, size) for size in sizes]
        title = Cell((panel.title(name), f", {Unit.MB_S}"))
        values = [
            display.value(interval, Unit.MB_S, fallback=display.NOT_MEASURED, series=series)
            for interval, series in zip(intervals, keys, strict=True)
        ]
        rows.append((Cell(panel.label), title, *values))
    if REGION not in names:
        return rows
    read_pairs = [(derived.read_variant(REGION), derived.read_variant(name)) for name in names]
    unread_pairs = [(REGION, name) for name in names]
    for suffix, pairs in ((", all read", read_pairs), (", nobody reads", unread_pairs)):
        for (region, transport), name in zip(pairs, names, strict=True):
            if name != REGION:
                ratios = curves.bandwidth_ratios(panel, region, transport)
                base = panel.title(name)
                shares = [
                    replace(
                        display.value(
                            curves.interval(ratios.get(size, [])),
                            Unit.RATIO,
                            fallback=display.NOT_MEASURED,
                            base=base,
                        ),
                        series=curves.series_key(panel, region, size),
                    )
                    for size in sizes
                ]
                rows.append((Cell(panel.label), Cell(f"Region over {base}{suffix}"), *shares))
    return rows


#: Text for the last step of a wait, by its name in run.json.
_LAST_STEPS = {"futex": "sleeps in the kernel (futex)", "poll": "naps until something comes (poll)"}


def lap_blocks(curves: Curves) -> list[Block]:
    """Return the blocks on single laps: a note and a table of percentiles for each panel."""
    note = (
        "Time per pass of single laps: the time of a lap over its passes, reading the clock "
        "included. Percentiles are over the laps of all launches, at the smallest size, at "
        f"{units.size(LAP_SIZE)}, and at the largest size of each transport; of 100 laps or "
        "fewer, the slowest is the 99 %. All other times here are medians of batches: so many laps "
        "timed as one."
    )
    tables = [(panel.label, _percentiles(curves, panel)) for panel in curves.panels]
    folds = [Fold(f"Percentiles: {name}", (table,)) for name, table in tables if table.rows]
    return [Heading(3, "Latency per pass"), Paragraph((note,)), *folds] if folds else []


def _percentiles(curves: Curves, panel: Panel) -> Table:
    batches = curves.batches(panel)
    rows_by_transport: dict[str, list[tuple[Cell, ...]]] = {name: [] for name in ARMS}
    for row in curves.rows(curves.laps, panel).iter_rows(named=True):
        name, size = row["variant"], row["size_bytes"]
        times = [
            Cell(
                Quantity(value=row[f"p{part}"] / panel.passes * 1e6, unit=Unit.US, percentile=part)
            )
            for part in PERCENTILES
        ]
        sample_cells = Cell(units.byte_size(size)), Cell(units.count(row["laps"]))
        batch = batches.get((name, size))
        batch_cell = Cell(units.count_range(batch)) if batch else display.NONE
        rows_by_transport[name].append((Cell(panel.title(name)), *sample_cells, *times, batch_cell))
    lap = units.plural(panel.passes, "pass", "passes")
    columns = (
        *(Column("Size", "right"), Column("Laps", "right")),
        *(Column(f"{part} %", "right") for part in PERCENTILES),
        Column("Laps in a batch", "right"),
    )
    return Table(
        f"{panel.label}: {Unit.US} a pass; a lap is {lap}. {_waiting(curves, panel)}".strip(),
        (Column("Transport"), *columns),
        tuple(row for rows in rows_by_transport.values() for row in rows),
        (Unit.US,),
    )


def _waiting(curves: Curves, panel: Panel) -> str:
    waits = [details["wait"] for _, details in curves.details_of(panel)]
    policies = dict.fromkeys(_policy(wait, panel) for wait in waits if wait)
    return f"Whoever waits for a region {'; or '.join(policies)}." if policies else ""


def _policy(wait: dict[str, object], panel: Panel) -> str:
    last_step = _LAST_STEPS.get(str(wait["then"]), wait["then"] or "")
    if not panel.in_one_node:
        duration = f"for {wait['network_yields_ms'] or 0} ms"
        return f"looks and gives up the processor in turn {duration}, then {last_step}"
    looks, yields = wait["spins"] or 0, wait["yields"] or 0
    return f"looks {looks} times, then gives up the processor {yields} times, then {last_step}"


def skipped_transports(curves: Curves, panels: Sequence[Panel]) -> Table | None:
    """Table of skipped transports by panel and reason; None if the bundle records none."""
    positions = {name: number for number, name in enumerate(ARMS)}

    def order(variant: str) -> int:
        return positions.get(variant, len(positions))

    rows = []
    for panel in panels:
        skips: dict[tuple[str, str], set[str]] = {}
        for launch, variant, reason in _skips(curves, panel):
            skips.setdefault((reason, variant), set()).add(launch)
        groups: dict[tuple[str, int], list[str]] = {}
        for (reason, variant), launches in skips.items():
            groups.setdefault((reason, len(launches)), []).append(variant)
        for (reason, count), variants in groups.items():
            names = "; ".join(map(panel.title, sorted(variants, key=order)))
            words = (units.count(count), f" of {panel.launches}")
            rows.append((*text_cells(panel.label, names, reason), Cell(words)))
    if not rows:
        return None
    return Table(
        "Transports that were left out, and why.",
        (
            Column("Toolchain and placement"),
            Column("Transport"),
            Column("Reason"),
            Column("Launches", "right"),
        ),
        tuple(rows),
    )


def _skips(curves: Curves, panel: Panel) -> Iterator[tuple[str, str, str]]:
    """Yield (launch, transport, reason) of transports skipped entirely, or from a size on."""
    for launch, details in curves.details_of(panel):
        for skip in details["skipped"] or ():
            yield launch, skip["variant"], skip["reason"]
    for point in curves.rows(curves.points, panel).filter(samples=0).iter_rows(named=True):
        size = units.size(point["size_bytes"])
        yield point["launch"], point["variant"], f"not measured from {size} on: {point['status']}"
