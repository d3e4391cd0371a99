"""OSU beside our NetPIPE: two programs that measure the same thing must agree."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Block, Cell, Column, Heading, Paragraph, Table, Tone
from roundtrip.report.data import Data
from roundtrip.report.units import Level, Quantity, Unit
from roundtrip.stats.summaries import Interval, median_interval
from roundtrip.studies.netpipe import BASE, derived
from roundtrip.studies.netpipe import STUDY as NETPIPE
from roundtrip.studies.osu import Thresholds
from roundtrip.studies.osu.curves import PLACE, Curves, Panel
from roundtrip.studies.panel import placed

AGREE, DISAGREE, UNKNOWN = "agree", "disagree", "cannot tell"
TONES: dict[str, Tone] = {AGREE: "good", DISAGREE: "bad", UNKNOWN: "warn"}


@dataclass(frozen=True)
class Pair:
    """An OSU benchmark and the case of NetPIPE that measures the same; both as `metric`."""

    benchmark: str
    metric: str
    case: str
    words: str


PAIRS = (
    Pair("latency", "half_round_trip_time", "pingpong/same", "latency / ping-pong"),
    Pair("bw", "bandwidth", "stream/same", "bw / stream"),
)


@dataclass(frozen=True)
class Comparison:
    """Both values at one size: seconds for `latency`, MB/s for the others.

    `series`: those of the two, as `Cell.series`.
    """

    panel: Panel
    pair: Pair
    size_bytes: int
    osu: Interval
    ours: Interval
    outcome: str
    series: tuple[str, str] = ("", "")


def compare(data: Data, curves: Curves) -> list[Comparison]:
    """Every pair at every compared size that both measured on the same place."""
    settings = data.analysis.of(Thresholds)
    theirs = _netpipe(data)
    found = []
    for panel in curves.panels:
        wanted = dict(zip(PLACE, panel.place, strict=True), kind=panel.kind)
        here = [pl.col(key) == value for key, value in wanted.items()]
        mine = theirs.filter(*here) if panel.ranks == 2 else theirs.clear()
        for pair in PAIRS:
            for size in settings.compared_sizes:
                at = (pl.col("case") == pair.case) & (pl.col("size_bytes") == size)
                column = "seconds" if pair.metric != "bandwidth" else "bandwidth"
                rows = mine.filter(at)
                values = rows[column].to_list()
                osu = curves.point(panel, pair.benchmark, pair.metric, size)
                if values and osu:
                    ours = median_interval(values, curves.level)
                    told = outcome(osu, ours, settings)
                    series = (
                        curves.series_key(panel, pair.benchmark, pair.metric, size),
                        data.origins.key(
                            rows["case_id"].unique(),
                            size,
                            case=pair.case,
                            variant=BASE,
                            phase="measure",
                        ),
                    )
                    found.append(Comparison(panel, pair, size, osu, ours, told, series))
    return found


def outcome(one: Interval, other: Interval, settings: Thresholds) -> str:
    """Disagree if the nearest ends are too far apart; agree if the farthest are near enough."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return UNKNOWN
    limit = 1 + settings.disagreement
    if one.low > limit * other.high or other.low > limit * one.high:
        return DISAGREE
    return AGREE if max(one.high, other.high) <= limit * min(one.low, other.low) else UNKNOWN


def blocks(found: list[Comparison], settings: Thresholds, level: Level) -> list[Block]:
    """The cross-check; nothing if NetPIPE was not measured on the same places."""
    if not found:
        return []
    limit = units.percent(settings.disagreement)
    return [
        Heading(3, "Beside NetPIPE"),
        Paragraph(
            (
                "OSU's latency is half a round trip, as NetPIPE's is. Its bw sends one way in "
                "windows of 64 messages, NetPIPE's stream one by one. The launches are not the "
                "same, so the ratio is not paired. They disagree if the nearest ends of the two "
                f"intervals are more than {limit} apart, and agree if the farthest ends are within "
                f"{limit}. Not every disagreement is an error: NetPIPE sends back the buffer into "
                "which it has just received, while OSU sends from one buffer and receives into "
                "another. Both may stay in cache, so its large messages are faster inside a node. "
                "Which of the two NetPIPE 3.7.2 itself agrees with is told above where it was "
                "launched.",
            )
        ),
        Table(
            level.within(
                f"OSU and our NetPIPE (raw MPI): {Unit.US} for latency, {Unit.MB_S} for the "
                "others; median over launches, {level} rank interval."
            ),
            (
                Column("Toolchain"),
                Column("OSU / NetPIPE"),
                *(Column(name, "right") for name in ("Size", "OSU", "NetPIPE")),
                Column("Ratio", "right", base="NetPIPE"),
                Column("They"),
            ),
            tuple(_row(one) for one in found),
            (Unit.US, Unit.MB_S),
        ),
    ]


def _row(one: Comparison) -> tuple[Cell, ...]:
    is_rate = one.pair.metric == "bandwidth"
    unit, scale = (Unit.MB_S, 1.0) if is_rate else (Unit.US, 1e6)
    both = (
        Cell(Quantity.over(value, unit, scale, series=series))
        for value, series in zip((one.osu, one.ours), one.series, strict=True)
    )
    ratio = Quantity(value=one.osu.median / one.ours.median, unit=Unit.RATIO)
    return (
        Cell(one.panel.label),
        Cell(one.pair.words),
        Cell(units.bytes_of(one.size_bytes)),
        *both,
        Cell(ratio, series=one.series[0]),
        Cell("", TONES[one.outcome], one.outcome),
    )


def _netpipe(data: Data) -> pl.DataFrame:
    """Launch medians of raw MPI, with the columns of PLACE and `kind`."""
    launches = placed(data.passed(NETPIPE.name)).select("launch", "case_id", *PLACE, "kind")
    samples = data.samples.filter(
        (pl.col("study") == NETPIPE.name)
        & (pl.col("phase") == "measure")
        & (pl.col("variant") == BASE)
    )
    return derived.launch_medians(samples, ["launch"]).join(launches, on="launch")
