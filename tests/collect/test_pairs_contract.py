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
    built = bundle.build(tree.path)
    frame = bundle_tables.read_tables(built).frames["placement"]
    (found,) = frame.filter(pl.col("rank") == 0)["switch"].unique().to_list()
    assert re.fullmatch("switch-[0-9a-f]{8}", found)
    assert frame.filter(pl.col("rank") == 1)["switch"].unique().to_list() == [None]
    rewritten(built, lambda table: table.drop("switch"), "placement")
    assert bundle_tables.read_tables(built).frames["placement"]["switch"].is_null().all()


def test_nodes_not_measured_stand_in_the_manifest(make_tree: Callable[..., Any]) -> None:
    built = bundle.build(make_tree(launches=1).path)
    facts = {k: v for k, v in manifest.verify(built).data.items() if k != "files"}
    absent = [{"node": "node-0c1aa61a", "state": "drained", "reason": "bad cable"}]
    manifest.write(built, {**facts, "nodes_not_measured": absent})
    assert manifest.verify(built).data["nodes_not_measured"] == absent
    manifest.write(built, {**facts, "nodes_not_measured": [{"node": "two words"}]})
    with pytest.raises(UserError, match="nodes_not_measured"):
        manifest.verify(built)
