"""What two sides were measured with, fact by fact, and which facts differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from roundtrip.collect.bundle_rows import NODE_FACTS, TITLES
from roundtrip.compare.side import Side, Unit
from roundtrip.report.sections.provenance import flat, revision

#: Facts of the machine that change without a cause, or that other facts repeat.
_PASSING = ("hostname", "load average", "steal share", "schema", "fingerprint")
#: Names of the facts of a toolchain, by the field of a unit.
_UNIT_FACTS = {
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
    """One thing that both sides recorded."""

    name: str
    base: str
    new: str

    @property
    def differs(self) -> bool:
        """Whether the two sides differ."""
        return self.base != self.new


def facts(base: Side, new: Side, pairs: Sequence[tuple[Unit, Unit]]) -> tuple[Fact, ...]:
    """Everything that is known of both sides' compared cases, toolchain first, then machine."""
    both = [
        dict(_facts(side, [pair[number] for pair in pairs]))
        for number, side in enumerate((base, new))
    ]
    names = dict.fromkeys([*both[0], *both[1]])
    return tuple(Fact(name, *(known.get(name, _UNKNOWN) for known in both)) for name in names)


def _facts(side: Side, units: Sequence[Unit]) -> Iterator[tuple[str, str]]:
    for field, name in _UNIT_FACTS.items():
        yield name, _joined(getattr(unit, field) for unit in units)
    launches = {str(row["launch"]) for unit in units for row in unit.launches}
    yield "nodes", _joined("+".join(sorted(row["hosts"] or ())) for row in _rows(units))
    yield "ranks", _joined(str(row["ranks"]) for row in _rows(units))
    for name, title in TITLES.items():
        values = [str(row[name]) for row in _rows(units) if row[name] is not None]
        if values:
            yield title, _joined(values)
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
    """What the kernels of the nodes of these launches reported."""
    nodes = side.data.nodes.filter(pl.col("launch").is_in(list(launches)))
    if nodes.is_empty():
        return
    for name in NODE_FACTS:
        yield f"{name} of the nodes", _joined(nodes[name].drop_nulls())
    adapters = nodes["adapters"].drop_nulls()
    yield "adapters of the nodes", _joined(one for some in adapters for one in some if one)


def _bindings(side: Side, launches: set[str]) -> Iterator[str]:
    """By launch: which processors each of its ranks may use."""
    placed = side.data.placement.filter(pl.col("launch").is_in(list(launches)))
    for _, ranks in placed.sort("launch", "rank").group_by("launch", maintain_order=True):
        sets = (",".join(map(str, cpus or ["any"])) for cpus in ranks["cpus"].to_list())
        yield "; ".join(f"rank {rank}: {cpus}" for rank, cpus in enumerate(sets))


def _installed(side: Side, environs: set[str]) -> Iterator[tuple[str, str]]:
    """How the toolchains start ranks, and what their installer recorded: origin, key, flags."""
    toolchains = side.data.environment.get("toolchains.json")
    recorded: dict[str, list[str]] = {}
    for environ in sorted(environs):
        entry = toolchains.get(environ) if isinstance(toolchains, dict) else None
        for name, value in flat(entry if isinstance(entry, dict) else {}):
            if name.startswith(_STARTED) or (
                name.startswith("installed ") and not name.endswith((" schema", " name"))
            ):
                recorded.setdefault(name.removeprefix("reframe extras "), []).append(value)
    for name, values in recorded.items():
        yield name, _joined(values)


def _joined(values: Iterable[str]) -> str:
    return "; ".join(sorted({value for value in values if value})) or _UNKNOWN
