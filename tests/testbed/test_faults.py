"""A node that is made sick is slow, lossy or starved as requested, and well again afterwards."""

from __future__ import annotations

import os
import re

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.live, pytest.mark.usefixtures("plain")]

#: Prints the share of a processor that it had.
BUSY = """
import time
begin, used = time.monotonic(), time.process_time()
while time.monotonic() - begin < 1:
    pass
print((time.process_time() - used) / (time.monotonic() - begin))
"""


def pings(cluster, host="10.78.1.2", count=100):
    """Of pings from a1: the shortest round trip in ms, and the share that was lost."""
    command = ("ping", "-q", "-c", str(count), "-i", "0.005", host)
    output = cluster.run("node", "a1", *command).stdout
    rtt, loss = re.search(r"= ([\d.]+)/", output), re.search(r"([\d.]+)% packet loss", output)
    assert rtt and loss, output
    return float(rtt[1]), float(loss[1]) / 100


def test_one_cable_is_slow_and_lossy_and_no_other(cluster):
    healthy_ms, _ = pings(cluster)
    cluster.ok("fault", "a2", "--latency", "1ms")
    slow_ms, _ = pings(cluster)
    assert 2 <= slow_ms - healthy_ms < 2.5, "1 ms each way"
    assert pings(cluster, "10.78.2.1")[0] < 1, "another node is as it was"
    cluster.ok("fault", "a2", "--latency", "0", "--loss", "20%")
    assert 0.2 < pings(cluster, count=200)[1] < 0.55, "36 % of round trips"
    assert cluster.status()["faults"]["a2"]["loss"] == pytest.approx(0.2)
    assert cluster.ok("exec", "srun", "-p", "clusterA", "-w", "a2", "hostname") == "a2\n"
    assert cluster.ok("fault", "a2", "--clear") == "{}\n"
    cleared_ms, loss = pings(cluster)
    assert cleared_ms < healthy_ms + 0.5
    assert loss == 0
    assert cluster.status()["faults"] == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="cgroups belong to root")
def test_a_slow_processor_gives_no_more_than_its_share(cluster):
    def groups():
        """The cgroups of what Slurm starts on b1."""
        script = "import pathlib; print(open('/proc/self/cgroup').read())"
        return cluster.ok("exec", "srun", "-p", "clusterB", "-w", "b1", "python3", "-c", script)

    assert not re.search(r"roundtrip-vcluster-\w+-b1$", groups(), re.MULTILINE)
    cluster.ok("fault", "b1", "--cpu", "25%")
    assert re.search(r"roundtrip-vcluster-\w+-b1$", groups(), re.MULTILINE)
    command = ("exec", "srun", "-p", "clusterB", "-w", "b1", "python3", "-c", BUSY)
    assert float(cluster.ok(*command)) < 0.3
    cluster.ok("fault", "b1", "--clear")
    assert not re.search(r"roundtrip-vcluster-\w+-b1$", groups(), re.MULTILINE), "as all others"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("a9", "--cpu", "50%"), "no node a9: there are a1 .. b2"),
        (("a1",), "give --latency, --loss, --cpu or --cable, or --clear alone"),
        (("a1", "--cpu", "5%"), "cpu 5% is out of range: allowed is 25% to 6400%"),
        (("a1", "--clear", "--loss", "1%"), "or --clear alone"),
    ],
)
def test_what_cannot_be_is_one_line(cluster, options, complaint):
    process = cluster.run("fault", *options)
    assert (process.returncode, complaint in process.stderr) == (2, True), process.stderr
