"""The tables of the ring section: cost of a pass, goodput on a hub, passes with every byte read.

Also percentiles of single laps, with batch sizes and wait policies, and the transports that
launches skipped, with the reasons.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from roundtrip import units
from roundtrip.content.blocks import (
    Block,
    Cell,
    CollapsibleBlocks,
    Column,
    Heading,
    Paragraph,
    Table,
    number_columns,
    text_cells,
    text_columns,
)
from roundtrip.stats.summaries import Interval
from roundtrip.studies import display
from roundtrip.studies.findings import OPEN
from roundtrip.studies.ring import ARMS, CACHE_LINE, REGION, REGION_UDP, derived
from roundtrip.studies.ring.curves import LAP_PERCENTILES, LAP_SIZE_BYTES, Panel, RingCurves
from roundtrip.studies.ring.findings import is_within_limit, region_cost
from roundtrip.units import Quantity, Unit


def region_cost_table(curves: RingCurves, panels: Sequence[Panel]) -> Table:
    """Table of a region's fixed cost and flatness, the bare hand-over, and the gain over MPI."""
    study = Cell(Quantity(value=derived.PUBLISHED_PASS_S * 1e6, unit=Unit.US))
    rows = [(Cell("The study, 2 on 2 processors, 2002"), study, *[display.NO_VALUE_CELL] * 6)]
    settings = curves.settings
    flat = 1 + settings.flat_within
    for panel in panels:
        costs, hand_overs = (
            curves.fixed_cost_seconds(panel, name) for name in (REGION, CACHE_LINE)
        )
        cost = region_cost(curves, panel)
        per_hand_over = [
            cost / hand_overs[name] for name, cost in costs.items() if name in hand_overs
        ]
        gain = curves.gain_over_mpi(panel, REGION)
        best = curves.bandwidth_at(panel, derived.BEST_TWO_SIDED_VARIANT, derived.PUBLISHED_BYTES)
        cells = [
            display.interval_cell(curves.interval([*costs.values()]), Unit.US, 1e6),
            display.interval_cell(curves.interval([*hand_overs.values()]), Unit.US, 1e6),
            limit_cell(curves.interval(per_hand_over), settings.most_hand_overs, Unit.RATIO),
            limit_cell(cost.time_flatness if cost else None, flat),
            limit_cell(cost.hand_over_flatness if cost else None, flat),
            replace(
                limit_cell(gain, settings.least_gain, Unit.RATIO, is_minimum=True),
                series_key=curves.point_series_key(panel, REGION, derived.PUBLISHED_BYTES),
            ),
            display.interval_cell(best, Unit.MB_S),
        ]
        rows.append((Cell(panel.title), *(_with_launch_count(cell, panel) for cell in cells)))
    return Table(
        curves.level.fill_caption(
            "A pass of a region inside a node: median over its sizes, then over launches, "
            f"{{level}} interval. Expected: at most {settings.most_hand_overs:g} bare hand-overs "
            f"of a cache line, flat within {units.percent_text(settings.flat_within)} over all "
            f"sizes, and at {units.size_text(derived.PUBLISHED_BYTES)} at least "
            f"{settings.least_gain:g} times the effective bandwidth of MPI's best two-sided call. "
            "In hand-overs: the time at a size over the bare hand-over measured with it, so a "
            "move of the ranks between two sizes has no effect."
        ),
        (
            Column("Toolchain and placement"),
            Column("Fixed cost", "right", Unit.US),
            Column("Bare hand-over", "right", Unit.US),
            Column("Pass per hand-over", "right", base_name="Bare hand-over"),
            Column("Largest / smallest", "right"),
            Column("Largest / smallest, in hand-overs", "right"),
            Column("Over best MPI", "right", base_name="Best MPI"),
            Column("Best MPI", "right", Unit.MB_S),
        ),
        tuple(rows),
    )


def crossover_table(curves: RingCurves, panels: Sequence[Panel]) -> Table:
    """Table of sizes from which on a region is faster; each panel has a pass inside a node."""
    rows = [
        (
            *text_cells(panel.title, panel.variant_title(region), panel.variant_title(transport)),
            cell,
        )
        for panel in panels
        for region in (REGION, REGION_UDP)
        for transport in ARMS
        if transport not in (REGION, REGION_UDP, CACHE_LINE)
        and (cell := _crossover_cell(curves, panel, region, transport))
    ]
    return Table(
        "The size in bytes from which a pass by reference is faster, interpolated between the "
        "measured sizes. The smallest measured size means that it is always faster. Only rings "
        "with a pass inside a node are listed: other rings pass nothing by reference.",
        (
            *text_columns("Toolchain and placement", "Region", "Faster than"),
            Column("From", "right", Unit.BYTES),
        ),
        tuple(rows),
    )


def _crossover_cell(curves: RingCurves, panel: Panel, region: str, transport: str) -> Cell | None:
    """The crossover over the launches that measured both at some size; None without a launch."""
    transport_times = curves.pass_seconds(panel, transport)
    crossings, largest_sizes = [], []
    for launch, times in curves.pass_seconds(panel, region).items():
        other_times = transport_times.get(launch, {})
        if common_sizes := times.keys() & other_times.keys():
            crossings.append(derived.crossover_bytes(times, other_times))
            largest_sizes.append(max(common_sizes))
    if not crossings:
        return None
    finite = [size for size in crossings if math.isfinite(size)]
    limit = f"not up to {units.size_text(min(largest_sizes))}"
    if not finite:
        cell = Cell(limit, "warn")
    elif len(finite) < len(crossings):
        words = ("in ", units.count(len(finite)), f" of {len(crossings)} launches, else {limit}")
        cell = Cell(words, "warn")
    else:
        cell = display.interval_cell(curves.interval(finite), Unit.BYTES)
    return _with_launch_count(cell, panel, len(crossings))


def _with_launch_count(cell: Cell, panel: Panel, launches: int | None = None) -> Cell:
    """The cell, with the number of launches (by default its interval's) if not all measured it."""
    if launches is None:
        launches = next((quantity.n for quantity in cell.quantities), None)
    if not launches or launches >= panel.launch_count:
        return cell
    words = ("; measured in ", units.count(launches), f" of {panel.launch_count} launches")
    return replace(cell, content=(*cell.content_tuple, *words))


def limit_cell(
    interval: Interval | None, limit: float, unit: Unit = Unit.PURE_NUMBER, is_minimum: bool = False
) -> Cell:
    """Return the interval and whether all of it is within `limit` (a minimum if `is_minimum`)."""
    if interval is None:
        return display.NO_VALUE_CELL
    value = Quantity.from_interval(interval, unit)
    is_reached = is_within_limit(interval, limit, is_minimum=is_minimum)
    if is_reached is None:
        return Cell(value, "warn", OPEN)
    return Cell(value, "good", "reached") if is_reached else Cell(value, "bad", "not reached")


_WIRE_LIMIT_TITLE = "What the wire can carry"


def goodput_table(curves: RingCurves, panels: Sequence[Panel]) -> Table:
    """Goodput on a hub, and its share of the theoretical; that of regions by UDP has a limit."""
    rows: list[tuple[Cell, ...]] = []
    size, min_goodput_share = derived.PUBLISHED_HUB_BYTES, curves.settings.least_goodput
    for panel in panels:
        limit = derived.theoretical_goodput(panel.hub_mbit_s or 0.0, size)
        wire_cell = Cell(Quantity(value=limit, unit=Unit.MB_S))
        rows.append((*text_cells(panel.title, _WIRE_LIMIT_TITLE), wire_cell, display.NO_VALUE_CELL))
        rows_at_size = curves.panel_rows(curves.launch_values, panel, size_bytes=size)
        for name in ARMS:
            if not (rates := rows_at_size.filter(variant=name)["bandwidth"].to_list()):
                continue
            series = curves.point_series_key(panel, name, size)
            goodput = curves.interval(rates)
            goodput_cell = display.interval_cell(goodput, Unit.MB_S, series_key=series)
            share = curves.interval([rate / limit for rate in rates])
            share_cell = (
                limit_cell(share, min_goodput_share, Unit.RATIO, is_minimum=True)
                if name == REGION_UDP
                else display.interval_cell(share, Unit.RATIO)
            )
            names = text_cells(panel.title, panel.variant_title(name))
            rows.append((*names, goodput_cell, share_cell))
    return Table(
        f"Goodput at {units.size_text(size)} on a hub, one token under way, as a share of what "
        f"Ethernet can carry: {size} bytes in one UDP datagram take "
        f"{size + derived.FRAME_OVERHEAD_BYTES} byte times. "
        f"Expected of regions by UDP: at least {units.percent_text(min_goodput_share)}.",
        (
            *text_columns("Toolchain and placement", "Transport"),
            Column("", "right", Unit.MB_S),
            Column("Of the theoretical", "right", base_name=_WIRE_LIMIT_TITLE),
        ),
        tuple(rows),
    )


_READ_VARIANTS_NOTE = (
    "Above, the receiver looks at one cache line only, and a region by reference costs the same "
    "at any size. Here, in other arms of the same launches, every rank reads all bytes of the "
    "region and adds one to a word of each 64 bytes. So every line is changed and not in the "
    "cache of the next rank. The sum of all bytes is checked at each pass."
)


def read_blocks(curves: RingCurves) -> list[Block]:
    """Return the blocks on passes with every byte read; [] if no launch has such arms."""
    sizes = curves.settings.compared_sizes
    rows = [row for panel in curves.panels for row in _read_rows(curves, panel, sizes)]
    if not rows:
        return []
    table = display.size_table(
        curves.level.fill_caption(
            f"Effective bandwidth in {Unit.MB_S} when every byte is read, and the ratio of a "
            "region by reference to each copy; the last rows: the same without reading. Median "
            "over launches, {level} rank interval; ratios are paired in the launch. No verdict "
            "is attached to them."
        ),
        ("Toolchain and placement", "What"),
        sizes,
        rows,
        caption_units=(Unit.MB_S,),
    )
    return [
        Heading(3, "When the receiver reads everything"),
        Paragraph((_READ_VARIANTS_NOTE,)),
        table,
    ]


def _read_rows(curves: RingCurves, panel: Panel, sizes: Sequence[int]) -> list[tuple[Cell, ...]]:
    variants = {*curves.panel_rows(curves.launch_values, panel)["variant"]}
    pairs = derived.READ_VARIANT_BY_TRANSPORT.items()
    read = {name: variant for name, variant in pairs if variant in variants}
    rows = []
    for name, variant in read.items():
        point = curves, curves.bandwidth_intervals, panel, variant
        values = [display.point_cell(*point, size, Unit.MB_S) for size in sizes]
        title = Cell((panel.variant_title(name), f", {Unit.MB_S}"))
        rows.append((Cell(panel.title), title, *values))
    if REGION not in read:
        return rows
    copies = [name for name in read if name != REGION]
    unread = {name: name for name in read}
    for suffix, variant_of in ((", all read", read), (", nobody reads", unread)):
        region = variant_of[REGION]
        for name in copies:
            base = panel.variant_title(name)
            cells = []
            for size in sizes:
                ratio = curves.bandwidth_ratio(panel, region, variant_of[name], size)
                cell = display.interval_cell(
                    ratio, Unit.RATIO, fallback=display.NOT_MEASURED_CELL, base_name=base
                )
                cells.append(replace(cell, series_key=curves.point_series_key(panel, region, size)))
            rows.append((Cell(panel.title), Cell(f"Region over {base}{suffix}"), *cells))
    return rows


#: Text for the last step of a wait, by its name in run.json.
_TEXT_BY_WAIT_STEP = {
    "futex": "sleeps in the kernel (futex)",
    "poll": "sleeps until data arrive (poll)",
}


def lap_blocks(curves: RingCurves) -> list[Block]:
    """Return the blocks on single laps: a note and a table of percentiles for each panel."""
    note = (
        "Time per pass of single laps: the time of a lap over its passes, reading the clock "
        "included. Percentiles are over the laps of all launches, at the smallest size, at "
        f"{units.size_text(LAP_SIZE_BYTES)}, and at the largest size of each transport; with 100 "
        "laps or fewer, the 99 % is the slowest. All other times here are medians of batches: "
        "several laps timed as one."
    )
    tables = [(panel.title, _percentile_table(curves, panel)) for panel in curves.panels]
    folds = [
        CollapsibleBlocks(f"Percentiles: {name}", (table,)) for name, table in tables if table.rows
    ]
    return [Heading(3, "Latency per pass"), Paragraph((note,)), *folds] if folds else []


def _percentile_table(curves: RingCurves, panel: Panel) -> Table:
    batches = curves.batch_sizes(panel)
    arms = list(ARMS)
    laps = curves.panel_rows(curves.lap_percentiles, panel).rows(named=True)
    rows = []
    for row in sorted(laps, key=lambda row: arms.index(row["variant"])):
        name, size = row["variant"], row["size_bytes"]
        batch = batches.get((name, size))
        rows.append(
            (
                Cell(panel.variant_title(name)),
                Cell(units.byte_size(size)),
                Cell(units.count(row["samples"])),
                *display.percentile_cells(row, LAP_PERCENTILES, 1e6 / panel.passes_per_lap),
                Cell(units.count_range(batch)) if batch else display.NO_VALUE_CELL,
            )
        )
    lap = units.plural(panel.passes_per_lap, "pass", "passes")
    waits = [details["wait"] for _, details in curves.run_records_of(panel)]
    policies = dict.fromkeys(_wait_policy_text(wait, panel) for wait in waits if wait)
    waiting = f"A rank that waits for a region {'; or '.join(policies)}." if policies else ""
    percents = (f"{part} %" for part in LAP_PERCENTILES)
    return Table(
        f"{panel.title}: {Unit.US} a pass; a lap is {lap}. {waiting}".strip(),
        (Column("Transport"), *number_columns("Size", "Laps", *percents, "Laps in a batch")),
        tuple(rows),
        (Unit.US,),
    )


def _wait_policy_text(wait: dict[str, object], panel: Panel) -> str:
    last_step = _TEXT_BY_WAIT_STEP.get(str(wait["then"]), wait["then"] or "")
    if not panel.is_in_one_node:
        duration = f"for {wait['network_yields_ms'] or 0} ms"
        return f"polls and yields the processor in turn {duration}, then {last_step}"
    looks, yields = wait["spins"] or 0, wait["yields"] or 0
    return f"polls {looks} times, then yields the processor {yields} times, then {last_step}"


def skipped_transport_table(curves: RingCurves) -> Table | None:
    """Table of skipped transports by panel and reason; None if the bundle records none."""
    positions = {name: number for number, name in enumerate(ARMS)}
    rows = []
    for panel in curves.panels:
        # Launches by reason and transport; a dict keeps the order in which they were skipped.
        launches: dict[tuple[str, str], set[str]] = defaultdict(set)
        for launch, details in curves.run_records_of(panel):
            for skip in details["skipped"] or ():
                launches[skip["reason"], skip["variant"]].add(launch)
        points = curves.panel_rows(curves.points, panel, samples=0)
        for point in points.iter_rows(named=True):
            size = units.size_text(point["size_bytes"])
            reason = f"not measured from {size} on: {point['status']}"
            launches[reason, point["variant"]].add(point["launch"])
        groups: dict[tuple[str, int], list[str]] = defaultdict(list)
        for (reason, variant), names in launches.items():
            groups[reason, len(names)].append(variant)
        for (reason, count), variants in groups.items():
            variants.sort(key=lambda variant: positions.get(variant, len(positions)))
            titles = "; ".join(map(panel.variant_title, variants))
            words = (units.count(count), f" of {panel.launch_count}")
            rows.append((*text_cells(panel.title, titles, reason), Cell(words)))
    if not rows:
        return None
    return Table(
        "Transports that were left out, and why.",
        (
            *text_columns("Toolchain and placement", "Transport", "Reason"),
            *number_columns("Launches"),
        ),
        tuple(rows),
    )
