"""How the collectives grow with the nodes."""

from __future__ import annotations

import math

import polars as pl

from roundtrip.report import units
from roundtrip.studies import growth
from roundtrip.studies.growth import Growth
from roundtrip.studies.osu import derived
from roundtrip.studies.osu.curves import Curves

#: Bytes a rank: one that only waits, and one that moves data.
SIZES = (8, 64 << 10)


def of(curves: Curves) -> Growth:
    """Efficiency of each collective at the shown sizes, over launches on several nodes."""
    collective = [name for name, one in derived.BENCHMARKS.items() if one.is_collective]
    shown = (
        curves.values.filter(pl.col("benchmark").is_in(collective))
        .filter(pl.col("size_bytes").is_in(SIZES) | (pl.col("benchmark") == "barrier"))
        .filter(pl.col("value") > 0)
        .select("launch", "benchmark", "size_bytes", "value")
    )
    rows = growth.on_nodes(shown, curves.launches).filter(pl.col("nodes") > 1)
    named = [_thing(*row) for row in rows.select("benchmark", "size_bytes").rows()]
    times = rows.with_columns(thing=pl.Series(named, dtype=pl.String))
    return Growth.of(times, ideal, curves.level)


def ideal(thing: str, ranks: int) -> float:
    """Steps of a collective on `ranks` ranks: each sends to all others, or a tree of messages."""
    return float(ranks - 1) if thing.startswith("alltoall") else math.log2(ranks)


def _thing(benchmark: str, size: int) -> str:
    return benchmark if benchmark == "barrier" else f"{benchmark}, {units.size(size)}"
