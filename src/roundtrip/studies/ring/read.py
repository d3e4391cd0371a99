"""What a pass costs when the receiver reads every byte: regions by reference against messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from roundtrip.report import units
from roundtrip.report.blocks import BY_ROW, RATIO, Block, Cell, Column, Heading, Paragraph, Table
from roundtrip.stats.intervals import Interval
from roundtrip.studies import cells
from roundtrip.studies.ring import derived
from roundtrip.studies.ring.curves import Curves, Panel

_HOW = (
    "Above, the receiver looks at one cache line only, and a region by reference costs the same "
    "whatever its size. Here, in other arms of the same launches, every rank reads all bytes of "
    "the region and adds one to a word of each 64 bytes. So the next rank finds every line "
    "changed, and none in its cache. The sum of all bytes is checked at each pass."
)


def gain(curves: Curves, panel: Panel) -> Interval | None:
    """A region by reference over MPI two-sided at the study's size, every byte read."""
    region, mpi = derived.read_of(derived.REGION), derived.read_of(derived.TWO_SIDED[0])
    return curves.interval(curves.ratio(panel, region, mpi).get(derived.STUDY_SIZE, []))


def blocks(curves: Curves, panels: Sequence[Panel], sizes: Sequence[int]) -> list[Block]:
    """Nothing where no launch has such arms."""
    rows = [row for panel in panels for row in _rows(curves, panel, sizes)]
    if not rows:
        return []
    table = Table(
        "Effective bandwidth in MB/s when every byte is read, and the ratio of a region by "
        "reference to each copy; the last rows: the same when nobody reads. Median over launches, "
        "rank interval; ratios are paired in the launch. No verdict is attached to them.",
        (
            Column("Toolchain and placement"),
            Column("What"),
            *(Column(units.size(size), "right", BY_ROW) for size in sizes),
        ),
        tuple(rows),
    )
    return [Heading(3, "When the receiver reads everything"), Paragraph((_HOW,)), table]


def _rows(curves: Curves, panel: Panel, sizes: Sequence[int]) -> list[tuple[Cell, ...]]:
    measured = curves.of(curves.values, panel)["variant"].unique()
    names = [name for name in derived.READ if derived.read_of(name) in measured]
    rows = []
    for name in names:
        variant = derived.read_of(name)
        found = [curves.bandwidth_at(panel, variant, size) for size in sizes]
        traced = [curves.traced(panel, variant, size) for size in sizes]
        rows.append(_row(panel, f"{panel.title(name)}, MB/s", found, traced))
    if derived.REGION not in names:
        return rows
    all_read = [(derived.read_of(derived.REGION), derived.read_of(name)) for name in names]
    unread = [(derived.REGION, name) for name in names]
    for suffix, pairs in ((", all read", all_read), (", nobody reads", unread)):
        for (region, other), name in zip(pairs, names, strict=True):
            if name != derived.REGION:
                ratios = curves.ratio(panel, region, other)
                what = f"Region over {panel.title(name)}{suffix}"
                found = [curves.interval(ratios.get(size, [])) for size in sizes]
                traced = [curves.traced(panel, region, size) for size in sizes]
                rows.append(_row(panel, what, found, traced, base=panel.title(name)))
    return rows


def _row(
    panel: Panel,
    what: str,
    found: Sequence[Interval | None],
    traced: Sequence[str],
    base: str = "",
) -> tuple[Cell, ...]:
    """Values, or ratios to `base`; `traced` are their series, as in `Cell`."""
    values = [
        cells.value(one, otherwise=cells.NOT_MEASURED, series=series)
        for one, series in zip(found, traced, strict=True)
    ]
    if base:
        values = [replace(one, unit=RATIO, base=base) for one in values]
    return (Cell(panel.label), Cell(what), *values)
