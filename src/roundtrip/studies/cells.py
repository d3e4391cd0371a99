"""Cells and tables of values and verdicts, the same in all studies."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Table, Text, Tone
from roundtrip.report.units import Quantity
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.arms import Arm
from roundtrip.studies.panel import CasePanels

NONE = Cell(units.NOTHING, "muted")
NOT_MEASURED = Cell("not measured", "muted")
_NO_TONES: Mapping[Verdict, Tone] = {}
_NO_BASES: Mapping[Any, str] = {}
K = TypeVar("K", bound=Hashable)


def value(
    interval: Interval | None,
    unit: str,
    scale: float = 1.0,
    otherwise: Cell = NONE,
    base: str = "",
    series: str = "",
) -> Cell:
    """A cell with median and interval, times `scale`, in `unit`; `otherwise` without an interval.

    `base` and `series` as in `Quantity`.
    """
    if interval is None:
        return otherwise
    return Cell(Quantity.over(interval, unit, scale, base, series))


def judged(
    one: ClaimVerdict | None,
    tones: Mapping[Verdict, Tone] = _NO_TONES,
    words: str = "",
    base: str = "",
    series: str = "",
) -> Cell:
    """A ratio with its interval and verdict, or with `words` in its place.

    `base` as in `Quantity`; the cell leads to `series`, in which the value above the base is.
    """
    if one is None:
        return NOT_MEASURED
    ratio = Quantity.claim(one.interval, base)
    return Cell(ratio, tones.get(one.verdict, "plain"), words or one.words, series=series)


def low_to_high(values: Sequence[float], scale: float = 1.0, digits: int = 3) -> str:
    """The least and the largest of `values`, times `scale`; one number if they read the same."""
    low, high = (units.number(end * scale, digits) for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def verdict(ratios: Sequence[float], tone: Tone, words: str) -> Cell:
    """A cell with the smallest and the largest of some ratios, and their verdict in `words`."""
    return Cell(units.ends(ratios), tone, words) if ratios else NOT_MEASURED


def grid(
    caption: str,
    corner: str,
    columns: Mapping[K, str],
    rows: Sequence[tuple[str, Mapping[K, Cell]]],
    bases: Mapping[K, str] = _NO_BASES,
) -> Table:
    """A row for each name and a column for each key; a missing cell was not measured.

    `bases`: of ratios, what each column is over, as in `Column`.
    """
    return Table(
        caption,
        (
            Column(corner),
            *(Column(name, base=bases.get(key, "")) for key, name in columns.items()),
        ),
        tuple(
            (Cell(name), *(cells.get(key, NOT_MEASURED) for key in columns)) for name, cells in rows
        ),
    )


def in_numbers(panels: CasePanels, words: str | Text, arms: Mapping[str, Arm], unit: str) -> Table:
    """Medians and intervals of all panels, in `unit`, which the caption `words` has to print.

    `arms` are the arms by name.  Without sizes, there is a row for each panel and a column for each
    arm.  Otherwise there is a row for each panel and arm, and a column for each size.
    """
    sizes = sorted(set(panels.intervals["size_bytes"]))
    scale = units.scale(panels.unit, unit)
    rows = []
    for panel in panels.panels:
        counted = Cell(units.count(panel.launches))
        found = {
            arm: [
                value(
                    panels.at(panels.intervals, panel, variant=arm, size_bytes=size),
                    unit,
                    scale,
                    series=panels.series(
                        panel, size, variant=arm, phase="measure", metric=panels.metric
                    ),
                )
                for size in sizes
            ]
            for arm in arms
        }
        if len(sizes) == 1:
            rows.append((Cell(panel.label), *(one for (one,) in found.values()), counted))
            continue
        for arm, cells in found.items():
            if any(one is not NONE for one in cells):
                rows.append((Cell(panel.label), Cell(arms[arm].title), *cells, counted))
    if len(sizes) == 1:
        named = [Column(arm.title, "right") for arm in arms.values()]
    else:
        named = [Column("Arm"), *(Column(units.size(size), "right") for size in sizes)]
    columns = (Column("Toolchain and placement"), *named, Column("Launches", "right"))
    return Table(words, columns, tuple(rows), (unit,))
