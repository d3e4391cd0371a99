"""Pair launches of two cases that are near each other in time: by round, or not at all.

A machine drifts: launch medians had a standard deviation of 14 % and a lag-1 autocorrelation of
0.7, while launches side by side drift together.  The order in a round is random, so that without a
difference each ratio is as likely to be r as 1/r, whatever the drift.  The signed-rank test assumes
this.  It does not hold for two blocks, one after the other.  ``python -m tools.bench aa`` measures
how often one toolchain under two names looks different from itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class RoundLaunch:
    """A launch and its round; `started` is in UTC, ISO 8601, or "" if unknown."""

    launch: str
    round: int
    started: str = ""


@dataclass(frozen=True)
class Pairing:
    """Pairs (launch of the first case, launch of the second), in the order of `round_numbers`.

    `rounds` counts the rounds with a launch of either case, `first_count` the pairs in which the
    first case started first.  `refusal` says why there are no pairs; it is "" if there are some.
    """

    pairs: tuple[tuple[str, str], ...]
    rounds: int
    first_count: int = 0
    refusal: str = ""
    round_numbers: tuple[int, ...] = ()


def double_round_ratios(ratios: Mapping[int, float]) -> list[float]:
    """Geometric means of the ratios of rounds 1 and 2, 3 and 4, ..., if both have a ratio.

    `ratios`: positive, by round number.
    """
    return [
        math.sqrt(ratios[number] * ratios[number + 1])
        for number in sorted(ratios)
        if number % 2 and number + 1 in ratios
    ]


def pair_by_round(
    first_launches: Sequence[RoundLaunch], second_launches: Sequence[RoundLaunch]
) -> Pairing:
    """Pair the launches of two cases that shared a round; refuse if they shared none.

    Rounds that overlap in time are refused too: they come from two campaigns in one tree.
    """
    first, second = _first_by_round(first_launches), _first_by_round(second_launches)
    rounds = len(first.keys() | second.keys())
    numbers = sorted(first.keys() & second.keys())
    if not numbers:
        ranges = f"one in {_time_span(first)}, the other in {_time_span(second)}"
        reason = f"no round launched both ({ranges}): what was not interleaved cannot be compared"
        return Pairing((), rounds, refusal=reason)
    spans = [sorted((first[number].started, second[number].started)) for number in numbers]
    for (number, span), (_, next_span) in pairwise(zip(numbers, spans, strict=True)):
        if span[0] and next_span[0] and span[1] > next_span[0]:
            reason = (
                f"round {number} was not over when the next one began: launches that share a "
                "number were not interleaved, and cannot be compared"
            )
            return Pairing((), rounds, refusal=reason)
    return Pairing(
        tuple((first[number].launch, second[number].launch) for number in numbers),
        rounds,
        sum(first[number].started < second[number].started for number in numbers),
        round_numbers=tuple(numbers),
    )


def _first_by_round(launches: Sequence[RoundLaunch]) -> dict[int, RoundLaunch]:
    """The first launch of each round."""
    sorted_launches = sorted(
        launches, key=lambda launch: (launch.started, launch.launch), reverse=True
    )
    return {launch.round: launch for launch in sorted_launches}


def _time_span(rounds: dict[int, RoundLaunch]) -> str:
    if not rounds:
        return "no round"
    first, last = min(rounds), max(rounds)
    return f"round {first}" if first == last else f"rounds {first} to {last}"
