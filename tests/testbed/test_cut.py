"""What ends a cut of the WAN: the words that the link program gets, without a cluster."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from vclusterlib import network
from vclusterlib.control import Control
from vclusterlib.link import UserspaceLink
from vclusterlib.spec import Spec


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
