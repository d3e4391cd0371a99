"""Which node has the clock that disagrees with the others."""

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.history.node_faults import DeviatingClock, deviating_clocks

LIMIT = 0.002


def compare(logs: dict[str, float], error: float = 1e-5) -> list[tuple[str, str, float, float]]:
    """Each node with each other, as launches between pairs do it."""
    return [(one, other, logs[other] - logs[one], error) for one, other in combinations(logs, 2)]


def test_clocks_that_agree_name_nobody() -> None:
    assert deviating_clocks(compare({"a": 0.0, "b": 5e-5, "c": -5e-5}), LIMIT) == []
    assert deviating_clocks([], LIMIT) == []


@pytest.mark.parametrize("fast", ["a", "c", "e"])
def test_a_fast_node_is_named_and_its_partners_are_not(fast: str) -> None:
    clocks = dict.fromkeys("abcde", 0.0) | {fast: math.log(1.3)}
    (clock,) = deviating_clocks(compare(clocks), LIMIT)
    assert (clock.node, clock.partners, clock.other) == (fast, 4, "")
    assert math.exp(clock.excess) == pytest.approx(1.3)


def test_of_two_nodes_nobody_knows_which_is_wrong() -> None:
    assert deviating_clocks(compare({"a": 0.0, "b": 0.3}), LIMIT) == [
        DeviatingClock("b", 0.3, 1, "a")
    ]
    assert deviating_clocks(compare({"b": 0.3, "a": 0.0}), LIMIT) == [
        DeviatingClock("b", 0.3, 1, "a")
    ]


def test_two_pairs_that_disagree_name_no_node_alone() -> None:
    pairs = [("a", "b", 0.3, 0.0), ("c", "d", 0.2, 0.0)]
    assert deviating_clocks(pairs, LIMIT) == [
        DeviatingClock("b", 0.3, 1, "a"),
        DeviatingClock("d", 0.2, 1, "c"),
    ]


def test_the_most_exact_comparison_of_a_pair_counts() -> None:
    exact, wrong = ("a", "b", 1e-5, 1e-6), ("b", "a", 0.5, 0.4)
    assert deviating_clocks([exact, wrong], LIMIT) == []
    assert deviating_clocks([wrong], LIMIT) == [DeviatingClock("b", -0.5, 1, "a")]


def test_two_ranks_of_one_node_name_no_node() -> None:
    assert deviating_clocks([("a", "a", 0.3, 0.0)], LIMIT) == []


@given(st.permutations("abcdefg"), st.floats(0.01, 2), st.booleans())
def test_a_minority_is_named_whatever_the_order(
    names: list[str], excess: float, slow: bool
) -> None:
    sign = -1 if slow else 1
    clocks = dict.fromkeys(names, 0.0) | {names[0]: sign * excess, names[1]: sign * 2 * excess}
    outliers = deviating_clocks(compare(clocks), LIMIT)
    assert {clock.node for clock in outliers} == set(names[:2])
    assert all(math.copysign(1, clock.excess) == sign for clock in outliers)
