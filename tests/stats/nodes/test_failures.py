"""A node is flaky whose launches fail more often than the others do; its partners are not."""

from collections.abc import Collection, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stats.nodes.planted import SETTINGS

from roundtrip.stats.nodes.failures import FlakyNode, Outcomes, find_flaky_nodes
from tools.calibration.nodes import circle_schedule

Row = tuple[Collection[str], bool, str, str]


def nights(
    rates: Mapping[int, float], nights: int, nodes: int = 32, seed: int = 1, usual: float = 0.0
) -> list[Row]:
    """Four rounds of pairs a night and each node alone; nodes fail a launch at their `rates`."""
    rng, plan = np.random.default_rng(seed), circle_schedule(nodes)
    rows: list[Row] = []
    for night in range(nights):
        pairs = [pair for round_ in range(4) for pair in plan[(4 * night + round_) % len(plan)]]
        for members in [*pairs, *((node,) for node in range(nodes))]:
            pass_chance = (1 - usual) * np.prod([1 - rates.get(node, 0.0) for node in members])
            names = [f"n{node:02d}" for node in members]
            rows.append((names, rng.random() > pass_chance, f"{night:03d}", str(len(members))))
    return rows


def flaky(rows: list[Row]) -> tuple[FlakyNode, ...]:
    return find_flaky_nodes(Outcomes.from_rows(rows), SETTINGS)


def named(rows: list[Row]) -> set[str]:
    return {name for node in flaky(rows) for name in node.names}


def test_a_node_that_no_single_night_would_name_is_named_by_several() -> None:
    rows = nights({7: 0.2}, nights=6, seed=5)
    all_nights = sorted({row[2] for row in rows})
    single_nights = [[row for row in rows if row[2] == night] for night in all_nights]
    assert not any(map(named, single_nights))
    (node,) = flaky(rows)
    assert node.names == ("n07",) and node.nights > 1
    assert node.other_counts[0] == 0 and node.chance <= SETTINGS.failures_level


def test_the_partners_of_two_flaky_nodes_are_not_named() -> None:
    assert named(nights({7: 0.5, 20: 0.5}, nights=3)) == {"n07", "n20"}


def test_a_dead_node_is_named_in_one_night_with_both_counts() -> None:
    (node,) = flaky(nights({3: 1.0}, nights=1))
    assert (node.names, node.counts, node.other_counts) == (("n03",), (5, 5), (0, 91))


def test_two_nodes_that_fail_only_together_are_named_together_until_others_decide() -> None:
    quiet_rows: list[Row] = [
        ([f"n{one}", f"n{other}"], False, "1", "pair")
        for one in range(8)
        for other in range(one + 1, 8)
        for _ in range(3)
    ]
    pair_rows: list[Row] = [(["n0", "n1"], True, "1", "pair")] * 6
    (node,) = flaky(quiet_rows + pair_rows)
    assert node.names == ("n0", "n1")
    lone_rows: list[Row] = [(["n0"], True, "1", "alone")] * 3
    other_rows: list[Row] = [([f"n{node}"], False, "1", "alone") for node in range(1, 8)] * 3
    (node,) = flaky(quiet_rows + pair_rows + lone_rows + other_rows)
    assert node.names == ("n0",)


def test_a_night_in_which_much_failed_names_nobody() -> None:
    rows = nights({}, nights=8)
    bad_rows = nights({}, nights=1, usual=0.25, seed=3)
    rows += [(nodes, failed, "900", kind) for nodes, failed, _, kind in bad_rows]
    assert named(rows) == set()


def test_a_node_that_was_mended_is_named_no_longer() -> None:
    sick_rows = nights({7: 0.5}, nights=3)
    well_rows = [
        (names, False, f"9{night}", kind) for names, _, night, kind in nights({}, nights=3)
    ]
    assert named(sick_rows) == {"n07"}
    assert named([*sick_rows, *well_rows]) == set()


def test_a_rate_that_differs_by_less_than_what_is_of_interest_names_nobody() -> None:
    rows = nights({7: 0.3}, nights=3)
    settings = SETTINGS.model_copy(update={"failures_least": 0.9})
    assert named(rows) == {"n07"} and find_flaky_nodes(Outcomes.from_rows(rows), settings) == ()


@pytest.mark.parametrize("rows", [[], [(["a"], True, "1", "")], [(["a", "b"], True, "1", "")] * 30])
def test_launches_that_all_fail_or_none_name_nobody(rows: list[Row]) -> None:
    assert flaky(rows) == ()


LAUNCH = st.tuples(
    st.sets(st.sampled_from("abcdefg"), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from(["1", "2", "3"]),
    st.sampled_from(["pair", "alone"]),
)


@given(st.lists(LAUNCH, max_size=60), st.randoms(use_true_random=False))
def test_the_order_of_launches_does_not_matter_and_counts_are_theirs(
    rows: list[Row], random: object
) -> None:
    sorted_rows = sorted(rows, key=lambda row: (str(sorted(row[0])), row[1:]))
    names = {frozenset(node.names) for node in flaky(rows)}
    sorted_names = {frozenset(node.names) for node in flaky(sorted_rows)}
    assert names == sorted_names
    for node in flaky(rows):
        subset = [row for row in rows if node.names[0] in row[0]]
        assert 0 < node.counts[0] <= node.counts[1] <= len(subset)
        assert node.counts[0] <= sum(row[1] for row in subset)
        assert node.chance <= SETTINGS.failures_level
