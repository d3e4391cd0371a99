"""Tables of what was measured elsewhere and stands beside a sweep over host speeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import (
    PURE,
    Block,
    Cell,
    Column,
    Heading,
    Items,
    Paragraph,
    Table,
    Text,
)
from roundtrip.studies import cells
from roundtrip.studies.npb import wan
from roundtrip.studies.npb.derived import CLASSES
from roundtrip.studies.npb.hostspeeds import Curves
from roundtrip.studies.npb.hostspeeds_figure import EMULATED, SIMULATED
from roundtrip.studies.npb.marks import Alone, Origin

_SAME = 1.1  # by how much parts of one processor's rates may differ and be called the same


def blocks(curves: Sequence[Curves]) -> list[Block]:
    """What was measured, where it is from, and what it says of a host speed; [] without marks."""
    origins = list(dict.fromkeys(origin for one in curves for origin in one.marks.origins))
    if not origins:
        return []
    found: list[Block] = [
        Heading(3, "Beside it, measured"),
        Paragraph(_APART),
        Items(tuple((f"{one.processor}: {one.label}.",) for one in origins)),
    ]
    if any(one.marks.alone for one in curves):
        told: list[Text] = [(text,) for origin in origins if (text := proportions(curves, origin))]
        found += [one_processor(curves), *([Items(tuple(told))] if told else [])]
    if any(one.marks.emulated for one in curves):
        found.append(over_the_link(curves))
    return found


def one_processor(curves: Sequence[Curves]) -> Table:
    """How fast one rank is at each benchmark, and the simulated speeds as parts of that."""
    rows = [
        (
            Cell(f"{one.name} on {mark.origin.processor} (measured; parts {SIMULATED})"),
            Cell(mark.toolchain),
            Cell(units.number(mark.mops)),
            Cell(str(mark.launches)),
            _part(even, mark.mops),
            _part(there, mark.mops),
        )
        for one in curves
        for even, there in [_found(one)]
        for mark in one.marks.alone
    ]
    return Table(
        "Measured: the rate of one rank alone, which is a different host speed for each benchmark "
        f"although the processor is the same. {SIMULATED}: break-even at the longest delay, and "
        "where the study's number is found, as parts of that rate.",
        (
            Column("Benchmark and processor"),
            Column("Toolchain"),
            Column("One rank, Mop/s", "right"),
            Column("Launches", "right", PURE),
            Column("Break-even at", "right", PURE),
            Column("The study at", "right", PURE),
        ),
        tuple(rows),
    )


def over_the_link(curves: Sequence[Curves]) -> Table:
    """Every emulated point, also those that the figure leaves out."""
    rows = [
        (
            Cell(f"{one.name}, {mark.setup}, +{mark.rtt_ms:g} ms ({EMULATED}, measured)"),
            Cell(mark.toolchain),
            Cell(units.number(mark.mops)),
            Cell(_speedup(mark.speedup, mark.low, mark.high)),
            Cell(str(mark.launches)),
            Cell("separated times" if mark.is_separated else "rates"),
        )
        for one in curves
        for mark in one.marks.emulated
    ]
    return Table(
        f"{EMULATED}, measured, not simulated: speed-up of two clusters over one with half of the "
        "ranks, median and 95 % interval over rounds. From separated times where ranks share "
        "processors: compute as on processors of their own, a lower bound.",
        (
            Column("Benchmark and link"),
            Column("Toolchain"),
            Column("One rank, Mop/s", "right"),
            Column("Speed-up", "right", PURE),
            Column("Rounds", "right", PURE),
            Column("From"),
        ),
        tuple(rows),
    )


def proportions(curves: Sequence[Curves], origin: Origin) -> str:
    """By what the study's numbers lie apart as speeds, and as parts of one processor's rates.

    "" unless two of one class are found.
    """
    found = list(_studied(curves, origin))
    if len(found) < 2:
        return ""
    speeds = [speed for _, _, speed in found]
    parts = [speed / mark.mops for _, mark, speed in found]
    each = "; ".join(
        f"{one.name} {wan.PUBLISHED[one.benchmark]:.2f} at {units.number(speed)} Mflop/s, "
        f"{units.percent(speed / mark.mops)} of {units.number(mark.mops)} Mop/s"
        for one, mark, speed in found
    )
    apart, left = max(speeds) / min(speeds), max(parts) / min(parts)
    given = "gives all of them" if left < _SAME else "does not give all of them"
    return (
        f"The study's numbers ({SIMULATED}): {each}. As host speeds they lie a factor "
        f"{units.number(apart, 2)} apart, as parts of what one rank of {origin.processor} does "
        f"{units.number(left, 2)}. So one processor with these proportions {given}. What remains "
        "is open, because the study's processor, network, class and protocol are not known."
    )


def _studied(curves: Sequence[Curves], origin: Origin) -> Iterator[tuple[Curves, Alone, float]]:
    """Benchmarks of the largest class whose number of the study is found, with the first rate of
    that origin."""
    largest = max((one.problem_class for one in curves), key=CLASSES.index, default="")
    for one in curves:
        mark = next((mark for mark in one.marks.alone if mark.origin == origin), None)
        there = _found(one)[1]
        if mark and there and one.problem_class == largest:
            yield one, mark, there


def _found(one: Curves) -> tuple[float | None, float | None]:
    """Host speeds of break-even and of the study's number, at the longest delay."""
    far = one.rtts[-1]
    published = wan.PUBLISHED.get(one.benchmark) if far == wan.STUDY_RTT_MS else None
    return one.speed_at(far, 1.0), one.speed_at(far, published) if published else None


def _part(speed: float | None, mops: float) -> Cell:
    return cells.NONE if speed is None else Cell(units.percent(speed / mops))


def _speedup(median: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"{units.number(median)} (no CI)"
    return f"{units.number(median)} [{units.number(low)}, {units.number(high)}]"


_APART: Text = (
    "What follows was measured in other campaigns, by real programs, and copied into this bundle "
    "with its origin. It is drawn beside the simulation for orientation: nothing is claimed of one "
    "from the other.",
)
