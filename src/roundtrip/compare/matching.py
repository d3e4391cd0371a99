"""Which case of one side is compared with which of the other.

Both launched the same check with the same parameters.  What the sides were chosen by may differ;
everything else that names a case is the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from roundtrip.compare.side import Side, Unit

#: What may differ besides, if the sides were chosen by this.
_FREES = {
    "toolchain": ("toolchain",),
    "mpi": ("toolchain",),
    "boost": ("toolchain",),
    "spack": ("toolchain",),
    "partition": ("partition",),
    "site": ("site", "partition", "toolchain"),
}
_NAMED = ("site", "partition", "toolchain")
_ALIKE = (*_NAMED, "mpi", "boost", "compiler", "flags", "spack")


@dataclass(frozen=True)
class Matched:
    """Pairs (base, new); cases of one side alone; and why some were not compared."""

    pairs: tuple[tuple[Unit, Unit], ...]
    removed: tuple[Unit, ...]
    added: tuple[Unit, ...]
    refused: tuple[str, ...]


def match(base: Side, new: Side) -> Matched:
    """Match the cases of `base` with those of `new`, each with one at most."""
    free = _free(base, new)
    ones, others = _grouped(base.units), _grouped(new.units)
    pairs: list[tuple[Unit, Unit]] = []
    refused: list[str] = []
    for what in dict.fromkeys([*ones, *others]):
        mine, theirs = ones[what], others[what]
        pairs += [
            (one, other)
            for one in mine
            if (other := _best(one, theirs, free)) and _best(other, mine, free) is one
        ]
        if {unit.kind for unit in mine}.isdisjoint(unit.kind for unit in theirs):
            refused += [_not_alike(mine[0], theirs[0])] if mine and theirs else []
    taken = {id(unit) for pair in pairs for unit in pair}
    return Matched(
        tuple(pairs),
        tuple(unit for unit in base.units if id(unit) not in taken),
        tuple(unit for unit in new.units if id(unit) not in taken),
        tuple(refused),
    )


def _grouped(units: Sequence[Unit]) -> dict[tuple[str, str, str], list[Unit]]:
    groups: dict[tuple[str, str, str], list[Unit]] = defaultdict(list)
    for unit in units:
        groups[unit.what].append(unit)
    return groups


def _free(base: Side, new: Side) -> set[str]:
    """What may differ between the two names of a case."""
    free = {name for key in (*base.chosen, *new.chosen) for name in _FREES.get(key, ())}
    if {unit.site for unit in base.units}.isdisjoint(unit.site for unit in new.units):
        free |= set(_FREES["site"])
    names = [{unit.toolchain for unit in side.units} for side in (base, new)]
    if len(names[0]) == len(names[1]) == 1:
        free.add("toolchain")
    return free


def _best(one: Unit, others: Sequence[Unit], free: Collection[str]) -> Unit | None:
    """The one that is most like `one`; None if there is none, or if two are as like."""
    legal = [
        other
        for other in others
        if other.kind == one.kind
        and all(getattr(one, name) == getattr(other, name) for name in _NAMED if name not in free)
    ]
    likeness = [sum(getattr(one, n) == getattr(other, n) for n in _ALIKE) for other in legal]
    if not legal or likeness.count(max(likeness)) > 1:
        return None
    return legal[likeness.index(max(likeness))]


def _not_alike(one: Unit, other: Unit) -> str:
    kinds = " and ".join(unit.kind or "measured" for unit in (one, other))
    case = f"{one.check}, {one.parameters}"
    return f"{case}: {kinds}: what is emulated or simulated is compared with its like only"
