"""The tables of the NPB section: substitutes for the study's libraries, speed-ups over the link,
pairs of transports, and our programs against those of NPB 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import (
    Cell,
    Column,
    Table,
    Text,
    number_columns,
    text_cells,
    text_columns,
)
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display
from roundtrip.studies.npb import NATIVE, PUBLISHED_SPEEDUPS, SPEEDUP, TRANSPORTS, Thresholds
from roundtrip.studies.npb.data import EMULATED, Launches, Series
from roundtrip.studies.npb.findings import Finding
from roundtrip.studies.npb.speedup import (
    SeriesClaim,
    Verdicts,
    is_rate_ratio,
    round_trips,
    rtt_of_speedup,
    verdicts_on,
)
from roundtrip.studies.study import Claim


def study_table(launches: Launches, findings: Sequence[Finding]) -> Table:
    """Table of the study's statements: a row for each series that tests one."""
    note = launches.level.caption(
        f" Everything that we find is over an {EMULATED}. Speed-up over one cluster with half of "
        "the ranks, {level} interval over rounds."
    )
    rows = []
    for one in findings:
        words: Text = (one.where, ": ", one.evidence) if one.evidence else (one.where,)
        if isinstance(one.evidence, Quantity):
            words = (*words, display.slowdown([one.evidence.value]))
        rows.append((one.statement, one.number, Cell(words, one.tone, one.verdict)))
    return display.study_table(rows, note)


def library_table() -> Table:
    """Table of the study's libraries, their substitutes, and the reasons."""
    return Table(
        "What stands for the study's libraries. Theirs were of one family; where ours are all one "
        "MPI library, they differ only in the transport.",
        text_columns("In 2003", "Today", "Because"),
        (
            text_cells(
                "UDP-encapsulated MPICH-SCore",
                "MPICH over libfabric's udp;ofi_rxd, each rank on a node",
                "One library end to end that makes UDP datagrams reliable itself, inside a cluster "
                "and between clusters, without the kernel's TCP.",
            ),
            text_cells(
                "MPICH-G2/SCore",
                "MPICH over shared memory inside a cluster and TCP between, a node for each "
                "cluster",
                "The cluster's own fast way inside, TCP to the other cluster. Shared memory takes "
                "the place of SCore on Myrinet.",
            ),
            text_cells(
                "MPICH-P4",
                "MPICH over TCP, each rank on a node",
                "TCP sockets for every message, in a cluster and between clusters.",
            ),
        ),
    )


def speedup_table(launches: Launches, verdicts: Mapping[Claim, ClaimVerdict]) -> Table:
    """Table of speed-ups: a row for each series over the link, a column for each RTT."""
    speedup_verdicts = verdicts_on(SPEEDUP, verdicts)
    rtts = sorted({rtt for _, rtt in launches.planned_link_points})
    link_series = launches.link_series
    measured = {series.as_planned for series in link_series}
    lost = {
        series.as_planned: series
        for series, _ in launches.missing_points
        if series.spans_clusters and series.as_planned not in measured
    }
    rows = []
    for series in sorted([*link_series, *lost.values()], key=lambda series: series.order):
        base = launches.base_of(series)
        base_cell = display.NONE if base is None else Cell(base.setup_text)
        by_rtt = [_speedup_cell(launches, speedup_verdicts, series, base, rtt) for rtt in rtts]
        rows.append((Cell(series.label), base_cell, *by_rtt))
    return Table(
        launches.level.caption(
            f"Speed-up over one cluster, {EMULATED}: rate on both clusters over the rate on one "
            "in the same round, median and {level} interval over rounds. “On fewer "
            "processors”: ranks share processors, so that the compute time is taken as on "
            "processors of their own; a lower bound."
        ),
        (
            *text_columns("Benchmark and transport", "Over one cluster with"),
            *number_columns(*(f"{rtt:g} ms" for rtt in rtts)),
        ),
        tuple(rows),
    )


def tolerance_table(launches: Launches) -> Table:
    """Table of messages sent and round trips waited for in an iteration, and RTTs that follow."""
    rows = []
    for series in launches.link_series:
        counts, iterations = launches.messages(series)
        messages = int(counts["messages"].sum()) / iterations / series.ranks if iterations else 0.0
        messages_cell = Cell(units.pure_number(messages)) if messages else display.NONE
        study_speedup = PUBLISHED_SPEEDUPS.get(series.benchmark)
        rows.append(
            (
                Cell(series.label),
                messages_cell if series.source == NATIVE else display.NOT_MEASURED,
                display.value(round_trips(launches, series), Unit.PURE),
                _rtt_cell(rtt_of_speedup(launches, series, 1.0)),
                _rtt_cell(study_speedup and rtt_of_speedup(launches, series, study_speedup)),
            )
        )
    return Table(
        f"What an iteration waits for, {EMULATED}: the messages that a rank sends (our counters), "
        "and by how many round-trip times the iteration grows with the round-trip time (Sen's "
        "slope). From this follow the delay at which two clusters are no faster than one, and the "
        "delay at which they have the study's speed-up.",
        (
            Column("Benchmark and transport"),
            *number_columns("Messages of a rank", "Round trips waited for", "No gain at RTT"),
            *number_columns("The study's speed-up at RTT"),
        ),
        tuple(rows),
    )


def transport_table(
    launches: Launches, verdicts: Mapping[Claim, ClaimVerdict], settings: Thresholds
) -> Table:
    """Table of ratios and verdicts of each pair of transports at each RTT."""
    rows = []
    for claim, verdict in verdicts_on(TRANSPORTS, verdicts).items():
        series, base, link = claim.series, claim.base, f"{claim.rtt:g} ms"
        names = text_cells(
            f"{series.name}, {series.setup_text}, {EMULATED} {link}",
            f"{series.transport} / {base.transport}",
        )
        key = launches.series_key(series, claim.rtt)
        rows.append((*names, display.verdict(verdict, base=f"{base.label} {link}", series=key)))
    return Table(
        f"Transports against each other, {EMULATED}: ratio of rates in the same round; above 1 the "
        f"first is faster. More than {units.percent(settings.critical_difference)} counts as "
        "critical.",
        (Column("Benchmark and link"), Column("Transports"), Column("Ratio", "right")),
        tuple(rows),
    )


def _speedup_cell(
    launches: Launches, verdicts: Verdicts, series: Series, base: Series | None, rtt: float
) -> Cell:
    rounds = launches.rounds(series, rtt)
    if not rounds:
        is_lost = (series.as_planned, rtt) in launches.planned_link_points
        return Cell("no launch completed", "bad") if is_lost else display.NOT_MEASURED
    if base is None:
        return Cell("no base in one cluster", "muted")
    if verdict := verdicts.get(SeriesClaim(SPEEDUP, series, base, rtt)):
        origin = launches.series_key(series, rtt) if is_rate_ratio(launches, series) else ""
        return display.verdict(verdict, base=base.label, series=origin)
    pairing = launches.pairing(rounds, launches.rounds(base, None))
    reason = "not in the same rounds" if pairing.refusal else "compute not measured"
    return Cell(reason, "muted")


def _rtt_cell(seconds: float | None) -> Cell:
    if seconds is None:
        return display.NONE
    return Cell((Quantity(value=seconds * 1e3, unit=Unit.MS), f" {Unit.MS}"), unit=Unit.MS)


def source_verdict_table(launches: Launches, verdicts: Verdicts) -> Table:
    """Table of ratios to NPB 3.4: rows by benchmark, class and place, columns by ranks."""
    ranks = sorted({claim.series.ranks for claim in verdicts})
    rows: dict[tuple[str, str], dict[int, Cell]] = {}
    for claim, verdict in verdicts.items():
        series = claim.series
        row = rows.setdefault((series.name, _source_place(claim)), {})
        key = launches.series_key(series, claim.rtt)
        row[series.ranks] = display.verdict(verdict, series=key)
    return display.grid(
        launches.level.caption(
            "Our programs against NPB 3.4: ratio of Mop/s in the same round, median and "
            "{level} interval; below 1 ours is slower."
        ),
        ("Benchmark", "Where"),
        {count: Column(units.plural(count, "rank"), "right", base="NPB 3.4") for count in ranks},
        rows.items(),
        display.NONE,
    )


def source_rate_table(launches: Launches, verdicts: Verdicts) -> Table:
    """Table of the rates of our programs and of NPB 3.4's, with their ratios."""
    rows = []
    for claim, verdict in verdicts.items():
        rates = [launches.value(side, claim.rtt, "rate") for side in (claim.series, claim.base)]
        link = "" if claim.rtt is None else f" {claim.rtt:g} ms"
        ratio = display.verdict(verdict, series=rates[0].origin)
        rows.append((Cell(f"{claim.series.label}{link}"), *rates, ratio))
    return Table(
        "Our programs beside those of NPB 3.4 in the same place: Mop/s by NPB's own formula, and "
        "the ratio in the same round.",
        (
            Column("Benchmark and toolchain"),
            Column("Ours", "right", Unit.MOPS),
            Column("NPB 3.4", "right", Unit.MOPS),
            Column("Ours / NPB 3.4", "right", base="NPB 3.4"),
        ),
        tuple(rows),
    )


def source_warnings(verdicts: Verdicts) -> Iterator[str]:
    """Yield a line for each case with a median ratio to NPB 3.4 below 1, over the link or not."""
    places = {_source_place(claim) for claim in verdicts}
    for claim, verdict in verdicts.items():
        if verdict.interval.median >= 1:
            continue
        place = f", {_source_place(claim)}" if len(places) > 1 else ""
        doubt = "" if verdict.verdict == "slower" else f" ({verdict.verdict})"
        ratio = units.interval(verdict.interval)
        yield f"slower than official NPB 3.4: {claim.series.case}{place}, {ratio}{doubt}"


def _source_place(claim: SeriesClaim) -> str:
    series = claim.series
    placement = series.placement if series.ranks > 1 else ""
    place = f"{series.toolchain}, {placement}" if placement else series.toolchain
    return place if claim.rtt is None else f"{place}, {EMULATED} {claim.rtt:g} ms"
