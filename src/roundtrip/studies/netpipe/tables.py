"""The tables of comparisons in the NetPIPE section: findings, ratios, rates, transports over the
emulated WAN, and NetPIPE 3.7.2 itself beside our raw-MPI variant.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    Table,
    Tone,
)
from roundtrip.report.data import Data
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.summaries import median_interval, total_rate
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies.findings import Comparison
from roundtrip.studies.netpipe import ARMS, BASE, COMPARED, derived, published
from roundtrip.studies.netpipe.curves import Curves, Panel
from roundtrip.studies.netpipe.findings import Finding, comparison
from roundtrip.studies.netpipe.published import Statement

_TONES: dict[Verdict, Tone] = {
    Verdict.FASTER: "good",
    Verdict.SLOWER: "bad",
    Verdict.ON_PAR: "good",
    Verdict.CANNOT_TELL: "warn",
}


def verdicts(all_findings: Sequence[Sequence[Finding]]) -> Table:
    """A row for each toolchain and setting, and a column for each finding of the study."""
    several = len({four[0].panel.setting for four in all_findings}) > 1
    rows = []
    for four in all_findings:
        panel = four[0].panel
        name = f"{panel.label}; {panel.setting}" if several else panel.label
        rows.append((name, {finding.statement: finding.cell for finding in four}))
    return display.grid(
        "Do the study's findings hold here? Ratios of bandwidth over the compared sizes, and "
        "whether we agree with the study.",
        "Toolchain",
        {statement: statement.short for statement in published.STATEMENTS},
        rows,
        {one: ARMS[one.base].title for one in published.STATEMENTS},
    )


def findings(curves: Curves, number: int, statement: Statement, ours: Sequence[Finding]) -> Table:
    """One finding of the study: its words, its numbers, ours."""
    sizes = sorted({size for one in ours for size in one.compared})
    study = [_published_ratio(statement, size) for size in sizes]
    rows = [(Cell("The study, read off its figure"), *study, display.NONE)]
    for finding in ours:
        evidence = dict(finding.evidence)
        ratios = [
            _judged(evidence.get(size), curves.series_key(finding.panel, statement.variant, size))
            for size in sizes
        ]
        outcome = Cell("", finding.tone, finding.verdict)
        rows.append((Cell(finding.panel.label), *ratios, outcome))
    variant, base = ARMS[statement.variant].title, ARMS[statement.base].title
    return Table(
        f"Finding {number}: “{statement.words}”: bandwidth of {variant} over {base}.",
        (
            Column("Toolchain"),
            *(Column(units.size(size), "right", base=base) for size in sizes),
            Column("Our finding"),
        ),
        tuple(rows),
    )


def ratios(
    curves: Curves,
    panels: Sequence[Panel],
    judged: Mapping[Comparison, ClaimVerdict],
    sizes: Sequence[int],
) -> Table:
    """All variants against raw MPI at the compared sizes, under raw MPI's own values."""
    rows, title = [], ARMS[BASE].title
    for panel in panels:
        told = [
            display.value(
                curves.at(curves.bandwidth, panel, variant=BASE, size_bytes=size),
                Unit.MB_S,
                otherwise=display.NOT_MEASURED,
                series=curves.series_key(panel, BASE, size),
            )
            for size in sizes
        ]
        rows.append(
            (
                Cell(panel.label),
                Cell((title, f" (base), {Unit.MB_S}, {_of(panel.launches)}"), unit=Unit.MB_S),
                *told,
            )
        )
        for variant in COMPARED:
            keys = [comparison(panel, variant, BASE, size) for size in sizes]
            if any(key in judged for key in keys):
                told = [
                    _judged(judged.get(key), curves.series_key(panel, variant, size), with_q=True)
                    for key, size in zip(keys, sizes, strict=True)
                ]
                rows.append((Cell(panel.label), Cell(ARMS[variant].title), *told))
    return Table(
        curves.level.within(
            "Bandwidth relative to raw MPI: median of the paired ratio over launches, {level} "
            "rank interval, verdict; q is the p-value after correction for false discoveries."
        ),
        (
            Column("Toolchain"),
            Column("Variant"),
            *(Column(units.size(size), "right", base=title) for size in sizes),
        ),
        tuple(rows),
    )


def _of(launches: int) -> str:
    return f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{launches}"


def rates(curves: Curves, panels: Sequence[Panel]) -> Table:
    """Peak, where half of it is reached, and the rate of the whole schedule."""
    rows = []
    for panel in panels:
        medians = curves.of(curves.values, panel)
        for variant, arm in ARMS.items():
            of_variant = medians.filter(pl.col("variant") == variant)
            if of_variant.is_empty():
                continue
            by_launch = of_variant.sort("size_bytes").group_by("launch").agg(pl.all())
            common = _measured_by_all(of_variant)
            peaks, halves, wholes = [], [], []
            for curve in by_launch.iter_rows(named=True):
                sizes, bandwidths = curve["size_bytes"], curve["bandwidth"]
                peaks.append(max(bandwidths))
                halves.append(derived.half_performance_size(sizes, bandwidths))
                both = zip(sizes, bandwidths, strict=True)
                times = {size: size / rate for size, rate in both if size in common}
                if times:
                    wholes.append(total_rate(list(times), list(times.values())))
            reached = [half for half in halves if not math.isnan(half)]
            rows.append(
                (
                    Cell(panel.label),
                    Cell(arm.title),
                    display.value(curves.interval(peaks), Unit.MB_S),
                    display.value(
                        curves.interval(reached),
                        Unit.BYTES,
                        otherwise=Cell("below the first size"),
                    ),
                    display.value(curves.interval(wholes), Unit.MB_S),
                    _reach(of_variant),
                )
            )
    return Table(
        curves.level.within(
            "Peak bandwidth, n½, and the rate of one message of each size that every launch "
            "measured: total bytes over total time. Median over launches, {level} rank "
            "interval. “Up to”: the largest measured size, of the launch where it was smallest "
            "and of the one where it was largest."
        ),
        (
            Column("Toolchain"),
            Column("Variant"),
            Column("Peak", "right", Unit.MB_S),
            Column("n½", "right", Unit.BYTES),
            Column("All sizes", "right", Unit.MB_S),
            Column("Up to", "right"),
        ),
        tuple(rows),
    )


def _measured_by_all(medians: pl.DataFrame) -> set[int]:
    launches = medians["launch"].n_unique()
    counts = medians.group_by("size_bytes").agg(pl.col("launch").n_unique())
    return set(counts.filter(pl.col("launch") == launches)["size_bytes"])


def _reach(medians: pl.DataFrame) -> Cell:
    ends = medians.group_by("launch").agg(pl.col("size_bytes").max())["size_bytes"].to_list()
    least, most = units.bytes_of(min(ends)), units.bytes_of(max(ends))
    return Cell(most if least == most else (least, " to ", most))


def _judged(judged: ClaimVerdict | None, series: str, with_q: bool = False) -> Cell:
    words = ""
    if judged and with_q and judged.verdict in (Verdict.FASTER, Verdict.SLOWER):
        words = f"{judged.words}, q\N{NO-BREAK SPACE}{units.number(judged.q, 2)}"
    return display.verdict(judged, _TONES, words, series=series)


def _published_ratio(statement: Statement, size: int) -> Cell:
    variant = published.rate(statement.variant, size)
    base = published.rate(statement.base, size)
    if variant is None or base is None:
        return display.NONE
    return Cell(("about ", Quantity(value=variant / base, unit=Unit.RATIO, digits=2)))


#: Where the bandwidth of transports is compared, bytes.
_LARGE = 65536


def over_the_wan(curves: Curves, panels: Sequence[Panel]) -> list[Block]:
    """Two tables, nothing without launches over an emulated WAN."""
    over = [panel for panel in panels if panel.is_pingpong and panel.rtt_ms is not None]
    if not over:
        return []

    def latency(panel: Panel) -> Cell:
        found = curves.at(curves.seconds, panel, variant=BASE, size_bytes=1)
        origin = curves.series_key(panel, BASE, 1)
        return display.value(found, Unit.US, 1e6, display.NOT_MEASURED, series=origin)

    def bandwidth(panel: Panel) -> Cell:
        found = curves.at(curves.bandwidth, panel, variant=BASE, size_bytes=_LARGE)
        origin = curves.series_key(panel, BASE, _LARGE)
        return display.value(found, Unit.MB_S, otherwise=display.NOT_MEASURED, series=origin)

    return [
        Heading(3, "Raw MPI over the emulated WAN, by transport"),
        _by_rtt(
            f"Half-round-trip time at 1 byte, {Unit.US}, by the round-trip time of the EMULATED "
            "WAN. It cannot be shorter than half of that.",
            Unit.US,
            over,
            latency,
        ),
        _by_rtt(
            f"Bandwidth at {units.size(_LARGE)}, {Unit.MB_S}, by the round-trip time of the "
            "EMULATED WAN. The nodes share this machine's processors: compare along a row, not "
            "with a real network.",
            Unit.MB_S,
            over,
            bandwidth,
        ),
    ]


def _by_rtt(
    caption: str, unit: str, panels: Sequence[Panel], told: Callable[[Panel], Cell]
) -> Table:
    rtts = sorted({panel.rtt_ms for panel in panels if panel.rtt_ms is not None})
    settings = {panel: panel.setting.removesuffix(f", {panel.kind}") for panel in panels}
    several = len(set(settings.values())) > 1
    rows: dict[str, dict[float, Cell]] = defaultdict(dict)
    for panel in panels:
        if panel.rtt_ms is not None:
            where = f"; {settings[panel]}" if several else ""
            rows[f"{panel.toolchain}, EMULATED WAN{where}"][panel.rtt_ms] = told(panel)
    return Table(
        caption,
        (Column("Transport"), *(Column(f"RTT {rtt:g} ms", "right") for rtt in rtts)),
        tuple(
            (Cell(name), *(row.get(rtt, display.NONE) for rtt in rtts))
            for name, row in sorted(rows.items())
        ),
        (unit,),
    )


_SIZES = (1, 1 << 10, 64 << 10, 1 << 20, 8 << 20)
_PLACE = ["system", "partition", "environ"]


def reference_blocks(data: Data, curves: Curves) -> list[Block]:
    """A table of the two, size by size; nothing if the reference was not launched."""
    launches = data.passed(derived.REFERENCE_STUDY)
    if launches.is_empty():
        return []
    theirs = _reference_medians(data, launches)
    rows = []
    for panel in curves.panels:
        place = curves.launches.filter(pl.col("case_id") == panel.key[0]).select(_PLACE).row(0)
        here = [pl.col(name) == value for name, value in zip(_PLACE, place, strict=True)]
        reference = theirs.filter(*here)
        cases = launches.filter(*here)["case_id"].unique()
        if not panel.is_pingpong or not panel.case.endswith("/same") or panel.kind:
            continue
        ours = curves.of(curves.values, panel).filter(pl.col("variant") == BASE)
        for size in _SIZES:
            origins = (
                data.origins.key(cases, size),
                curves.series_key(panel, BASE, size),
            )
            row = _reference_row(panel.label, size, reference, ours, curves.level, origins)
            if row:
                rows.append(row)
    names = ("NetPIPE 3.7.2", "Ours, median", "Ours, least")
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
            curves.level.within(
                "Half-round-trip time, median over launches, {level} rank interval."
            ),
            (
                Column("Toolchain"),
                Column("Size", "right"),
                *(Column(name, "right", Unit.US) for name in names),
                Column("Theirs / our least", "right", base="Ours, least"),
            ),
            tuple(rows),
        ),
    ]


def _reference_medians(data: Data, launches: pl.DataFrame) -> pl.DataFrame:
    samples = data.samples.filter(pl.col("study") == derived.REFERENCE_STUDY)
    medians = derived.launch_medians(samples, ["launch"])
    return medians.join(launches.select("launch", *_PLACE), on="launch")


def _reference_row(
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
        Cell(label),
        Cell(units.bytes_of(size)),
        *(display.value(value, Unit.US, 1e6, series=series) for value, series in both),
        display.value(least, Unit.US, 1e6),
        Cell(
            Quantity(value=reference.median / least.median, unit=Unit.RATIO),
            series=origins[0],
        ),
    )
