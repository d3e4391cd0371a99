"""The tables of the NPB section: substitutes for the study's libraries, speed-ups over the link,
pairs of transports, and our programs against those of NPB 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Table, Tone, text_cells
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies.npb import NATIVE, PUBLISHED_SPEEDUPS, Thresholds, derived
from roundtrip.studies.npb.data import EMULATED, Launches, Series
from roundtrip.studies.npb.findings import Finding
from roundtrip.studies.npb.speedup import (
    NpbSources,
    NpbSpeedup,
    NpbTransports,
    is_rate_ratio,
    round_trips,
    rtt_of_speedup,
    transport_pairs,
)
from roundtrip.studies.study import Claim


def verdict_table(launches: Launches, findings: Sequence[Finding]) -> Table:
    """Table of verdicts: a row for each finding of the study and each series that tests it."""
    rows = []
    for finding in findings:
        outcome = Cell(finding.evidence, finding.tone, finding.verdict)
        rows.append((Cell(finding.statement.short), Cell(finding.where), outcome))
    return Table(
        launches.level.caption(
            f"Do the findings of 2003 hold today? All over an {EMULATED}. Speed-up over one "
            "cluster with half of the ranks, {level} interval over rounds. The study gives a "
            "number for CG and MG; that of LU, 2.00, is inferred from “linearly”."
        ),
        (Column("The study says"), Column("Here"), Column("We find")),
        tuple(rows),
    )


def counterparts() -> Table:
    """Table of the study's libraries, their substitutes, and the reasons."""
    rows = [
        text_cells(counterpart.library, counterpart.substitute, counterpart.reason)
        for counterpart in derived.COUNTERPARTS.values()
    ]
    return Table(
        "What stands for the study's libraries. Theirs were of one family; where ours are all one "
        "MPI library, they differ only in the transport.",
        (Column("In 2003"), Column("Today"), Column("Because")),
        tuple(rows),
    )


def speedups(launches: Launches, verdicts: Mapping[Claim, ClaimVerdict]) -> Table:
    """Table of speed-ups: a row for each series over the link, a column for each RTT."""
    measured_rtts = {rtt for series in launches.link_series for rtt in launches.points[series]}
    rtts = sorted(
        rtt
        for rtt in {*measured_rtts, *(case.rtt for case in launches.missing_cases)}
        if rtt is not None
    )
    rows = []
    missing_series = [case.series for case in launches.missing_cases if case.series.spans_clusters]
    planned_series = {series.as_planned for series in launches.link_series}
    lost_series = {
        series.as_planned: series
        for series in missing_series
        if series.as_planned not in planned_series
    }
    for series in sorted(
        [*launches.link_series, *lost_series.values()], key=lambda series: series.order
    ):
        base = launches.base_of(series)
        by_rtt = [_speedup(launches, verdicts, series, rtt) for rtt in rtts]
        base_cell = display.NONE if base is None else Cell(base.setup)
        rows.append((Cell(series.label), base_cell, *by_rtt))
    return Table(
        launches.level.caption(
            f"Speed-up over one cluster, {EMULATED}: rate on both clusters over the rate on one "
            "in the same round, median and {level} interval over rounds. “On fewer "
            "processors”: ranks share processors, so that the compute time is taken as on "
            "processors of their own; a lower bound."
        ),
        (
            Column("Benchmark and transport"),
            Column("Over one cluster with"),
            *(Column(f"{rtt:g} ms", "right") for rtt in rtts),
        ),
        tuple(rows),
    )


def tolerance(launches: Launches) -> Table:
    """Table of messages sent and round trips waited for in an iteration, and RTTs that follow."""
    rows = []
    for series in launches.link_series:
        trips = round_trips(launches, series)
        figures = next(iter(next(iter(launches.points[series].values())).values()))
        messages = int(launches.messages(series)["messages"].sum())
        iterations = figures["iterations"]
        per_rank = messages / iterations / series.ranks if iterations else 0.0
        study_speedup = PUBLISHED_SPEEDUPS.get(series.benchmark)
        rows.append(
            (
                Cell(series.label),
                _messages_cell(series, per_rank),
                display.value(trips, Unit.PURE),
                _rtt_cell(rtt_of_speedup(launches, series, 1.0)),
                _rtt_cell(rtt_of_speedup(launches, series, study_speedup))
                if study_speedup
                else display.NONE,
            )
        )
    return Table(
        f"What an iteration waits for, {EMULATED}: the messages that a rank sends (our counters), "
        "and by how many round-trip times the iteration grows with the round-trip time (Sen's "
        "slope). From this follow the delay at which two clusters are no faster than one, and the "
        "delay at which they have the study's speed-up.",
        (
            Column("Benchmark and transport"),
            Column("Messages of a rank", "right"),
            Column("Round trips waited for", "right"),
            Column("No gain at RTT", "right"),
            Column("The study's speed-up at RTT", "right"),
        ),
        tuple(rows),
    )


def transports(
    launches: Launches, verdicts: Mapping[Claim, ClaimVerdict], settings: Thresholds
) -> Table:
    """Table of ratios and verdicts of each pair of transports at each RTT."""
    rows = []
    for pair in transport_pairs(launches):
        for rtt in launches.points[pair[0]]:
            verdict = verdicts.get(NpbTransports(*pair, rtt or 0.0))
            if verdict is None:
                continue
            name = f"{pair[0].name}, {pair[0].setup}, {EMULATED} {rtt:g} ms"
            rows.append(
                (
                    Cell(name),
                    Cell(f"{pair[0].transport} / {pair[1].transport}"),
                    verdict_cell(
                        verdict, launches.series_key(pair[0], rtt), f"{pair[1].label} {rtt:g} ms"
                    ),
                )
            )
    return Table(
        f"Transports against each other, {EMULATED}: ratio of rates in the same round; above 1 the "
        f"first is faster. More than {units.percent(settings.critical_difference)} counts as "
        "critical.",
        (Column("Benchmark and link"), Column("Transports"), Column("Ratio", "right")),
        tuple(rows),
    )


def _speedup(
    launches: Launches, verdicts: Mapping[Claim, ClaimVerdict], series: Series, rtt: float
) -> Cell:
    verdict = verdicts.get(NpbSpeedup(series, rtt))
    if verdict:
        origin = launches.series_key(series, rtt) if is_rate_ratio(launches, series) else ""
        return verdict_cell(verdict, origin, launches.base_label(series))
    if rtt in launches.points.get(series, {}):
        if base := launches.base_of(series):
            points = launches.points
            pairing = launches.pairing(points[series][rtt], points[base][None])
            reason = "not in the same rounds" if pairing.refusal else "compute not measured"
            return Cell(reason, "muted")
        return Cell("no base in one cluster", "muted")
    if any(
        case.series.as_planned == series.as_planned and case.rtt == rtt
        for case in launches.missing_cases
    ):
        return Cell("no launch completed", "bad")
    return display.NOT_MEASURED


def _messages_cell(series: Series, messages: float) -> Cell:
    if series.source != NATIVE:
        return display.NOT_MEASURED
    return Cell(units.pure_number(messages)) if messages else display.NONE


def _rtt_cell(seconds: float | None) -> Cell:
    if seconds is None:
        return display.NONE
    return Cell((Quantity(value=seconds * 1e3, unit=Unit.MS), f" {Unit.MS}"), unit=Unit.MS)


_TONES: dict[Verdict, Tone] = {
    Verdict.FASTER: "good",
    Verdict.SLOWER: "bad",
    Verdict.ON_PAR: "muted",
    Verdict.CANNOT_TELL: "warn",
}
SourceVerdicts = dict[NpbSources, ClaimVerdict]


def source_verdicts(verdicts: Mapping[Claim, ClaimVerdict]) -> SourceVerdicts:
    """The verdicts on our programs against NPB's, in the order of the benchmarks."""
    items = [(key, verdict) for key, verdict in verdicts.items() if isinstance(key, NpbSources)]
    return dict(sorted(items, key=lambda item: (item[0].native.order, item[0].rtt or 0.0)))


def source_verdict_table(launches: Launches, verdicts: SourceVerdicts) -> Table:
    """Table of ratios to NPB 3.4: rows by benchmark, class and place, columns by ranks."""
    ranks = sorted({key.native.ranks for key in verdicts})
    rows: dict[tuple[str, str], dict[int, Cell]] = {}
    for key, verdict in verdicts.items():
        row = rows.setdefault((key.native.name, _source_place(key)), {})
        row[key.native.ranks] = verdict_cell(verdict, launches.series_key(key.native, key.rtt))
    return Table(
        launches.level.caption(
            "Our programs against NPB 3.4: ratio of Mop/s in the same round, median and "
            "{level} interval; below 1 ours is slower."
        ),
        (
            Column("Benchmark"),
            Column("Where"),
            *(Column(units.plural(count, "rank"), "right", base="NPB 3.4") for count in ranks),
        ),
        tuple(
            (Cell(name), Cell(place), *(row.get(count, display.NONE) for count in ranks))
            for (name, place), row in rows.items()
        ),
    )


def source_rates(launches: Launches, verdicts: SourceVerdicts) -> Table:
    """Table of the rates of our programs and of NPB 3.4's, with their ratios."""
    rows = []
    for key, verdict in verdicts.items():
        pair = (key.native, key.upstream)
        rates = [launches.value(series, key.rtt, "rate") for series in pair]
        link = "" if key.rtt is None else f" {key.rtt:g} ms"
        ratio = verdict_cell(verdict, rates[0].origin)
        rows.append((Cell(f"{key.native.label}{link}"), *rates, ratio))
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


def source_warnings(verdicts: SourceVerdicts) -> Iterator[str]:
    """Yield a line for each case with a median ratio to NPB 3.4 below 1, over the link or not."""
    places = {_source_place(key) for key in verdicts}
    for key, verdict in verdicts.items():
        if verdict.interval.median >= 1:
            continue
        place = f", {_source_place(key)}" if len(places) > 1 else ""
        doubt = "" if verdict.verdict == "slower" else f" ({verdict.verdict})"
        ratio = units.interval(verdict.interval)
        yield f"slower than official NPB 3.4: {key.native.case}{place}, {ratio}{doubt}"


def verdict_cell(verdict: ClaimVerdict, series: str = "", base: str = "") -> Cell:
    """A ratio with its verdict; `series` as in `Cell`, `base` as in `Quantity`."""
    return display.verdict(verdict, _TONES, str(verdict.verdict), base, series)


def _source_place(key: NpbSources) -> str:
    series = key.native
    placement = series.placement if series.ranks > 1 else ""
    place = f"{series.toolchain}, {placement}" if placement else series.toolchain
    return place if key.rtt is None else f"{place}, {EMULATED} {key.rtt:g} ms"
