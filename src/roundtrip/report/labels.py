"""The labels of rows that were not measured on a real network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Strong, Text

_SIMULATED = "SIMULATED"
#: The answer where all of a study was simulated.
ONLY_SIMULATED = "Nothing is claimed of simulated values: see the figures below (SIMULATED)."
_EMULATED_FACT, _SIMULATED_FACT = "emulated", "simulated"
_WORDS = {"nodes": "NODES", "wan_rtt_ms": "WAN", "hub_mbit_s": "HUB"}
_NAMED = {
    "wan_rtt_ms": "EMULATED WAN: RTT {:g} ms",
    "hub_mbit_s": "EMULATED HUB: {:g} Mbit/s",
}
#: Where two ranks are, or all ranks, in words.
PLACEMENTS = {
    "shared-memory": "in one node",
    "one-per-node": "on a node each",
    "all-cores": "on every core",
    "one-socket": "on one socket",
    "two-sockets": "on two sockets",
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
        told.append(_SIMULATED)
    return "; ".join(told)


def by_environ(launches: pl.DataFrame) -> dict[str, str]:
    """The `kind` of launches that passed, by environment; measured ones are left out.

    Of `launches` status, environ, emulation and simulated are used.
    """
    rows = launches.filter(pl.col("status") == "passed").select("environ", "emulation", "simulated")
    told: dict[str, dict[str, None]] = {}
    for environ, emulation, simulated in rows.iter_rows():
        if mark := kind(emulation, simulated):
            told.setdefault(environ, {})[mark] = None
    return {environ: "; ".join(marks) for environ, marks in told.items()}


def only_simulated(kinds: Iterable[str]) -> bool:
    """Whether there are values, and all of them are of such a `kind` as simulated ones have."""
    told = set(kinds)
    return bool(told) and all(one.endswith(_SIMULATED) for one in told)


def of_history(provenance: pl.DataFrame) -> dict[str, str]:
    """By environment, from the facts of all nights; one that was always measured is left out."""
    found: dict[str, set[str]] = {}
    facts = provenance.select("subject", "name").unique().sort("subject", "name")
    for environ, name in facts.iter_rows():
        kind, _, what = name.partition(" ")
        if kind == _SIMULATED_FACT or (kind == _EMULATED_FACT and what):
            words = _WORDS.get(what, "") if kind == _EMULATED_FACT else ""
            found.setdefault(environ, set()).add(f"{kind.upper()} {words}".strip())
    return {environ: ", ".join(sorted(marks)) for environ, marks in found.items()}


def notice(marks: dict[str, str]) -> Text | None:
    """What a reader must know before they believe a number; None if all is real."""
    if not marks:
        return None
    kinds = "; ".join(sorted(set(marks.values())))
    which = units.plural(len(marks), "toolchain", "toolchains")
    return (
        Strong(f"{kinds}: "),
        f"what {which} measured here did not run on real hardware; each row says so. Absolute "
        "values mean little, changes from night to night do.",
    )
