"""What two sides were measured with, fact by fact, and which facts differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from roundtrip.collect.tables.rows import NODE_FACTS, TITLES
from roundtrip.compare.side import Side, Unit
from roundtrip.report.sections.provenance import flat, revision

#: Of the machine, what changes without a cause, or is told elsewhere.
_PASSING = ("hostname", "load average", "steal share", "schema", "fingerprint")
#: How facts of a toolchain are called, by the field of a unit.
_OF_UNITS = {
    "site": "site",
    "partition": "partition",
    "toolchain": "toolchain",
    "mpi": "MPI library",
    "boost": "Boost",
    "compiler": "compiler",
    "flags": "flags",
    "spack": "Spack hash",
}
#: Of ReFrame's configuration of a toolchain, what is no path of one machine.
_STARTED = tuple(f"reframe extras {name}" for name in ("launcher", "transport"))
_UNKNOWN = "not recorded"


@dataclass(frozen=True)
class Fact:
    """What both sides tell of one thing."""

    name: str
    base: str
    new: str

    @property
    def differs(self) -> bool:
        """Whether the sides do not tell the same."""
        return self.base != self.new


def facts(base: Side, new: Side, pairs: Sequence[tuple[Unit, Unit]]) -> tuple[Fact, ...]:
    """Everything that is known of both sides' compared cases, toolchain first, then machine."""
    both = [
        dict(_facts(side, [pair[number] for pair in pairs]))
        for number, side in enumerate((base, new))
    ]
    names = dict.fromkeys([*both[0], *both[1]])
    return tuple(Fact(name, *(told.get(name, _UNKNOWN) for told in both)) for name in names)


def _facts(side: Side, units: Sequence[Unit]) -> Iterator[tuple[str, str]]:
    for field, name in _OF_UNITS.items():
        yield name, _joined(getattr(unit, field) for unit in units)
    launches = {str(row["launch"]) for unit in units for row in unit.launches}
    yield "nodes", _joined("+".join(sorted(row["hosts"] or ())) for row in _rows(units))
    yield "ranks", _joined(str(row["ranks"]) for row in _rows(units))
    for name, title in TITLES.items():
        told = [str(row[name]) for row in _rows(units) if row[name] is not None]
        if told:
            yield title, _joined(told)
    yield from _nodes(side, launches)
    yield "binding", _joined(_bindings(side, launches))
    yield "Roundtrip revision", revision(side.data)
    yield from _installed(side, {unit.toolchain for unit in units})
    host = side.data.environment.get("host.json")
    for name, value in flat(host if isinstance(host, dict) else {}):
        if not name.startswith(_PASSING):
            yield name, value


def _rows(units: Iterable[Unit]) -> Iterator[Any]:
    for unit in units:
        yield from unit.launches


def _nodes(side: Side, launches: set[str]) -> Iterator[tuple[str, str]]:
    """What the kernels of the nodes told these launches."""
    told = side.data.nodes.filter(pl.col("launch").is_in(list(launches)))
    for name in NODE_FACTS if told.height else ():
        yield f"{name} of the nodes", _joined(told[name].drop_nulls())
    if told.height:
        listed = told["adapters"].drop_nulls().to_list()
        yield "adapters of the nodes", _joined(one for adapters in listed for one in adapters)


def _bindings(side: Side, launches: set[str]) -> Iterator[str]:
    """By launch: which processors each of its ranks may use."""
    placed = side.data.placement.filter(pl.col("launch").is_in(list(launches)))
    for _, ranks in placed.sort("launch", "rank").group_by("launch", maintain_order=True):
        told = (",".join(map(str, cpus or ["any"])) for cpus in ranks["cpus"].to_list())
        yield "; ".join(f"rank {rank}: {cpus}" for rank, cpus in enumerate(told))


def _installed(side: Side, environs: set[str]) -> Iterator[tuple[str, str]]:
    """How the toolchains start ranks, and what their installer recorded: origin, key, flags."""
    told = side.data.environment.get("toolchains.json")
    recorded: dict[str, list[str]] = {}
    for environ in sorted(environs):
        entry = told.get(environ) if isinstance(told, dict) else None
        for name, value in flat(entry if isinstance(entry, dict) else {}):
            if name.startswith(_STARTED) or (
                name.startswith("installed ") and not name.endswith((" schema", " name"))
            ):
                recorded.setdefault(name.removeprefix("reframe extras "), []).append(value)
    for name, values in recorded.items():
        yield name, _joined(values)


def _joined(values: Iterable[str]) -> str:
    found = sorted({value for value in values if value})
    return "; ".join(found) if found else _UNKNOWN
