"""Pairs of nodes: each pair meets once over the nights, whatever is drained, lost or resumed."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundtrip.errors import UserError
from roundtrip.measure import bundle, round_robin
from roundtrip.measure.campaign_file import Campaign
from roundtrip.measure.disclosure import Redactor
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.measure.pseudonyms import Pseudonyms
from roundtrip.measure.round_robin import NightPlan
from roundtrip.measure.tree import RunTree
from roundtrip.sites.schedulers.interface import Node
from roundtrip.sites.site import Case


@given(st.integers(2, 60))
def test_each_pair_meets_once_and_nobody_plays_twice_in_a_round(players: int) -> None:
    numbers = range(round_robin.round_count(players))
    rounds = [round_robin.pairs_in_round(players, number) for number in numbers]
    assert len(rounds) == (players - 1 if players % 2 == 0 else players)
    pair_counts = Counter(pair for meetings in rounds for pair in meetings)
    assert pair_counts == Counter(combinations(range(players), 2))
    for meetings in rounds:
        participants = [player for pair in meetings for player in pair]
        assert len(set(participants)) == len(participants) == players - players % 2


@pytest.mark.parametrize("players", [0, 1])
def test_alone_nobody_meets_anybody(players: int) -> None:
    assert round_robin.round_count(players) == 0


def test_there_is_no_round_beyond_the_last() -> None:
    with pytest.raises(ValueError, match="round 3 of 3"):
        round_robin.pairs_in_round(4, 3)


def item(nodes: int) -> ExpectedCase:
    parameters = (("placement", ("shared-memory", "one-per-node")[nodes - 1]),)
    case = Case("NetPIPE", parameters, "12345678", "s", "p", "tcp")
    return ExpectedCase(case, "f.py", (), "s", node_count=nodes)


BETWEEN, INSIDE = item(2), item(1)


def cluster(count: int, lost: Sequence[int] = ()) -> dict[str, list[Node]]:
    states = [("drained", "cable") if number in lost else ("idle", "") for number in range(count)]
    return {"p": [Node(f"n{number}", *state) for number, state in enumerate(states)]}


def hold(plan: NightPlan, folder: Path, night: int, rounds: set[int] | None = None) -> Path:
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
    (tree / round_robin.NIGHT_PLAN_FILE).write_text(damage)
    new_plan = round_robin.plan_night([BETWEEN], cluster(6), 2, tree)
    assert new_plan.partitions["p"].tournaments[0].rounds == (0, 1)


def test_each_node_is_measured_alone_in_turn(tmp_path: Path) -> None:
    first_plan = round_robin.plan_night([INSIDE, BETWEEN], cluster(5), 1, None)
    assert [pair.hosts for pair in first_plan.pairs_for(INSIDE)] == [("n0",), ("n2",), ("n4",)]
    tree = hold(first_plan, tmp_path, 1)
    second_plan = round_robin.plan_night([INSIDE, BETWEEN], cluster(5), 1, tree)
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
    plan = round_robin.plan_night([INSIDE, BETWEEN], cluster(4), 1, None)
    items = tuple(replace(item, pairs=plan.pairs_for(item)) for item in (INSIDE, BETWEEN))
    assert [item.launch_count(2) for item in items] == [4, 4]
    keys = [item.launch_key for item in round_robin.CampaignNight(Matrix(items, ())).round_launches]
    assert len(set(keys)) == len(keys) == 4
    assert round_robin.CampaignNight(Matrix((BETWEEN,), ())).round_launches == [BETWEEN]


PLAN = Matrix((BETWEEN,), ())


def campaign(folder: Path, **changes: Any) -> Campaign:
    file = folder / "pairs.toml"
    return Campaign("pairs", file, "t", 1, 0, 60, (), **({"nodes_line": 3} | changes))


def site(scheduler: str = "slurm") -> Any:
    return SimpleNamespace(name="s", partitions={"p": {"scheduler": scheduler}})


def test_a_site_without_slurm_refuses_it_in_one_line(tmp_path: Path) -> None:
    complaint = 'nodes = "all" needs a list of nodes, and the scheduler of s:p, .local., lists none'
    with pytest.raises(UserError, match=complaint) as error:
        round_robin.require_node_list(campaign(tmp_path), site("local"), PLAN)
    assert str(error.value).startswith(f"{tmp_path}/pairs.toml:3: ")
    round_robin.require_node_list(campaign(tmp_path), site("squeue"), PLAN)
    round_robin.require_node_list(campaign(tmp_path, nodes_line=None), site("local"), PLAN)


def test_a_resumed_night_keeps_its_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node_list = [Node("a", "idle"), Node("b", "idle"), Node("c", "drained", "cable")]
    monkeypatch.setattr(round_robin, "collect_partition_nodes", lambda *_: node_list)
    night = round_robin.arrange_night(campaign(tmp_path), site(), PLAN, tmp_path, None)
    assert [item.pairs[0].hosts for item in night.round_launches] == [("a", "b")]
    pair, loss = night.dry_run_lines()
    assert pair.startswith("pair  p: a and b, round ") and loss == "lost  p: c is drained: cable"
    tree = tmp_path / "pairs" / "s" / "20260101T000000Z"
    tree.mkdir(parents=True)
    night.write(tree)
    node_list[:] = [Node("a", "down", "dead"), Node("b", "idle"), Node("c", "idle")]
    run = RunTree(tree)
    resumed_night = round_robin.arrange_night(campaign(tmp_path), site(), PLAN, tmp_path, run)
    assert resumed_night.matrix == night.matrix
    new_night = round_robin.arrange_night(campaign(tmp_path), site(), PLAN, tmp_path, None)
    assert [item.pairs[0].hosts for item in new_night.round_launches] == [("b", "c")]


def test_any_campaign_lists_lost_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node_list = [Node("a", "idle"), Node("c", "drained", "bad DIMM")]
    monkeypatch.setattr(round_robin, "collect_partition_nodes", lambda *_: node_list)
    plain_campaign = campaign(tmp_path, nodes_line=None)
    night = round_robin.arrange_night(plain_campaign, site(), PLAN, tmp_path, None)
    assert night.round_launches == list(PLAN.expected)
    assert list(night.dry_run_lines()) == ["lost  p: c is drained: bad DIMM"]
    tree = tmp_path / "tree"
    tree.mkdir()
    night.write(tree)
    names = Redactor(Pseudonyms(("c",), b"key"))
    (node,) = bundle.nodes_not_measured(tree, names)["nodes_not_measured"]
    assert (node["state"], node["reason"]) == ("drained", "bad DIMM")
    resumed_night = round_robin.arrange_night(plain_campaign, site(), PLAN, tmp_path, RunTree(tree))
    assert resumed_night.nodes == {}, "a resumed run keeps what Slurm said when it began"


@pytest.mark.parametrize("scheduler", ["local", "slurm"])
def test_without_a_list_any_other_campaign_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str
) -> None:
    def refuse(*_: object) -> list[Node]:
        raise UserError("Slurm says: access denied")

    monkeypatch.setattr(round_robin, "collect_partition_nodes", refuse)
    plain_campaign = campaign(tmp_path, nodes_line=None)
    night = round_robin.arrange_night(plain_campaign, site(scheduler), PLAN, tmp_path, None)
    assert night == round_robin.CampaignNight(PLAN)
    night.write(tmp_path)
    assert not (tmp_path / "env").exists()
    with pytest.raises(UserError, match="access denied"):
        round_robin.arrange_night(campaign(tmp_path), site(scheduler), PLAN, tmp_path, None)
