"""Which processes `node` becomes, and where it is refused, without a cluster."""

import os
from types import SimpleNamespace

import pytest
from vclusterlib import UserError, cgroup, enter
from vclusterlib.spec import Spec
from vclusterlib.state import STATE_VARIABLE, State


class Became(Exception):  # noqa: N818  not an error
    """The command that this process would have become."""


@pytest.fixture
def state(tmp_path, monkeypatch):
    """A cluster with node a1, seen from inside."""
    cluster_state = State(tmp_path / "one")
    with cluster_state.locked():
        cluster_state.prepare_boot(Spec())
    cluster_state.pid_file("a1").write_text("4711")
    monkeypatch.setenv(STATE_VARIABLE, str(cluster_state.path))
    monkeypatch.setattr(cgroup, "_CGROUP_ROOT", tmp_path / "cgroup")

    def become(program, command, variables):
        raise Became(*command)

    monkeypatch.setattr(os, "execvpe", become)
    return cluster_state


def on(monkeypatch, host):
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename=host))


@pytest.mark.parametrize("host", ["a1", "b1"])
def test_a_node_does_not_know_the_pids_of_nodes(state, monkeypatch, host):
    on(monkeypatch, host)
    with pytest.raises(UserError, match="run `node` on the head or outside"):
        enter.exec_on_node(state, "a1", ["true"])
    with pytest.raises(UserError, match="run `exec` on the head or outside"):
        enter.exec_on_head(state, ["true"])


def test_the_head_enters_a_node_by_its_pid(state, monkeypatch):
    on(monkeypatch, "head")
    with pytest.raises(Became) as became:
        enter.exec_on_node(state, "a1", ["hostname"])
    assert became.value.args[:3] == ("nsenter", "-t", "4711")
    assert became.value.args[-1] == "hostname"


def test_a_command_on_a_node_obeys_the_quota_of_the_node(state, monkeypatch, tmp_path):
    on(monkeypatch, "head")
    (tmp_path / "cgroup" / "cpu").mkdir(parents=True)
    (tmp_path / "cgroup" / "cpu" / "cpu.shares").touch()
    cluster_group = cgroup.cluster_group(state)
    group = cluster_group.with_name(f"{cluster_group.name}-a1")
    group.mkdir()
    (group / "cpu.cfs_quota_us").write_text("1000\n")
    with pytest.raises(Became):
        enter.exec_on_node(state, "a1", ["true"])
    assert (group / "cgroup.procs").read_text() == "0"
