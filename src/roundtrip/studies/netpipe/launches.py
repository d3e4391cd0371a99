"""Tables on how the NetPIPE launches went: latency tails, convergence, curves that end early."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Table, Text
from roundtrip.report.units import Quantity, Unit
from roundtrip.studies import display
from roundtrip.studies.netpipe import ARMS
from roundtrip.studies.netpipe.curves import Curves, Panel


def latency(curves: Curves, panels: Sequence[Panel]) -> Table:
    """Half-round-trip time at 1 byte: over launches, and its tails over samples."""
    rows = []
    for panel in panels:
        tails = {row["variant"]: row for row in curves.of(curves.first_byte, panel).to_dicts()}
        batches = _batches(curves, panel)
        for variant, arm in ARMS.items():
            median = curves.at(curves.seconds, panel, variant=variant, size_bytes=1)
            if median is None:
                continue
            tail = tails[variant]
            rows.append(
                (
                    Cell(panel.label),
                    Cell(arm.title),
                    display.value(
                        median, Unit.US, 1e6, series=curves.series_key(panel, variant, 1)
                    ),
                    *(
                        Cell(Quantity(value=tail[name] * 1e6, unit=Unit.US, percentile=part))
                        for name, part in _TAILS.items()
                    ),
                    Cell(units.count(tail["samples"])),
                    batches.get(variant, display.NONE),
                )
            )
    names = ("Least", "p50", "p90", "p99", "Samples", "Messages a sample")
    return Table(
        curves.level.within(
            f"Latency: half-round-trip time at 1 byte, {Unit.US}. Median over launches with "
            "{level} rank interval; percentiles over all samples of all launches. A sample is "
            "the mean over a batch of messages, so single messages have longer tails than shown "
            "here."
        ),
        (
            *(Column("Toolchain"), Column("Variant"), Column("Launch median", "right", Unit.US)),
            *(Column(name, "right") for name in names),
        ),
        tuple(rows),
        (Unit.US,),
    )


#: Column of `Curves.first_byte`, and which percentile it is.
_TAILS = {"least": 0.0, "p50": 50.0, "p90": 90.0, "p99": 99.0}


def convergence(curves: Curves, panels: Sequence[Panel]) -> Table:
    """How the points of all launches ended, by toolchain."""
    rows = []
    for panel in panels:
        ends = Counter(curves.of(curves.points, panel)["status"])
        known = [ends.pop(name, 0) for name in ("converged", "budget", "bounded")]
        others = ", ".join(f"{count} {status}" for status, count in sorted(ends.items()))
        its = curves.launches.filter(case_id=panel.key[0])
        warm_up = int(its["warmup_discarded"].sum())
        counts = (panel.launches, sum(known) + ends.total(), *known)
        rows.append(
            (
                Cell(panel.label),
                *(Cell(units.count(one)) for one in counts),
                Cell(others) if others else display.NONE,
                Cell(units.count(warm_up)),
            )
        )
    names = ("Launches", "Points", "Reached the precision", "Spent the budget", "Bounded", "Other")
    return Table(
        "Convergence of the points of all launches (a point is one variant at one size). A point "
        "that reached the precision says nothing about the next launch: see “Where the noise is”.",
        (
            Column("Toolchain"),
            *(Column(name, "right") for name in names),
            Column("Warm-up messages discarded", "right"),
        ),
        tuple(rows),
    )


#: Why sizes lack samples, by status; `{}` is the smallest of them.
_LEFT_OUT = {
    "bounded": "not measured from {} on (bounded)",
    "budget": "not every size measured (budget), the smallest left out {}",
}


def bounded(curves: Curves, panels: Sequence[Panel]) -> tuple[Text, ...]:
    """Where a variant's curve ends before that of the others, one line each."""
    lines: list[Text] = []
    for panel in panels:
        ends: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        empty = curves.of(curves.points, panel).filter(samples=0)
        for point in empty.iter_rows(named=True):
            mine, size = ends[point["variant"], point["status"]], point["size_bytes"]
            mine[point["launch"]] = min(size, mine.get(point["launch"], size))
        for (variant, status), first in sorted(ends.items()):
            title = ARMS[variant].title if variant in ARMS else variant
            least = units.size(min(first.values()))
            count = f"{len(first)} of {panel.launches} launches"
            told = _LEFT_OUT.get(status, f"not measured ({status}), first {{}}").format(least)
            lines.append((f"{panel.label}, {title}: {told}, {count}",))
    return tuple(lines)


def buffers(panels: Sequence[Panel]) -> Text:
    """Whether send and receive share a buffer: it changes the curve of large messages."""
    shared = sorted({panel.case for panel in panels if panel.case.endswith("/same")})
    apart = sorted({panel.case for panel in panels} - set(shared))
    told = []
    if shared:
        told.append(f"Send and receive share one buffer, warm in cache, in: {', '.join(shared)}.")
    if apart:
        told.append(f"Each message comes from memory not touched lately in: {', '.join(apart)}.")
    return (" ".join(told) + " This changes the curve of large messages.",)


def _batches(curves: Curves, panel: Panel) -> dict[str, Cell]:
    """Messages in a sample at 1 byte: least to most over launches, by variant."""
    found: dict[str, list[int]] = defaultdict(list)
    first = curves.of(curves.points, panel, size_bytes=1)
    for variant, batch in first.select("variant", "batch").iter_rows():
        if batch:
            found[variant].append(batch)
    return {variant: Cell(units.counts(many)) for variant, many in found.items()}
