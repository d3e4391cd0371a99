"""On which nodes a series was measured, and since when on others.

A set that was in use before is no change: detection knows the level of each set.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from roundtrip.report.pages.changes import Change

NAME = "node set"
_Nodes = frozenset[str]
#: Of larger sets, only the nodes that differ are named, and so many of them.
_NAMED = 4


def changes(points: pl.DataFrame) -> dict[str, Change]:
    """By night, how the nodes of a series, which it never had before, differ from the last ones.

    `points` are rows of NIGHTS of one series, in time order.  All its launches of a night count
    together.  A night whose nodes are not known is passed over.
    """
    found: dict[str, Change] = {}
    seen: set[_Nodes] = set()
    before: _Nodes = frozenset()
    for night, after in _by_night(points).items():
        if seen and after not in seen:
            found[night] = Change("", NAME, *_told(before, after))
        seen.add(after)
        before = after
    return found


def _by_night(points: pl.DataFrame) -> dict[str, _Nodes]:
    nodes: dict[str, _Nodes] = {}
    for night, names in points.select("night", "nodes").iter_rows():
        if names:
            nodes[night] = nodes.get(night, frozenset()).union(names.split("+"))
    return nodes


def _told(before: _Nodes, after: _Nodes) -> tuple[str, str]:
    if max(len(before), len(after)) <= _NAMED:
        return _listed(before), _listed(after)
    same = f"{len(before & after)} nodes in common, and "
    return same + _listed(before - after), _listed(after - before)


def _listed(nodes: Collection[str]) -> str:
    named = sorted(nodes)[:_NAMED]
    more = [f"{len(nodes) - _NAMED} more"] if len(nodes) > _NAMED else []
    return ", ".join([*named, *more]) or "none"
