"""The tables of the NetPIPE section: ratios, rates, latencies and their tails, convergence.

Also transports over the emulated WAN, and NetPIPE 3.7.2 itself beside our raw-MPI variant.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Block, Cell, Column, Heading, Paragraph, Table, Text, Tone
from roundtrip.report.data import Data
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.summaries import median_interval, total_rate
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies.findings import Comparison, comparison
from roundtrip.studies.netpipe import ARMS, BASE, COMPARED_VARIANTS, STUDY, derived
from roundtrip.studies.netpipe.curves import Curves, Panel
from roundtrip.studies.netpipe.derived import Statement
from roundtrip.studies.panel import interval_of

_TONES: dict[Verdict, Tone] = {
    Verdict.FASTER: "good",
    Verdict.SLOWER: "bad",
    Verdict.ON_PAR: "good",
    Verdict.CANNOT_TELL: "warn",
}


def ratios(
    curves: Curves,
    panels: Sequence[Panel],
    verdicts: Mapping[Comparison, ClaimVerdict],
    sizes: Sequence[int],
) -> Table:
    """Ratios of all variants to raw MPI at the compared sizes, below raw MPI's own values."""
    rows, title = [], ARMS[BASE].title
    for panel in panels:
        launches = f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{panel.launches}"
        values = [
            curves.cell(curves.bandwidth, panel, BASE, size, Unit.MB_S, 1.0, display.NOT_MEASURED)
            for size in sizes
        ]
        rows.append(
            (
                Cell(panel.label),
                Cell((title, f" (base), {Unit.MB_S}, {launches}"), unit=Unit.MB_S),
                *values,
            )
        )
        for variant in COMPARED_VARIANTS:
            keys = [comparison(STUDY, panel, variant, BASE, size) for size in sizes]
            if any(key in verdicts for key in keys):
                cells = [
                    ratio_cell(
                        verdicts.get(key), curves.series_key(panel, variant, size), with_q=True
                    )
                    for key, size in zip(keys, sizes, strict=True)
                ]
                rows.append((Cell(panel.label), Cell(ARMS[variant].title), *cells))
    return Table(
        curves.level.caption(
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


def rates(curves: Curves, panels: Sequence[Panel]) -> Table:
    """Peak bandwidth, n½, and the rate over all sizes that every launch measured."""
    rows = []
    for panel in panels:
        medians = curves.rows(curves.values, panel)
        for variant, arm in ARMS.items():
            variant_rows = medians.filter(pl.col("variant") == variant)
            if variant_rows.is_empty():
                continue
            by_launch = variant_rows.sort("size_bytes").group_by("launch").agg(pl.all())
            common_sizes = _common_sizes(variant_rows)
            peaks, halves, total_rates = [], [], []
            for curve in by_launch.iter_rows(named=True):
                sizes, bandwidths = curve["size_bytes"], curve["bandwidth"]
                peaks.append(max(bandwidths))
                halves.append(derived.half_performance_size(sizes, bandwidths))
                points = zip(sizes, bandwidths, strict=True)
                times = {size: size / rate for size, rate in points if size in common_sizes}
                if times:
                    total_rates.append(total_rate(list(times), list(times.values())))
            finite_halves = [half for half in halves if not math.isnan(half)]
            rows.append(
                (
                    Cell(panel.label),
                    Cell(arm.title),
                    display.value(curves.interval(peaks), Unit.MB_S),
                    display.value(
                        curves.interval(finite_halves),
                        Unit.BYTES,
                        fallback=Cell("below the first size"),
                    ),
                    display.value(curves.interval(total_rates), Unit.MB_S),
                    _largest_size(variant_rows),
                )
            )
    return Table(
        curves.level.caption(
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


def _common_sizes(medians: pl.DataFrame) -> set[int]:
    launches = medians["launch"].n_unique()
    counts = medians.group_by("size_bytes").agg(pl.col("launch").n_unique())
    return set(counts.filter(pl.col("launch") == launches)["size_bytes"])


def _largest_size(medians: pl.DataFrame) -> Cell:
    ends = medians.group_by("launch").agg(pl.col("size_bytes").max())["size_bytes"].to_list()
    least, most = units.byte_size(min(ends)), units.byte_size(max(ends))
    return Cell(most if least == most else (least, " to ", most))


def ratio_cell(verdict: ClaimVerdict | None, series: str, with_q: bool = False) -> Cell:
    """A ratio with its verdict; `with_q` adds the corrected p-value to "faster" and "slower"."""
    words = ""
    if verdict and with_q and verdict.verdict in (Verdict.FASTER, Verdict.SLOWER):
        words = f"{verdict.words}, q\N{NO-BREAK SPACE}{units.number(verdict.q, 2)}"
    return display.verdict(verdict, _TONES, words, series=series)


def nearest_ratio(curves: Curves, panel: Panel, statement: Statement, size: int) -> Cell:
    """For a ratio that was not measured: the ratio at the largest measured size below `size`."""
    rows = curves.rows(curves.statement_ratios, panel, variant=statement.short)
    smaller_rows = rows.filter(pl.col("size_bytes") < size).sort("size_bytes")
    if smaller_rows.is_empty():
        return display.NOT_MEASURED
    last = smaller_rows.row(-1, named=True)
    ratio = Quantity.from_interval(interval_of(last, curves.level), Unit.RATIO)
    return Cell((ratio, " at ", units.byte_size(last["size_bytes"])), "muted", "not measured here")


#: Message size at which the bandwidths of transports are compared, bytes.
_LARGE_SIZE = 65536


def wan_tables(curves: Curves, panels: Sequence[Panel]) -> list[Block]:
    """Latency and bandwidth by transport; [] without launches over an emulated WAN."""
    wan_panels = [panel for panel in panels if panel.is_pingpong and panel.rtt_ms is not None]
    if not wan_panels:
        return []
    gap = display.NOT_MEASURED

    return [
        Heading(3, "Raw MPI over the emulated WAN, by transport"),
        _by_rtt(
            f"Half-round-trip time at 1 byte, {Unit.US}, by the round-trip time of the EMULATED "
            "WAN. It cannot be shorter than half of that.",
            Unit.US,
            wan_panels,
            lambda panel: curves.cell(curves.seconds, panel, BASE, 1, Unit.US, 1e6, gap),
        ),
        _by_rtt(
            f"Bandwidth at {units.size(_LARGE_SIZE)}, {Unit.MB_S}, by the round-trip time of the "
            "EMULATED WAN. The nodes share this machine's processors: compare along a row, not "
            "with a real network.",
            Unit.MB_S,
            wan_panels,
            lambda panel: curves.cell(
                curves.bandwidth, panel, BASE, _LARGE_SIZE, Unit.MB_S, 1, gap
            ),
        ),
    ]


def _by_rtt(
    caption: str, unit: str, panels: Sequence[Panel], cell: Callable[[Panel], Cell]
) -> Table:
    rtts = sorted({panel.rtt_ms for panel in panels if panel.rtt_ms is not None})
    settings = {panel: panel.setting.removesuffix(f", {panel.kind}") for panel in panels}
    has_settings = len(set(settings.values())) > 1
    rows: dict[str, dict[float, Cell]] = defaultdict(dict)
    for panel in panels:
        if panel.rtt_ms is not None:
            where = f"; {settings[panel]}" if has_settings else ""
            rows[f"{panel.toolchain}, EMULATED WAN{where}"][panel.rtt_ms] = cell(panel)
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
    """A table of NetPIPE 3.7.2 and our raw MPI by size; [] without launches of the former."""
    launches = data.study_launches(derived.REFERENCE_STUDY)
    if launches.is_empty():
        return []
    samples = data.samples.filter(pl.col("study") == derived.REFERENCE_STUDY)
    columns = launches.select("launch", "case_id", *_PLACE)
    medians = derived.launch_medians(samples, ["launch"]).join(columns, on="launch")
    rows = []
    for panel in curves.panels:
        if not panel.is_pingpong or not panel.case.endswith("/same") or panel.kind:
            continue
        place = curves.launches.filter(case_id=panel.key[0]).select(_PLACE).row(0, named=True)
        reference_rows, raw_rows = (
            medians.filter(**place),
            curves.rows(curves.values, panel, variant=BASE),
        )
        for size in _SIZES:
            reference, raw_mpi = (
                reference_rows.filter(size_bytes=size),
                raw_rows.filter(size_bytes=size),
            )
            if reference.height and raw_mpi.height:
                series = data.origins.key(reference["case_id"].unique(), size)
                rows.append(_reference_row(curves, panel, reference, raw_mpi, series))
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
            curves.level.caption(
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


def _reference_row(
    curves: Curves, panel: Panel, reference: pl.DataFrame, raw_mpi: pl.DataFrame, series: str
) -> tuple[Cell, ...]:
    """The row of one size; `series` is the series of NetPIPE 3.7.2."""
    size = raw_mpi["size_bytes"][0]
    reference_time = median_interval(reference["seconds"].to_list(), curves.level)
    median = median_interval(raw_mpi["seconds"].to_list(), curves.level)
    least = median_interval(raw_mpi["least_seconds"].to_list(), curves.level)
    ratio = Quantity(value=reference_time.median / least.median, unit=Unit.RATIO)
    return (
        Cell(panel.label),
        Cell(units.byte_size(size)),
        display.value(reference_time, Unit.US, 1e6, series=series),
        display.value(median, Unit.US, 1e6, series=curves.series_key(panel, BASE, size)),
        display.value(least, Unit.US, 1e6),
        Cell(ratio, series=series),
    )


def latency(curves: Curves, panels: Sequence[Panel]) -> Table:
    """Half-round-trip time at 1 byte: over launches, and its tails over samples."""
    rows = []
    for panel in panels:
        tails = {row["variant"]: row for row in curves.rows(curves.latency_tails, panel).to_dicts()}
        batches = curves.batches(panel)
        for variant, arm in ARMS.items():
            if variant not in tails:
                continue
            tail, batch = tails[variant], batches.get((variant, 1))
            rows.append(
                (
                    Cell(panel.label),
                    Cell(arm.title),
                    curves.cell(curves.seconds, panel, variant, 1, Unit.US, 1e6),
                    *(
                        Cell(Quantity(value=tail[name] * 1e6, unit=Unit.US, percentile=part))
                        for name, part in _TAILS.items()
                    ),
                    Cell(units.count(tail["samples"])),
                    Cell(units.count_range(batch)) if batch else display.NONE,
                )
            )
    names = ("Least", "p50", "p90", "p99", "Samples", "Messages a sample")
    return Table(
        curves.level.caption(
            f"Latency: half-round-trip time at 1 byte, {Unit.US}. Median over launches with "
            "{level} rank interval; percentiles over all samples of all launches. A sample is "
            "the mean over a batch of messages, so single messages have longer tails than shown "
            "here."
        ),
        (
            *(Column("Toolchain"), Column("Variant"), Column("Launch median", "right", Unit.US)),
            *(Column(name, "right") for name in names),
        ),
        tuple(rows),
        (Unit.US,),
    )


#: Columns of `Curves.latency_tails`, and the percentile in each.
_TAILS = {"least": 0.0, "p50": 50.0, "p90": 90.0, "p99": 99.0}


def convergence(curves: Curves, panels: Sequence[Panel]) -> Table:
    """Counts of the points of all launches by status, for each toolchain."""
    rows = []
    for panel in panels:
        ends = Counter(curves.rows(curves.points, panel)["status"])
        status_counts = [ends.pop(name, 0) for name in ("converged", "budget", "bounded")]
        others = ", ".join(f"{count} {status}" for status, count in sorted(ends.items()))
        launches = curves.launches.filter(case_id=panel.key[0])
        warm_up = int(launches["warmup_discarded"].sum())
        counts = (panel.launches, sum(status_counts) + ends.total(), *status_counts)
        rows.append(
            (
                Cell(panel.label),
                *(Cell(units.count(count)) for count in counts),
                Cell(others) if others else display.NONE,
                Cell(units.count(warm_up)),
            )
        )
    names = ("Launches", "Points", "Reached the precision", "Spent the budget", "Bounded", "Other")
    return Table(
        "Convergence of the points of all launches (a point is one variant at one size). A point "
        "that reached the precision says nothing about the next launch: see “Where the noise is”.",
        (
            Column("Toolchain"),
            *(Column(name, "right") for name in names),
            Column("Warm-up messages discarded", "right"),
        ),
        tuple(rows),
    )


#: Reasons by status why sizes have no samples; `{}` is the smallest such size.
_END_REASONS = {
    "bounded": "not measured from {} on (bounded)",
    "budget": "not every size measured (budget), the smallest left out {}",
}


def early_ends(curves: Curves, panels: Sequence[Panel]) -> tuple[Text, ...]:
    """A line for each curve that has points without samples, with the reason."""
    lines: list[Text] = []
    for panel in panels:
        ends: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        empty_points = curves.rows(curves.points, panel).filter(samples=0)
        for point in empty_points.iter_rows(named=True):
            launch_ends, size = ends[point["variant"], point["status"]], point["size_bytes"]
            launch_ends[point["launch"]] = min(size, launch_ends.get(point["launch"], size))
        for (variant, status), first in sorted(ends.items()):
            title = ARMS[variant].title if variant in ARMS else variant
            least = units.size(min(first.values()))
            count = f"{len(first)} of {panel.launches} launches"
            reason = _END_REASONS.get(status, f"not measured ({status}), first {{}}").format(least)
            lines.append((f"{panel.label}, {title}: {reason}, {count}",))
    return tuple(lines)


def buffers(panels: Sequence[Panel]) -> Text:
    """The cases where send and receive share a buffer, which changes curves of large messages."""
    shared_cases = sorted({panel.case for panel in panels if panel.case.endswith("/same")})
    other_cases = sorted({panel.case for panel in panels} - set(shared_cases))
    lines = []
    if shared_cases:
        lines.append(
            f"Send and receive share one buffer, warm in cache, in: {', '.join(shared_cases)}."
        )
    if other_cases:
        lines.append(
            f"Each message comes from memory not touched lately in: {', '.join(other_cases)}."
        )
    return (" ".join(lines) + " This changes the curve of large messages.",)
