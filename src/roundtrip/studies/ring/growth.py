"""How the time of a pass grows with the nodes of the ring: a lap has as many passes as ranks."""

from __future__ import annotations

import polars as pl

from roundtrip.report import units
from roundtrip.studies import growth
from roundtrip.studies.growth import Growth
from roundtrip.studies.ring import derived
from roundtrip.studies.ring.curves import LAP_SIZE, Curves

#: Bytes of a region: one that only waits, and one that moves data.
SIZES = (LAP_SIZE, 1_000_000)
_NAMES = {"mpi": "A pass by MPI", derived.REGION_UDP: "A pass by UDP"}


def of(curves: Curves) -> Growth:
    """Efficiency of a pass at the shown sizes, over launches whose ranks are on several nodes."""
    shown = (
        curves.values.filter(pl.col("variant").is_in(list(_NAMES)))
        .filter(pl.col("size_bytes").is_in(SIZES))
        .select("launch", "variant", "size_bytes", value="seconds")
    )
    rows = growth.on_nodes(shown, curves.launches).filter(pl.col("nodes") > 1)
    named = [
        f"{_NAMES[variant]}, {units.size(size)}"
        for variant, size in rows.select("variant", "size_bytes").rows()
    ]
    times = rows.with_columns(thing=pl.Series(named, dtype=pl.String))
    return Growth.of(times, growth.constant, curves.level)
