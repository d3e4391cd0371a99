"""A node: its first process, its group, in folders that stand for cgroups, how it is tried, and
which processes `node` becomes, and where it is refused."""

import os
import signal
from types import SimpleNamespace

import pytest
from support.programs import write_script
from vclusterlib import UserError, boot, cgroup, enter
from vclusterlib.spec import Spec
from vclusterlib.state import STATE_VARIABLE, State


@pytest.fixture(params=["v1", "v2"])
def group(request, tmp_path, monkeypatch):
    """The group of node a1 of cluster `one`, with the file of its quota."""
    root = tmp_path / "cgroup"
    monkeypatch.setattr(cgroup, "_CGROUP_ROOT", root)
    if request.param == "v1":
        (root / "cpu").mkdir(parents=True)
        (root / "cpu" / "cpu.shares").touch()
    else:
        root.mkdir()
        (root / "cgroup.subtree_control").write_text("cpu memory\n")
    folder = cgroup.cluster_group(State(tmp_path / "one"))
    node_group = folder.with_name(f"{folder.name}-a1")
    node_group.mkdir()
    (node_group / ("cpu.cfs_quota_us" if request.param == "v1" else "cpu.max")).touch()
    return node_group


def test_a_process_joins_the_group_of_a_node_while_that_has_a_quota(group, tmp_path):
    state = State(tmp_path / "one")
    cgroup.limit_node(state, "a1", [], 0.25)
    assert cgroup.join_node(state, "a1")
    assert (group / "cgroup.procs").read_text() == "0"
    assert not cgroup.join_node(state, "a2")
    cgroup.limit_node(state, "a1", [], 0)
    assert not cgroup.join_node(state, "a1")


def test_a_node_that_is_switched_on_joins_the_group_of_its_quota(group, tmp_path, monkeypatch):
    state = State(tmp_path / "one")
    cgroup.limit_node(state, "a1", [], 0.25)
    monkeypatch.setattr(boot, "_run_keeper", lambda *_: os._exit(0))
    gate, holder = os.pipe()
    _, status = os.waitpid(boot.fork_node(state, Spec().node("a1"), [], gate), 0)
    os.close(gate)
    os.close(holder)
    assert status == 0
    assert (group / "cgroup.procs").read_text() == "0"


def test_a_child_of_the_head_keeps_its_gate_and_nothing_else():
    read_end, gate = os.pipe()
    descriptor = os.open("/dev/null", os.O_RDONLY)
    child = os.fork()
    if not child:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            boot._become_child(gate)
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
            try:
                os.fstat(descriptor)
            except OSError:
                os.write(gate, b"alone")
        finally:
            os._exit(0)
    os.close(gate)
    with os.fdopen(read_end, "rb") as pipe:
        assert pipe.read() == b"alone"
    os.close(descriptor)
    os.waitpid(child, 0)


class Became(Exception):  # noqa: N818  not an error
    """The command that this process would have become."""


@pytest.fixture
def inside(tmp_path, monkeypatch):
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
def test_a_node_does_not_know_the_pids_of_nodes(inside, monkeypatch, host):
    on(monkeypatch, host)
    with pytest.raises(UserError, match="run `node` on the head or outside"):
        enter.exec_on_node(inside, "a1", ["true"])
    with pytest.raises(UserError, match="run `exec` on the head or outside"):
        enter.exec_on_head(inside, ["true"])


def test_the_head_enters_a_node_by_its_pid(inside, monkeypatch):
    on(monkeypatch, "head")
    with pytest.raises(Became) as became:
        enter.exec_on_node(inside, "a1", ["hostname"])
    assert became.value.args[:3] == ("nsenter", "-t", "4711")
    assert became.value.args[-1] == "hostname"


def test_a_command_on_a_node_obeys_the_quota_of_the_node(inside, monkeypatch, tmp_path):
    on(monkeypatch, "head")
    (tmp_path / "cgroup" / "cpu").mkdir(parents=True)
    (tmp_path / "cgroup" / "cpu" / "cpu.shares").touch()
    cluster_group = cgroup.cluster_group(inside)
    group = cluster_group.with_name(f"{cluster_group.name}-a1")
    group.mkdir()
    (group / "cpu.cfs_quota_us").write_text("1000\n")
    with pytest.raises(Became):
        enter.exec_on_node(inside, "a1", ["true"])
    assert (group / "cgroup.procs").read_text() == "0"


def with_slurmd(cluster, vcluster, body):
    """The same cluster, with a slurmd of ours found first."""
    folder = cluster.home / f"{cluster.name}-programs"
    write_script(folder / "slurmd", f'{body}\nexec /usr/sbin/slurmd "$@"')
    path = f"{folder}:{os.environ['PATH']}"
    return vcluster(cluster.home, cluster.name, {"PATH": path}), folder


@pytest.mark.nightly
@pytest.mark.live
def test_a_node_that_fails_once_is_tried_again(single, vcluster):
    body = 'case "$*" in *b1*) mkdir "$0.once" 2>/dev/null && exit 1;; esac'
    cluster, folder = with_slurmd(single, vcluster, body)
    cluster.run_checked("up", "--nodes", "1+1", "--share", str(folder))
    log = (single.state / "log" / "head.log").read_text()
    assert "node b1: ended with status 1 (attempt 1)" in log
    assert len(cluster.run_checked("exec", "srun", "-N2", "hostname").split()) == 2


@pytest.mark.nightly
@pytest.mark.live
def test_a_node_that_never_comes_fails_the_whole_up(single, vcluster):
    cluster, folder = with_slurmd(single, vcluster, 'case "$*" in *b1*) exit 1;; esac')
    process = cluster.run("up", "--nodes", "1+1", "--share", str(folder))
    assert process.returncode == 1
    assert "node b1 did not come up in 3 attempts (ended with status 1)" in process.stderr
    assert process.stderr.count("\n") == 1
    assert single.status()["state"] == "down"
    assert not (single.state / "run").exists()
    # the logs that the message names are still there
    assert (single.state / "log" / "slurmd-b1.out").exists()
