"""Marks of series that were not measured on a real network: EMULATED NODES, SIMULATED."""

from __future__ import annotations

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Strong, Text

_EMULATED, _SIMULATED = "emulated", "simulated"
_WORDS = {"nodes": "NODES", "wan_rtt_ms": "WAN", "hub_mbit_s": "HUB"}


def by_environ(provenance: pl.DataFrame) -> dict[str, str]:
    """By environment; one that is in no night emulated or simulated is left out."""
    found: dict[str, set[str]] = {}
    facts = provenance.select("subject", "name").unique().sort("subject", "name")
    for environ, name in facts.iter_rows():
        kind, _, what = name.partition(" ")
        if kind == _SIMULATED or (kind == _EMULATED and what):
            words = _WORDS.get(what, "") if kind == _EMULATED else ""
            found.setdefault(environ, set()).add(f"{kind.upper()} {words}".strip())
    return {environ: ", ".join(sorted(marks)) for environ, marks in found.items()}


def notice(marks: dict[str, str]) -> Text | None:
    """What a reader must know before they believe a number; None if all is real."""
    if not marks:
        return None
    told = "; ".join(sorted(set(marks.values())))
    which = units.plural(len(marks), "toolchain", "toolchains")
    return (
        Strong(f"{told}: "),
        f"what {which} measured here did not run on real hardware; each row says so. Absolute "
        "values mean little, changes from night to night do.",
    )
