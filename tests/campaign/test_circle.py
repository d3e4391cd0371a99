"""Rounds in which all meet all: each pair once, nobody twice in a round."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.campaign import round_robin


@given(st.integers(2, 60))
def test_each_pair_meets_once_and_nobody_plays_twice_in_a_round(players: int) -> None:
    rounds = [
        round_robin.pairs_in_round(players, number)
        for number in range(round_robin.round_count(players))
    ]
    assert len(rounds) == (players - 1 if players % 2 == 0 else players)
    pair_counts = Counter(pair for meetings in rounds for pair in meetings)
    assert pair_counts == Counter(combinations(range(players), 2))
    for meetings in rounds:
        participants = [player for pair in meetings for player in pair]
        assert len(set(participants)) == len(participants) == players - players % 2


@given(st.integers(1, 30).map(lambda half: 2 * half + 1))
def test_of_an_odd_number_each_rests_once(players: int) -> None:
    rests = []
    for number in range(round_robin.round_count(players)):
        participants = {
            player for pair in round_robin.pairs_in_round(players, number) for player in pair
        }
        rests += set(range(players)) - participants
    assert sorted(rests) == list(range(players))


@pytest.mark.parametrize("players", [0, 1])
def test_alone_nobody_meets_anybody(players: int) -> None:
    assert round_robin.round_count(players) == 0


def test_there_is_no_round_beyond_the_last() -> None:
    with pytest.raises(ValueError, match="round 3 of 3"):
        round_robin.pairs_in_round(4, 3)
