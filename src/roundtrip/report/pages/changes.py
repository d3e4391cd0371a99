"""What differs between a night and the one before it: recorded facts, and the nodes of a series.

A set of nodes that was in use before is no change: detection knows the level of each set.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from roundtrip.collect.pseudonyms import STABLE
from roundtrip.report.pages.series import Point

#: What stands where a fact was not recorded.
NONE = "not set"
NODE_SET = "node set"
#: Of larger sets, only the nodes that differ are named, and so many of them.
_NAMED = 4
_Nodes = frozenset[str]
_Facts = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Change:
    """A fact with its values of the night before and of this night.

    It is one of `nodes`, or of the environment `subject`, or of the whole site.
    """

    subject: str
    name: str
    before: str
    after: str
    nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        about = f" ({self.subject})" if self.subject else ""
        return f"{self.name}{about}: {self.before} \N{RIGHTWARDS ARROW} {self.after}{self.where}"

    @property
    def where(self) -> str:
        """`` on node-3fa2c1d9`` or `` on 3 nodes``; "" if it is of no node."""
        if not self.nodes:
            return ""
        return f" on {self.nodes[0]}" if len(self.nodes) == 1 else f" on {len(self.nodes)} nodes"


def by_night(provenance: pl.DataFrame, nights: Sequence[str]) -> dict[str, list[Change]]:
    """Of each of `nights`, which are in time order, what differs from the one before.

    A night without any fact (an imported one) is passed over: nothing is known of it, which is
    no change.
    """
    facts: dict[str, dict[tuple[str, str], str]] = {}
    rows = provenance.select("night", "subject", "name", "value").sort(pl.all())
    for night, subject, name, value in rows.iter_rows():
        here = facts.setdefault(night, {})
        at = (subject, name)
        here[at] = f"{here[at]}, {value}" if at in here and here[at] != value else value
    found: dict[str, list[Change]] = {}
    before: _Facts | None = None
    for night in nights:
        after = facts.get(night)
        if after is None:
            continue
        if before is not None and (changed := merged(_differences(before, after))):
            found[night] = changed
        before = after
    return found


def of_series(changes: Sequence[Change], subjects: Collection[str]) -> list[Change]:
    """Those that concern a series: of the site, of its environment, of its nodes alone."""
    found = []
    for one in changes:
        nodes = tuple(node for node in one.nodes if node in subjects)
        if nodes or (not one.nodes and (not one.subject or one.subject in subjects)):
            found.append(replace(one, nodes=nodes))
    return found


def merged(changes: Iterable[Change]) -> list[Change]:
    """The same, with one change for all nodes that changed alike; in the order given."""
    nodes: dict[Change, set[str]] = {}
    for one in changes:
        nodes.setdefault(replace(one, nodes=()), set()).update(one.nodes)
    return [replace(one, nodes=tuple(sorted(its))) for one, its in nodes.items()]


def _differences(before: _Facts, after: _Facts) -> Iterator[Change]:
    """A subject that only one night has (a node that was not used) is no change of facts."""
    subjects = {one for one, _ in before} & {one for one, _ in after}
    for subject, name in sorted({*before, *after}):
        was, now = (facts.get((subject, name), NONE) for facts in (before, after))
        if subject in subjects and was != now:
            is_node = re.fullmatch(STABLE, subject)
            nodes = (subject,) if is_node else ()
            yield Change("" if is_node else subject, name, was, now, nodes)


def of_nodes(points: Iterable[Point]) -> dict[str, Change]:
    """By night, how the nodes of a series, which it never had before, differ from the last ones.

    `points` are those of one series, in time order.  All its launches of a night count
    together.  A night whose nodes are not known is passed over.
    """
    found: dict[str, Change] = {}
    seen: set[_Nodes] = set()
    before: _Nodes = frozenset()
    for night, after in _by_night(points).items():
        if seen and after not in seen:
            found[night] = Change("", NODE_SET, *_sides(before, after))
        seen.add(after)
        before = after
    return found


def _by_night(points: Iterable[Point]) -> dict[str, _Nodes]:
    nodes: dict[str, _Nodes] = {}
    for point in points:
        if point.nodes:
            nodes[point.night] = nodes.get(point.night, frozenset()).union(point.nodes.split("+"))
    return nodes


def _sides(before: _Nodes, after: _Nodes) -> tuple[str, str]:
    if max(len(before), len(after)) <= _NAMED:
        return _listed(before), _listed(after)
    same = f"{len(before & after)} nodes in common, and "
    return same + _listed(before - after), _listed(after - before)


def _listed(nodes: Collection[str]) -> str:
    named = sorted(nodes)[:_NAMED]
    more = [f"{len(nodes) - _NAMED} more"] if len(nodes) > _NAMED else []
    return ", ".join([*named, *more]) or "none"
