"""The tables of comparisons in the NetPIPE section."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import RATIO, Cell, Column, Table, Tone, text_cells
from roundtrip.stats.intervals import median_interval
from roundtrip.stats.rates import total_rate
from roundtrip.stats.verdicts import Judged, Verdict
from roundtrip.studies import cells
from roundtrip.studies.finding import Comparison
from roundtrip.studies.netpipe import derived, published
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
    return cells.grid(
        "Do the study's findings hold here? Ratios of bandwidth over the compared sizes, and "
        "whether we agree with the study.",
        "Toolchain",
        {statement: statement.short for statement in published.STATEMENTS},
        rows,
        {one: derived.VARIANTS[one.base] for one in published.STATEMENTS},
    )


def findings(curves: Curves, number: int, statement: Statement, ours: Sequence[Finding]) -> Table:
    """One finding of the study: its words, its numbers, ours."""
    sizes = sorted({size for one in ours for size in one.compared})
    study = [_published_ratio(statement, size) for size in sizes]
    rows = [(Cell("The study, read off its figure"), *study, cells.NONE)]
    for finding in ours:
        evidence = dict(finding.evidence)
        ratios = [
            _judged(evidence.get(size), curves.traced(finding.panel, statement.variant, size))
            for size in sizes
        ]
        outcome = Cell("", finding.tone, finding.verdict)
        rows.append((Cell(finding.panel.label), *ratios, outcome))
    variant, base = derived.VARIANTS[statement.variant], derived.VARIANTS[statement.base]
    return Table(
        f"Finding {number}: “{statement.words}”: bandwidth of {variant} over {base}.",
        (
            Column("Toolchain"),
            *(Column(units.size(size), "right", RATIO, base) for size in sizes),
            Column("Our finding"),
        ),
        tuple(rows),
    )


def ratios(
    curves: Curves,
    panels: Sequence[Panel],
    judged: Mapping[Comparison, Judged],
    sizes: Sequence[int],
) -> Table:
    """All variants against raw MPI at the compared sizes, under raw MPI's own values."""
    rows, title = [], derived.VARIANTS[derived.BASE]
    for panel in panels:
        told = [
            cells.value(
                curves.at(curves.bandwidth, panel, variant=derived.BASE, size_bytes=size),
                otherwise=cells.NOT_MEASURED,
                series=curves.traced(panel, derived.BASE, size),
            )
            for size in sizes
        ]
        rows.append(
            (
                Cell(panel.label),
                Cell(f"MPI (base), MB/s, n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{panel.launches}"),
                *(replace(one, unit="MB/s") for one in told),
            )
        )
        for variant in derived.COMPARED:
            keys = [comparison(panel.key, variant, derived.BASE, size) for size in sizes]
            if any(key in judged for key in keys):
                told = [
                    _judged(judged.get(key), curves.traced(panel, variant, size), with_q=True)
                    for key, size in zip(keys, sizes, strict=True)
                ]
                rows.append((Cell(panel.label), Cell(derived.VARIANTS[variant]), *told))
    return Table(
        "Bandwidth relative to raw MPI: median of the paired ratio over launches, rank interval, "
        "verdict; q is the p-value after correction for false discoveries.",
        (
            Column("Toolchain"),
            Column("Variant"),
            *(Column(units.size(size), "right", RATIO, title) for size in sizes),
        ),
        tuple(rows),
    )


def rates(curves: Curves, panels: Sequence[Panel]) -> Table:
    """Peak, where half of it is reached, and the rate of the whole schedule."""
    rows = []
    for panel in panels:
        medians = curves.of(curves.values, panel)
        for variant, title in derived.VARIANTS.items():
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
            half = median_interval(reached, curves.level) if reached else None
            rows.append(
                text_cells(
                    panel.label,
                    title,
                    units.interval(median_interval(peaks, curves.level)),
                    units.interval(half) if half else "below the first size",
                    units.interval(median_interval(wholes, curves.level))
                    if wholes
                    else units.NOTHING,
                    _reach(of_variant),
                )
            )
    return Table(
        "Peak bandwidth, n½, and the rate of one message of each size that every launch measured: "
        "total bytes over total time. Median over launches, rank interval. “Up to”: the largest "
        "measured size, of the launch where it was smallest and of the one where it was largest.",
        (
            Column("Toolchain"),
            Column("Variant"),
            Column("Peak, MB/s", "right"),
            Column("n½, bytes", "right"),
            Column("All sizes, MB/s", "right"),
            Column("Up to", "right"),
        ),
        tuple(rows),
    )


def _measured_by_all(medians: pl.DataFrame) -> set[int]:
    launches = medians["launch"].n_unique()
    counts = medians.group_by("size_bytes").agg(pl.col("launch").n_unique())
    return set(counts.filter(pl.col("launch") == launches)["size_bytes"])


def _reach(medians: pl.DataFrame) -> str:
    ends = medians.group_by("launch").agg(pl.col("size_bytes").max())["size_bytes"].to_list()
    least, most = units.size(min(ends)), units.size(max(ends))
    return most if least == most else f"{least} to {most}"


def _judged(judged: Judged | None, series: str, with_q: bool = False) -> Cell:
    words = ""
    if judged and with_q and judged.verdict in (Verdict.FASTER, Verdict.SLOWER):
        words = f"{judged.words}, q\N{NO-BREAK SPACE}{units.number(judged.q, 2)}"
    return cells.judged(judged, _TONES, words, series)


def _published_ratio(statement: Statement, size: int) -> Cell:
    variant = published.rate(statement.variant, size)
    base = published.rate(statement.base, size)
    if variant is None or base is None:
        return cells.NONE
    return Cell(f"about {units.number(variant / base, 2)}")
