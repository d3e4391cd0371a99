"""The 10BASE-T hub: one medium for all, with serialisation delay."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.live]


@pytest.fixture(scope="module")
def hub(home, vcluster):
    cluster = vcluster(home, "hub")
    try:
        cluster.ok("up", "--nodes", "2+1", "--fabric", "hub", timeout=240)
        yield cluster
    finally:
        cluster.run("down")


def fastest(hub, size):
    """Shortest round trip in ms of pings with `size` bytes of payload, a1 to b1 on the hub."""
    output = hub.ok("node", "a1", "ping", "-n", "-c", "10", "-i", "0.02", "-s", str(size), "b1-f")
    return min(float(time) for time in re.findall(r"time=([\d.]+)", output))


@pytest.mark.parametrize("size", [56, 1472])
def test_a_frame_takes_as_long_as_its_bits(hub, size):
    # payload + ICMP 8 + IP 20 + Ethernet 14 + preamble, FCS and gap 24, both ways, 10 bits a us
    expected_ms = 2 * 8 * (size + 66) / 10e6 * 1e3
    assert expected_ms * 0.99 <= fastest(hub, size) <= expected_ms + 2


def test_the_rate_can_be_changed_also_from_the_head(hub):
    try:
        output = hub.ok("exec", "testbed/vcluster", "hub", "--rate", "1Mbit/s")
        assert "rate 1 Mbit/s" in output
        assert fastest(hub, 1472) >= 0.99 * 2 * 8 * 1538 / 1e3
    finally:
        hub.ok("hub", "--rate", "10Mbit/s")


def test_all_traffic_shares_the_medium(hub):
    """While a2 floods b1, a1's pings wait for the medium, in both directions of one statistics."""
    hub.ok("hub", "--reset", "--no-self-test")
    flood = "ping -q -f -c 60 -s 1400 b1-f >/dev/null 2>&1 &"
    output = hub.ok("node", "a2", "sh", "-c", f"{flood} ping -n -c 10 -i 0.02 a1-f; wait")
    times = [float(time) for time in re.findall(r"time=([\d.]+)", output)]
    assert max(times) > 1.1  # at least one 1466-byte frame of 1.2 ms was in the way
    (medium,) = json.loads(hub.ok("hub", "--stats"))["directions"]
    assert medium["sent"] >= 2 * 60


def test_slurm_does_not_use_the_hub(hub):
    frames = json.loads(hub.ok("hub", "--stats"))["directions"][0]["frames"]
    assert len(hub.ok("exec", "srun", "-N3", "hostname").split()) == 3
    assert json.loads(hub.ok("hub", "--stats"))["directions"][0]["frames"] == frames


def test_a_hub_is_no_wan(hub):
    process = hub.run("wan", "--rtt", "2ms")
    assert process.returncode == 2
    assert "fabric is hub" in process.stderr
