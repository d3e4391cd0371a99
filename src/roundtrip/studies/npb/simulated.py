"""The NPB section of simulated launches: host speeds up to which a second cluster pays, and marks
from measured campaigns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import (
    Answer,
    Block,
    Cell,
    Column,
    Gallery,
    Heading,
    Paragraph,
    Part,
    Strong,
    Table,
    Text,
    number_columns,
    text_cells,
    text_columns,
    text_items,
)
from roundtrip.report.data import Data
from roundtrip.report.pages.series import Origins
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display
from roundtrip.studies.npb import CLASSES, STUDY, ReferenceNight, published_words
from roundtrip.studies.npb.hostspeeds import (
    CHECK_NAME,
    EMULATED,
    FIGURE_CAPTION,
    MARKS_CAPTION,
    SIMULATED,
    BenchmarkCurves,
    read_curves,
    speedup_figures,
)
from roundtrip.studies.npb.sweep import ONE_CLUSTER_VARIANT, case_at, two_clusters_variant
from roundtrip.studies.study import Claim

_BASE_NAME = "One cluster"


class SimulatedSection:
    """Sweeps over host speeds, and rates of the benchmarks on many simulated hosts."""

    def __init__(self, data: Data) -> None:
        self._curves = read_curves(data)
        self._launches = data.study_launches(STUDY.name).filter(pl.col("check") != CHECK_NAME)
        self._samples = data.samples
        self._origins = data.origins

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        return {}  # a simulation gives the same values each time

    def part(self, verdicts: Mapping[Claim, ClaimVerdict]) -> Part:
        blocks: list[Block] = [Paragraph(_QUESTION_TEXT)]
        picture = None
        if self._curves:
            has_marks = any(curve.marks for curve in self._curves)
            caption: Text = (*FIGURE_CAPTION, " ", *MARKS_CAPTION) if has_marks else FIGURE_CAPTION
            picture = Gallery(caption, speedup_figures(self._curves))
            blocks += [
                Heading(3, f"Two clusters over one, {SIMULATED}"),
                break_even_table(self._curves),
                point_table(self._curves, self._origins),
                *measured_blocks(self._curves),
                Heading(3, "How to read it"),
                text_items(*_READING_NOTE),
            ]
        if not self._launches.is_empty():
            blocks += [Heading(3, f"On many hosts, {SIMULATED}"), self._rate_table()]
        return Part(
            anchor="npb",
            title=f"NPB, {SIMULATED}: how fast may hosts be for a second cluster to pay?",
            blocks=tuple(blocks),
            answers=tuple(map(_curve_answer, self._curves)),
            picture=picture,
        )

    def _rate_table(self) -> Table:
        samples = self._samples.filter((pl.col("phase") == "total") & (pl.col("metric") == "rate"))
        rates = dict(samples.select("launch", "value").collect().iter_rows())
        launches = self._launches.unique("case_id", keep="first").sort("case_id")
        rows = []
        for case_id, launch, ranks in launches.select("case_id", "launch", "ranks").iter_rows():
            key = self._origins.key([case_id], 0, metric="rate", phase="total")
            rate = _value_cell(rates.get(launch), Unit.MOPS, series=key)
            rows.append((Cell(f"{case_id} ({SIMULATED})"), Cell(units.count(ranks)), rate))
        return Table(
            f"{SIMULATED}: rate by NPB's formula, verified as NPB has it.",
            (Column("Case"), Column("Ranks", "right"), Column("", "right", Unit.MOPS)),
            tuple(rows),
        )


def break_even_table(curves: Sequence[BenchmarkCurves]) -> Table:
    """Table of host speeds of break-even and of the study's number at the longest delay, and of the
    ratios of computing to latency there."""
    rows = [
        (
            Cell(f"{curve.name} ({SIMULATED})"),
            Cell(Quantity(value=curve.rtts[-1], unit=Unit.MS, digits=_digit_count(curve.rtts[-1]))),
            _value_cell(curve.even_speed, Unit.MFLOPS),
            _value_cell(curve.study_speedup, Unit.PURE),
            _value_cell(curve.study_speed, Unit.MFLOPS),
            _value_cell(curve.round_trips, Unit.PURE),
            _value_cell(curve.compute_latency_ratio(curve.even_speed), Unit.PURE),
            _value_cell(curve.compute_latency_ratio(curve.study_speed), Unit.PURE),
        )
        for curve in curves
    ]
    return Table(
        f"{SIMULATED}: the host speed up to which two clusters beat one, and at which the study's "
        "number is found; and there, how long a rank of one cluster computes for each second of "
        "round trips that are waited for.",
        (
            Column("Benchmark"),
            Column("Longer by", "right", Unit.MS),
            Column("Break-even", "right", Unit.MFLOPS),
            Column("The study", "right"),
            Column("Found at", "right", Unit.MFLOPS),
            *number_columns(
                "Round trips waited for",
                "Computing over waiting, at break-even",
                "Computing over waiting, at the study's",
            ),
        ),
        tuple(rows),
    )


def point_table(curves: Sequence[BenchmarkCurves], origins: Origins) -> Table:
    """Table of speed-ups: a row for each benchmark and host speed, a column for each delay."""
    rtts = sorted({rtt for curve in curves for rtt in curve.rtts})
    rows = []
    for curve in curves:
        for speed, one_cluster_s in sorted(curve.one_cluster_s.items()):
            names = {"case": case_at(curve.benchmark, curve.problem_class, speed), "metric": "time"}
            key = origins.key([curve.case_id], 0, variant=ONE_CLUSTER_VARIANT, **names)
            name = f"{curve.name}, hosts of {speed:g} Mflop/s ({SIMULATED})"
            cells = [Cell(name), _value_cell(one_cluster_s, Unit.S, series=key)]
            for rtt in rtts:
                key = origins.key([curve.case_id], 0, variant=two_clusters_variant(rtt), **names)
                time = curve.two_clusters_s.get(rtt, {}).get(speed)
                ratio = Quantity(value=one_cluster_s / time, unit=Unit.RATIO) if time else None
                cells.append(Cell(ratio, series=key) if ratio else display.NONE)
            rows.append(tuple(cells))
    return Table(
        f"{SIMULATED}: time on one cluster, and speed-up of two over it by how much a round trip "
        "between them is longer.",
        (
            Column("Benchmark"),
            Column(_BASE_NAME, "right", Unit.S),
            *(Column(f"+{rtt:g} ms", "right", base=_BASE_NAME) for rtt in rtts),
        ),
        tuple(rows),
    )


def _value_cell(value: float | None, unit: Unit, series: str = "") -> Cell:
    """Cell of a value without an interval; empty for None and 0."""
    return Cell(Quantity(value=value, unit=unit, series=series)) if value else display.NONE


def _curve_answer(curve: BenchmarkCurves) -> Answer:
    max_rtt = curve.rtts[-1]
    speedups = curve.speedups(max_rtt)
    if speed := curve.even_speed:
        most = units.amount(speed, Unit.MFLOPS)
        words = f"two clusters beat one up to {most} a host at +{max_rtt:g} ms"
    else:
        pays = min(speedups.values()) >= 1
        words = f"two clusters {'always' if pays else 'never'} beat one at +{max_rtt:g} ms, " + (
            f"from {min(speedups):g} to {max(speedups):g} Mflop/s a host"
        )
    return Answer((Strong(curve.name), f" ({SIMULATED}): {words}."))


_QUESTION_TEXT: Text = (
    "In 2003 Matsuda, Kudoh and Ishikawa joined two clusters of 16 hosts by a link with a "
    "round-trip time of up to 4 ms. Whether a second cluster pays depends on how long a host "
    "computes between two messages, so on how fast it is, which the study's abstract does not say: "
    "here it is swept.",
)
_READING_NOTE = (
    "Each point is one simulation: the declared work and the messages of a verified launch, "
    "replayed on hosts of that speed. The network is that of the platform, which is chosen.",
    "A host speed counts the operations of the benchmark that runs, as the programs declare "
    "them by NPB's formula: Mop/s of one rank on any machine are Mflop/s of a host. So one "
    "host speed is not one processor. A processor that does 1000 Mop/s of one benchmark does "
    "many times more or less of another, because the formulas count different things: IS "
    "counts keys, EP pairs of random numbers with all that they cost, LU every operation on "
    "data that stay in cache, CG those on scattered data.",
    "Compare a benchmark with itself along its curve. Across benchmarks compare what a "
    "processor did at each, or the ratio of computing to latency, not the host speed.",
    "Where ranks repeat work, as the ranks of a grid column do in CG, they declare more than "
    "the formula counts, which counts it once. The ratio of computing to latency is of what "
    "they declare.",
    "The ratio of computing to latency is how long a rank of one cluster computes, over the "
    "round trips that two clusters wait for. If communication cost nothing else, a speed-up S "
    "would need 1 / (1/S - 1/2) of it: 2 to break even, 2.6 for 1.13, 3.3 for 1.24.",
    "One processor gives all of the study's numbers only where they are found at the same part "
    "of its rates. Where they are not, its proportions between benchmarks, its network, the "
    "problem class or the protocol differed from those here, and which of them is open: the "
    "study's abstract names none.",
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
        blocks += [processor_rate_table(curves), *([text_items(*lines)] if lines else [])]
    if any(curve.emulated_marks for curve in curves):
        blocks.append(emulated_speedup_table(curves))
    return blocks


def processor_rate_table(curves: Sequence[BenchmarkCurves]) -> Table:
    """Table of the measured rates of one rank, and of simulated speeds as parts of them."""
    rows = [
        (
            Cell(f"{curve.name} on {origin.processor} (measured; parts {SIMULATED})"),
            Cell(mark.toolchain),
            _value_cell(mark.mops, Unit.MOPS),
            Cell(units.count(mark.launches)),
            _value_cell((curve.even_speed or 0.0) / mark.mops, Unit.PART),
            _value_cell((curve.study_speed or 0.0) / mark.mops, Unit.PART),
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


def emulated_speedup_table(curves: Sequence[BenchmarkCurves]) -> Table:
    """Table of all emulated speed-ups, with points that the figure leaves out."""
    rows = []
    for curve in curves:
        for mark in curve.emulated_marks:
            speedup = Quantity(
                value=mark.speedup, unit=Unit.PURE, low=mark.low, high=mark.high, n=mark.launches
            )
            setting = f"{mark.ranks_per_cluster} ranks, +{mark.rtt_ms:g} ms"
            name = f"{curve.name}, {setting} ({EMULATED}, measured)"
            rows.append(
                (
                    *text_cells(name, mark.toolchain),
                    _value_cell(mark.mops, Unit.MOPS),
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
        if marks and curve.study_speed and curve.problem_class == largest:
            matches.append((curve, curve.study_speed, marks[0].mops))
    if len(matches) < 2:
        return ""
    speeds = [speed for _, speed, _ in matches]
    parts = [speed / mops for _, speed, mops in matches]
    details = "; ".join(
        f"{curve.name} {published_words(curve.benchmark)} at {units.amount(speed, Unit.MFLOPS)}, "
        f"{units.percent(speed / mops)} of {units.amount(mops, Unit.MOPS)}"
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


def _digit_count(number: float) -> int:
    """Number of digits of a number that was chosen, not measured."""
    return len(f"{number:g}".replace(".", "").lstrip("0"))


_MEASURED_MARKS_NOTE: Text = (
    "What follows was measured in other campaigns, by real programs, and copied into this bundle "
    "with its origin. It is drawn beside the simulation for orientation: nothing is claimed of one "
    "from the other.",
)
