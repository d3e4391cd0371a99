"""What `status` and `up` make of the answers of a running cluster, without one."""

import pytest
from vclusterlib import VclusterError, lifecycle
from vclusterlib.spec import Spec
from vclusterlib.state import STATE_VARIABLE, State


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.delenv(STATE_VARIABLE, raising=False)
    cluster_state = State(tmp_path / "one")
    with cluster_state.locked():
        cluster_state.prepare_boot(Spec())
    cluster_state.record_head()  # this process: it lives
    return cluster_state


@pytest.fixture
def ended(monkeypatch):
    """What `up` did to the cluster."""
    calls = []
    monkeypatch.setattr(lifecycle, "destroy", lambda state: calls.append("destroy"))
    monkeypatch.setattr(lifecycle, "_boot", lambda state, spec: calls.append("boot") or "booted")
    for name in ("require_programs_for", "require_namespaces"):
        monkeypatch.setattr(lifecycle.tools, name, lambda *_: None)
    return calls


def answers(monkeypatch, node_state, slurmd=True, **daemons):
    """Let the head answer with one node."""
    node = {"name": "a1", "state": node_state, "slurmd": slurmd}
    status = {"daemons": {"slurmctld": True, **daemons}, "nodes": [node]}
    monkeypatch.setattr(State, "send_request", lambda *_: status)


@pytest.mark.parametrize(
    "node_state",
    [
        *("idle", "mixed", "allocated", "planned", "reserved"),
        *("mixed-", "allocated+", "completing"),
    ],
)
def test_a_node_that_slurm_uses_or_plans_to_use_is_up(state, monkeypatch, ended, node_state):
    answers(monkeypatch, node_state)
    assert lifecycle.examine_health(state)["state"] == "up"
    assert lifecycle.up(state, Spec(), set()) == "cluster one is up already"
    assert ended == []


@pytest.mark.parametrize("node_state", ["drained", "idle*", "down", "unknown"])
def test_up_ends_no_cluster_whose_processes_live(state, monkeypatch, ended, node_state):
    answers(monkeypatch, node_state)
    assert lifecycle.examine_health(state)["state"] == "doubtful"
    with pytest.raises(VclusterError, match=f"a1 is {node_state}".replace("*", r"\*")):
        lifecycle.up(state, Spec(), set())
    assert ended == []


def test_up_ends_no_cluster_for_a_late_answer(state, monkeypatch, ended):
    def be_late(*_):
        raise VclusterError("cluster one did not answer in 15 s")

    monkeypatch.setattr(State, "send_request", be_late)
    assert lifecycle.examine_health(state)["state"] == "doubtful"
    with pytest.raises(VclusterError, match="did not answer in 15 s: wait, or run `down` first"):
        lifecycle.up(state, Spec(), set())
    assert ended == []


@pytest.mark.parametrize(
    ("dead", "name"), [({"slurmd": False}, "a1"), ({"slurmctld": False}, "slurmctld")]
)
def test_up_boots_anew_what_is_half_dead(state, monkeypatch, ended, capsys, dead, name):
    answers(monkeypatch, "unknown", **dead)
    assert lifecycle.examine_health(state)["why"] == f"not running: {name}"
    assert lifecycle.up(state, Spec(), set()) == "booted"
    assert ended == ["destroy", "boot"]
    assert "starting anew" in capsys.readouterr().err


def test_up_boots_anew_where_nobody_listens(state, ended):
    """A head whose `up` was killed: it has no job yet."""
    assert lifecycle.up(state, Spec(), set()) == "booted"
    assert ended == ["destroy", "boot"]
