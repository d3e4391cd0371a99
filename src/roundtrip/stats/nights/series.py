"""The nights of many series side by side, without holes.

Nights that were not measured, or were left out, are dropped, and the rest of each series moves
together: how many nights lie between two measurements plays no part but in drifts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Series:
    """Arrays of shape [series, nights]; the end of a short row is NaN, night -1, set -1.

    `values` are logarithms, `night` their places in the order of the site's nights, `node_set` the
    number of the node set within the row.  Set -1 is a night that no other is comparable with.
    """

    values: np.ndarray
    night: np.ndarray
    node_set: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Number of nights of each row."""
        count: np.ndarray = np.isfinite(self.values).sum(axis=1)
        return count

    def rows(self, chosen: np.ndarray) -> Series:
        """Only the rows `chosen`, an array of indices or a mask."""
        return Series(self.values[chosen], self.night[chosen], self.node_set[chosen])

    def keep(self, kept: np.ndarray) -> Series:
        """Only the nights where `kept`; the others are dropped, and the rest moves together."""
        kept = kept & np.isfinite(self.values)
        order = np.argsort(~kept, axis=1, kind="stable")
        longest = int(kept.sum(axis=1).max(initial=0))
        there = np.take_along_axis(kept, order, 1)[:, :longest]

        def moved(cells: np.ndarray, filler: float) -> np.ndarray:
            return np.where(there, np.take_along_axis(cells, order, 1)[:, :longest], filler)

        return replace(
            self,
            values=moved(self.values, np.nan),
            night=moved(self.night, -1),
            node_set=moved(self.node_set, -1),
        )


def pack(logs: np.ndarray, nodes: np.ndarray, sets_most: int) -> Series:
    """Series from a table of nights [series, nights]: NaN is a night that does not count.

    The `sets_most` node sets that a row used most often are numbered from 0 in that order; "not
    known" (-1 in `nodes`) counts as one of them.  Nights on others are set -1.  If these are more
    than half of a row, the site hands out nodes at random: then the row has one set, and what
    differs between nodes is part of its noise.
    """
    logs = np.where(np.isfinite(logs), logs, np.nan)
    numbered = np.full(logs.shape, -1)
    for row in range(logs.shape[0]):
        there = np.isfinite(logs[row])
        if not there.any():
            continue
        _, place, count = np.unique(nodes[row, there], return_inverse=True, return_counts=True)
        rank = np.empty(count.size, dtype=int)
        rank[np.argsort(-count, kind="stable")] = np.arange(count.size)
        ranked = rank[place]
        rare = ranked >= sets_most
        numbered[row, there] = 0 if rare.mean() > 0.5 else np.where(rare, -1, ranked)
    night = np.broadcast_to(np.arange(logs.shape[1]), logs.shape)
    return Series(logs, night, numbered).keep(np.isfinite(logs))
