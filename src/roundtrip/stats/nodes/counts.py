"""Nodes whose launches go wrong more often than those elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import scipy


@dataclass(frozen=True)
class Oftener:
    """A node with (those that went wrong, all) of the launches on it, and of those elsewhere."""

    name: str
    here: tuple[int, int]
    elsewhere: tuple[int, int]


def oftener(launches: Sequence[tuple[Collection[str], bool]], level: float) -> list[Oftener]:
    """Nodes whose launches went wrong oftener than those elsewhere, by name.

    `launches`: the nodes of each, and whether it went wrong.  By Fisher's exact test, one-sided, at
    `level` over the number of nodes (Bonferroni).
    """
    names = sorted({name for nodes, _ in launches for name in nodes if name})
    found = []
    for name in names:
        here = [wrong for nodes, wrong in launches if name in nodes]
        rest = [wrong for nodes, wrong in launches if name not in nodes]
        both = ((sum(here), len(here)), (sum(rest), len(rest)))
        table = [(bad, count - bad) for bad, count in both]
        if scipy.stats.fisher_exact(table, alternative="greater").pvalue * len(names) < level:
            found.append(Oftener(name, *both))
    return found
