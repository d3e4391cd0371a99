"""The transports that launches left out, and why: nothing is left out silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Column, Table, text_cells
from roundtrip.studies.ring import derived
from roundtrip.studies.ring.curves import Curves, Panel


def left_out(curves: Curves, panels: Sequence[Panel]) -> Table | None:
    """Panel, transports and reason; None if nothing was left out, or the bundle does not say."""
    rows = []
    for panel in panels:
        launches: dict[tuple[str, str], set[str]] = {}
        for launch, variant, reason in _told(curves, panel):
            launches.setdefault((reason, variant), set()).add(launch)
        together: dict[tuple[str, int], list[str]] = {}
        for (reason, variant), those in launches.items():
            together.setdefault((reason, len(those)), []).append(variant)
        for (reason, count), variants in together.items():
            names = "; ".join(_title(panel, name) for name in _ordered(variants))
            rows.append(text_cells(panel.label, names, reason, f"{count} of {panel.launches}"))
    if not rows:
        return None
    return Table(
        "Transports that were left out, and why.",
        (
            Column("Toolchain and placement"),
            Column("Transport"),
            Column("Reason"),
            Column("Launches", "right"),
        ),
        tuple(rows),
    )


def _told(curves: Curves, panel: Panel) -> Iterator[tuple[str, str, str]]:
    """(launch, transport, reason): of whole launches, and from a size on."""
    for launch, details in curves.told(panel):
        for one in details["skipped"] or ():
            yield launch, one["variant"], one["reason"]
    for point in curves.of(curves.points, panel).filter(samples=0).iter_rows(named=True):
        size = units.size(point["size_bytes"])
        yield point["launch"], point["variant"], f"not measured from {size} on: {point['status']}"


def _title(panel: Panel, variant: str) -> str:
    return panel.title(variant) if variant in derived.TRANSPORTS else variant


def _ordered(variants: Sequence[str]) -> list[str]:
    known = list(derived.TRANSPORTS)
    return sorted(variants, key=lambda name: known.index(name) if name in known else len(known))
