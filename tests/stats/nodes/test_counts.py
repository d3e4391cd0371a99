"""A node is told whose launches go wrong oftener than those elsewhere, and no other."""

from __future__ import annotations

from roundtrip.stats.nodes.counts import Oftener, oftener


def launches(**wrong: list[bool]) -> list[tuple[tuple[str, ...], bool]]:
    return [((name,), one) for name, all_ in wrong.items() for one in all_]


def test_a_node_that_stands_out_is_told_with_both_counts() -> None:
    quiet = [False] * 19 + [True]
    found = oftener(launches(a=quiet, b=[True] * 6 + [False], c=quiet), 0.05)
    assert found == [Oftener("b", (6, 7), (2, 40))]


def test_a_node_like_the_others_is_not_told() -> None:
    half = [True, False] * 5
    assert oftener(launches(a=half, b=half), 0.05) == []
    assert oftener(launches(a=[True] * 9), 0.05) == []
    # One in twenty of forty nodes would stand out by chance alone.
    many = {f"n{k}": [k == 0] * 3 + [False] * 3 for k in range(40)}
    assert oftener(launches(**many, m=[False] * 30), 0.05 / 1e4) == []


def test_the_partners_of_a_node_that_never_answers_are_not_told() -> None:
    met = [(one, other) for one in range(8) for other in range(one + 1, 8)]
    (found,) = oftener([((f"n{one}", f"n{other}"), one == 0) for one, other in met], 0.001)
    assert found == Oftener("n0", (7, 7), (0, 21))
