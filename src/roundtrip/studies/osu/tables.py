"""The tables of the OSU section."""

from __future__ import annotations

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Table
from roundtrip.report.data import Data
from roundtrip.report.units import Quantity, Unit
from roundtrip.studies import display
from roundtrip.studies.osu import derived
from roundtrip.studies.osu.curves import Curves, Panel
from roundtrip.studies.osu.derived import Benchmark

_SIZES = (8, 1 << 10, 64 << 10, 1 << 20)


def times(curves: Curves) -> Table:
    """Latencies and collectives at a few sizes, µs; a barrier has one."""
    benchmarks = [b for b in derived.BENCHMARKS.values() if b.metric != "bandwidth"]
    return Table(
        curves.level.within(
            f"Times in {Unit.US}: median over launches, {{level}} rank interval. OSU prints two "
            "decimals."
        ),
        (
            Column("Toolchain"),
            Column("Benchmark"),
            Column("No message", "right"),
            *(Column(units.size(size), "right") for size in _SIZES),
        ),
        tuple(
            (
                Cell(panel.label),
                Cell(benchmark.name),
                *(_point(curves, panel, benchmark, size, Unit.US, 1e6) for size in (0, *_SIZES)),
            )
            for panel in curves.panels
            for benchmark in benchmarks
            if not curves.of(curves.intervals, panel, benchmark=benchmark.name).is_empty()
        ),
        (Unit.US,),
    )


def rates(curves: Curves) -> Table:
    """Bandwidths at a few sizes, the peak, and messages per second."""
    benchmarks = [b for b in derived.BENCHMARKS.values() if b.metric == "bandwidth"]
    rows = []
    for panel in curves.panels:
        for benchmark in benchmarks:
            where = {"benchmark": benchmark.name, "metric": "bandwidth"}
            found = curves.of(curves.intervals, panel, **where)
            if found.is_empty():
                continue
            peak = found.sort("median", descending=True).row(0, named=True)
            rows.append(
                (
                    Cell(panel.label),
                    Cell(benchmark.name),
                    *(_point(curves, panel, benchmark, size, Unit.MB_S) for size in _SIZES),
                    Cell(
                        (
                            Quantity(
                                value=peak["median"],
                                unit=Unit.MB_S,
                                series=curves.series_key(panel, **where, size=peak["size_bytes"]),
                            ),
                            " at ",
                            units.bytes_of(peak["size_bytes"]),
                        )
                    ),
                    _rate(curves, panel, benchmark),
                )
            )
    return Table(
        curves.level.within(
            f"Bandwidth in {Unit.MB_S}, and messages per second where the program counts them: "
            "median over launches, {level} rank interval."
        ),
        (
            Column("Toolchain"),
            Column("Benchmark"),
            *(Column(units.size(size), "right") for size in _SIZES),
            Column("Peak", "right"),
            Column("{} at 8 B", "right", Unit.MILLION_MESSAGES_S),
        ),
        tuple(rows),
        (Unit.MB_S,),
    )


def validation(data: Data, curves: Curves) -> Table:
    """Which versions ran, and whether what arrived was compared with what was sent."""
    launches = curves.launches.join(
        curves.values.select("launch", "benchmark", "phase").unique(["launch"]), on="launch"
    )
    by_launch = data.points.group_by("launch").agg(pl.col("verified").fill_null(False).all())
    verified = by_launch.filter("verified")
    rows = []
    titles = {panel.key[0]: panel for panel in curves.panels}
    for (key, benchmark), group in sorted(launches.group_by("panel", "benchmark")):
        checked = group.join(verified, on="launch", how="semi").height
        some = (units.count(checked), f" of {group.height}")
        told = "all compared" if checked == group.height else some
        is_median = group["phase"].unique().to_list() == ["p50"]
        rows.append(
            (
                Cell(titles[str(key)].label),
                Cell(str(benchmark)),
                Cell(", ".join(titles[str(key)].versions)),
                Cell("median" if is_median else "mean"),
                Cell(units.count(group.height)),
                Cell(told) if checked else Cell("not: the program cannot", "muted"),
            )
        )
    return Table(
        "What was run. A short run of its own compares the data before the measured run.",
        (
            Column("Toolchain"),
            Column("Benchmark"),
            Column("Version"),
            Column("A launch's value"),
            Column("Launches", "right"),
            Column("Data"),
        ),
        tuple(rows),
    )


def _point(
    curves: Curves, panel: Panel, benchmark: Benchmark, size: int, unit: Unit, scale: float = 1.0
) -> Cell:
    return _value(curves, panel, benchmark.name, benchmark.metric, size, unit, scale)


def _rate(curves: Curves, panel: Panel, benchmark: Benchmark) -> Cell:
    name = benchmark.name
    return _value(curves, panel, name, "message_rate", 8, Unit.MILLION_MESSAGES_S, 1e-6)


def _value(
    curves: Curves, panel: Panel, benchmark: str, metric: str, size: int, unit: Unit, scale: float
) -> Cell:
    found = curves.point(panel, benchmark, metric, size)
    return display.value(
        found, unit, scale, series=curves.series_key(panel, benchmark, metric, size)
    )
