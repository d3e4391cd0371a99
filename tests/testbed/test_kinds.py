"""Clusters of other kinds: with accounting, without root, on a 10BASE-T hub."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from vclusterlib import UserError, tools

pytestmark = [pytest.mark.nightly, pytest.mark.live]

NOBODY = 65534


@pytest.fixture(scope="module")
def accounted(home, vcluster):
    try:
        tools.require_programs(tools.ACCOUNTING_PACKAGES)
    except UserError as error:
        pytest.skip(str(error))
    cluster = vcluster(home, "accounted")
    try:
        cluster.run_checked("up", "--nodes", "1+1", "--accounting", timeout=240)
        yield cluster
    finally:
        cluster.run("down")


def jobs(cluster, expected):
    """Lines ``id|state|exit code``, once there are `expected` of them that ended."""
    deadline = time.monotonic() + 20
    while True:
        lines = cluster.run_checked("exec", "sacct", "-nXP", "-o", "jobid,state,exitcode").split()
        final_lines = [line for line in lines if "RUNNING" not in line and "PENDING" not in line]
        if len(final_lines) >= expected:
            return final_lines
        assert time.monotonic() < deadline, lines
        time.sleep(0.2)


def test_sacct_shows_jobs_of_this_and_of_earlier_boots(accounted):
    accounted.run_checked("exec", "srun", "-N2", "true")
    assert accounted.run("exec", "srun", "-N1", "sh", "-c", "exit 3").returncode == 3
    assert jobs(accounted, 2) == ["1|COMPLETED|0:0", "2|FAILED|3:0"]
    assert accounted.status()["daemons"] == dict.fromkeys(
        ("munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd", "roundtrip-link"), True
    )
    accounted.run_checked("down")
    accounted.run_checked("up", "--nodes", "1+1", "--accounting")
    accounted.run_checked("exec", "srun", "-N2", "true")
    assert jobs(accounted, 3)[2] == "100001|COMPLETED|0:0"
    log = (accounted.state / "log" / "mariadbd.out").read_text()
    assert "crash recovery" not in log.lower()


@pytest.fixture(scope="module")
def rootless(home, vcluster):
    """A cluster of user nobody, with a state home that nobody can reach."""
    if os.geteuid() != 0:
        pytest.skip("not root: all other tests run rootless already")
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    probe = subprocess.run([*prefix, "unshare", "-rn", "true"], capture_output=True)
    if probe.returncode:
        pytest.skip(f"no user namespaces: {probe.stderr.decode().strip()}")
    state_home = Path(tempfile.mkdtemp(prefix="vcluster-nobody-"))
    os.chown(state_home, NOBODY, NOBODY)
    cluster = vcluster(state_home, "nobody", {"HOME": str(state_home)}, prefix)
    if subprocess.run([*prefix, "test", "-x", str(cluster.command()[4])]).returncode:
        pytest.skip("the checkout is not readable for user nobody")
    yield cluster
    cluster.run("down")
    shutil.rmtree(state_home)


def test_slurm_link_and_caveats(rootless):
    output = rootless.run_checked("up", "--nodes", "1+1", timeout=240)
    assert "note: the link may not use SCHED_FIFO here" in output
    assert "note: rootless" in output
    assert sorted(rootless.run_checked("exec", "srun", "-N2", "hostname").split()) == ["a1", "b1"]
    assert "RTT 2 ms" in rootless.run_checked("wan", "--rtt", "2ms")
    assert rootless.status()["rootless"]
    assert (rootless.state / "head.json").stat().st_uid == NOBODY
    process = rootless.run("up", "--cpu-weight", "200")
    assert process.returncode == 2
    assert "needs root" in process.stderr
    assert "is down" in rootless.run_checked("down")


@pytest.fixture(scope="module")
def hub(home, vcluster):
    cluster = vcluster(home, "hub")
    try:
        cluster.run_checked("up", "--nodes", "2+1", "--fabric", "hub", timeout=240)
        yield cluster
    finally:
        cluster.run("down")


def fastest(hub, size):
    """Shortest round trip in ms of pings with `size` bytes of payload, a1 to b1 on the hub."""
    output = hub.run_checked(
        "node", "a1", "ping", "-n", "-c", "10", "-i", "0.02", "-s", str(size), "b1-f"
    )
    return min(float(time) for time in re.findall(r"time=([\d.]+)", output))


@pytest.mark.parametrize("size", [56, 1472])
def test_a_frame_takes_as_long_as_its_bits(hub, size):
    # payload + ICMP 8 + IP 20 + Ethernet 14 + preamble, FCS and gap 24, both ways, 10 bits a us
    expected_ms = 2 * 8 * (size + 66) / 10e6 * 1e3
    assert expected_ms * 0.99 <= fastest(hub, size) <= expected_ms + 2


def test_the_rate_can_be_changed_also_from_the_head(hub):
    try:
        output = hub.run_checked("exec", "testbed/vcluster", "hub", "--rate", "1Mbit/s")
        assert "rate 1 Mbit/s" in output
        assert fastest(hub, 1472) >= 0.99 * 2 * 8 * 1538 / 1e3
    finally:
        hub.run_checked("hub", "--rate", "10Mbit/s")


def test_all_traffic_shares_the_medium(hub):
    """While a2 floods b1, a1's pings wait for the medium, in both directions of one statistics."""
    hub.run_checked("hub", "--reset", "--no-self-test")
    flood = "ping -q -f -c 60 -s 1400 b1-f >/dev/null 2>&1 &"
    output = hub.run_checked("node", "a2", "sh", "-c", f"{flood} ping -n -c 10 -i 0.02 a1-f; wait")
    times = [float(time) for time in re.findall(r"time=([\d.]+)", output)]
    assert max(times) > 1.1  # at least one 1466-byte frame of 1.2 ms was in the way
    (medium,) = json.loads(hub.run_checked("hub", "--stats"))["directions"]
    assert medium["sent"] >= 2 * 60


def test_slurm_does_not_use_the_hub(hub):
    frames = json.loads(hub.run_checked("hub", "--stats"))["directions"][0]["frames"]
    assert len(hub.run_checked("exec", "srun", "-N3", "hostname").split()) == 3
    assert json.loads(hub.run_checked("hub", "--stats"))["directions"][0]["frames"] == frames


def test_a_hub_is_no_wan(hub):
    process = hub.run("wan", "--rtt", "2ms")
    assert process.returncode == 2
    assert "fabric is hub" in process.stderr
