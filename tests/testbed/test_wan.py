"""The emulated WAN: what it adds, what it leaves alone, who may change it; and nodes made sick."""

import os
import re
import subprocess

import pytest
from support.virtual import CHECKOUT, await_true

pytestmark = [pytest.mark.nightly, pytest.mark.live, pytest.mark.usefixtures("plain")]

#: Prints the share of a processor that it had.
BUSY = """
import time
begin, used = time.monotonic(), time.process_time()
while time.monotonic() - begin < 1:
    pass
print((time.process_time() - used) / (time.monotonic() - begin))
"""


def pings(cluster, target, count=20):
    """Round-trip times in ms from a1, sorted."""
    ping = ("ping", "-n", "-c", str(count), "-i", "0.01", "-W", "1", target)
    output = cluster.run("node", "a1", *ping).stdout
    return sorted(float(time) for time in re.findall(r"time=([\d.]+)", output))


# Bounds are wide upwards: the machine may be busy.  Downwards ping's last digit is all there is.
@pytest.mark.parametrize(("rtt", "ms"), [("1ms", 1), ("4ms", 4), ("40ms", 40)])
def test_adds_the_requested_rtt_between_the_clusters_only(cluster, rtt, ms):
    output = cluster.run_checked("wan", "--rtt", rtt)
    assert f"RTT {ms} ms" in output
    assert "self-test: ping a1 -> b1" in output
    times = pings(cluster, "b1")
    assert ms * 0.99 <= times[0] <= ms + 2
    assert pings(cluster, "a2")[0] < 0.99


def test_settings_not_named_stay(cluster):
    cluster.run_checked("wan", "--rtt", "2ms", "--no-self-test")
    cluster.run_checked("wan", "--rate", "100Mbit/s", "--seed", "5", "--no-self-test")
    link = cluster.link_stats()
    assert (link["rtt_ms"], link["rate_bit_s"], link["seed"]) == (2.0, 1e8, 5)


def test_bulk_data_obeys_the_rate(cluster):
    """Never faster than requested; slower only by what TCP and a busy machine cost."""
    cluster.run_checked("wan", "--rate", "20Mbit/s", "--queue", "256KiB")
    program = ["/usr/bin/python3", "tests/testbed/bulk.py"]
    command = cluster.command("node", "b1", *program, "receive")
    with subprocess.Popen(
        command, env=cluster.environment, cwd=CHECKOUT, stdout=subprocess.PIPE
    ) as receiver:
        cluster.run_checked("node", "a1", *program, "send", "b1")
        rate = float(receiver.communicate(timeout=30)[0])
    assert 5 < rate < 21
    assert sum(d["bytes"] for d in cluster.link_stats()["directions"]) > 2_000_000


def test_loses_the_requested_frames_and_counts_them(cluster):
    cluster.run_checked("wan", "--loss", "30%", "--seed", "3", "--reset", "--no-self-test")
    count = len(pings(cluster, "b1", 100))
    assert 20 <= count <= 80  # 49 expected
    assert sum(direction["lost"] for direction in cluster.link_stats()["directions"]) >= 20


def test_a_cut_ends_by_itself(cluster):
    cluster.run_checked("wan", "--cut", "10s")
    assert not cluster.link_stats()["up"]
    assert pings(cluster, "b1", 1) == []
    assert pings(cluster, "a2", 1) != []
    assert await_true(lambda: cluster.link_stats()["up"], 60)
    assert pings(cluster, "b1", 3) != []
    assert cluster.link_stats()["directions"][0]["cut"] >= 1


def test_down_is_tested_to_be_down_and_up_to_be_up(cluster):
    assert "nothing passes, as asked" in cluster.run_checked("wan", "--down")
    assert pings(cluster, "b1", 1) == []
    assert "DOWN" not in cluster.run_checked("wan", "--up")
    assert pings(cluster, "b1", 3) != []


def test_statistics_show_lateness_and_drops(cluster):
    cluster.run_checked("wan", "--rtt", "2ms", "--reset")
    pings(cluster, "b1")
    for direction in cluster.link_stats()["directions"]:
        assert direction["sent"] >= 20
        assert direction["dropped"] == 0
        if cluster.link_stats()["engine"] == "userspace":
            assert 0 <= direction["late_us_mean"] <= direction["late_us_max"]


def test_can_be_changed_from_the_head_and_from_a_job(cluster):
    cluster.run_checked("exec", "testbed/vcluster", "wan", "--rtt", "3ms")
    assert cluster.link_stats()["rtt_ms"] == 3
    cluster.run_checked("exec", "srun", "-w", "b1", "testbed/vcluster", "wan", "--rtt", "1ms")
    assert cluster.link_stats()["rtt_ms"] == 1
    script = cluster.share / "wan.sbatch"
    script.write_text("#!/bin/sh\n#SBATCH -o /dev/null\ntestbed/vcluster wan --rtt 2ms\n")
    cluster.run_checked("exec", "sbatch", "--wait", str(script))
    assert cluster.link_stats()["rtt_ms"] == 2


def test_a_link_that_does_not_do_what_is_set_fails_loudly(cluster):
    """Delay the WAN behind the link's back: on the card of b1."""
    command = "tc qdisc replace dev eth1 root tbf rate 64kbit burst 1600 limit 60000"
    filler = "ping -q -f -c 300 -s 1400 -W 0 10.78.1.2"
    cluster.run_checked("node", "b1", *command.split())
    try:
        cluster.run_checked("node", "b1", "sh", "-c", f"({filler} >/dev/null 2>&1 &)")
        process = cluster.run("wan", "--rtt", "1ms")
        assert process.returncode == 1
        assert "self-test failed: ping a1 -> b1 asked 1.000 ms" in process.stderr
    finally:
        cluster.run("node", "b1", "pkill", "-x", "ping")
        cluster.run_checked("node", "b1", "tc", "qdisc", "del", "dev", "eth1", "root")


def ping_summary(cluster, host="10.78.1.2", count=100):
    """Of pings from a1: the shortest round trip in ms, and the share that was lost."""
    command = ("ping", "-q", "-c", str(count), "-i", "0.005", host)
    output = cluster.run("node", "a1", *command).stdout
    rtt, loss = re.search(r"= ([\d.]+)/", output), re.search(r"([\d.]+)% packet loss", output)
    assert rtt and loss, output
    return float(rtt[1]), float(loss[1]) / 100


def test_one_cable_is_slow_and_lossy_and_no_other(cluster):
    healthy_ms, _ = ping_summary(cluster)
    cluster.run_checked("fault", "a2", "--latency", "1ms")
    slow_ms, _ = ping_summary(cluster)
    assert 2 <= slow_ms - healthy_ms < 2.5, "1 ms each way"
    assert ping_summary(cluster, "10.78.2.1")[0] < 1, "another node is as it was"
    cluster.run_checked("fault", "a2", "--latency", "0", "--loss", "20%")
    assert 0.2 < ping_summary(cluster, count=200)[1] < 0.55, "36 % of round trips"
    assert cluster.status()["faults"]["a2"]["loss"] == pytest.approx(0.2)
    assert cluster.run_checked("exec", "srun", "-p", "clusterA", "-w", "a2", "hostname") == "a2\n"
    assert cluster.run_checked("fault", "a2", "--clear") == "{}\n"
    cleared_ms, loss = ping_summary(cluster)
    assert cleared_ms < healthy_ms + 0.5
    assert loss == 0
    assert cluster.status()["faults"] == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="cgroups belong to root")
def test_a_slow_processor_gives_no_more_than_its_share(cluster):
    def groups():
        """The cgroups of what Slurm starts on b1."""
        script = "import pathlib; print(open('/proc/self/cgroup').read())"
        return cluster.run_checked(
            "exec", "srun", "-p", "clusterB", "-w", "b1", "python3", "-c", script
        )

    assert not re.search(r"roundtrip-vcluster-\w+-b1$", groups(), re.MULTILINE)
    cluster.run_checked("fault", "b1", "--cpu", "25%")
    assert re.search(r"roundtrip-vcluster-\w+-b1$", groups(), re.MULTILINE)
    command = ("exec", "srun", "-p", "clusterB", "-w", "b1", "python3", "-c", BUSY)
    assert float(cluster.run_checked(*command)) < 0.3
    cluster.run_checked("fault", "b1", "--clear")
    assert not re.search(r"roundtrip-vcluster-\w+-b1$", groups(), re.MULTILINE), "as all others"


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("fault a9 --cpu 50%", "no node a9: there are a1 .. b2"),
        ("fault a1", "give --latency, --loss, --cpu or --cable, or --clear alone"),
        ("fault a1 --cpu 5%", "cpu 5% is out of range: allowed is 25% to 6400%"),
        ("fault a1 --clear --loss 1%", "or --clear alone"),
        ("hub --rate 10Mbit/s", "fabric is wan"),
        ("exec testbed/vcluster up", "outside"),
        ("exec testbed/vcluster down", "outside"),
    ],
)
def test_what_cannot_be_is_one_line(cluster, command, complaint):
    process = cluster.run(*command.split())
    assert (process.returncode, complaint in process.stderr) == (2, True), process.stderr
