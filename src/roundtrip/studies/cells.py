"""Cells and tables of values and verdicts, the same in all studies."""

from __future__ import annotations

from collections.abc import Mapping

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Table
from roundtrip.stats.intervals import Interval
from roundtrip.studies.panel import P, Panels

NONE = Cell(units.NOTHING, "muted")
NOT_MEASURED = Cell("not measured", "muted")


def value(interval: Interval | None, scale: float = 1.0, otherwise: Cell = NONE) -> Cell:
    """Median and interval, `scale` times."""
    return otherwise if interval is None else Cell(units.interval(interval, scale))


def in_numbers(
    panels: Panels[P], caption: str, arms: Mapping[str, str], scale: float = 1.0
) -> Table:
    """Medians and intervals of `panels.intervals`, which is to hold one metric; `arms`: titles.

    Of a study without sizes a row a panel and a column an arm; else a row a panel and arm, and a
    column a size.
    """
    sizes = sorted(set(panels.intervals["size_bytes"]))
    rows = []
    for panel in panels.panels:
        counted = Cell(str(panel.launches))
        found = {
            arm: [
                value(panels.at(panels.intervals, panel, variant=arm, size_bytes=size), scale)
                for size in sizes
            ]
            for arm in arms
        }
        if len(sizes) == 1:
            rows.append((Cell(panel.label), *(one for (one,) in found.values()), counted))
            continue
        for arm, cells in found.items():
            if any(one is not NONE for one in cells):
                rows.append((Cell(panel.label), Cell(arms[arm]), *cells, counted))
    if len(sizes) == 1:
        named = [Column(title, "right") for title in arms.values()]
    else:
        named = [Column("Arm"), *(Column(units.size(size), "right") for size in sizes)]
    columns = (Column("Toolchain and placement"), *named, Column("Launches", "right"))
    return Table(caption, columns, tuple(rows))
