"""What is applied to the links, without a cluster: by a sick node's cable, at the end of a cut."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from vclusterlib import cgroup, faults, network
from vclusterlib.control import Control
from vclusterlib.link import LinkSettings, UserspaceLink
from vclusterlib.spec import Spec, parse_nodes


@pytest.fixture
def applied(monkeypatch):
    """What was applied to network and links, in order."""
    calls = []
    for name in ("segment_in_software", "run_batch"):
        monkeypatch.setattr(network, name, lambda *words, name=name: calls.append((name, *words)))
    monkeypatch.setattr(cgroup, "limit", lambda *words: calls.append(("limit", words[3])))
    cable = SimpleNamespace(apply=calls.append)
    monkeypatch.setattr(faults.Faults, "_insert", lambda self, node: cable)
    monkeypatch.setattr(faults.Faults, "_processes", lambda self, name: [])
    return calls


def test_a_link_has_the_delay_of_both_ways_and_the_loss_of_each(applied):
    daemons = SimpleNamespace(stop=lambda *words: applied.append(("stop", words[0])))
    node_faults = faults.Faults(None, Spec(*parse_nodes("2+2")), daemons, "link")
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
    monkeypatch.setattr(UserspaceLink, "_ask", lambda self, command: sent.append(command))
    link = object.__new__(UserspaceLink)
    link._senders, link._in_packets = (), False
    state = SimpleNamespace(spec=Spec)
    Control(state, link, None, None).apply(changes, test=False, fresh=fresh)
    assert set(sent[-1].split()) & {"up", "down"} == words
