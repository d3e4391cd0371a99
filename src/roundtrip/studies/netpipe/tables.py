"""The tables of the NetPIPE section: ratios, rates, latencies and their tails, convergence.

Also transports over the emulated WAN, and NetPIPE 3.7.2 itself beside our raw-MPI variant.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter

import polars as pl

from roundtrip import units
from roundtrip.content.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    RichText,
    Table,
    count_cells,
    number_columns,
    text_cells,
)
from roundtrip.stats.summaries import median_interval
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display
from roundtrip.studies.findings import ArmClaim, Finding, arm_claim
from roundtrip.studies.netpipe import ARMS, COMPARED_VARIANTS, RAW_MPI, STUDY, derived
from roundtrip.studies.netpipe.curves import NetPIPECurves, Panel
from roundtrip.studies.netpipe.derived import PublishedStatement
from roundtrip.studies.panel import interval_in_row, percentiles
from roundtrip.units import Quantity, Unit


def ratio_table(
    curves: NetPIPECurves, panels: Sequence[Panel], verdicts: Mapping[ArmClaim, ClaimVerdict]
) -> Table:
    """Ratios of all variants to raw MPI at the compared sizes, below the bandwidths of raw MPI."""
    rows, title, sizes = [], ARMS[RAW_MPI].title, curves.settings.compared_sizes
    for panel in panels:
        launches = f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{panel.launch_count}"
        base = Cell((title, f" (base), {Unit.MB_S}, {launches}"), unit=Unit.MB_S)
        point = curves, curves.bandwidth_intervals, panel, RAW_MPI
        values = [display.point_cell(*point, size, Unit.MB_S) for size in sizes]
        rows.append((Cell(panel.title), base, *values))
        for variant in COMPARED_VARIANTS:
            claims = [
                verdicts.get(arm_claim(STUDY, panel, variant, RAW_MPI, size)) for size in sizes
            ]
            if any(claims):
                cells = []
                for size, claim in zip(sizes, claims, strict=True):
                    words = ""
                    if claim and claim.verdict.is_difference:
                        q = f"q\N{NO-BREAK SPACE}{units.number_text(claim.q, 2)}"
                        words = f"{display.describe_verdict(claim)}, {q}"
                    series = curves.point_series_key(panel, variant, size)
                    cells.append(display.verdict_cell(claim, words, series_key=series))
                rows.append((*text_cells(panel.title, ARMS[variant].title), *cells))
    return display.size_table(
        curves.level.fill_caption(
            "Bandwidth relative to raw MPI: median of the paired ratio over launches, {level} "
            "rank interval, verdict; q is the p-value after correction for false discoveries."
        ),
        ("Toolchain", "Variant"),
        sizes,
        rows,
        base=title,
    )


def rate_table(curves: NetPIPECurves, panels: Sequence[Panel]) -> Table:
    """Peak bandwidth, n½, and the rate over all sizes that every launch measured."""
    rows = []
    for panel in panels:
        for variant, arm in ARMS.items():
            values = curves.panel_rows(curves.launch_values, panel, variant=variant)
            launches = [
                dict(launch.select("size_bytes", "bandwidth").iter_rows())
                for launch in values.sort("size_bytes").partition_by("launch")
            ]
            if not launches:
                continue
            sizes = sorted(set.intersection(*map(set, launches)))
            peaks = [max(rates.values()) for rates in launches]
            halves = [
                derived.half_performance_size(list(rates), list(rates.values()))
                for rates in launches
            ]
            total_rates = [
                sum(sizes) / sum(size / rates[size] for size in sizes)
                for rates in launches
                if sizes
            ]
            ends = [max(rates) for rates in launches]
            least, most = units.byte_size(min(ends)), units.byte_size(max(ends))
            rows.append(
                (
                    Cell(panel.title),
                    Cell(arm.title),
                    display.interval_cell(curves.interval(peaks), Unit.MB_S),
                    display.interval_cell(
                        curves.interval([half for half in halves if not math.isnan(half)]),
                        Unit.BYTES,
                        fallback=Cell("below the first size"),
                    ),
                    display.interval_cell(curves.interval(total_rates), Unit.MB_S),
                    Cell(most if least == most else (least, " to ", most)),
                )
            )
    return Table(
        curves.level.fill_caption(
            "Peak bandwidth, n½, and the rate of one message of each size that every launch "
            "measured: total bytes over total time. Median over launches, {level} rank interval. "
            "“Up to”: the largest measured size of a launch, from the smallest to the largest "
            "over launches."
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


def finding_table(
    curves: NetPIPECurves, number: int, findings: Sequence[Finding[PublishedStatement, Panel]]
) -> Table:
    """A table of one published statement: its words, its numbers and ours."""
    statement, sizes = findings[0].statement, sorted(set(findings[0].compared_sizes))
    variant, base = ARMS[statement.variant].title, ARMS[statement.base].title
    study = []
    for size in sizes:
        ratio = derived.published_ratio(statement, size)
        if ratio is None:
            study.append(display.NO_VALUE_CELL)
        else:
            study.append(Cell(("about ", Quantity(value=ratio, unit=Unit.RATIO, digits=2))))
    rows = [(Cell("The study, read off its figure"), *study, display.NO_VALUE_CELL)]
    for finding in findings:
        panel, size_verdicts, ratios = finding.panel, dict(finding.size_verdicts), []
        for size in sizes:
            if size in size_verdicts:
                series = curves.point_series_key(panel, statement.variant, size)
                ratios.append(display.verdict_cell(size_verdicts[size], series_key=series))
            else:
                ratios.append(_smaller_size_cell(curves, panel, statement, size))
        rows.append((Cell(panel.title), *ratios, Cell("", finding.status_colour, finding.verdict)))
    caption = f"Finding {number}: “{statement.quotation}”: bandwidth of {variant} over {base}."
    return display.size_table(caption, ("Toolchain",), sizes, rows, base, "Our finding")


def _smaller_size_cell(
    curves: NetPIPECurves, panel: Panel, statement: PublishedStatement, size: int
) -> Cell:
    """The ratio at the largest measured size below `size`, where no ratio was measured."""
    rows = curves.panel_rows(curves.statement_ratio_intervals, panel, variant=statement.short_title)
    smaller_rows = rows.filter(pl.col("size_bytes") < size).sort("size_bytes")
    if smaller_rows.is_empty():
        return display.NOT_MEASURED_CELL
    last = smaller_rows.row(-1, named=True)
    ratio = Quantity.from_interval(interval_in_row(last, curves.level), Unit.RATIO)
    return Cell((ratio, " at ", units.byte_size(last["size_bytes"])), "muted", "not measured here")


#: Message size at which the bandwidths of transports are compared, bytes.
_LARGE_MESSAGE_BYTES = 65536


def wan_blocks(curves: NetPIPECurves) -> list[Block]:
    """Latency and bandwidth by transport; [] without launches over an emulated WAN."""
    rtts = {
        panel: panel.rtt_ms
        for panel in curves.panels
        if panel.is_pingpong and panel.rtt_ms is not None
    }
    if not rtts:
        return []
    settings = {panel: panel.setting.removesuffix(f", {panel.emulation_label}") for panel in rtts}
    has_settings = len(set(settings.values())) > 1
    columns = {rtt: Column(f"RTT {rtt:g} ms", "right") for rtt in sorted(set(rtts.values()))}
    blocks: list[Block] = [Heading(3, "Raw MPI over the emulated WAN, by transport")]
    for caption, frame, size, unit in (
        (
            f"Half-round-trip time at 1 byte, {Unit.US}, by the round-trip time of the EMULATED "
            "WAN. It cannot be shorter than half of that.",
            *(curves.time_intervals, 1, Unit.US),
        ),
        (
            f"Bandwidth at {units.size_text(_LARGE_MESSAGE_BYTES)}, {Unit.MB_S}, by the round-trip "
            "time of the EMULATED WAN. The nodes share this machine's processors: compare along a "
            "row, not with a real network.",
            *(curves.bandwidth_intervals, _LARGE_MESSAGE_BYTES, Unit.MB_S),
        ),
    ):
        cells = []
        for panel, rtt in rtts.items():
            where = f"; {settings[panel]}" if has_settings else ""
            cell = display.point_cell(curves, frame, panel, RAW_MPI, size, unit)
            row = (f"{panel.toolchain}, EMULATED WAN{where}",)
            cells.append((row, panel.environ, rtt, cell))
        cells.sort(key=itemgetter(0, 1, 2))
        rows = ((row, rtt, cell) for row, _, rtt, cell in cells)
        missing = display.NO_VALUE_CELL
        blocks.append(display.grid_table(caption, ("Transport",), columns, rows, missing, (unit,)))
    return blocks


_REFERENCE_SIZES = (1, 1 << 10, 64 << 10, 1 << 20, 8 << 20)
_PARTITION_COLUMNS = ["system", "partition", "environ"]


def reference_blocks(curves: NetPIPECurves) -> list[Block]:
    """A table of NetPIPE 3.7.2 and our raw MPI by size; [] without launches of the former."""
    data = curves.data
    launches = data.study_launches(derived.REFERENCE_STUDY_NAME)
    if launches.is_empty():
        return []
    samples = data.samples.filter(pl.col("study") == derived.REFERENCE_STUDY_NAME)
    columns = launches.select("launch", "case_id", *_PARTITION_COLUMNS)
    medians = derived.launch_medians(samples, ["launch"]).join(columns, on="launch")
    rows = []
    for panel in curves.panels:
        if panel.case != "pingpong/same" or panel.emulation_label:
            continue
        launch = curves.launches.filter(case_id=panel.key[0]).row(0, named=True)
        partition = {name: launch[name] for name in _PARTITION_COLUMNS}
        point = curves, curves.time_intervals, panel, RAW_MPI
        for size in _REFERENCE_SIZES:
            reference = medians.filter(**partition, size_bytes=size)
            raw = curves.panel_rows(curves.launch_values, panel, variant=RAW_MPI, size_bytes=size)
            if reference.is_empty() or raw.is_empty():
                continue
            theirs = median_interval(reference["seconds"].to_list(), curves.level)
            least = median_interval(raw["min_seconds"].to_list(), curves.level)
            series = data.series_medians.find_key(reference["case_id"].unique(), size)
            ratio = Quantity(value=theirs.median / least.median, unit=Unit.RATIO)
            rows.append(
                (
                    Cell(panel.title),
                    Cell(units.byte_size(size)),
                    display.interval_cell(theirs, Unit.US, 1e6, series_key=series),
                    display.point_cell(*point, size, Unit.US),
                    display.interval_cell(least, Unit.US, 1e6),
                    Cell(ratio, series_key=series),
                )
            )
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
            curves.level.fill_caption(
                "Half-round-trip time, median over launches, {level} rank interval."
            ),
            (
                Column("Toolchain"),
                Column("Size", "right"),
                *(Column(name, "right", Unit.US) for name in names),
                Column("Theirs / our least", "right", base_name="Ours, least"),
            ),
            tuple(rows),
        ),
    ]


_TAIL_PERCENTS = (0, 50, 90, 99)


def latency_table(curves: NetPIPECurves, panels: Sequence[Panel]) -> Table:
    """Half-round-trip time at 1 byte: median of launches, percentiles of samples."""
    samples = curves.samples.filter(pl.col("size_bytes") == 1)
    tails = percentiles(samples, [*curves.key_columns, "variant"], _TAIL_PERCENTS)
    rows = []
    for panel in panels:
        batches = curves.batch_sizes(panel)
        tail_rows = curves.panel_rows(tails, panel)
        tail_by_variant = tail_rows.rows_by_key("variant", named=True, unique=True)
        for variant in (variant for variant in ARMS if variant in tail_by_variant):
            tail, batch = tail_by_variant[variant], batches.get((variant, 1))
            rows.append(
                (
                    *text_cells(panel.title, ARMS[variant].title),
                    display.point_cell(curves, curves.time_intervals, panel, variant, 1, Unit.US),
                    *display.percentile_cells(tail, _TAIL_PERCENTS, 1e6),
                    Cell(units.count(tail["samples"])),
                    Cell(units.count_range(batch)) if batch else display.NO_VALUE_CELL,
                )
            )
    return Table(
        curves.level.fill_caption(
            f"Latency: half-round-trip time at 1 byte, {Unit.US}. Median over launches with "
            "{level} rank interval; percentiles over all samples of all launches. A sample is "
            "the mean over a batch of messages, so single messages have longer tails than shown "
            "here."
        ),
        (
            *(Column("Toolchain"), Column("Variant"), Column("Launch median", "right", Unit.US)),
            *number_columns("Least", "p50", "p90", "p99", "Samples", "Messages a sample"),
        ),
        tuple(rows),
        (Unit.US,),
    )


def convergence_table(curves: NetPIPECurves, panels: Sequence[Panel]) -> Table:
    """Counts of the points of all launches by status, for each toolchain."""
    rows = []
    for panel in panels:
        ends = Counter(curves.panel_rows(curves.points, panel)["status"])
        points = ends.total()
        status_counts = [ends.pop(name, 0) for name in ("converged", "budget", "bounded")]
        others = ", ".join(f"{count} {status}" for status, count in sorted(ends.items()))
        launches = curves.launches.filter(case_id=panel.key[0])
        rows.append(
            (
                Cell(panel.title),
                *count_cells(panel.launch_count, points, *status_counts),
                Cell(others) if others else display.NO_VALUE_CELL,
                Cell(units.count(int(launches["warmup_discarded"].sum()))),
            )
        )
    return Table(
        "Convergence of the points of all launches (a point is one variant at one size). A point "
        "that reached the precision says nothing about the next launch: see “Where the noise is”.",
        (
            Column("Toolchain"),
            *number_columns("Launches", "Points", "Reached the precision", "Spent the budget"),
            *number_columns("Bounded", "Other", "Warm-up messages discarded"),
        ),
        tuple(rows),
    )


def early_end_lines(curves: NetPIPECurves, panels: Sequence[Panel]) -> list[str]:
    """A line for each curve that has points without samples, with the reason."""
    lines: list[str] = []
    for panel in panels:
        points = curves.panel_rows(curves.points, panel).filter(samples=0)
        groups = points.group_by("variant", "status")
        ends = groups.agg(pl.col("size_bytes").min(), pl.col("launch").n_unique())
        for variant, status, size, launches in ends.sort("variant", "status").iter_rows():
            title = ARMS[variant].title if variant in ARMS else variant
            end = units.size_text(size)
            verb = (
                f"ended before {end}"
                if status == "bounded"
                else f"left sizes out, the smallest {end}"
            )
            count = f"{launches} of {panel.launch_count} launches"
            lines.append(f"{panel.title}, {title}: {count} {verb} ({status}).")
    return lines


def describe_buffers(panels: Sequence[Panel]) -> RichText:
    """Text on the cases where send and receive share a buffer, as large messages depend on it."""
    cases = sorted({panel.case for panel in panels})
    shared_cases = ", ".join(case for case in cases if case.endswith("/same"))
    others = ", ".join(case for case in cases if not case.endswith("/same"))
    lines = [
        f"Send and receive share one buffer, warm in cache, in: {shared_cases}."
        if shared_cases
        else "",
        f"Each message comes from memory not used recently in: {others}." if others else "",
        "This changes the curve of large messages.",
    ]
    return (" ".join(filter(None, lines)),)
