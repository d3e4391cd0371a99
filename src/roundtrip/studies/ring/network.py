"""What the ring makes of a 10BASE-T hub: goodput against what the wire can carry."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import RATIO, Cell, Column, Table, text_cells
from roundtrip.studies import cells
from roundtrip.studies.ring import derived
from roundtrip.studies.ring.curves import Curves, Panel
from roundtrip.studies.ring.tables import limited

#: Size at which the study's Ethernet line reaches its end, bytes.
_SIZE = 1_000
_WIRE = "What the wire can carry"


def goodput(curves: Curves, panels: Sequence[Panel], least: float) -> Table:
    """Each transport between two nodes on a hub, as a share of the theoretical goodput.

    A region is expected to reach `least` of it.
    """
    rows: list[tuple[Cell, ...]] = []
    for panel in panels:
        rate = panel.hub_mbit_s or 0.0
        most = derived.theoretical_goodput(rate, _SIZE)
        wire = (panel.label, _WIRE, units.number(most), units.NOTHING)
        rows.append(text_cells(*wire))
        medians = curves.of(curves.values, panel).filter(pl.col("size_bytes") == _SIZE)
        for name in derived.TRANSPORTS:
            rates = medians.filter(pl.col("variant") == name)["bandwidth"].to_list()
            found = curves.interval(rates)
            if found is None:
                continue
            share = curves.interval([one / most for one in rates])
            is_ours = name == derived.REGION_UDP
            rows.append(
                (
                    Cell(panel.label),
                    Cell(panel.title(name)),
                    cells.value(found, series=curves.traced(panel, name, _SIZE)),
                    limited(share, least, is_least=True)
                    if is_ours or share is None
                    else Cell(units.interval(share)),
                )
            )
    return Table(
        f"Goodput at {units.size(_SIZE)} on a hub, one token under way, as a share of what "
        f"Ethernet can carry: {_SIZE} bytes in one UDP datagram take "
        f"{_SIZE + derived.FRAME_OVERHEAD} byte times. "
        f"Expected of regions by UDP: at least {units.percent(least)}.",
        (
            Column("Toolchain and placement"),
            Column("Transport"),
            Column("MB/s", "right"),
            Column("Of the theoretical", "right", RATIO, _WIRE),
        ),
        tuple(rows),
    )
