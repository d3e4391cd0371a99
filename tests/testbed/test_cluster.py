"""A real cluster of 2+2 nodes: Slurm, isolation, the way in, and its files."""

import subprocess

import pytest
from support.virtual import await_true

pytestmark = pytest.mark.live


def test_status_shows_nodes_partitions_and_link(cluster):
    status = cluster.status()
    assert status["state"] == "up"
    assert [node["name"] for node in status["nodes"]] == ["a1", "a2", "b1", "b2"]
    assert {node["state"] for node in status["nodes"]} <= {"idle", "mixed", "allocated"}
    assert status["daemons"]["slurmctld"]
    assert status["link"]["fabric"] == "wan"
    assert status["link"]["self_test"]["passed"]
    partitions = cluster.run_checked("exec", "sinfo", "-h", "-o", "%P %D").split("\n")
    assert partitions[:3] == ["clusterA 2", "clusterB 2", "grid* 4"]


def test_up_again_changes_nothing(cluster):
    head = cluster.head_pid()
    assert "is up already" in cluster.run_checked("up")
    assert cluster.head_pid() == head
    process = cluster.run("up", "--nodes", "1+1")
    assert process.returncode == 2
    assert "run `down` first" in process.stderr


def test_sbatch_runs_a_script_with_its_own_exit_code(cluster):
    script = cluster.share / "job.sbatch"
    output = cluster.share / "job.out"
    script.write_text(f"#!/bin/sh\n#SBATCH -N2 -p grid -o {output}\nsrun hostname\nexit 3\n")
    process = cluster.run("exec", "sbatch", "--wait", str(script))
    assert process.returncode == 3, process.stderr
    assert len(set(output.read_text().split())) == 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("status --partition x", "no partition x: there are clusterA, clusterB, grid"),
        ("status --partition clusterA --nodes 3", "partition clusterA has 2 nodes, not 3"),
        ("status --nodes 5", "partition grid has 4 nodes, not 5"),
        ("node b3 true", "no node b3: there are a1 .. b2 (4 nodes)"),
    ],
)
def test_what_is_not_there_is_refused(cluster, options, reason):
    process = cluster.run(*options.split())
    assert (process.returncode, process.stderr) == (2, f"vcluster: {reason}\n")
    assert cluster.run("status", "--partition", "grid", "--nodes", "4").returncode == 0


def test_nodes_have_their_own_name_processes_shm_and_tmp(cluster):
    cluster.run_checked("node", "a1", "touch", "/dev/shm/mark", "/tmp/mark")
    for name in ("a2", "b1"):
        output = cluster.run_checked(
            "node", name, "sh", "-c", "hostname; ls /dev/shm /tmp; ps -e -o comm="
        )
        assert output.startswith(name)
        assert "mark" not in output
        assert output.count("slurmd") == 1
        assert "slurmctld" not in output
    assert "mark" not in cluster.run_checked("exec", "ls", "/dev/shm", "/tmp")


def test_nodes_see_their_own_network_cards_in_sysfs(cluster):
    assert cluster.run_checked("node", "a1", "ls", "/sys/class/net").split() == ["eth1", "lo"]
    assert "brA" in cluster.run_checked("exec", "ls", "/sys/class/net")


def test_namespaces_of_all_nodes_differ(cluster):
    kinds = ("net", "uts", "ipc", "pid", "mnt")
    readlink = ["readlink", *(f"/proc/self/ns/{kind}" for kind in kinds)]
    places = [("exec",), ("node", "a1"), ("node", "a2"), ("node", "b1"), ("node", "b2")]
    outputs = [cluster.run_checked(*place, *readlink) for place in places]
    outputs.append(subprocess.check_output(readlink, text=True))
    assert len({name for output in outputs for name in output.split()}) == len(outputs) * len(kinds)


def test_shared_folders_are_seen_by_all_nodes_also_below_tmp(cluster):
    share = cluster.share
    (share / "word").write_text("hello")
    output = cluster.run_checked("exec", "srun", "-N4", "cat", str(share / "word"), cwd=share)
    assert output == "hello" * 4
    assert cluster.run_checked("exec", "pwd", cwd=share).strip() == str(share)


def test_a_folder_that_is_not_shared_is_refused(cluster, tmp_path):
    process = cluster.run("exec", "pwd", cwd=tmp_path)
    assert process.returncode == 2
    assert f"up --share {tmp_path}" in process.stderr


def test_exec_passes_status_streams_and_terminal_type_through(cluster):
    assert cluster.run("exec", "sh", "-c", "exit 7").returncode == 7
    assert cluster.run("exec", "sh", "-c", "kill -9 $$").returncode == -9
    assert cluster.run("exec", "no-such-program").returncode == 127
    assert cluster.run("node", "a1", "sh", "-c", "exit 8").returncode == 8
    process = cluster.run("exec", "sh", "-c", "cat; echo $TERM >&2", input="to stdin")
    assert process.stdout == "to stdin"
    assert process.stderr.strip() == cluster.environment.get("TERM", "")
    assert cluster.run("exec", "srun", "-N1", "sh", "-c", "exit 5").returncode == 5


def test_an_outer_slurm_job_does_not_show_inside(cluster, vcluster):
    env = {"SLURM_JOB_ID": "77", "SLURM_CONF": "/outer.conf", "PMI_RANK": "3", "OMPI_MCA_x": "y"}
    lines = vcluster(cluster.home, cluster.name, env).run_checked("exec", "env").split("\n")
    assert not [line for line in lines if line.startswith(("SLURM_", "PMI_"))]
    assert "OMPI_MCA_x=y" in lines


def test_a_killed_exec_ends_its_command(cluster):
    with subprocess.Popen(
        cluster.command("exec", "sleep", "4711"), env=cluster.environment, cwd="/"
    ) as process:
        pgrep = ("exec", "pgrep", "-fx", "sleep 4711")
        assert await_true(lambda: cluster.run(*pgrep).returncode == 0, 20)
        process.terminate()
        process.wait(10)
    assert await_true(lambda: cluster.run(*pgrep).returncode == 1, 20)


def test_a_killed_slurmd_is_named_and_can_be_restarted(cluster):
    cluster.run_checked("node", "b2", "pkill", "-x", "slurmd")
    assert await_true(lambda: cluster.status()["state"] == "broken", 20)
    assert cluster.status()["why"] == "not running: b2"
    cluster.run_checked("node", "b2", "slurmd")
    assert await_true(lambda: cluster.status()["state"] == "up", 20)
    assert cluster.run_checked("exec", "srun", "-w", "b2", "hostname") == "b2\n"


def test_slurmctld_can_be_restarted(cluster):
    cluster.run_checked("exec", "pkill", "-x", "slurmctld")
    assert await_true(lambda: not cluster.status()["daemons"]["slurmctld"], 20)
    cluster.run_checked("exec", "slurmctld")
    assert await_true(lambda: cluster.status()["state"] == "up", 20)
    assert cluster.run_checked("exec", "srun", "-N4", "true") == ""
