"""What a campaign over pairs of nodes adds to a bundle: switches, nodes not measured."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from support.bundles import rewritten

from roundtrip.collect import bundle, bundle_tables, manifest
from roundtrip.errors import UserError


def test_a_switch_is_kept_and_a_bundle_of_before_has_none(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=1)
    for file in tree.path.rglob("run.json"):
        run = json.loads(file.read_text())
        run["placement"][0]["switch"] = "leaf1"
        file.write_text(json.dumps(run))
    bundle_path = bundle.build(tree.path)
    frame = bundle_tables.read_tables(bundle_path).frames["placement"]
    (switch,) = frame.filter(pl.col("rank") == 0)["switch"].unique().to_list()
    assert re.fullmatch("switch-[0-9a-f]{8}", switch)
    assert frame.filter(pl.col("rank") == 1)["switch"].unique().to_list() == [None]
    rewritten(bundle_path, lambda table: table.drop("switch"), "placement")
    assert bundle_tables.read_tables(bundle_path).frames["placement"]["switch"].is_null().all()


def test_nodes_not_measured_stand_in_the_manifest(make_tree: Callable[..., Any]) -> None:
    bundle_path = bundle.build(make_tree(launches=1).path)
    facts = {k: v for k, v in manifest.verify(bundle_path).data.items() if k != "files"}
    drained_nodes = [{"node": "node-0c1aa61a", "state": "drained", "reason": "bad cable"}]
    manifest.write(bundle_path, {**facts, "nodes_not_measured": drained_nodes})
    assert manifest.verify(bundle_path).data["nodes_not_measured"] == drained_nodes
    manifest.write(bundle_path, {**facts, "nodes_not_measured": [{"node": "two words"}]})
    with pytest.raises(UserError, match="nodes_not_measured"):
        manifest.verify(bundle_path)
