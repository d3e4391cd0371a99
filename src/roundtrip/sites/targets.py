"""The generic instruction set of a processor, by Spack's name: what all nodes can be built for.

Levels of x86-64 as the psABI defines them (x86-64 psABI, section "Micro-Architecture Levels").
"""

from __future__ import annotations

import json

#: Level: what the kernel lists in addition to the level below it.
_LEVELS = {
    "x86_64": {"lm"},
    "x86_64_v2": {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"},
    "x86_64_v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
    "x86_64_v4": {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
}
#: Without AVX-512 by default: it changes clocks, and few clusters have it in every node.
USUAL = "x86_64_v3"


def of_lscpu(text: str) -> str | None:
    """From ``lscpu -J``: a level of x86-64, at most `USUAL`; another architecture by its name."""
    try:
        entries = json.loads(text)["lscpu"]
    except (json.JSONDecodeError, KeyError):
        return None
    flat = {}
    while entries:
        entry = entries.pop()
        flat[entry["field"].rstrip(":")] = entry.get("data") or ""
        entries += entry.get("children", [])
    machine, flags = flat.get("Architecture"), set(flat.get("Flags", "").split())
    return _level(flags) if machine == "x86_64" and flags else machine


def _level(flags: set[str]) -> str:
    reached = "x86_64"
    for level, needed in _LEVELS.items():
        if not needed <= flags:
            break
        reached = level
        if level == USUAL:
            break
    return reached
