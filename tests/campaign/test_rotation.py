"""Over the nights each node meets each other, whatever is drained, interrupted or lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundtrip.campaign import round_robin
from roundtrip.campaign.matrix import ExpectedCase
from roundtrip.campaign.nodes import Node
from roundtrip.errors import UserError
from roundtrip.sites.site import Case


def case(nodes: int) -> ExpectedCase:
    parameters = (("placement", ("shared-memory", "one-per-node")[nodes - 1]),)
    return ExpectedCase(
        Case("NetPIPE", parameters, "12345678", "s", "p", "tcp"), "f.py", (), "s", nodes=nodes
    )


BETWEEN, INSIDE = case(2), case(1)


def cluster(count: int, lost: Sequence[int] = ()) -> dict[str, list[Node]]:
    return {
        "p": [
            Node(f"n{number}", *(("drained", "cable") if number in lost else ("idle",)))
            for number in range(count)
        ]
    }


def hold(
    plan: round_robin.NightPlan, folder: Path, night: int, rounds: set[int] | None = None
) -> Path:
    """The tree of a night in which the meetings of `rounds` (all) completed."""
    tree = folder / f"{night:03d}"
    tree.mkdir()
    plan.write(tree)
    for number, pair in enumerate(plan.partitions["p"].pairs):
        if rounds is None or pair.pair_round in rounds:
            place = tree / "rounds" / "001" / "output" / "s" / "p" / "tcp" / f"NetPIPE_{number}"
            place.mkdir(parents=True)
            record = {"parameters": {"pair_round": pair.pair_round}, "hosts": pair.hosts}
            (place / "case.json").write_text(json.dumps(record))
    return tree


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 11), st.integers(1, 5))
def test_nights_go_on_until_all_have_met(
    tmp_path_factory: pytest.TempPathFactory, count: int, budget: int
) -> None:
    folder = tmp_path_factory.mktemp("nights")
    total = count - 1 + count % 2
    pair_counts: Counter[tuple[str, ...]] = Counter()
    last_tree = None
    for night in range(-(-total // budget)):
        plan = round_robin.plan_night([BETWEEN], cluster(count), budget, last_tree)
        host_counts = Counter(host for pair in plan.pairs_for(BETWEEN) for host in pair.hosts)
        assert max(host_counts.values()) <= budget
        pair_counts.update(pair.hosts for pair in plan.pairs_for(BETWEEN))
        last_tree = hold(plan, folder, night)
    names = [f"n{number}" for number in range(count)]
    assert set(pair_counts) == {(one, two) for one, two in combinations(names, 2)}
    extra = -total % budget  # rounds of the last night that were held before
    assert sum(times - 1 for times in pair_counts.values()) <= extra * (count // 2)


def test_a_round_that_was_not_held_comes_first_in_the_next_night(tmp_path: Path) -> None:
    first_plan = round_robin.plan_night([BETWEEN], cluster(8), 3, None)
    assert first_plan.partitions["p"].tournaments[0].rounds == (0, 1, 2)
    tree = hold(first_plan, tmp_path, 1, rounds={0, 2})
    second_plan = round_robin.plan_night([BETWEEN], cluster(8), 3, tree)
    assert second_plan.partitions["p"].tournaments[0].rounds == (1, 3, 4)
    assert {pair.pair_night_round for pair in second_plan.pairs_for(BETWEEN)} == {1, 2, 3}


def test_a_drained_node_changes_no_other_meeting(tmp_path: Path) -> None:
    full_plan = round_robin.plan_night([BETWEEN], cluster(6), 2, None)
    drained_plan = round_robin.plan_night([BETWEEN], cluster(6, lost=[2]), 2, None)
    assert set(drained_plan.pairs_for(BETWEEN)) == {
        pair for pair in full_plan.pairs_for(BETWEEN) if "n2" not in pair.hosts
    }
    tree = hold(drained_plan, tmp_path, 1)
    next_plan = round_robin.plan_night([BETWEEN], cluster(6), 2, tree)
    assert next_plan.partitions["p"].tournaments[0].rounds == (2, 3)


@pytest.mark.parametrize("damage", ["{", '{"partitions": {"p": {}}}', ""])
def test_a_lost_plan_or_other_nodes_begin_again(tmp_path: Path, damage: str) -> None:
    tree = hold(round_robin.plan_night([BETWEEN], cluster(6), 2, None), tmp_path, 1)
    larger_plan = round_robin.plan_night([BETWEEN], cluster(8), 2, tree)
    assert larger_plan.partitions["p"].tournaments[0].rounds == (0, 1)
    (tree / round_robin.PLAN_FILE).write_text(damage)
    new_plan = round_robin.plan_night([BETWEEN], cluster(6), 2, tree)
    assert new_plan.partitions["p"].tournaments[0].rounds == (0, 1)


def test_each_node_is_measured_alone_in_turn(tmp_path: Path) -> None:
    first_plan = round_robin.plan_night([INSIDE, BETWEEN], cluster(5), 1, None)
    assert [pair.hosts for pair in first_plan.pairs_for(INSIDE)] == [("n0",), ("n2",), ("n4",)]
    second_plan = round_robin.plan_night(
        [INSIDE, BETWEEN], cluster(5), 1, hold(first_plan, tmp_path, 1)
    )
    assert [pair.hosts for pair in second_plan.pairs_for(INSIDE)] == [("n1",), ("n3",)]
    full_plan = round_robin.plan_night([INSIDE, BETWEEN], cluster(5), 3, None)
    assert len(full_plan.pairs_for(INSIDE)) == 5
    assert len(full_plan.pairs_for(BETWEEN)) == 3 * 2


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan = round_robin.plan_night([INSIDE, BETWEEN], cluster(5, lost=[1]), None, None)
    plan.write(tmp_path)
    copy = round_robin.read_plan(tmp_path)
    assert copy == plan


def test_too_few_working_nodes_are_one_line() -> None:
    with pytest.raises(UserError, match="has 1 of 2 nodes to measure; 2 are needed: n1 is drained"):
        round_robin.plan_night([BETWEEN], cluster(2, lost=[1]), None, None)


def test_cases_are_launched_once_for_each_meeting() -> None:
    night = round_robin.plan_night([INSIDE, BETWEEN], cluster(4), 1, None)
    items = night.assign([INSIDE, BETWEEN])
    assert [item.launches(2) for item in items] == [4, 4]
    keys = [item.key for item in round_robin.split_by_pair(items)]
    assert len(set(keys)) == len(keys) == 4
    assert round_robin.split_by_pair([BETWEEN]) == [BETWEEN]
