"""Effects of nodes as tables: of those that stand out, and of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from roundtrip.history import nodes as measured
from roundtrip.report import nodes as words
from roundtrip.report import units
from roundtrip.report.blocks import (
    BY_ROW,
    COUNT,
    PURE,
    Block,
    Cell,
    Column,
    Fold,
    Table,
    text_cells,
)
from roundtrip.report.origins import Origins
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
                f"{words.size(each.tested.effect, words.of(each).measure)}{words.interval(each)}",
                series=_traced(origins, words.of(each), each.tested.unit.name),
            ),
            *text_cells(
                *map(str, (each.tested.launches, each.tested.partners, each.tested.nights)),
                words.chance(each.q),
            ),
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
                Column("Effect", "right", BY_ROW),
                *(Column(name, "right", COUNT) for name in ("Launches", "Partners", "Nights")),
                Column("q", "right", PURE),
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
                Cell(words.size(one.effect, name.measure), series=series),
                *text_cells(str(one.launches), str(one.nights)),
                Cell(words.size(one.newest, name.measure), series=series),
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
                Column("Effect", "right", BY_ROW),
                Column("Launches", "right", COUNT),
                Column("Nights", "right", COUNT),
                Column("In its newest night", "right", BY_ROW),
            )
            yield Fold(f"Effects of all nodes: {told}", (Table(caption, columns, rows),))


def _level(name: measured.Name) -> str:
    if name.unit == "s":
        return f"{units.number(name.level * 1e6)}\N{NO-BREAK SPACE}µs"
    if name.unit == "1":
        return f"mean over median {units.number(name.level)}"
    return f"{units.number(name.level)}\N{NO-BREAK SPACE}{name.unit}"
