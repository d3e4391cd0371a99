"""What is found of nodes, switches and links."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from roundtrip.stats.nodes.launches import Kind, Unit


@dataclass(frozen=True)
class Tested:
    """One unit in one window of nights.  `effect`, `low`, `high`: logarithms, more is worse.

    `low` and `high` are None with too few launches for an interval.  `p`: how likely healthy
    launches alone are so bad; `newest`: the median effect in the newest night in which it was
    measured.  `nights` were used, of the `window`.
    """

    unit: Unit
    effect: float
    low: float | None
    high: float | None
    p: float
    launches: int
    partners: int
    nights: int
    window: int
    newest: float


@dataclass(frozen=True)
class Evidence:
    """Why a unit is named in one measure: its window with the least `q`."""

    measure: Hashable
    tested: Tested
    q: float


@dataclass(frozen=True)
class Named:
    """A node, switch or link that stands out; the strongest evidence comes first."""

    kind: Kind
    name: str
    members: tuple[str, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class TooFew:
    """A node with too few launches for a verdict, and how many more rounds would do."""

    name: str
    launches: int
    rounds: int


@dataclass(frozen=True)
class Sight:
    """What one measure can show: all nodes in all nights of the widest window.

    `effects` by node, with their intervals.  `would_see`: the effect of a node, a logarithm, that
    would be told with the power asked for; None if these launches can show none, and then `rounds`
    more would do.  `spread`: how far healthy nodes differ, a logarithm.  `measured`: the number of
    nodes with launches, also those with too few for a verdict.
    """

    effects: tuple[Tested, ...]
    would_see: float | None
    rounds: int
    spread: float
    measured: int


@dataclass(frozen=True)
class Judged:
    """All that is found.  `nodes` were measured, `tests` were made."""

    named: tuple[Named, ...]
    too_few: tuple[TooFew, ...]
    sight: Mapping[Hashable, Sight]
    nodes: tuple[str, ...]
    tests: int
