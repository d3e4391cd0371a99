"""NetPIPE 3.7.2 itself beside our raw-MPI variant, where it was launched."""

from __future__ import annotations

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import (
    RATIO,
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    Table,
    text_cells,
)
from roundtrip.report.data import Data
from roundtrip.stats.intervals import median_interval
from roundtrip.studies import cells
from roundtrip.studies.netpipe import derived
from roundtrip.studies.netpipe.curves import Curves

_SIZES = (1, 1 << 10, 64 << 10, 1 << 20, 8 << 20)
_PLACE = ["system", "partition", "environ"]


def reference_blocks(data: Data, curves: Curves) -> list[Block]:
    """A table of the two, size by size; nothing if the reference was not launched."""
    launches = data.passed(derived.REFERENCE_STUDY)
    if launches.is_empty():
        return []
    theirs = _medians(data, launches)
    rows = []
    for panel in curves.panels:
        place = curves.launches.filter(pl.col("case_id") == panel.key[0]).select(_PLACE).row(0)
        here = [pl.col(name) == value for name, value in zip(_PLACE, place, strict=True)]
        reference = theirs.filter(*here)
        cases = launches.filter(*here)["case_id"].unique()
        if not panel.is_pingpong or not panel.case.endswith("/same") or panel.kind:
            continue
        ours = curves.of(curves.values, panel).filter(pl.col("variant") == derived.BASE)
        for size in _SIZES:
            origins = (
                data.origins.key(cases, size),
                curves.traced(panel, derived.BASE, size),
            )
            row = _row(panel.label, size, reference, ours, curves.level, origins)
            if row:
                rows.append(row)
    names = ("NetPIPE 3.7.2, µs", "Ours, median, µs", "Ours, least, µs")
    return [
        Heading(3, "The reference: NetPIPE 3.7.2"),
        Paragraph(
            (
                "This is the upstream program, in launches of its own, so the ratio is not paired "
                "and gives no verdict. It reports the shortest of three trials, each the mean of "
                "many messages, so compare it with the shortest of our samples.",
            )
        ),
        Table(
            "Half-round-trip time, median over launches, rank interval.",
            (
                Column("Toolchain"),
                Column("Size", "right"),
                *(Column(name, "right") for name in names),
                Column("Theirs / our least", "right", RATIO, "Ours, least"),
            ),
            tuple(rows),
        ),
    ]


def _medians(data: Data, launches: pl.DataFrame) -> pl.DataFrame:
    samples = data.samples.filter(pl.col("study") == derived.REFERENCE_STUDY)
    medians = derived.launch_medians(samples, ["launch"])
    return medians.join(launches.select("launch", *_PLACE), on="launch")


def _row(
    label: str,
    size: int,
    theirs: pl.DataFrame,
    ours: pl.DataFrame,
    level: float,
    origins: tuple[str, str],
) -> tuple[Cell, ...] | None:
    at_size = pl.col("size_bytes") == size
    their_times = theirs.filter(at_size)["seconds"].to_list()
    mine = ours.filter(at_size)
    if not their_times or mine.is_empty():
        return None
    reference = median_interval(their_times, level)
    median = median_interval(mine["seconds"].to_list(), level)
    least = median_interval(mine["least_seconds"].to_list(), level)
    both = zip((reference, median), origins, strict=True)
    return (
        *text_cells(label, units.size(size)),
        *(cells.value(value, 1e6, series=series) for value, series in both),
        Cell(units.interval(least, 1e6)),
        Cell(units.number(reference.median / least.median), series=origins[0]),
    )
