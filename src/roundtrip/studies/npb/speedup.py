"""Speed-ups over one cluster, and ratios of transports: their claims, one ratio for each round, and
their tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median

import scipy

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Table, number_columns, text_cells, text_columns
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.summaries import Interval, lower_rank
from roundtrip.stats.verdicts import ClaimVerdict, Family, double_round_ratios
from roundtrip.studies import display
from roundtrip.studies.npb import (
    NATIVE,
    PUBLISHED_SPEEDUPS,
    SOURCES,
    SPEEDUP,
    STUDY,
    TRANSPORTS,
    UDP,
    UPSTREAM,
    Place,
    Thresholds,
)
from roundtrip.studies.npb.data import EMULATED, Figures, Launches, Series
from roundtrip.studies.study import Claim, Contrast


@dataclass(frozen=True)
class SeriesClaim:
    """A claim of `contrast` on `series` over `base`; `rtt` in ms, None in one cluster.

    A speed-up is from separated times if ranks share processors, and its base is in one cluster.
    All other bases are at the same `rtt`.
    """

    contrast: Contrast
    series: Series
    base: Series
    rtt: float | None

    @property
    def family(self) -> Family:
        place = Place(self.series.benchmark, self.series.problem_class, self.rtt)
        return self.contrast.family(place)

    @property
    def study(self) -> str:
        return STUDY.name


Verdicts = dict[SeriesClaim, ClaimVerdict]


def verdicts_on(contrast: Contrast, verdicts: Mapping[Claim, ClaimVerdict]) -> Verdicts:
    """The verdicts on the claims of one contrast, in the order of `claims`."""
    return {
        claim: verdict
        for claim, verdict in verdicts.items()
        if isinstance(claim, SeriesClaim) and claim.contrast == contrast
    }


def claims(launches: Launches) -> dict[Claim, Sequence[float]]:
    """All claims of the section that have ratios, with one ratio for each round.

    Those of a contrast are in the order of series and RTT.
    """
    ratios_by_claim: dict[Claim, Sequence[float]] = {}
    for claim in _possible_claims(launches):
        series, rtt = claim.series, claim.rtt
        if claim.contrast == SPEEDUP:
            ratios = claimed_speedups(launches, series, rtt)
        else:
            ratios = _rate_ratios(launches, series, rtt, claim.base, rtt)
        if ratios:
            ratios_by_claim[claim] = ratios
    return ratios_by_claim


def pairing_refusals(launches: Launches) -> list[tuple[str, str]]:
    """(pair, reason) of each pair that has values but cannot be paired by round."""
    pairs = []
    for claim in _possible_claims(launches):
        base_rtt = None if claim.contrast == SPEEDUP else claim.rtt
        pairs.append((claim.series, claim.rtt, claim.base, base_rtt))
    for series in launches.cluster_series:
        if (base := launches.fewest_ranks_base(series)) != series:
            pairs.append((series, None, base, None))
    refusals = []
    for series, rtt, base, base_rtt in pairs:
        sides = launches.rounds(series, rtt), launches.rounds(base, base_rtt)
        reason = launches.pairing(*sides).refusal
        if all(sides) and reason:
            delay = "" if rtt is None else f" at {rtt:g} ms"
            refusals.append((f"{series.label}{delay}, over {base.label}", reason))
    return refusals


def _possible_claims(launches: Launches) -> list[SeriesClaim]:
    """The claims of all pairs of series, whether their launches share a round or not."""
    bases = [(series, launches.base_of(series)) for series in launches.link_series]
    natives = [series for series in launches.points if series.source == NATIVE]
    upstreams = [replace(series, source=UPSTREAM) for series in natives]
    sources = zip(natives, upstreams, strict=True)
    pairs = [
        *((SPEEDUP, series, base) for series, base in bases if base),
        *((TRANSPORTS, *pair) for pair in transport_pairs(launches.link_series)),
        *((SOURCES, *pair) for pair in sources if pair[1] in launches.points),
    ]
    return [
        SeriesClaim(contrast, series, base, rtt)
        for contrast, series, base in pairs
        for rtt in launches.points[series]
    ]


def transport_pairs(all_series: Iterable[Series]) -> list[tuple[Series, Series]]:
    """All pairs of transports over the link with the same problem and program; UDP is first."""
    pairs = []
    for one, other in combinations(all_series, 2):
        if (one.program, one.ranks) == (other.program, other.ranks):
            first, second = sorted((one, other), key=lambda series: series.role != UDP)
            pairs.append((first, second))
    return pairs


def claimed_speedups(launches: Launches, series: Series, rtt: float | None) -> list[float]:
    """Speed-ups that are claimed: measured if both or neither share processors, else separated."""
    formula = measured_speedups if _is_rate_ratio(launches, series) else modelled_speedups
    return formula(launches, series, rtt)


def _is_rate_ratio(launches: Launches, series: Series) -> bool:
    """Whether the claimed speed-up is a ratio of measured rates."""
    base = launches.base_of(series)
    return base is None or base.shares_processors == series.shares_processors


def measured_speedups(launches: Launches, series: Series, rtt: float | None) -> list[float]:
    """Speed-ups as ratios of rates, one for each round; empty without a base."""
    base = launches.base_of(series)
    return _rate_ratios(launches, series, rtt, base, None) if base else []


def modelled_speedups(launches: Launches, series: Series, rtt: float | None) -> list[float]:
    """Speed-up on processors of their own, one for each round; empty without separated times."""
    base = launches.base_of(series)
    if base is None or series.source != NATIVE or base.shares_processors:
        return []
    pairs = launches.pairs(launches.rounds(base, None), launches.rounds(series, rtt))
    return [
        (one["compute"] + one["communication"])
        / (one["compute"] * base.ranks / series.ranks + two["communication"])
        for one, two in pairs
        if one["compute"]
    ]


def speedup_over_ranks(launches: Launches, series: Series) -> Interval | None:
    """Rate over that on the fewest ranks in the same place; None on the fewest ranks."""
    base = launches.fewest_ranks_base(series)
    if base == series:
        return None
    return launches.interval(_rate_ratios(launches, series, None, base, None))


def _rate_ratios(
    launches: Launches, series: Series, rtt: float | None, base: Series, base_rtt: float | None
) -> list[float]:
    first, second = launches.rounds(series, rtt), launches.rounds(base, base_rtt)
    pairing = launches.pairing(first, second)
    ratios = [first[one]["rate"] / second[other]["rate"] for one, other in pairing.pairs]
    if launches.is_abba and series.environ != base.environ:
        return double_round_ratios(dict(zip(pairing.round_numbers, ratios, strict=True)))
    return ratios


def round_trips(launches: Launches, series: Series) -> Interval | None:
    """Round trips waited for in an iteration; None unless several RTTs were measured.

    The interval needs enough launches at each RTT.
    """
    rtts: list[float] = []
    iteration_s: list[float] = []
    for rtt, rounds in launches.points[series].items():
        for figures in rounds.values():
            # Of NPB's own programs, only the time of the whole section is known.
            seconds = figures["compute"] + figures["communication"] or figures["time"]
            if rtt is not None and figures["iterations"] and math.isfinite(seconds):
                rtts.append(rtt / 1e3)
                iteration_s.append(seconds / figures["iterations"])
    if len(set(rtts)) < 2:
        return None
    level = launches.level
    fit = scipy.stats.theilslopes(iteration_s, rtts, alpha=level)
    has_interval = all(lower_rank(rtts.count(rtt), level) > 0 for rtt in set(rtts))
    low, high = (float(fit.low_slope), float(fit.high_slope)) if has_interval else (None, None)
    return Interval(float(fit.slope), low, high, len(rtts), level)


def rtt_of_speedup(launches: Launches, series: Series, speedup: float) -> float | None:
    """RTT in seconds at which the speed-up falls to `speedup`; None if it is unknown, or never.

    It follows from medians and `round_trips`, and is 0 if the speed-up is less without a delay.
    """
    base, trips = launches.base_of(series), round_trips(launches, series)
    is_known = series.source == NATIVE or not series.shares_processors
    if base is None or trips is None or base.shares_processors or not is_known:
        return None
    if trips.median <= 0:
        return None
    min_rtt, rounds = next(iter(launches.points[series].items()))
    one_cluster_s = _median_split([*launches.rounds(base, None).values()])
    two_clusters_s = _median_split([*rounds.values()])
    seconds = sum(two_clusters_s)
    if series.shares_processors:
        seconds = one_cluster_s[0] * base.ranks / series.ranks + two_clusters_s[1]
    iterations = int(next(iter(rounds.values()))["iterations"])
    undelayed_s = seconds - trips.median * iterations * (min_rtt or 0.0) / 1e3
    lead_s = sum(one_cluster_s) / speedup - undelayed_s
    return max(0.0, lead_s / (trips.median * iterations))


def _median_split(rounds: Sequence[Figures]) -> tuple[float, float]:
    """Median compute and communication time, s; for NPB's own programs all time is the first."""
    if not all(figures["compute"] for figures in rounds):
        return median(figures["time"] for figures in rounds), 0.0
    parts = ("compute", "communication")
    compute, communication = (median(figures[part] for figures in rounds) for part in parts)
    return compute, communication


def speedup_table(launches: Launches, verdicts: Verdicts) -> Table:
    """Table of speed-ups: a row for each series over the link, a column for each RTT."""
    rtts = sorted({rtt for _, rtt in launches.planned_link_points})
    link_series = launches.link_series
    measured = {series.as_planned for series in link_series}
    lost = {
        series.as_planned: series
        for series, _ in launches.missing_points
        if series.spans_clusters and series.as_planned not in measured
    }
    rows = []
    for series in sorted([*link_series, *lost.values()], key=lambda series: series.sort_key):
        base = launches.base_of(series)
        base_cell = display.NO_VALUE_CELL if base is None else Cell(base.setup_text)
        by_rtt = [_speedup_cell(launches, verdicts, series, base, rtt) for rtt in rtts]
        rows.append((Cell(series.label), base_cell, *by_rtt))
    return Table(
        launches.level.fill_caption(
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
        messages_cell = Cell(units.pure_number(messages)) if messages else display.NO_VALUE_CELL
        study_speedup = PUBLISHED_SPEEDUPS.get(series.benchmark)
        rows.append(
            (
                Cell(series.label),
                messages_cell if series.source == NATIVE else display.NOT_MEASURED_CELL,
                display.interval_cell(round_trips(launches, series), Unit.PURE_NUMBER),
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


def transport_table(launches: Launches, verdicts: Verdicts, settings: Thresholds) -> Table:
    """Table of ratios and verdicts of each pair of transports at each RTT."""
    rows = []
    for claim, verdict in verdicts.items():
        series, base, link = claim.series, claim.base, f"{claim.rtt:g} ms"
        names = text_cells(
            f"{series.name}, {series.setup_text}, {EMULATED} {link}",
            f"{series.transport} / {base.transport}",
        )
        key = launches.series_key(series, claim.rtt)
        rows.append(
            (*names, display.verdict_cell(verdict, base=f"{base.label} {link}", series=key))
        )
    return Table(
        f"Transports against each other, {EMULATED}: ratio of rates in the same round; above 1 the "
        f"first is faster. More than {units.percent_text(settings.critical_difference)} counts as "
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
        return Cell("no launch completed", "bad") if is_lost else display.NOT_MEASURED_CELL
    if base is None:
        return Cell("no base in one cluster", "muted")
    if verdict := verdicts.get(SeriesClaim(SPEEDUP, series, base, rtt)):
        origin = launches.series_key(series, rtt) if _is_rate_ratio(launches, series) else ""
        return display.verdict_cell(verdict, base=base.label, series=origin)
    pairing = launches.pairing(rounds, launches.rounds(base, None))
    reason = "not in the same rounds" if pairing.refusal else "compute not measured"
    return Cell(reason, "muted")


def _rtt_cell(seconds: float | None) -> Cell:
    if seconds is None:
        return display.NO_VALUE_CELL
    return Cell((Quantity(value=seconds * 1e3, unit=Unit.MS), f" {Unit.MS}"), unit=Unit.MS)
