"""Latency: percentiles of single laps, and how laps are batched and waited for."""

from __future__ import annotations

from roundtrip.report import units
from roundtrip.report.blocks import (
    COUNT,
    Block,
    Column,
    Fold,
    Heading,
    Paragraph,
    Table,
    text_cells,
)
from roundtrip.studies.ring import derived
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
    tables = [(panel.label, _table(curves, panel)) for panel in curves.panels]
    folds = [Fold(f"Percentiles: {name}", (of,)) for name, of in tables if of.rows]
    return [Heading(3, "Latency per pass"), Paragraph((of_what,)), *folds] if folds else []


def _table(curves: Curves, panel: Panel) -> Table:
    batches = _batches(curves, panel)
    found: dict[str, list[tuple[str, ...]]] = {name: [] for name in derived.TRANSPORTS}
    for row in curves.of(curves.laps, panel).iter_rows(named=True):
        name, size = row["variant"], row["size_bytes"]
        times = [units.microseconds(row[f"p{part}"] / panel.passes) for part in PERCENTILES]
        batch = batches.get((name, size), units.NOTHING)
        found[name].append((panel.title(name), units.size(size), str(row["laps"]), *times, batch))
    lap = units.plural(panel.passes, "pass", "passes")
    columns = (
        *(Column("Size", "right"), Column("Laps", "right", COUNT)),
        *(Column(f"{part} %", "right", "µs") for part in PERCENTILES),
        Column("Laps in a batch", "right", COUNT),
    )
    return Table(
        f"{panel.label}: µs a pass; a lap is {lap}. {_waiting(curves, panel)}".strip(),
        (Column("Transport"), *columns),
        tuple(text_cells(*texts) for rows in found.values() for texts in rows),
    )


def _batches(curves: Curves, panel: Panel) -> dict[tuple[str, int], str]:
    """Laps in a batch of each transport at each size; least to most over the launches."""
    counts: dict[tuple[str, int], list[int]] = {}
    for point in curves.of(curves.points, panel).iter_rows(named=True):
        if point["batch"]:
            key = point["variant"], point["size_bytes"]
            counts.setdefault(key, []).append(point["batch"])
    return {key: _range(found) for key, found in counts.items()}


def _range(counts: list[int]) -> str:
    low, high = (units.number(count, len(str(count))) for count in (min(counts), max(counts)))
    return low if low == high else f"{low} to {high}"


def _waiting(curves: Curves, panel: Panel) -> str:
    waits = [details["wait"] for _, details in curves.told(panel)]
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
