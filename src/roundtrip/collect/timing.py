"""How a launch took its times, as its workload says in `timing` of run.json.

The words are those of ``workloads/core/timing_facts.cpp``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roundtrip.collect.shapes import record

#: `clock`: whose clock is read.  `synchronisation`: how ranks wait for each other before a sample.
#: `over_ranks`: whose time is the sample.  `cache`: the state of the caches before a sample.
#: "several": not the same in all that the launch measured.
WORDS: Mapping[str, tuple[str, ...]] = {
    "clock": ("one rank", "each rank", "several"),
    "synchronisation": ("barrier", "message", "none", "several"),
    "over_ranks": ("one rank", "maximum", "several"),
    "cache": ("warm", "flushed", "several"),
}
SCHEMA = record({}, {name: {"enum": [*words, None]} for name, words in WORDS.items()})
#: The columns of cases.parquet, with the same words.
COLUMNS = {f"timing_{name}": words for name, words in WORDS.items()}


def cells(timing: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Values of `COLUMNS`; None for what the workload did not say."""
    return {f"timing_{name}": (timing or {}).get(name) for name in WORDS}
