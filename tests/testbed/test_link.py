"""What is applied to the links, without a cluster, and what is read of the pings that test one."""

from types import SimpleNamespace

import pytest
from vclusterlib import cgroup, faults, network
from vclusterlib.head import Control
from vclusterlib.link import LinkSettings, UserspaceLink, expected_ms, parse_ping
from vclusterlib.spec import Spec, parse_nodes


@pytest.fixture
def applied(monkeypatch):
    """What was applied to network and links, in order."""
    calls = []
    for name in ("segment_in_software", "run_batch"):
        monkeypatch.setattr(network, name, lambda *words, name=name: calls.append((name, *words)))
    monkeypatch.setattr(cgroup, "limit_node", lambda *words: calls.append(("limit", words[3])))
    cable = SimpleNamespace(apply=calls.append)
    monkeypatch.setattr(faults.NodeFaults, "_insert_link", lambda self, node: cable)
    monkeypatch.setattr(faults.NodeFaults, "_node_pids", lambda self, name: [])
    return calls


def test_a_link_has_the_delay_of_both_ways_and_the_loss_of_each(applied):
    daemons = SimpleNamespace(stop=lambda *words: applied.append(("stop", words[0])))
    node_faults = faults.NodeFaults(None, Spec(*parse_nodes("2+2")), daemons, "link")
    node_faults.change("a2", {"latency": 1e-3}, clear=False)
    node_faults.change("a2", {"loss": 0.2}, clear=False)
    links = [call for call in applied if isinstance(call, LinkSettings)]
    assert links == [LinkSettings(rtt=2e-3), LinkSettings(rtt=2e-3, loss=0.2)]
    assert node_faults.to_json() == {
        "a2": {"latency": 1e-3, "loss": 0.2, "cpu": 0.0, "cable": False}
    }
    node_faults.change("a2", {}, clear=True)
    assert ("stop", "cable-a2") in applied
    assert node_faults.to_json() == {}


@pytest.mark.parametrize(
    ("changes", "fresh", "words"),
    [
        ({"rtt": 0.002}, False, set()),
        ({"up": True}, False, {"up"}),
        ({"up": False}, False, {"down"}),
        ({}, True, {"up"}),  # a lease
        ({"rtt": 0.002}, True, {"up"}),
    ],
)
def test_only_up_and_a_lease_end_a_cut(monkeypatch, changes, fresh, words):
    sent = []
    monkeypatch.setattr(network, "segment_in_software", lambda *_: None)
    monkeypatch.setattr(UserspaceLink, "_send_command", lambda self, command: sent.append(command))
    link = object.__new__(UserspaceLink)
    link._senders, link._in_packets = (), False
    state = SimpleNamespace(spec=Spec)
    Control(state, link, None, None).set_link(changes, test=False, fresh=fresh)
    assert set(sent[-1].split()) & {"up", "down"} == words


def ping(*times):
    start = "64 bytes from 10.78.2.1: icmp_seq="
    lines = [f"{start}{number} ttl=64 time={ms} ms" for number, ms in enumerate(times)]
    return "\n".join([*lines, f"5 packets transmitted, {len(times)} received, 0% packet loss"])


def test_serialisation_of_the_ping_is_expected_too():
    assert expected_ms(LinkSettings(rtt=0.002)) == pytest.approx(2)
    # 2 x (98 + 24) bytes at 10 Mbit/s
    assert expected_ms(LinkSettings(rate=1e7)) == pytest.approx(0.1952)


@pytest.mark.parametrize(
    ("times", "passed", "disturbed"),
    [
        (("2.03", "2.04", "2.05"), True, False),
        (("2.03", "9.1", "8.2"), True, True),  # the machine is busy
        (("1.95", "2.03"), False, False),
        (("2.6", "2.7"), False, False),
        ((), False, False),
    ],
)
def test_a_link_is_as_asked_if_the_fastest_ping_is(times, passed, disturbed):
    test = parse_ping(ping(*times), 2.0)
    assert (test.passed, test.disturbed) == (passed, disturbed)
    assert (test.sent, test.received) == (5, len(times))


def test_nothing_at_all_is_a_failure():
    assert not parse_ping("", 0.0).passed
