"""What simulated a launch, as its workload says in `simulated` of run.json.

The workload takes platform and host speed from the environment: ``workloads/core/simulation.cpp``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roundtrip.collect.shapes import LABEL, SHA256, record

#: What each entry is, and its JSON schema.
_FACTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "simgrid": ("version of SimGrid", LABEL),
    "platform": ("platform", LABEL),
    "platform_sha256": ("sha256 of the platform", SHA256),
    "host_flops": (
        "host speed, flop/s",
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1e15},
    ),
}
#: A launch that simulates hosts of many speeds has none of its own.
OPTIONAL = ("host_flops",)
SCHEMA = record(
    {name: schema for name, (_, schema) in _FACTS.items() if name not in OPTIONAL},
    {name: _FACTS[name][1] for name in OPTIONAL},
)
#: The columns of cases.parquet, which are empty where nothing is simulated, in words.
TITLES = {f"simulated_{name}": f"simulated: {title}" for name, (title, _) in _FACTS.items()}
COLUMNS = tuple(TITLES)


def cells(simulated: Mapping[str, Any] | None) -> dict[str, Any]:
    """Values of `COLUMNS`; None where nothing is simulated."""
    return {f"simulated_{name}": (simulated or {}).get(name) for name in _FACTS}


def fault(case: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """In words, that one of case.json and run.json says "simulated" and the other does not; ""."""
    if case["simulated"] == bool(run.get("simulated")):
        return ""
    if case["simulated"]:
        return "case.json says that it is simulated, but run.json names no simulator"
    return "run.json names a simulator, but case.json says that it is not simulated"
