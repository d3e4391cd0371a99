"""up is all or nothing and mends what a crash left; down leaves nothing."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.virtual import await_true

pytestmark = [pytest.mark.nightly, pytest.mark.live]


def descendants(root):
    """Pids of a process and all below it."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    pids = {root}
    while children := {pid for pid, parent in parents.items() if parent in pids} - pids:
        pids |= children
    return pids


def namespaces(pids):
    """The namespaces that these processes are in, where they still run."""
    names = set()
    for pid in pids:
        for kind in ("net", "uts", "ipc", "pid", "mnt", "user"):
            try:
                names.add(str(Path(f"/proc/{pid}/ns/{kind}").readlink()))
            except OSError:
                continue
    return names


def everybody():
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def host_state():
    links = json.loads(subprocess.check_output(["ip", "-j", "link"]))
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    groups = [str(p) for p in Path("/sys/fs/cgroup").glob("**/*roundtrip*")]
    return {link["ifname"] for link in links}, [line.split()[4] for line in mounts], groups


def wait_gone(spaces):
    assert await_true(lambda: not spaces & namespaces(everybody()), 10), "they are still there"


def test_down_leaves_nothing(single):
    first_state = host_state()
    weight = ["--cpu-weight", "200"] if os.geteuid() == 0 else []
    process = single.run("up", "--nodes", "1+1", *weight)
    if "no CPU controller" in process.stderr:
        process = single.run("up", "--nodes", "1+1")
    assert process.returncode == 0, process.stderr
    single.run_checked("exec", "sbatch", "-N2", "--wrap", "srun sleep 100", "-o", "/dev/null")
    single.run_checked("exec", "sh", "-c", "sleep 100 >/dev/null 2>&1 &")
    pids = descendants(single.head_pid())
    spaces = namespaces(pids) - namespaces([os.getpid()])
    assert len(spaces) >= 5 * 3  # five kinds, of the head and of two nodes
    output = single.run_checked("down")
    assert "is down" in output
    assert not [pid for pid in pids if spaces & namespaces([pid])]
    wait_gone(spaces)
    assert host_state() == first_state
    assert not (single.state / "run").exists()
    assert "is not up" in single.run_checked("down")


def test_two_clusters_at_once_are_strangers(cluster, single):
    single.run_checked("up", "--nodes", "1+1")
    assert sorted(single.run_checked("exec", "srun", "-N2", "hostname").split()) == ["a1", "b1"]
    assert len(cluster.run_checked("exec", "srun", "-N4", "hostname").split()) == 4
    key = Path("etc/munge/munge.key")
    assert (single.state / key).read_bytes() != (cluster.state / key).read_bytes()
    single.run_checked("wan", "--rtt", "5ms", "--no-self-test")
    assert cluster.status()["link"]["rtt_ms"] == 0
    single.run_checked("down")
    assert cluster.status()["state"] == "up"


def start_up(cluster):
    """``up`` in the background, once its head lives."""
    return cluster.start("up", "--nodes", "1+1", until=cluster.state / "head.json")


def test_up_works_after_the_head_was_killed_while_booting(single):
    process = start_up(single)
    spaces = namespaces(descendants(single.head_pid())) - namespaces([os.getpid()])
    os.kill(single.head_pid(), signal.SIGKILL)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "died while booting" in error
    wait_gone(spaces)
    single.run_checked("up", "--nodes", "1+1")
    assert single.status()["state"] == "up"


def test_up_works_after_up_itself_was_killed(single):
    process = start_up(single)
    head = single.head_pid()
    spaces = namespaces(descendants(head)) - namespaces([os.getpid()])
    process.kill()
    process.communicate(timeout=30)
    wait_gone(spaces)  # nobody accepted the head, so it ended
    single.run_checked("up", "--nodes", "1+1")
    assert single.head_pid() != head


def test_ctrl_c_while_booting_leaves_nothing(single):
    process = start_up(single)
    spaces = namespaces(descendants(single.head_pid())) - namespaces([os.getpid()])
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert not spaces & namespaces(everybody())
    assert single.status()["state"] == "down"


@pytest.mark.parametrize("victim", ["slurmctld", "roundtrip-link", "the head"])
def test_up_mends_a_cluster_that_is_half_dead(single, victim):
    single.run_checked("up", "--nodes", "1+1")
    if victim == "the head":
        os.kill(single.head_pid(), signal.SIGKILL)
    else:
        single.run_checked("exec", "pkill", "-KILL", "-f", f"^[^ ]*{victim}")
    assert await_true(lambda: single.status()["state"] != "up", 10)
    assert single.status()["state"] == "broken"
    assert single.run("status").returncode == 1
    process = single.run("up", "--nodes", "1+1")
    assert process.returncode == 0, process.stderr
    assert "starting anew" in process.stderr
    assert single.status()["state"] == "up"


def test_a_second_up_at_the_same_time_waits_and_finds_it_up(single):
    first_up = start_up(single)
    second_up = single.run("up", "--nodes", "1+1", timeout=240)
    output, _ = first_up.communicate(timeout=240)
    assert (first_up.returncode, second_up.returncode) == (0, 0), second_up.stderr
    assert "is up in" in output
    assert "waiting for it" in second_up.stderr
    assert "is up already" in second_up.stdout
    assert len(single.run_checked("exec", "srun", "-N2", "hostname").split()) == 2


def test_a_down_while_booting_waits_and_ends_it(single):
    process = start_up(single)
    assert "is down" in single.run_checked("down", timeout=240)
    process.communicate(timeout=240)
    assert process.returncode == 0
    assert single.status()["state"] == "down"


def test_a_node_loses_its_power_and_gets_it_back(single):
    single.run_checked("up", "--nodes", "2+1")
    pid_file = single.state / "run" / "nodes" / "a2.pid"
    pid = pid_file.read_text()
    single.run_checked("node", "a2", "sh", "-c", "sleep 300 >/dev/null 2>&1 &")
    single.run_checked("power", "a2", "off")
    assert single.run("power", "a2", "off").returncode == 2
    assert single.status()["state"] == "broken"
    ping = ["node", "a1", "ping", "-c", "1", "-W", "1", "10.78.1.2"]
    assert single.run(*ping).returncode == 1
    assert single.run("node", "a2", "true").returncode != 0
    single.run_checked("power", "a2", "on")
    assert await_true(lambda: single.status()["state"] == "up", 60), single.status()
    assert single.run_checked(*ping)
    assert single.run_checked("exec", "srun", "-w", "a2", "hostname").split() == ["a2"]
    assert pid_file.read_text() != pid
    assert "sleep" not in single.run_checked("node", "a2", "ps", "-e", "-o", "comm=")
    assert single.run("power", "a9", "off").returncode == 2


def cpu_group(cluster, *place):
    """The CPU cgroup that a command finds itself in."""
    lines = cluster.run_checked(*place, "cat", "/proc/self/cgroup").splitlines()
    return next(
        path
        for _, controllers, path in (line.split(":", 2) for line in lines)
        if "cpu" in controllers.split(",") or not controllers
    )


def test_the_cpu_weight_covers_what_exec_and_node_start(single):
    process = single.run("up", "--nodes", "1+1", "--cpu-weight", "200")
    if process.returncode == 2:
        pytest.skip(process.stderr)
    assert process.returncode == 0, process.stderr
    places = [("exec",), ("node", "a1"), ("exec", "srun", "-N1")]
    groups = [cpu_group(single, *place) for place in places]
    assert "roundtrip-vcluster-" in groups[2]
    assert groups[:2] == [groups[2]] * 2
