"""The labels of rows that were not measured on a real network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_NAMED = {
    "wan_rtt_ms": "EMULATED WAN: RTT {:g} ms",
    "hub_mbit_s": "EMULATED HUB: {:g} Mbit/s",
}
#: Where two ranks are, or all ranks, in words.
PLACEMENTS = {
    "shared-memory": "in one node",
    "one-per-node": "on a node each",
    "all-cores": "on every core",
}


def kind(emulation: Sequence[Mapping[str, Any]] | None, simulated: object) -> str:
    """ "" for measured, else e.g. "EMULATED WAN: RTT 2 ms", "EMULATED: k = v" or "SIMULATED"."""
    told = []
    if emulation:
        facts = {one["name"]: one for one in emulation}
        nodes = facts.pop("nodes", None)
        told += [
            text.format(facts.pop(name)["number"]) for name, text in _NAMED.items() if name in facts
        ]
        if nodes and not told:
            told.append("EMULATED NODES")
        if facts:
            told.append(
                "EMULATED: " + ", ".join(f"{name} = {one['value']}" for name, one in facts.items())
            )
    if simulated:
        told.append("SIMULATED")
    return "; ".join(told)
