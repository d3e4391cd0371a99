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
    placed = (("placement", ("shared-memory", "one-per-node")[nodes - 1]),)
    return ExpectedCase(
        Case("NetPIPE", placed, "12345678", "s", "p", "tcp"), "f.py", (), "s", nodes=nodes
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
    for number, one in enumerate(plan.partitions["p"].pairs):
        if rounds is None or one.pair_round in rounds:
            place = tree / "rounds" / "001" / "output" / "s" / "p" / "tcp" / f"NetPIPE_{number}"
            place.mkdir(parents=True)
            record = {"parameters": {"pair_round": one.pair_round}, "hosts": one.hosts}
            (place / "case.json").write_text(json.dumps(record))
    return tree


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 11), st.integers(1, 5))
def test_nights_go_on_until_all_have_met(
    tmp_path_factory: pytest.TempPathFactory, count: int, budget: int
) -> None:
    folder = tmp_path_factory.mktemp("nights")
    total = count - 1 + count % 2
    met: Counter[tuple[str, ...]] = Counter()
    last = None
    for night in range(-(-total // budget)):
        plan = round_robin.plan_night([BETWEEN], cluster(count), budget, last)
        present = Counter(host for one in plan.pairs_for(BETWEEN) for host in one.hosts)
        assert max(present.values()) <= budget
        met.update(one.hosts for one in plan.pairs_for(BETWEEN))
        last = hold(plan, folder, night)
    names = [f"n{number}" for number in range(count)]
    assert set(met) == {(one, two) for one, two in combinations(names, 2)}
    extra = -total % budget  # rounds of the last night that were held before
    assert sum(held - 1 for held in met.values()) <= extra * (count // 2)


def test_a_round_that_was_not_held_comes_first_in_the_next_night(tmp_path: Path) -> None:
    first = round_robin.plan_night([BETWEEN], cluster(8), 3, None)
    assert first.partitions["p"].tournaments[0].rounds == (0, 1, 2)
    tree = hold(first, tmp_path, 1, rounds={0, 2})
    second = round_robin.plan_night([BETWEEN], cluster(8), 3, tree)
    assert second.partitions["p"].tournaments[0].rounds == (1, 3, 4)
    assert {one.pair_night_round for one in second.pairs_for(BETWEEN)} == {1, 2, 3}


def test_a_drained_node_changes_no_other_meeting(tmp_path: Path) -> None:
    whole = round_robin.plan_night([BETWEEN], cluster(6), 2, None)
    drained = round_robin.plan_night([BETWEEN], cluster(6, lost=[2]), 2, None)
    assert set(drained.pairs_for(BETWEEN)) == {
        m for m in whole.pairs_for(BETWEEN) if "n2" not in m.hosts
    }
    tree = hold(drained, tmp_path, 1)
    following = round_robin.plan_night([BETWEEN], cluster(6), 2, tree)
    assert following.partitions["p"].tournaments[0].rounds == (2, 3)


@pytest.mark.parametrize("damage", ["{", '{"partitions": {"p": {}}}', ""])
def test_a_lost_plan_or_other_nodes_begin_again(tmp_path: Path, damage: str) -> None:
    tree = hold(round_robin.plan_night([BETWEEN], cluster(6), 2, None), tmp_path, 1)
    grown = round_robin.plan_night([BETWEEN], cluster(8), 2, tree)
    assert grown.partitions["p"].tournaments[0].rounds == (0, 1)
    (tree / round_robin.PLAN_FILE).write_text(damage)
    anew = round_robin.plan_night([BETWEEN], cluster(6), 2, tree)
    assert anew.partitions["p"].tournaments[0].rounds == (0, 1)


def test_each_node_is_measured_alone_in_turn(tmp_path: Path) -> None:
    first = round_robin.plan_night([INSIDE, BETWEEN], cluster(5), 1, None)
    assert [one.hosts for one in first.pairs_for(INSIDE)] == [("n0",), ("n2",), ("n4",)]
    second = round_robin.plan_night([INSIDE, BETWEEN], cluster(5), 1, hold(first, tmp_path, 1))
    assert [one.hosts for one in second.pairs_for(INSIDE)] == [("n1",), ("n3",)]
    every = round_robin.plan_night([INSIDE, BETWEEN], cluster(5), 3, None)
    assert len(every.pairs_for(INSIDE)) == 5
    assert len(every.pairs_for(BETWEEN)) == 3 * 2


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan = round_robin.plan_night([INSIDE, BETWEEN], cluster(5, lost=[1]), None, None)
    plan.write(tmp_path)
    again = round_robin.read_plan(tmp_path)
    assert again == plan


def test_too_few_working_nodes_are_one_line() -> None:
    with pytest.raises(UserError, match="has 1 of 2 nodes to measure; 2 are needed: n1 is drained"):
        round_robin.plan_night([BETWEEN], cluster(2, lost=[1]), None, None)


def test_cases_are_launched_once_for_each_meeting() -> None:
    night = round_robin.plan_night([INSIDE, BETWEEN], cluster(4), 1, None)
    items = night.assign([INSIDE, BETWEEN])
    assert [item.launches(2) for item in items] == [4, 4]
    keys = [one.key for one in round_robin.split_by_pair(items)]
    assert len(set(keys)) == len(keys) == 4
    assert round_robin.split_by_pair([BETWEEN]) == [BETWEEN]
