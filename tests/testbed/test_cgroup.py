"""The quota of a node: which processes join its group, in folders that stand for cgroups."""

from __future__ import annotations

import os

import pytest
from vclusterlib import cgroup, node
from vclusterlib.spec import Spec
from vclusterlib.state import State


@pytest.fixture(params=["v1", "v2"])
def group(request, tmp_path, monkeypatch):
    """The group of node a1 of cluster `one`, with the file of its quota."""
    root = tmp_path / "cgroup"
    monkeypatch.setattr(cgroup, "_ROOT", root)
    if request.param == "v1":
        (root / "cpu").mkdir(parents=True)
        (root / "cpu" / "cpu.shares").touch()
    else:
        root.mkdir()
        (root / "cgroup.subtree_control").write_text("cpu memory\n")
    folder = cgroup.folder(State(tmp_path / "one"))
    node_group = folder.with_name(f"{folder.name}-a1")
    node_group.mkdir()
    (node_group / ("cpu.cfs_quota_us" if request.param == "v1" else "cpu.max")).touch()
    return node_group


def test_a_process_joins_the_group_of_a_node_while_that_has_a_quota(group, tmp_path):
    state = State(tmp_path / "one")
    cgroup.limit(state, "a1", [], 0.25)
    assert cgroup.join_node(state, "a1")
    assert (group / "cgroup.procs").read_text() == "0"
    assert not cgroup.join_node(state, "a2")
    cgroup.limit(state, "a1", [], 0)
    assert not cgroup.join_node(state, "a1")


def test_a_node_that_is_switched_on_joins_the_group_of_its_quota(group, tmp_path, monkeypatch):
    state = State(tmp_path / "one")
    cgroup.limit(state, "a1", [], 0.25)
    monkeypatch.setattr(node, "_keep", lambda *_: os._exit(0))
    gate, holder = os.pipe()
    _, status = os.waitpid(node.fork_node(state, Spec().node("a1"), [], gate), 0)
    os.close(gate)
    os.close(holder)
    assert status == 0
    assert (group / "cgroup.procs").read_text() == "0"
