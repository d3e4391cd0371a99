"""Effects of nodes as tables: of those that stand out, and of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from roundtrip.history import nodes as measured
from roundtrip.report import nodes as words
from roundtrip.report import units
from roundtrip.report.blocks import (
    Block,
    Cell,
    Column,
    Fold,
    Table,
    text_cells,
)
from roundtrip.report.origins import Origins
from roundtrip.report.units import Unit
from roundtrip.stats.nodes.verdicts import Judged


def evidence(found: Judged, origins: Origins, marks: Mapping[str, str]) -> Iterator[Block]:
    """Why each unit is named: a row for each measure; `marks`: what is emulated, by environment."""
    rows = [
        (
            Cell(one.name, "bad"),
            *text_cells(
                words.what_of(words.of(each)),
                words.where(words.of(each), marks),
            ),
            Cell(
                (
                    *words.effect(each.tested.effect, words.of(each).measure),
                    words.interval(each),
                ),
                unit=Unit.PERCENT,
                series=_traced(origins, words.of(each), each.tested.unit.name),
            ),
            *(
                Cell(units.count(one))
                for one in (each.tested.launches, each.tested.partners, each.tested.nights)
            ),
            Cell(words.chance(each.q)),
        )
        for one in found.named
        for each in one.evidence
    ]
    if rows:
        yield Table(
            "What stands out, and why. Effects are those of the node alone, over what is usual "
            "there: median over its launches with the rank interval. “q”: the chance of a false "
            "discovery, by all launches together. It names a node, also where few launches saw no "
            "effect, so that the interval holds none.",
            (
                *(Column(name) for name in ("Node, switch or link", "Measure", "Where")),
                Column("Effect", "right"),
                *(Column(name, "right") for name in ("Launches", "Partners", "Nights")),
                Column("q", "right"),
            ),
            tuple(rows),
        )


def _traced(origins: Origins, of: measured.Name, unit: str) -> str:
    """The series of a node in a measure, as `Cell.series`; "" for a switch or a link."""
    case_id, case = measured.case(of)
    return origins.key([case_id], 0, case=case, variant=unit, phase=of.measure)


def effects(
    found: Judged, origins: Origins, switches: Mapping[str, str], marks: Mapping[str, str]
) -> Iterator[Block]:
    """Every node's effect in every measure, the worst first; with its switch if any is known.

    `switches` go by node, `marks`, what is emulated, by environment.
    """
    sick = {member for one in found.named for member in one.members}
    has_switches = any(switches.values())
    for name, sight in found.sight.items():
        assert isinstance(name, measured.Name)  # noqa: S101  every measure here has such a name
        ordered = sorted(sight.effects, key=lambda one: -one.effect)
        rows = tuple(
            (
                Cell(one.unit.name, "bad" if one.unit.name in sick else "plain"),
                *text_cells(*([switches[one.unit.name] or units.NOTHING] if has_switches else [])),
                Cell(words.effect(one.effect, name.measure), unit=Unit.PERCENT, series=series),
                Cell(units.count(one.launches)),
                Cell(units.count(one.nights)),
                Cell(words.effect(one.newest, name.measure), unit=Unit.PERCENT, series=series),
            )
            for one in ordered
            for series in (_traced(origins, name, one.unit.name),)
        )
        if rows:
            told = f"{words.what_of(name).capitalize()}, {words.where(name, marks)}."
            see = words.size(sight.would_see, name.measure) if sight.would_see else "nothing"
            caption = f"{told} Usual: {_level(name)}. An effect of {see} would have been seen."
            columns = (
                Column("Node"),
                *([Column("Switch")] if has_switches else []),
                Column("Effect", "right"),
                Column("Launches", "right"),
                Column("Nights", "right"),
                Column("In its newest night", "right"),
            )
            yield Fold(f"Effects of all nodes: {told}", (Table(caption, columns, rows),))


def _level(name: measured.Name) -> str:
    if name.unit == "s":
        return f"{units.number(name.level * 1e6)}\N{NO-BREAK SPACE}µs"
    if name.unit == "1":
        return f"mean over median {units.number(name.level)}"
    return f"{units.number(name.level)}\N{NO-BREAK SPACE}{name.unit}"
