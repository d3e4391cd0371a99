"""The tables of the NPB section about speed-up, and about what stands for the study's libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from roundtrip.report import units
from roundtrip.report.blocks import COUNT, RATIO, Cell, Column, Table, text_cells
from roundtrip.stats.verdicts import Judged
from roundtrip.studies import cells
from roundtrip.studies.npb import derived, wan
from roundtrip.studies.npb.data import Launches
from roundtrip.studies.npb.findings import Finding
from roundtrip.studies.npb.series import EMULATED, Series
from roundtrip.studies.npb.sources import judged_cell
from roundtrip.studies.npb.speedup import (
    NpbSpeedup,
    NpbTransports,
    is_measured,
    round_trips,
    rtt_of_speedup,
    transport_pairs,
)
from roundtrip.studies.npb.thresholds import Thresholds
from roundtrip.studies.study import Claim


def verdicts(launches: Launches, found: Sequence[Finding]) -> Table:
    """A row for each finding of the study and each series in which it was tested."""
    rows = []
    for finding in found:
        base = _base(launches, finding.series) if finding.series else ""
        outcome = Cell(finding.evidence, finding.tone, finding.told, base=base)
        rows.append((Cell(finding.statement.short), Cell(finding.where), outcome))
    return Table(
        f"Do the findings of 2003 hold today? All over an {EMULATED}. Speed-up over one cluster "
        "with half of the ranks, 95 % interval over rounds.",
        (Column("Finding of the study"), Column("Here"), Column("Found", unit=RATIO)),
        tuple(rows),
    )


def counterparts() -> Table:
    """What stands for which library of the study, and why."""
    rows = [text_cells(one.library, one.today, one.why) for one in wan.COUNTERPARTS.values()]
    return Table(
        "What stands for the study's libraries. Theirs were of one family; where ours are all one "
        "MPI library, they differ only in the transport.",
        (Column("In 2003"), Column("Today"), Column("Because")),
        tuple(rows),
    )


def speedups(launches: Launches, judged: Mapping[Claim, Judged]) -> Table:
    """A row for each series over the link, and a column for each RTT."""
    came = {rtt for series in launches.over_the_link for rtt in launches.points[series]}
    rtts = sorted(rtt for rtt in {*came, *(one.rtt for one in launches.lost)} if rtt is not None)
    rows = []
    gone = [one.series for one in launches.lost if one.series.wan]
    there = {series.planned for series in launches.over_the_link}
    lost = {series.planned: series for series in gone if series.planned not in there}
    for series in sorted([*launches.over_the_link, *lost.values()], key=lambda one: one.order):
        base = launches.base_of(series)
        by_rtt = [_speedup(launches, judged, series, rtt) for rtt in rtts]
        against = cells.NONE if base is None else Cell(base.setup)
        rows.append((Cell(series.label), against, *by_rtt))
    return Table(
        f"Speed-up over one cluster, {EMULATED}: rate on both clusters over the rate on one in the "
        "same round, median and 95 % interval over rounds. “On fewer processors”: ranks share "
        "processors, so that the compute time is taken as on processors of their own; a lower "
        "bound.",
        (
            Column("Benchmark and transport"),
            Column("Over one cluster with"),
            *(Column(f"{rtt:g} ms", "right", RATIO) for rtt in rtts),
        ),
        tuple(rows),
    )


def tolerance(launches: Launches) -> Table:
    """Why: round trips waited for in an iteration against messages sent, and what follows."""
    rows = []
    for series in launches.over_the_link:
        waited = round_trips(launches, series)
        figures = next(iter(next(iter(launches.points[series].values())).values()))
        sent = int(launches.messages(series)["messages"].sum())
        iterations = figures["iterations"]
        each = sent / iterations / series.ranks if iterations else 0.0
        published = wan.PUBLISHED.get(series.benchmark)
        rows.append(
            (
                Cell(series.label),
                _sent(series, each),
                cells.value(waited),
                _rtt(rtt_of_speedup(launches, series, 1.0)),
                _rtt(rtt_of_speedup(launches, series, published)) if published else cells.NONE,
            )
        )
    return Table(
        f"What an iteration waits for, {EMULATED}: the messages that a rank sends (our counters), "
        "and by how many round-trip times the iteration grows with the round-trip time (Sen's "
        "slope). From this follow the delay at which two clusters are no faster than one, and the "
        "delay at which they have the study's speed-up.",
        (
            Column("Benchmark and transport"),
            Column("Messages of a rank", "right", COUNT),
            Column("Round trips waited for", "right", COUNT),
            Column("No gain at RTT", "right"),
            Column("The study's speed-up at RTT", "right"),
        ),
        tuple(rows),
    )


def transports(launches: Launches, judged: Mapping[Claim, Judged], settings: Thresholds) -> Table:
    """Each pair of transports at each RTT, with its verdict."""
    rows = []
    for pair in transport_pairs(launches):
        for rtt in launches.points[pair[0]]:
            one = judged.get(NpbTransports(*pair, rtt or 0.0))
            if one is None:
                continue
            named = f"{pair[0].name}, {pair[0].setup}, {EMULATED} {rtt:g} ms"
            rows.append(
                (
                    Cell(named),
                    Cell(f"{pair[0].transport} / {pair[1].transport}"),
                    replace(
                        judged_cell(one, launches.traced(pair[0], rtt)),
                        base=f"{pair[1].label} {rtt:g} ms",
                    ),
                )
            )
    return Table(
        f"Transports against each other, {EMULATED}: ratio of rates in the same round; above 1 the "
        f"first is faster. More than {units.percent(settings.critical_difference)} counts as "
        "critical.",
        (Column("Benchmark and link"), Column("Transports"), Column("Ratio", "right", RATIO)),
        tuple(rows),
    )


def _speedup(
    launches: Launches, judged: Mapping[Claim, Judged], series: Series, rtt: float
) -> Cell:
    one = judged.get(NpbSpeedup(series, rtt))
    if one:
        origin = launches.traced(series, rtt) if is_measured(launches, series) else ""
        return replace(judged_cell(one, origin), base=_base(launches, series))
    if rtt in launches.points.get(series, {}):
        if base := launches.base_of(series):
            points = launches.points
            pairing = launches.pairing(points[series][rtt], points[base][None])
            why = "not in the same rounds" if pairing.refused else "compute not measured"
            return Cell(why, "muted")
        return Cell("no base in one cluster", "muted")
    if any(gone.series.planned == series.planned and gone.rtt == rtt for gone in launches.lost):
        return Cell("no launch completed", "bad")
    return cells.NOT_MEASURED


def _base(launches: Launches, series: Series) -> str:
    """The row of what a speed-up is over, "" without one."""
    base = launches.base_of(series)
    return base.label if base else ""


def _sent(series: Series, messages: float) -> Cell:
    if series.source != derived.NATIVE:
        return cells.NOT_MEASURED
    return Cell(units.number(messages)) if messages else cells.NONE


def _rtt(seconds: float | None) -> Cell:
    return cells.NONE if seconds is None else Cell(f"{units.number(seconds * 1e3)} ms")
