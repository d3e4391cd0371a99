"""Values measured elsewhere that the report marks beside a sweep over host speeds.

    python -m roundtrip.studies.npb.marks reports/wan-marks/SITE/DATE/r1/bundle > marks.json

writes a file of marks from the bundle of a measured campaign, with its origin.  Rates are those
of one rank alone with our own programs, speed-ups those that the report of that bundle shows.  A
speed-up without the rate of one rank by the same toolchain is left out.

The file is given to the sweep, which copies what is of its benchmark and class into its run.json:
so a report still follows from its bundle alone.  No claim joins a mark with anything simulated.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from roundtrip.errors import UserError
from roundtrip.report import data, units
from roundtrip.report.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    RichText,
    Table,
    number_columns,
    text_cells,
    text_columns,
    text_items,
)
from roundtrip.report.data import BundleData
from roundtrip.report.units import Quantity, Unit
from roundtrip.studies import display
from roundtrip.studies.npb import (
    CLASSES,
    NATIVE,
    STUDY,
    ReferenceNight,
    ReferenceRate,
    ReferenceSpeedup,
    published_words,
)
from roundtrip.studies.npb.data import Launches, Series
from roundtrip.studies.npb.speedup import claimed_speedups, measured_speedups
from roundtrip.studies.npb.sweep import SIMULATED, BenchmarkCurves

#: Label of every row and figure of values over an emulated link.
EMULATED = "EMULATED"


def marks_from_bundle(bundle: BundleData) -> ReferenceNight:
    """The marks of a bundle.

    UserError if it was simulated, or has no rate of one rank, or several processors.
    """
    rows = bundle.study_launches(STUDY.name)
    if rows["simulated"].fill_null(False).any():
        raise UserError("it was simulated: only what was measured is marked", bundle.folder)
    launches = Launches(bundle)
    alone_marks: dict[tuple[str, str], ReferenceRate] = {}
    for series in launches.cluster_series:
        if series.ranks == 1 and series.source == NATIVE:
            rates = [figures["rate"] for figures in launches.rounds(series, None).values()]
            alone_marks[series.name, series.environ] = ReferenceRate(
                **_series_fields(series), launches=len(rates), mops=_round_number(median(rates))
            )
    if not alone_marks:
        raise UserError("it has no launch of NPB on one rank: how fast is one?", bundle.folder)
    emulated_marks: list[ReferenceSpeedup] = []
    for series in launches.link_series:
        alone = alone_marks.get((series.name, series.environ))
        if alone and series.source == NATIVE:
            emulated_marks += _reference_speedups(launches, series, alone.mops)
    manifest = bundle.manifest.data
    return ReferenceNight(
        **{name: str(manifest[name]) for name in ("campaign", "site", "started")},
        digest=bundle.manifest.digest,
        processor=_processor_name(bundle, rows["launch"].to_list()),
        alone=list(alone_marks.values()),
        emulated=emulated_marks,
    )


def _reference_speedups(
    launches: Launches, series: Series, mops: float
) -> Iterator[ReferenceSpeedup]:
    """Speed-ups of `series` at each RTT with a claimed one, for one rank that does `mops`."""
    for rtt in launches.points[series]:
        ratios = claimed_speedups(launches, series, rtt)
        if interval := launches.interval(ratios):
            yield ReferenceSpeedup(
                **_series_fields(series),
                ranks=series.ranks,
                rtt_ms=rtt or 0.0,
                mops=mops,
                speedup=_round_number(interval.median),
                low=None if interval.low is None else _round_number(interval.low),
                high=None if interval.high is None else _round_number(interval.high),
                separated=ratios != measured_speedups(launches, series, rtt),
                launches=len(ratios),
            )


def _series_fields(series: Series) -> dict[str, Any]:
    fields = {"benchmark": series.benchmark, "class": series.problem_class}
    return {**fields, "toolchain": series.toolchain}


def _processor_name(bundle: BundleData, names: list[str]) -> str:
    """Name in the records of nodes, else of the campaign's host; UserError if there are several."""
    nodes = bundle.node_facts.filter(pl.col("launch").is_in(names))
    processors = set(filter(None, nodes["processor"]))
    if len(processors) > 1:
        text = ", ".join(sorted(processors))
        raise UserError(f"several processors, so that no rate is of one: {text}", bundle.folder)
    host = bundle.env_records.get("host.json")
    cpu = host.get("cpu") if isinstance(host, dict) else None
    cpu_model = cpu.get("model") if isinstance(cpu, dict) else None
    name = next(iter(processors), None) or cpu_model
    return str(name or "a processor that the bundle does not name")


def _round_number(value: float) -> float:
    return float(f"{value:.6g}")


def value_cell(value: float | None, unit: Unit, series: str = "") -> Cell:
    """Cell of a value without an interval; empty for None and 0."""
    return (
        Cell(Quantity(value=value, unit=unit, series_key=series))
        if value
        else display.NO_VALUE_CELL
    )


_MAX_EQUAL_RATIO = 1.1  # largest ratio of parts of one processor's rates that count as equal


def measured_blocks(curves: Sequence[BenchmarkCurves]) -> list[Block]:
    """Blocks of measured marks: origins, rates of one rank and speed-ups; [] without marks."""
    origins = list({origin.origin: origin for curve in curves for origin in curve.marks}.values())
    if not origins:
        return []
    blocks: list[Block] = [
        Heading(3, "Beside it, measured"),
        Paragraph(_MEASURED_MARKS_NOTE),
        text_items(*(f"{origin.processor}: {origin.origin}." for origin in origins)),
    ]
    if any(curve.rank_marks for curve in curves):
        lines = [text for origin in origins if (text := proportions_text(curves, origin))]
        blocks += [_processor_rate_table(curves), *([text_items(*lines)] if lines else [])]
    if any(curve.emulated_marks for curve in curves):
        blocks.append(_emulated_speedup_table(curves))
    return blocks


def _processor_rate_table(curves: Sequence[BenchmarkCurves]) -> Table:
    """Table of the measured rates of one rank, and of simulated speeds as parts of them."""
    rows = [
        (
            Cell(f"{curve.name} on {origin.processor} (measured; parts {SIMULATED})"),
            Cell(mark.toolchain),
            value_cell(mark.mops, Unit.MOPS),
            Cell(units.count(mark.launches)),
            value_cell((curve.even_speed or 0.0) / mark.mops, Unit.FRACTION),
            value_cell((curve.matching_mflops or 0.0) / mark.mops, Unit.FRACTION),
        )
        for curve in curves
        for origin, mark in curve.rank_marks
    ]
    return Table(
        "Measured: the rate of one rank alone, which is a different host speed for each benchmark "
        f"although the processor is the same. {SIMULATED}: break-even at the longest delay, and "
        "where the study's number is found, as parts of that rate.",
        (
            *text_columns("Benchmark and processor", "Toolchain"),
            Column("One rank", "right", Unit.MOPS),
            *number_columns("Launches", "Break-even at", "The study at"),
        ),
        tuple(rows),
    )


def _emulated_speedup_table(curves: Sequence[BenchmarkCurves]) -> Table:
    """Table of all emulated speed-ups, with points that the figure leaves out."""
    rows = []
    for curve in curves:
        for mark in curve.emulated_marks:
            speedup = Quantity(
                value=mark.speedup,
                unit=Unit.PURE_NUMBER,
                low=mark.low,
                high=mark.high,
                n=mark.launches,
            )
            setting = f"{mark.ranks_per_cluster} ranks, +{mark.rtt_ms:g} ms"
            name = f"{curve.name}, {setting} ({EMULATED}, measured)"
            rows.append(
                (
                    *text_cells(name, mark.toolchain),
                    value_cell(mark.mops, Unit.MOPS),
                    Cell(speedup),
                    Cell(units.count(mark.launches)),
                    Cell("separated times" if mark.separated else "rates"),
                )
            )
    return Table(
        f"{EMULATED}, measured, not simulated: speed-up of two clusters over one with half of the "
        "ranks, median and interval over rounds. From separated times where ranks share "
        "processors: compute as on processors of their own, a lower bound.",
        (
            *text_columns("Benchmark and link", "Toolchain"),
            Column("One rank", "right", Unit.MOPS),
            *number_columns("Speed-up", "Rounds"),
            Column("From"),
        ),
        tuple(rows),
    )


def proportions_text(curves: Sequence[BenchmarkCurves], origin: ReferenceNight) -> str:
    """Text on the spread of the study's numbers as speeds and as parts of one processor's rates.

    "" if fewer than two numbers are found in the largest class.
    """
    largest = max((curve.problem_class for curve in curves), key=CLASSES.index, default="")
    matches = []
    for curve in curves:
        marks = [mark for source, mark in curve.rank_marks if source.origin == origin.origin]
        if marks and curve.matching_mflops and curve.problem_class == largest:
            matches.append((curve, curve.matching_mflops, marks[0].mops))
    if len(matches) < 2:
        return ""
    speeds = [speed for _, speed, _ in matches]
    parts = [speed / mops for _, speed, mops in matches]
    details = "; ".join(
        f"{curve.name} {published_words(curve.benchmark)} at {units.amount(speed, Unit.MFLOPS)}, "
        f"{units.percent_text(speed / mops)} of {units.amount(mops, Unit.MOPS)}"
        for curve, speed, mops in matches
    )
    speed_gap, part_gap = max(speeds) / min(speeds), max(parts) / min(parts)
    words = "gives all of them" if part_gap < _MAX_EQUAL_RATIO else "does not give all of them"
    return (
        f"The study's numbers ({SIMULATED}): {details}. As host speeds they lie a factor "
        f"{units.pure_number(speed_gap, 2)} apart, as parts of what one rank of {origin.processor} "
        f"does {units.pure_number(part_gap, 2)}. So one processor with these proportions {words}. "
        "What remains is open, because the study's processor, network, class and protocol are not "
        "known."
    )


_MEASURED_MARKS_NOTE: RichText = (
    "What follows was measured in other campaigns, by real programs, and copied into this bundle "
    "with its origin. It is drawn beside the simulation for orientation: nothing is claimed of one "
    "from the other.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; print one line and return 2 on a user error."""
    parser = argparse.ArgumentParser(prog="marks", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("bundle", type=Path, help="of a measured campaign")
    options = parser.parse_args(arguments)
    try:
        print(json.dumps(marks_from_bundle(data.read_bundle(options.bundle)).as_json(), indent=1))
    except UserError as error:
        print(f"marks: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
