"""Reference nights: measured rates and speed-ups that are drawn beside a sweep over host speeds.

    python -m roundtrip.studies.npb.marks reports/wan-marks/SITE/DATE/r1/bundle > marks.json

writes the reference night of a bundle as JSON, with its origin.  Rates are those of one rank alone
with our own programs, speed-ups those that the report of that bundle shows.  A speed-up without the
rate of one rank by the same toolchain is left out.

The file is given to the sweep, which copies what is of its benchmark and class into its run.json:
so a report still follows from its bundle alone.  No claim joins them with anything simulated.
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

from roundtrip import units
from roundtrip.content import data
from roundtrip.content.blocks import (
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
from roundtrip.content.data import BundleData
from roundtrip.errors import UserError
from roundtrip.studies import display
from roundtrip.studies.npb import (
    CLASSES,
    NATIVE,
    STUDY,
    ReferenceNight,
    ReferenceRate,
    ReferenceSpeedup,
    describe_published_speedup,
)
from roundtrip.studies.npb.data import NPBLaunches, Series
from roundtrip.studies.npb.speedup import claimed_speedups, measured_speedups
from roundtrip.studies.npb.sweep import SIMULATED, BenchmarkCurves
from roundtrip.units import Quantity, Unit

#: Label of every row and figure of values over an emulated link.
EMULATED = "EMULATED"


def reference_night_from_bundle(bundle: BundleData) -> ReferenceNight:
    """The rates of one rank in a bundle, and its claimed speed-ups over the link; UserError if
    simulated, without a rate of one rank, or on several processors."""
    rows = bundle.study_launches(STUDY.name)
    if rows["simulated"].fill_null(False).any():
        raise UserError("it was simulated: only what was measured is marked", bundle.folder)
    launches = NPBLaunches(bundle)
    rate_by_series: dict[tuple[str, str], ReferenceRate] = {}
    for series in launches.cluster_series:
        if series.ranks == 1 and series.source == NATIVE:
            rates = [launch["rate"] for launch in launches.values_at(series, None).values()]
            rate_by_series[series.problem_name, series.environ] = ReferenceRate(
                **_reference_fields(series), launches=len(rates), mops=_six_digits(median(rates))
            )
    if not rate_by_series:
        raise UserError("it has no launch of NPB on one rank: how fast is one?", bundle.folder)
    speedups: list[ReferenceSpeedup] = []
    for series in launches.link_series:
        alone = rate_by_series.get((series.problem_name, series.environ))
        if alone and series.source == NATIVE:
            speedups += _reference_speedups(launches, series, alone.mops)
    manifest = bundle.manifest.data
    return ReferenceNight(
        **{name: str(manifest[name]) for name in ("campaign", "site", "started")},
        digest=bundle.manifest.digest,
        processor=_processor_name(bundle, rows["launch"].to_list()),
        alone=list(rate_by_series.values()),
        emulated=speedups,
    )


def _reference_speedups(
    launches: NPBLaunches, series: Series, mops: float
) -> Iterator[ReferenceSpeedup]:
    """Claimed speed-ups of `series` at each RTT, with the rate of one rank [Mop/s]."""
    for rtt_ms in launches.values_by_point[series]:
        ratios = claimed_speedups(launches, series, rtt_ms)
        if interval := launches.interval(ratios):
            yield ReferenceSpeedup(
                **_reference_fields(series),
                ranks=series.ranks,
                rtt_ms=rtt_ms or 0.0,
                mops=mops,
                speedup=_six_digits(interval.median),
                low=None if interval.low is None else _six_digits(interval.low),
                high=None if interval.high is None else _six_digits(interval.high),
                separated=ratios != measured_speedups(launches, series, rtt_ms),
                launches=len(ratios),
            )


def _reference_fields(series: Series) -> dict[str, Any]:
    fields = {"benchmark": series.benchmark, "class": series.problem_class}
    return {**fields, "toolchain": series.toolchain}


def _processor_name(bundle: BundleData, launches: list[str]) -> str:
    """Name of the processor of these launches, else of the host; UserError if they are several."""
    nodes = bundle.node_facts.filter(pl.col("launch").is_in(launches))
    processors = set(filter(None, nodes["processor"]))
    if len(processors) > 1:
        text = ", ".join(sorted(processors))
        raise UserError(f"several processors, so that no rate is of one: {text}", bundle.folder)
    host = bundle.env_records.get("host.json")
    cpu = host.get("cpu") if isinstance(host, dict) else None
    cpu_model = cpu.get("model") if isinstance(cpu, dict) else None
    name = next(iter(processors), None) or cpu_model
    return str(name or "a processor that the bundle does not name")


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")


def value_cell(value: float | None, unit: Unit, series_key: str = "") -> Cell:
    """Cell of a value without an interval; empty for None and 0."""
    if not value:
        return display.NO_VALUE_CELL
    return Cell(Quantity(value=value, unit=unit, series_key=series_key))


#: Largest ratio of parts of one processor's rates that count as equal.
_MAX_RATIO_OF_EQUAL_PARTS = 1.1


def reference_blocks(curves: Sequence[BenchmarkCurves]) -> list[Block]:
    """Blocks on reference nights: origins, rates of one rank and speed-ups; [] without a night."""
    nights = {night.origin_text: night for curve in curves for night in curve.reference_nights}
    origins = list(nights.values())
    if not origins:
        return []
    blocks: list[Block] = [
        Heading(3, "Beside it, measured"),
        Paragraph(_REFERENCE_NOTE),
        text_items(*(f"{origin.processor}: {origin.origin_text}." for origin in origins)),
    ]
    if any(curve.reference_rates for curve in curves):
        lines = [text for origin in origins if (text := describe_proportions(curves, origin))]
        blocks += [_reference_rate_table(curves), *([text_items(*lines)] if lines else [])]
    if any(curve.reference_speedups for curve in curves):
        blocks.append(_reference_speedup_table(curves))
    return blocks


def _reference_rate_table(curves: Sequence[BenchmarkCurves]) -> Table:
    """Table of measured rates of one rank, and of simulated host speeds as fractions of them."""
    rows = [
        (
            Cell(f"{curve.name} on {origin.processor} (measured; parts {SIMULATED})"),
            Cell(reference.toolchain),
            value_cell(reference.mops, Unit.MOPS),
            Cell(units.count(reference.launches)),
            value_cell((curve.break_even_mflops or 0.0) / reference.mops, Unit.FRACTION),
            value_cell((curve.published_speedup_mflops or 0.0) / reference.mops, Unit.FRACTION),
        )
        for curve in curves
        for origin, reference in curve.reference_rates
    ]
    return Table(
        "Measured: the rate of one rank alone, which is a different host speed for each "
        f"benchmark although the processor is the same. {SIMULATED}: break-even at the longest "
        "delay, and the host speed of the study's number, as parts of that rate.",
        (
            *text_columns("Benchmark and processor", "Toolchain"),
            Column("One rank", "right", Unit.MOPS),
            *number_columns("Launches", "Break-even at", "The study at"),
        ),
        tuple(rows),
    )


def _reference_speedup_table(curves: Sequence[BenchmarkCurves]) -> Table:
    """Table of all reference speed-ups, with points that the figure leaves out."""
    rows = []
    for curve in curves:
        for reference in curve.reference_speedups:
            speedup = Quantity(
                value=reference.speedup,
                unit=Unit.PURE_NUMBER,
                low=reference.low,
                high=reference.high,
                n=reference.launches,
            )
            setting = f"{reference.ranks_per_cluster} ranks, +{reference.rtt_ms:g} ms"
            name = f"{curve.name}, {setting} ({EMULATED}, measured)"
            rows.append(
                (
                    *text_cells(name, reference.toolchain),
                    value_cell(reference.mops, Unit.MOPS),
                    Cell(speedup),
                    Cell(units.count(reference.launches)),
                    Cell("separated times" if reference.separated else "rates"),
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


def describe_proportions(curves: Sequence[BenchmarkCurves], origin: ReferenceNight) -> str:
    """Text on the spread of the published speed-ups as speeds and as parts of a processor's rates;
    "" if fewer than two of them are found in the largest class."""
    largest = max((curve.problem_class for curve in curves), key=CLASSES.index, default="")
    matches = []
    for curve in curves:
        text = origin.origin_text
        rates = [rate for source, rate in curve.reference_rates if source.origin_text == text]
        if rates and curve.published_speedup_mflops and curve.problem_class == largest:
            matches.append((curve, curve.published_speedup_mflops, rates[0].mops))
    if len(matches) < 2:
        return ""
    speeds = [speed for _, speed, _ in matches]
    parts = [speed / mops for _, speed, mops in matches]
    details = "; ".join(
        f"{curve.name} {describe_published_speedup(curve.benchmark)} at "
        f"{units.amount(speed, Unit.MFLOPS)}, {units.percent_text(speed / mops)} of "
        f"{units.amount(mops, Unit.MOPS)}"
        for curve, speed, mops in matches
    )
    speed_gap, part_gap = max(speeds) / min(speeds), max(parts) / min(parts)
    verb = "gives" if part_gap < _MAX_RATIO_OF_EQUAL_PARTS else "does not give"
    return (
        f"The study's numbers ({SIMULATED}): {details}. As host speeds they differ by a factor of "
        f"{units.pure_number(speed_gap, 2)}, as parts of the rates of one rank of "
        f"{origin.processor} by {units.pure_number(part_gap, 2)}. So one processor with these "
        f"proportions {verb} all of them. The rest is open: the study's processor, network, "
        "class and protocol are not known."
    )


_REFERENCE_NOTE: RichText = (
    "The next values were measured in other campaigns, by real programs, and copied into this "
    "bundle with their origin. They are drawn beside the simulation for orientation: no claim "
    "joins the two.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; print one line and return 2 on a user error."""
    parser = argparse.ArgumentParser(prog="marks", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("bundle", type=Path, help="of a measured campaign")
    options = parser.parse_args(arguments)
    try:
        night = reference_night_from_bundle(data.read_bundle(options.bundle))
        print(json.dumps(night.as_json(), indent=1))
    except UserError as error:
        print(f"marks: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
