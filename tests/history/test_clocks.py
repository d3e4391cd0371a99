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


@pytest.mark.parametrize(
    ("comparisons", "clocks"),
    [
        ([], []),
        (compare({"a": 0.0, "b": 5e-5, "c": -5e-5}), []),
        # Of two nodes nobody knows which is wrong, nor of two pairs.
        (compare({"a": 0.0, "b": 0.3}), [DeviatingClock("b", 0.3, 1, "a")]),
        (compare({"b": 0.3, "a": 0.0}), [DeviatingClock("b", 0.3, 1, "a")]),
        (
            [("a", "b", 0.3, 0.0), ("c", "d", 0.2, 0.0)],
            [DeviatingClock("b", 0.3, 1, "a"), DeviatingClock("d", 0.2, 1, "c")],
        ),
        # The most exact comparison of a pair counts, and none of two ranks of a node.
        ([("a", "b", 1e-5, 1e-6), ("b", "a", 0.5, 0.4)], []),
        ([("b", "a", 0.5, 0.4)], [DeviatingClock("b", -0.5, 1, "a")]),
        ([("a", "a", 0.3, 0.0)], []),
    ],
)
def test_clocks_that_disagree_are_named(
    comparisons: list[tuple[str, str, float, float]], clocks: list[DeviatingClock]
) -> None:
    assert deviating_clocks(comparisons, LIMIT) == clocks


@pytest.mark.parametrize("fast", ["a", "c", "e"])
def test_a_fast_node_is_named_and_its_partners_are_not(fast: str) -> None:
    clocks = dict.fromkeys("abcde", 0.0) | {fast: math.log(1.3)}
    (clock,) = deviating_clocks(compare(clocks), LIMIT)
    assert (clock.node, clock.partners, clock.other) == (fast, 4, "")
    assert math.exp(clock.excess) == pytest.approx(1.3)


@given(st.permutations("abcdefg"), st.floats(0.01, 2), st.booleans())
def test_a_minority_is_named_whatever_the_order(
    names: list[str], excess: float, slow: bool
) -> None:
    sign = -1 if slow else 1
    clocks = dict.fromkeys(names, 0.0) | {names[0]: sign * excess, names[1]: sign * 2 * excess}
    outliers = deviating_clocks(compare(clocks), LIMIT)
    assert {clock.node for clock in outliers} == set(names[:2])
    assert all(math.copysign(1, clock.excess) == sign for clock in outliers)
