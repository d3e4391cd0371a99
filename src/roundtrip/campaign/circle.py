"""Round-robin schedule by the circle method: each pair once, and no node twice in a round.

The circle method: one stays, the others turn by one place a round.  An odd one out has a bye.
Kirkman, "On a problem in combinations", 1847; Wallis, "One-Factorizations", 1997.
"""

from __future__ import annotations


def rounds(players: int) -> int:
    """How many rounds it takes until each pair of `players` had its launch."""
    return players - 1 + players % 2 if players > 1 else 0


def meetings(players: int, number: int) -> list[tuple[int, int]]:
    """The pairs of round `number` of `rounds(players)`, numbers of players, the smaller first."""
    turning = rounds(players)
    if not 0 <= number < turning:
        raise ValueError(f"round {number} of {turning}")
    met = [((number + step) % turning, (number - step) % turning) for step in range(1, turning)]
    found = {(min(pair), max(pair)) for pair in met}
    if players % 2 == 0:  # else the one in the middle has a bye
        found.add((number, players - 1))
    return sorted(found)
