"""How a row says that it was not measured on a real network."""

from __future__ import annotations

import json


def kind(emulated: object, simulated: object) -> str:
    """ "" for measured, else e.g. "EMULATED WAN: RTT 2 ms", "EMULATED: k = v" or "SIMULATED"."""
    told = []
    if emulated:
        facts = dict(sorted(json.loads(str(emulated)).items()))
        if "wan_rtt_ms" in facts:
            told.append(f"EMULATED WAN: RTT {facts.pop('wan_rtt_ms'):g} ms")
        if facts:
            told.append("EMULATED: " + ", ".join(f"{k} = {v}" for k, v in facts.items()))
    if simulated:
        told.append("SIMULATED")
    return "; ".join(told)
