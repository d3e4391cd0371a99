"""A campaign on all nodes: where it is refused, and that a resumed night keeps its pairs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roundtrip.campaign import nodes, round_robin
from roundtrip.campaign.matrix import ExpectedCase, Matrix
from roundtrip.campaign.model import Campaign
from roundtrip.campaign.nodes import Node
from roundtrip.campaign.tree import RunTree
from roundtrip.collect import bundle
from roundtrip.collect.disclosure import Disclosure
from roundtrip.collect.pseudonyms import Pseudonyms
from roundtrip.errors import UserError
from roundtrip.sites.site import Case

CASE = Case("NetPIPE", (("placement", "one-per-node"),), "12345678", "s", "p", "tcp")
PLAN = Matrix((ExpectedCase(CASE, "f.py", (), "netpipe", nodes=2),), ())


def campaign(folder: Path, **changes: Any) -> Campaign:
    file = folder / "pairs.toml"
    return Campaign("pairs", file, "t", 1, 0, 60, (), **({"nodes_line": 3} | changes))


def site(scheduler: str = "slurm") -> Any:
    return SimpleNamespace(name="s", partitions={"p": {"scheduler": scheduler}})


def test_a_site_without_slurm_refuses_it_in_one_line(tmp_path: Path) -> None:
    complaint = 'nodes = "all" asks Slurm which nodes there are, and the scheduler of s:p is .local'
    with pytest.raises(UserError, match=complaint) as error:
        round_robin.require_slurm(campaign(tmp_path), site("local"), PLAN)
    assert str(error.value).startswith(f"{tmp_path}/pairs.toml:3: ")
    round_robin.require_slurm(campaign(tmp_path), site("squeue"), PLAN)
    round_robin.require_slurm(campaign(tmp_path, nodes_line=None), site("local"), PLAN)


def test_a_resumed_night_keeps_its_pairs_whatever_slurm_says_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_list = [Node("a", "idle"), Node("b", "idle"), Node("c", "drained", "cable")]
    monkeypatch.setattr(nodes, "partition_nodes", lambda *_: node_list)
    night = round_robin.arrange_night(campaign(tmp_path), site(), PLAN, tmp_path, None)
    assert [item.pairs[0].hosts for item in night.launch_items] == [("a", "b")]
    pair, loss = night.lines()
    assert pair.startswith("pair  p: a and b, round ") and loss == "lost  p: c is drained: cable"
    tree = tmp_path / "pairs" / "s" / "20260101T000000Z"
    tree.mkdir(parents=True)
    night.write(tree)
    node_list[:] = [Node("a", "down", "dead"), Node("b", "idle"), Node("c", "idle")]
    resumed_night = round_robin.arrange_night(
        campaign(tmp_path), site(), PLAN, tmp_path, RunTree(tree)
    )
    assert resumed_night.matrix == night.matrix
    new_night = round_robin.arrange_night(campaign(tmp_path), site(), PLAN, tmp_path, None)
    assert [item.pairs[0].hosts for item in new_night.launch_items] == [("b", "c")]


def test_any_campaign_lists_the_nodes_that_slurm_has_taken_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_list = [Node("a", "idle"), Node("c", "drained", "bad DIMM")]
    monkeypatch.setattr(nodes, "partition_nodes", lambda *_: node_list)
    plain_campaign = campaign(tmp_path, nodes_line=None)
    night = round_robin.arrange_night(plain_campaign, site(), PLAN, tmp_path, None)
    assert night.launch_items == list(PLAN.expected)
    assert list(night.lines()) == ["lost  p: c is drained: bad DIMM"]
    tree = tmp_path / "tree"
    tree.mkdir()
    night.write(tree)
    (node,) = bundle.nodes_not_measured(tree, Disclosure(Pseudonyms(("c",), b"key")))[
        "nodes_not_measured"
    ]
    assert (node["state"], node["reason"]) == ("drained", "bad DIMM")
    resumed_night = round_robin.arrange_night(plain_campaign, site(), PLAN, tmp_path, RunTree(tree))
    assert resumed_night.nodes == {}, "a resumed run keeps what Slurm said when it began"


@pytest.mark.parametrize("scheduler", ["local", "slurm"])
def test_where_slurm_lists_no_nodes_any_other_campaign_runs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str
) -> None:
    def refuse(*_: object) -> list[Node]:
        raise UserError("Slurm says: access denied")

    monkeypatch.setattr(nodes, "partition_nodes", refuse)
    plain_campaign = campaign(tmp_path, nodes_line=None)
    night = round_robin.arrange_night(plain_campaign, site(scheduler), PLAN, tmp_path, None)
    assert night == round_robin.Night(PLAN)
    night.write(tmp_path)
    assert not (tmp_path / "env").exists()
    with pytest.raises(UserError, match="access denied"):
        round_robin.arrange_night(campaign(tmp_path), site(scheduler), PLAN, tmp_path, None)
