"""How a row says that it was not measured on a real network."""

from __future__ import annotations

import json


def kind(emulated: object, simulated: object) -> str:
    """ "" for measured, else e.g. "EMULATED: wan_rtt_ms = 2" or "SIMULATED"."""
    told = []
    if emulated:
        facts = json.loads(str(emulated))
        told.append("EMULATED: " + ", ".join(f"{k} = {v}" for k, v in sorted(facts.items())))
    if simulated:
        told.append("SIMULATED")
    return "; ".join(told)
