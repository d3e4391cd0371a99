"""What the round-trip time of an emulated WAN does to each transport, in one view."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Block, Column, Heading, Table, text_cells
from roundtrip.studies.netpipe.curves import Curves, Panel

_BASE = "mpi"
_LARGE = 65536


def blocks(curves: Curves, panels: Sequence[Panel]) -> list[Block]:
    """Two tables, nothing without launches over an emulated WAN."""
    over = [panel for panel in panels if panel.is_pingpong and panel.rtt_ms is not None]
    if not over:
        return []

    def latency(panel: Panel) -> str:
        found = curves.at(curves.seconds, panel, variant=_BASE, size_bytes=1)
        return units.interval(found, 1e6) if found else "not measured"

    def bandwidth(panel: Panel) -> str:
        found = curves.at(curves.bandwidth, panel, variant=_BASE, size_bytes=_LARGE)
        return units.interval(found) if found else "not measured"

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


def _table(caption: str, unit: str, panels: Sequence[Panel], told: Callable[[Panel], str]) -> Table:
    rtts = sorted({panel.rtt_ms for panel in panels if panel.rtt_ms is not None})
    settings = {panel: panel.setting.removesuffix(f", {panel.kind}") for panel in panels}
    several = len(set(settings.values())) > 1
    rows: dict[str, dict[float, str]] = defaultdict(dict)
    for panel in panels:
        if panel.rtt_ms is not None:
            where = f"; {settings[panel]}" if several else ""
            rows[f"{panel.toolchain}, EMULATED WAN{where}"][panel.rtt_ms] = told(panel)
    return Table(
        caption,
        (Column("Transport"), *(Column(f"RTT {rtt:g} ms", "right", unit) for rtt in rtts)),
        tuple(
            text_cells(name, *(cells.get(rtt, units.NOTHING) for rtt in rtts))
            for name, cells in sorted(rows.items())
        ),
    )
