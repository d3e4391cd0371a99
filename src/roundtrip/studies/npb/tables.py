"""The tables of the NPB section: what stands for the study's libraries, speed-ups over the link,
transports against each other, and our programs against those of NPB 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Table, Tone, text_cells
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies.npb import NATIVE, PUBLISHED, Thresholds, derived
from roundtrip.studies.npb.data import EMULATED, Launches, Series
from roundtrip.studies.npb.findings import Finding
from roundtrip.studies.npb.speedup import (
    NpbSources,
    NpbSpeedup,
    NpbTransports,
    is_measured,
    round_trips,
    rtt_of_speedup,
    transport_pairs,
)
from roundtrip.studies.study import Claim


def verdicts(launches: Launches, found: Sequence[Finding]) -> Table:
    """A row for each finding of the study and each series in which it was tested."""
    rows = []
    for finding in found:
        outcome = Cell(finding.evidence, finding.tone, finding.verdict)
        rows.append((Cell(finding.statement.short), Cell(finding.where), outcome))
    return Table(
        launches.level.within(
            f"Do the findings of 2003 hold today? All over an {EMULATED}. Speed-up over one "
            "cluster with half of the ranks, {level} interval over rounds. The study gives a "
            "number for CG and MG; that of LU, 2.00, is inferred from “linearly”."
        ),
        (Column("The study says"), Column("Here"), Column("We find")),
        tuple(rows),
    )


def counterparts() -> Table:
    """What stands for which library of the study, and why."""
    rows = [text_cells(one.library, one.today, one.why) for one in derived.COUNTERPARTS.values()]
    return Table(
        "What stands for the study's libraries. Theirs were of one family; where ours are all one "
        "MPI library, they differ only in the transport.",
        (Column("In 2003"), Column("Today"), Column("Because")),
        tuple(rows),
    )


def speedups(launches: Launches, judged: Mapping[Claim, ClaimVerdict]) -> Table:
    """A row for each series over the link, and a column for each RTT."""
    came = {rtt for series in launches.over_the_link for rtt in launches.points[series]}
    rtts = sorted(
        rtt for rtt in {*came, *(one.rtt for one in launches.missing_cases)} if rtt is not None
    )
    rows = []
    gone = [one.series for one in launches.missing_cases if one.series.wan]
    there = {series.planned for series in launches.over_the_link}
    lost = {series.planned: series for series in gone if series.planned not in there}
    for series in sorted([*launches.over_the_link, *lost.values()], key=lambda one: one.order):
        base = launches.base_of(series)
        by_rtt = [_speedup(launches, judged, series, rtt) for rtt in rtts]
        against = display.NONE if base is None else Cell(base.setup)
        rows.append((Cell(series.label), against, *by_rtt))
    return Table(
        launches.level.within(
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
    """Why: round trips waited for in an iteration against messages sent, and what follows."""
    rows = []
    for series in launches.over_the_link:
        waited = round_trips(launches, series)
        figures = next(iter(next(iter(launches.points[series].values())).values()))
        sent = int(launches.messages(series)["messages"].sum())
        iterations = figures["iterations"]
        each = sent / iterations / series.ranks if iterations else 0.0
        published = PUBLISHED.get(series.benchmark)
        rows.append(
            (
                Cell(series.label),
                _sent(series, each),
                display.value(waited, Unit.PURE),
                _rtt(rtt_of_speedup(launches, series, 1.0)),
                _rtt(rtt_of_speedup(launches, series, published)) if published else display.NONE,
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
    launches: Launches, judged: Mapping[Claim, ClaimVerdict], settings: Thresholds
) -> Table:
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
                    judged_cell(
                        one, launches.series_key(pair[0], rtt), f"{pair[1].label} {rtt:g} ms"
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
    launches: Launches, judged: Mapping[Claim, ClaimVerdict], series: Series, rtt: float
) -> Cell:
    one = judged.get(NpbSpeedup(series, rtt))
    if one:
        origin = launches.series_key(series, rtt) if is_measured(launches, series) else ""
        return judged_cell(one, origin, launches.base_label(series))
    if rtt in launches.points.get(series, {}):
        if base := launches.base_of(series):
            points = launches.points
            pairing = launches.pairing(points[series][rtt], points[base][None])
            why = "not in the same rounds" if pairing.refused else "compute not measured"
            return Cell(why, "muted")
        return Cell("no base in one cluster", "muted")
    if any(
        gone.series.planned == series.planned and gone.rtt == rtt for gone in launches.missing_cases
    ):
        return Cell("no launch completed", "bad")
    return display.NOT_MEASURED


def _sent(series: Series, messages: float) -> Cell:
    if series.source != NATIVE:
        return display.NOT_MEASURED
    return Cell(units.pure(messages)) if messages else display.NONE


def _rtt(seconds: float | None) -> Cell:
    if seconds is None:
        return display.NONE
    return Cell((Quantity(value=seconds * 1e3, unit=Unit.MS), f" {Unit.MS}"), unit=Unit.MS)


_TONES: dict[Verdict, Tone] = {
    Verdict.FASTER: "good",
    Verdict.SLOWER: "bad",
    Verdict.ON_PAR: "muted",
    Verdict.CANNOT_TELL: "warn",
}
Compared = dict[NpbSources, ClaimVerdict]


def compared(judged: Mapping[Claim, ClaimVerdict]) -> Compared:
    """The verdicts on our programs against NPB's, in the order of the benchmarks."""
    found = [(key, one) for key, one in judged.items() if isinstance(key, NpbSources)]
    return dict(sorted(found, key=lambda item: (item[0].native.order, item[0].rtt or 0.0)))


def source_verdicts(launches: Launches, found: Compared) -> Table:
    """A row for each benchmark, class and place, and a column for each number of ranks."""
    ranks = sorted({key.native.ranks for key in found})
    rows: dict[tuple[str, str], dict[int, Cell]] = {}
    for key, one in found.items():
        row = rows.setdefault((key.native.name, _source_place(key)), {})
        row[key.native.ranks] = judged_cell(one, launches.series_key(key.native, key.rtt))
    return Table(
        launches.level.within(
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


def source_rates(launches: Launches, found: Compared) -> Table:
    """Both rates and their ratio."""
    rows = []
    for key, one in found.items():
        pair = (key.native, key.upstream)
        both = [launches.value(series, key.rtt, "rate") for series in pair]
        link = "" if key.rtt is None else f" {key.rtt:g} ms"
        ratio = judged_cell(one, both[0].origin)
        rows.append((Cell(f"{key.native.label}{link}"), *both, ratio))
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


def source_warnings(found: Compared) -> Iterator[str]:
    """A line for each benchmark whose median is below that of NPB 3.4, link or not."""
    places = {_source_place(key) for key in found}
    for key, one in found.items():
        if one.interval.median >= 1:
            continue
        place = f", {_source_place(key)}" if len(places) > 1 else ""
        sure = "" if one.verdict == "slower" else f" ({one.verdict})"
        ratio = units.interval(one.interval)
        yield f"slower than official NPB 3.4: {key.native.case}{place}, {ratio}{sure}"


def judged_cell(one: ClaimVerdict, series: str = "", base: str = "") -> Cell:
    """A ratio with its verdict; `series` as in `Cell`, `base` as in `Quantity`."""
    return display.verdict(one, _TONES, str(one.verdict), base, series)


def _source_place(key: NpbSources) -> str:
    series = key.native
    placed = series.placement if series.ranks > 1 else ""
    where = f"{series.toolchain}, {placed}" if placed else series.toolchain
    return where if key.rtt is None else f"{where}, {EMULATED} {key.rtt:g} ms"
