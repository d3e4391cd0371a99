"""The figures of the OSU section: times and rates over message size, one figure a panel."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from roundtrip.report.blocks import Figure, Text
from roundtrip.studies import charts
from roundtrip.studies.charts import Arm
from roundtrip.studies.colours import BLUE, GREY, PURPLE, RUST, TEAL
from roundtrip.studies.osu.curves import Curves, Panel

_COLOURS = {
    "latency": BLUE,
    "put_latency": RUST,
    "get_latency": PURPLE,
    "bw": BLUE,
    "bibw": TEAL,
    "put_bw": RUST,
    "get_bw": PURPLE,
    "mbw_mr": GREY,
    "allreduce": BLUE,
    "alltoall": RUST,
    "bcast": TEAL,
}


@dataclass(frozen=True)
class Kind:
    """Benchmarks that share a figure; values times `scale` are in the axis' unit."""

    name: str
    benchmarks: tuple[str, ...]
    axis: str
    scale: float
    caption: Text


_TIMES = (
    "median over launches, bands are rank intervals. Where the version prints percentiles a "
    "launch's value is the median over its messages, else their mean."
)
KINDS = (
    Kind(
        "latency",
        ("latency", "put_latency", "get_latency"),
        "Time (µs)",
        1e6,
        (f"Half a round trip (latency), and the time of one MPI_Put and one MPI_Get: {_TIMES}",),
    ),
    Kind(
        "bandwidth",
        ("bw", "bibw", "mbw_mr", "put_bw", "get_bw"),
        "Bandwidth (MB/s)",
        1.0,
        (f"Bandwidth in windows of messages; bibw both ways, mbw_mr all pairs together: {_TIMES}",),
    ),
    Kind(
        "collectives",
        ("allreduce", "alltoall", "bcast"),
        "Time (µs)",
        1e6,
        (f"Time of a collective, mean over the ranks, by bytes a rank: {_TIMES}",),
    ),
)


def draw(curves: Curves, kind: Kind) -> tuple[Figure, ...]:
    """One figure for each panel that has such benchmarks; all with the same axes."""
    framed = [(panel, _frame(curves, panel, kind)) for panel in curves.panels]
    framed = [(panel, frame) for panel, frame in framed if not frame.is_empty()]
    arms = {name: Arm(name, _COLOURS[name]) for name in kind.benchmarks}
    drawings = [
        charts.drawing(f"osu-{kind.name}-{number}", panel, frame, arms, ", ".join(panel.versions))
        for number, (panel, frame) in enumerate(framed, 1)
    ]
    return charts.over_size(drawings, f"OSU {kind.name} over message size", kind.axis)


def _frame(curves: Curves, panel: Panel, kind: Kind) -> pl.DataFrame:
    """What a log scale can show: no empty messages, and nothing that OSU rounded to 0."""
    return (
        charts.rows(curves.of(curves.intervals, panel), kind.scale, "benchmark")
        .filter(pl.col("benchmark").is_in(kind.benchmarks) & (pl.col("metric") != "message_rate"))
        .filter((pl.col("size_bytes") > 0) & (pl.col("median") > 0))
        .with_columns(low=pl.when(pl.col("low") > 0).then("low"))
        .with_columns(high=pl.when(pl.col("low").is_not_null()).then("high"))
    )
