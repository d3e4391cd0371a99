"""What the round-trip time of an emulated WAN does to each transport, in one view."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Block, Cell, Column, Heading, Table
from roundtrip.studies import cells
from roundtrip.studies.netpipe.curves import Curves, Panel

_BASE = "mpi"
_LARGE = 65536


def blocks(curves: Curves, panels: Sequence[Panel]) -> list[Block]:
    """Two tables, nothing without launches over an emulated WAN."""
    over = [panel for panel in panels if panel.is_pingpong and panel.rtt_ms is not None]
    if not over:
        return []

    def latency(panel: Panel) -> Cell:
        found = curves.at(curves.seconds, panel, variant=_BASE, size_bytes=1)
        origin = curves.traced(panel, _BASE, 1)
        return cells.value(found, 1e6, cells.NOT_MEASURED, origin)

    def bandwidth(panel: Panel) -> Cell:
        found = curves.at(curves.bandwidth, panel, variant=_BASE, size_bytes=_LARGE)
        origin = curves.traced(panel, _BASE, _LARGE)
        return cells.value(found, otherwise=cells.NOT_MEASURED, series=origin)

    return [
        Heading(3, "Raw MPI over the emulated WAN, by transport"),
        _table(
            "Half-round-trip time at 1 byte, µs, by the round-trip time of the EMULATED WAN. It "
            "cannot be shorter than half of that.",
            "µs",
            over,
            latency,
        ),
        _table(
            f"Bandwidth at {units.size(_LARGE)}, MB/s, by the round-trip time of the EMULATED "
            "WAN. The nodes share this machine's processors: compare along a row, not with a "
            "real network.",
            "MB/s",
            over,
            bandwidth,
        ),
    ]


def _table(
    caption: str, unit: str, panels: Sequence[Panel], told: Callable[[Panel], Cell]
) -> Table:
    rtts = sorted({panel.rtt_ms for panel in panels if panel.rtt_ms is not None})
    settings = {panel: panel.setting.removesuffix(f", {panel.kind}") for panel in panels}
    several = len(set(settings.values())) > 1
    rows: dict[str, dict[float, Cell]] = defaultdict(dict)
    for panel in panels:
        if panel.rtt_ms is not None:
            where = f"; {settings[panel]}" if several else ""
            rows[f"{panel.toolchain}, EMULATED WAN{where}"][panel.rtt_ms] = told(panel)
    return Table(
        caption,
        (Column("Transport"), *(Column(f"RTT {rtt:g} ms", "right", unit) for rtt in rtts)),
        tuple(
            (Cell(name), *(row.get(rtt, cells.NONE) for rtt in rtts))
            for name, row in sorted(rows.items())
        ),
    )
