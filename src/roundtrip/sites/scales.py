"""Scales of launches, and the features by which a partition offers them.

The extras of a partition give its number of ``nodes``, and the ``cores`` and ``sockets`` of each;
`features` derives its features: ``nodes_4`` for at least four nodes, ``cores_4`` for at least four
cores a node.  ReFrame selects tests by features, because it cannot select them by numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NODES = {f"nodes_{count}": count for count in (2, 4, 8, 16)}
#: `pair`: two ranks; `node`: one node; `nodes_2` to `nodes_16`: 2 to 16 nodes; `all`: all nodes.
SCALES = ("pair", "node", *_NODES, "all")
#: Two ranks in a node, on one of its sockets or on two.
ON_SOCKETS = ("one-socket", "two-sockets")
#: A rank on every core, or one on every node.
ALL_CORES, ONE_PER_NODE = "all-cores", "one-per-node"
#: The feature of an environment whose times come from a model.
SIMULATED = "simulated"


def features(nodes: int | None, cores: int | None, sockets: int | None = None) -> list[str]:
    """Return features of `nodes` nodes with `cores` cores and `sockets` sockets; None: unknown."""
    counts = [2**power for power in range(1, 31)]
    return [
        f"{quantity}_{count}"
        for quantity, limit in (("nodes", nodes), ("cores", cores), ("sockets", sockets))
        for count in counts
        if count <= (limit or 0)
    ]


def features_for_ranks(ranks: int, per_node: int) -> list[str]:
    """Return the features that `ranks` ranks, `per_node` on each node, require of a partition.

    Every partition has two cores a node, and two nodes if it offers several.
    """
    nodes = -(-ranks // per_node)
    requirements = (("nodes", nodes), ("cores", per_node))
    return [f"{quantity}_{_power(count)}" for quantity, count in requirements if count > 2]


def features_for_scale(
    scale: str, placement: str, multi_node_feature: str = ONE_PER_NODE
) -> list[str]:
    """Return the features that a scale requires; several nodes require `multi_node_feature`."""
    if scale == "pair":
        return [ONE_PER_NODE if placement == ONE_PER_NODE else "shared-memory"]
    cores = ["cores_2"] if placement == ALL_CORES else []
    if scale == "node":
        return ["shared-memory", *cores]
    return [multi_node_feature, "nodes_2" if scale == "all" else scale, *cores]


def size(scale: str, placement: str, extras: Mapping[str, Any]) -> tuple[int, int]:
    """Return (nodes, ranks a node) of a scale on a partition with these `extras`."""
    ranks_per_node = 1 if placement == ONE_PER_NODE else int(extras.get("cores", 2))
    if scale == "pair":
        return (2, 1) if placement == ONE_PER_NODE else (1, 2)
    if scale == "all":
        return int(extras["nodes"]), ranks_per_node
    return _NODES.get(scale, 1), ranks_per_node


def shortage(feature: str, extras: Mapping[str, Any]) -> str | None:
    """Return why a partition with these `extras` lacks `feature`; None if it is no size."""
    match = re.fullmatch(r"(nodes|cores|sockets)_\d+", feature)
    if match is None:
        return None
    count = extras.get(match[1])
    return f"it has {count}" if count else f"it does not say how many {match[1]} it has"


def _power(count: int) -> int:
    """Return the smallest power of two that is at least `count`."""
    return 1 << (count - 1).bit_length()
