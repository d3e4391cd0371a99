"""Pairs of launches of two cases that were near each other in time: by round, or not at all.

A machine drifts: launch medians were found with a standard deviation of 14 % and a lag-1
autocorrelation of 0.7, while what is launched side by side drifts together.  In a round the order
is random, so that under the null each ratio is as likely to be r as 1/r, whatever the drift: that
is what the signed-rank test asks.  One block after the other has no such protection.  How often
one toolchain under two names is told apart from itself: ``python -m roundtrip.bench aa``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Launched:
    """A launch with the round it was of; `started` in UTC, ISO 8601, "" if nobody knows."""

    launch: str
    round: int
    started: str = ""


@dataclass(frozen=True)
class Pairing:
    """Pairs (launch of one, launch of the other), in the order of rounds.

    `rounds`: those in which either was launched; `first`: pairs of which the one came first;
    `refused`: why there are no pairs, else "".
    """

    pairs: tuple[tuple[str, str], ...]
    rounds: int
    first: int = 0
    refused: str = ""


def pair_by_round(one: Sequence[Launched], other: Sequence[Launched]) -> Pairing:
    """Pair the launches of two cases that shared a round; refuse if they shared none.

    Rounds that overlap in time are none, whatever they are called: they are of two campaigns put
    together.
    """
    mine, theirs = _by_round(one), _by_round(other)
    rounds = len(mine.keys() | theirs.keys())
    shared = sorted(mine.keys() & theirs.keys())
    if not shared:
        where = f"one in {_told(mine)}, the other in {_told(theirs)}"
        why = f"no round launched both ({where}): what was not interleaved cannot be compared"
        return Pairing((), rounds, refused=why)
    spans = [sorted((mine[number].started, theirs[number].started)) for number in shared]
    for (number, span), (_, after) in pairwise(zip(shared, spans, strict=True)):
        if span[0] and after[0] and span[1] > after[0]:
            why = (
                f"round {number} was not over when the next one began: launches that share a "
                "number were not interleaved, and cannot be compared"
            )
            return Pairing((), rounds, refused=why)
    return Pairing(
        tuple((mine[number].launch, theirs[number].launch) for number in shared),
        rounds,
        sum(mine[number].started < theirs[number].started for number in shared),
    )


def _by_round(launches: Sequence[Launched]) -> dict[int, Launched]:
    """The first launch of each round."""
    ordered = sorted(launches, key=lambda one: (one.started, one.launch), reverse=True)
    return {one.round: one for one in ordered}


def _told(rounds: dict[int, Launched]) -> str:
    if not rounds:
        return "no round"
    least, most = min(rounds), max(rounds)
    return f"round {least}" if least == most else f"rounds {least} to {most}"
