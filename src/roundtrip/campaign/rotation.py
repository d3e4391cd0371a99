"""Which pairs of nodes are launched tonight: some rounds of a round robin over the nights.

A campaign with ``nodes = "all"`` launches checks of two nodes on pairs of nodes, and checks of one
node on each node alone.  In a round no node takes part twice.  Pairs follow `pairs_of`; alone, half
of the nodes make a round.  The tournament is one of all nodes of a partition, whether they work
tonight or not, so that it stays the same when one is drained.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.campaign.matrix import Expected
from roundtrip.campaign.meeting import Meeting
from roundtrip.campaign.nodes import Node
from roundtrip.errors import UserError

#: In the tree of a run: the plan of its night.
FILE = Path("env", "pairs.json")


@dataclass(frozen=True)
class Tournament:
    """Of the nodes of a partition, `size` at a time; `before` says how often each round was held,
    `rounds` are tonight's."""

    size: int
    hosts: tuple[str, ...]
    before: tuple[int, ...]
    rounds: tuple[int, ...]

    def meetings(self, lost: frozenset[str] = frozenset()) -> list[Meeting]:
        """Tonight's, without those of a node in `lost`."""
        return [
            Meeting(number, night, tuple(self.hosts[place] for place in places))
            for night, number in enumerate(self.rounds, 1)
            for places in _places(self.size, len(self.hosts), number)
            if not lost & {self.hosts[place] for place in places}
        ]


@dataclass(frozen=True)
class Plan:
    """A night: the tournaments of each partition, and the meetings that can be held."""

    tournaments: Mapping[str, tuple[Tournament, ...]]
    meetings: Mapping[str, tuple[Meeting, ...]]

    def of(self, item: Expected) -> tuple[Meeting, ...]:
        """The meetings that a case is launched for."""
        mine = self.meetings[item.case.partition]
        return tuple(one for one in mine if len(one.hosts) == item.nodes)

    def write(self, run_dir: Path) -> None:
        """Into the tree of the run."""
        told = {
            partition: {
                "tournaments": [asdict(one) for one in tournaments],
                "pairs": [asdict(one) for one in self.meetings[partition]],
            }
            for partition, tournaments in self.tournaments.items()
        }
        file = run_dir / FILE
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"schema": 1, "partitions": told}, indent=1) + "\n")


def plan(
    expected: Sequence[Expected],
    nodes: Mapping[str, Sequence[Node]],
    budget: int | None,
    last: Path | None,
) -> Plan:
    """The night of `expected` on the `nodes` of each partition.

    `budget` is the number of rounds, None for all; `last` is the tree of the last night, where
    there is one: rounds that were held least often come first.  UserError if no two nodes of a
    partition work.
    """
    sizes: dict[str, set[int]] = {}
    for item in expected:
        sizes.setdefault(item.case.partition, set()).add(item.nodes)
    tournaments, meetings = {}, {}
    for partition, found in sizes.items():
        hosts = tuple(node.name for node in nodes[partition])
        lost = {node.name: node for node in nodes[partition] if node.lost}
        if len(hosts) - len(lost) < max(found):
            why = "; ".join(f"{name} is {node.state}" for name, node in lost.items())
            raise UserError(
                f"partition '{partition}' has {len(hosts) - len(lost)} of {len(hosts)} nodes to "
                f"measure; {max(found)} are needed{f': {why}' if why else ''}"
            )
        tournaments[partition] = tuple(
            _tonight(size, hosts, budget, _held(last, partition, size)) for size in sorted(found)
        )
        meetings[partition] = tuple(
            one for each in tournaments[partition] for one in each.meetings(frozenset(lost))
        )
    return Plan(tournaments, meetings)


def meeting(night: Plan, expected: Sequence[Expected]) -> tuple[Expected, ...]:
    """The cases with the meetings that each is launched for."""
    return tuple(replace(item, meetings=night.of(item)) for item in expected)


def each(expected: Sequence[Expected]) -> list[Expected]:
    """The cases, one for each of its meetings."""
    return [
        one
        for item in expected
        for one in ([replace(item, meetings=(m,)) for m in item.meetings] or [item])
    ]


def read(run_dir: Path) -> Plan:
    """The night that the run of a tree began with; UserError if it cannot be read."""
    file = run_dir / FILE
    try:
        told = files.read_json(file)["partitions"]
        return Plan(
            {name: tuple(map(_tournament, one["tournaments"])) for name, one in told.items()},
            {name: tuple(map(_meeting, one["pairs"])) for name, one in told.items()},
        )
    except (KeyError, TypeError):
        raise UserError("not the plan of a night: start a new run", file) from None


def newest(folder: Path) -> Path | None:
    """The newest run in `folder` that has such a plan; None without one."""
    found = sorted(folder.glob(f"*/{FILE}"))
    return found[-1].parents[1] if found else None


def _tonight(
    size: int, hosts: tuple[str, ...], budget: int | None, held: Tournament | None
) -> Tournament:
    total = rounds_of(len(hosts)) if size == 2 else min(2, len(hosts))
    before = held.before if held and held.hosts == hosts else (0,) * total
    chosen = sorted(range(total), key=lambda number: (before[number], number))
    return Tournament(size, hosts, before, tuple(sorted(chosen[: budget or total])))


def _held(run_dir: Path | None, partition: str, size: int) -> Tournament | None:
    """The tournament of the night in `run_dir`, that night counted as held where it was; None
    without one, as where the plan is lost: then all begins again."""
    if run_dir is None:
        return None
    try:
        last = read(run_dir)
    except UserError:
        return None
    for one in last.tournaments.get(partition, ()):
        if one.size == size:
            planned = Counter(m.pair_round for m in last.meetings[partition] if _is(m, size))
            came = Counter(pair[0] for pair in _came(run_dir, partition, size))
            held = [planned[n] == 0 or 2 * came[n] >= planned[n] for n in one.rounds]
            before = list(one.before)
            for number, was in zip(one.rounds, held, strict=True):
                before[number] += was
            return Tournament(size, one.hosts, tuple(before), ())
    return None


def _is(meeting: Meeting, size: int) -> bool:
    return len(meeting.hosts) == size


def _came(run_dir: Path, partition: str, size: int) -> set[tuple[int, tuple[str, ...]]]:
    """Round and hosts of the launches of a night that passed, each pair once."""
    found = set()
    for file in run_dir.glob(f"rounds/*/output/*/{partition}/*/*/case.json"):
        case: Any = files.read_json(file)
        hosts = tuple(case.get("hosts", ()))
        if len(hosts) == size:
            found.add((case["parameters"]["pair_round"], hosts))
    return found


def _places(size: int, count: int, number: int) -> list[tuple[int, ...]]:
    if size == 1:
        return [(place,) for place in range(number, count, 2)]
    return list(pairs_of(count, number))


def _tournament(told: Mapping[str, Any]) -> Tournament:
    lists = (tuple(told[name]) for name in ("hosts", "before", "rounds"))
    return Tournament(told["size"], *lists)


def _meeting(told: Mapping[str, Any]) -> Meeting:
    return Meeting(told["pair_round"], told["pair_night_round"], tuple(told["hosts"]))


def rounds_of(players: int) -> int:
    """How many rounds it takes until each pair of `players` had its launch."""
    return players - 1 + players % 2 if players > 1 else 0


def pairs_of(players: int, number: int) -> list[tuple[int, int]]:
    """The pairs of round `number`, numbers of players, the smaller first; by the circle method.

    One stays, the others turn by one place a round.  An odd one out has a bye.
    Kirkman, "On a problem in combinations", 1847; Wallis, "One-Factorizations", 1997.
    """
    turning = rounds_of(players)
    if not 0 <= number < turning:
        raise ValueError(f"round {number} of {turning}")
    met = [((number + step) % turning, (number - step) % turning) for step in range(1, turning)]
    found = {(min(pair), max(pair)) for pair in met}
    if players % 2 == 0:  # else the one in the middle has a bye
        found.add((number, players - 1))
    return sorted(found)
