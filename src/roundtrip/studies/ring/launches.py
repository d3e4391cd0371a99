"""How the ring's launches went: percentiles of single laps, how laps are batched and waited for.

And the transports that launches left out, with the reason: nothing is left out silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import (
    Block,
    Cell,
    Column,
    Fold,
    Heading,
    Paragraph,
    Table,
    text_cells,
)
from roundtrip.report.units import Quantity, Unit
from roundtrip.studies import display
from roundtrip.studies.ring import ARMS
from roundtrip.studies.ring.curves import LAP_SIZE, PERCENTILES, Curves, Panel

#: What a rank does when it has looked often enough, in words.
_THEN = {"futex": "sleeps in the kernel (futex)", "poll": "naps until something comes (poll)"}


def laps(curves: Curves) -> list[Block]:
    """What the percentiles are of, and a table a panel."""
    of_what = (
        "Time per pass of single laps: the time of a lap over its passes, reading the clock "
        "included. Percentiles are over the laps of all launches, at the smallest size, at "
        f"{units.size(LAP_SIZE)}, and at the largest size of each transport; of 100 laps or "
        "fewer, the slowest is the 99 %. All other times here are medians of batches: so many laps "
        "timed as one."
    )
    tables = [(panel.label, _percentiles(curves, panel)) for panel in curves.panels]
    folds = [Fold(f"Percentiles: {name}", (of,)) for name, of in tables if of.rows]
    return [Heading(3, "Latency per pass"), Paragraph((of_what,)), *folds] if folds else []


def _percentiles(curves: Curves, panel: Panel) -> Table:
    batches = _batches(curves, panel)
    found: dict[str, list[tuple[Cell, ...]]] = {name: [] for name in ARMS}
    for row in curves.of(curves.laps, panel).iter_rows(named=True):
        name, size = row["variant"], row["size_bytes"]
        times = [
            Cell(
                Quantity(value=row[f"p{part}"] / panel.passes * 1e6, unit=Unit.US, percentile=part)
            )
            for part in PERCENTILES
        ]
        measured = Cell(units.bytes_of(size)), Cell(units.count(row["laps"]))
        batch = batches.get((name, size), display.NONE)
        found[name].append((Cell(panel.title(name)), *measured, *times, batch))
    lap = units.plural(panel.passes, "pass", "passes")
    columns = (
        *(Column("Size", "right"), Column("Laps", "right")),
        *(Column(f"{part} %", "right") for part in PERCENTILES),
        Column("Laps in a batch", "right"),
    )
    return Table(
        f"{panel.label}: {Unit.US} a pass; a lap is {lap}. {_waiting(curves, panel)}".strip(),
        (Column("Transport"), *columns),
        tuple(row for rows in found.values() for row in rows),
        (Unit.US,),
    )


def _batches(curves: Curves, panel: Panel) -> dict[tuple[str, int], Cell]:
    """Laps in a batch of each transport at each size; least to most over the launches."""
    found: dict[tuple[str, int], list[int]] = {}
    for point in curves.of(curves.points, panel).iter_rows(named=True):
        if point["batch"]:
            key = point["variant"], point["size_bytes"]
            found.setdefault(key, []).append(point["batch"])
    return {key: Cell(units.counts(many)) for key, many in found.items()}


def _waiting(curves: Curves, panel: Panel) -> str:
    waits = [details["wait"] for _, details in curves.details_of(panel)]
    told = dict.fromkeys(_policy(wait, panel) for wait in waits if wait)
    return f"Whoever waits for a region {'; or '.join(told)}." if told else ""


def _policy(wait: dict[str, object], panel: Panel) -> str:
    told = str(wait["then"] or "")
    then = _THEN.get(told, told)
    if not panel.in_one_node:
        kept_looking = f"for {wait['network_yields_ms'] or 0} ms"
        return f"looks and gives up the processor in turn {kept_looking}, then {then}"
    looks, yields = wait["spins"] or 0, wait["yields"] or 0
    return f"looks {looks} times, then gives up the processor {yields} times, then {then}"


def skipped_transports(curves: Curves, panels: Sequence[Panel]) -> Table | None:
    """Panel, transports and reason; None if nothing was left out, or the bundle does not say."""
    rows = []
    for panel in panels:
        launches: dict[tuple[str, str], set[str]] = {}
        for launch, variant, reason in _skipped(curves, panel):
            launches.setdefault((reason, variant), set()).add(launch)
        together: dict[tuple[str, int], list[str]] = {}
        for (reason, variant), those in launches.items():
            together.setdefault((reason, len(those)), []).append(variant)
        for (reason, count), variants in together.items():
            names = "; ".join(_title(panel, name) for name in _ordered(variants))
            some = (units.count(count), f" of {panel.launches}")
            rows.append((*text_cells(panel.label, names, reason), Cell(some)))
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


def _skipped(curves: Curves, panel: Panel) -> Iterator[tuple[str, str, str]]:
    """(launch, transport, reason): of whole launches, and from a size on."""
    for launch, details in curves.details_of(panel):
        for one in details["skipped"] or ():
            yield launch, one["variant"], one["reason"]
    for point in curves.of(curves.points, panel).filter(samples=0).iter_rows(named=True):
        size = units.size(point["size_bytes"])
        yield point["launch"], point["variant"], f"not measured from {size} on: {point['status']}"


def _title(panel: Panel, variant: str) -> str:
    return panel.title(variant) if variant in ARMS else variant


def _ordered(variants: Sequence[str]) -> list[str]:
    known = list(ARMS)
    return sorted(variants, key=lambda name: known.index(name) if name in known else len(known))
