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

from roundtrip import units
from roundtrip.content.blocks import Cell, Column, Table, number_columns, text_cells, text_columns
from roundtrip.stats.summaries import Interval, lower_rank
from roundtrip.stats.verdicts import ClaimVerdict, Family, double_round_ratios
from roundtrip.studies import display
from roundtrip.studies.npb import (
    NATIVE,
    PUBLISHED_SPEEDUPS,
    SOURCE_CONTRAST,
    SPEEDUP_CONTRAST,
    STUDY,
    TRANSPORT_CONTRAST,
    UDP,
    UPSTREAM,
    RateSetting,
)
from roundtrip.studies.npb.data import EMULATED_WAN, LaunchValues, NPBLaunches, Series
from roundtrip.study import Claim, Contrast
from roundtrip.units import Quantity, Unit


@dataclass(frozen=True)
class SeriesClaim:
    """A claim of `contrast` on `series` over `base`; `rtt_ms` is None in one cluster.

    A speed-up is from separated times if ranks share processors, and its base is in one cluster.
    All other bases are at the same `rtt_ms`.
    """

    contrast: Contrast
    series: Series
    base: Series
    rtt_ms: float | None

    @property
    def family(self) -> Family:
        place = RateSetting(self.series.benchmark, self.series.problem_class, self.rtt_ms)
        return self.contrast.family(place)

    @property
    def study(self) -> str:
        return STUDY.name


SeriesVerdicts = dict[SeriesClaim, ClaimVerdict]


def verdicts_of_contrast(
    contrast: Contrast, verdicts: Mapping[Claim, ClaimVerdict]
) -> SeriesVerdicts:
    """The verdicts on the claims of one contrast, in the order of `ratios_by_claim`."""
    return {
        claim: verdict
        for claim, verdict in verdicts.items()
        if isinstance(claim, SeriesClaim) and claim.contrast == contrast
    }


def ratios_by_claim(launches: NPBLaunches) -> dict[Claim, Sequence[float]]:
    """All claims that have ratios, one for each round; of a contrast in the order of series and
    RTT."""
    ratios_by_claim: dict[Claim, Sequence[float]] = {}
    for claim in _possible_claims(launches):
        series, rtt_ms = claim.series, claim.rtt_ms
        if claim.contrast == SPEEDUP_CONTRAST:
            ratios = claimed_speedups(launches, series, rtt_ms)
        else:
            ratios = _rate_ratios(launches, series, rtt_ms, claim.base, rtt_ms)
        if ratios:
            ratios_by_claim[claim] = ratios
    return ratios_by_claim


def unpaired_reasons(launches: NPBLaunches) -> list[tuple[str, str]]:
    """(names of two series, reason) where both have values that cannot be paired by round."""
    pairs = []
    for claim in _possible_claims(launches):
        base_rtt_ms = None if claim.contrast == SPEEDUP_CONTRAST else claim.rtt_ms
        pairs.append((claim.series, claim.rtt_ms, claim.base, base_rtt_ms))
    for series in launches.cluster_series:
        if (base := launches.min_ranks_base(series)) != series:
            pairs.append((series, None, base, None))
    refusals = []
    for series, rtt_ms, base, base_rtt_ms in pairs:
        sides = launches.values_at(series, rtt_ms), launches.values_at(base, base_rtt_ms)
        reason = launches.round_pairing(*sides).refusal
        if all(sides) and reason:
            delay = "" if rtt_ms is None else f" at {rtt_ms:g} ms"
            refusals.append((f"{series.title}{delay}, over {base.title}", reason))
    return refusals


def _possible_claims(launches: NPBLaunches) -> list[SeriesClaim]:
    """The claims of all pairs of series, whether their launches share a round or not."""
    bases = [(series, launches.one_cluster_base(series)) for series in launches.link_series]
    natives = [series for series in launches.values_by_point if series.source == NATIVE]
    upstreams = [replace(series, source=UPSTREAM) for series in natives]
    sources = zip(natives, upstreams, strict=True)
    pairs = [
        *((SPEEDUP_CONTRAST, series, base) for series, base in bases if base),
        *((TRANSPORT_CONTRAST, *pair) for pair in transport_pairs(launches.link_series)),
        *((SOURCE_CONTRAST, *pair) for pair in sources if pair[1] in launches.values_by_point),
    ]
    return [
        SeriesClaim(contrast, series, base, rtt_ms)
        for contrast, series, base in pairs
        for rtt_ms in launches.values_by_point[series]
    ]


def transport_pairs(all_series: Iterable[Series]) -> list[tuple[Series, Series]]:
    """All pairs of transports over the link with the same problem and program; UDP is first."""
    pairs = []
    for one, other in combinations(all_series, 2):
        if (one.program_name, one.ranks) == (other.program_name, other.ranks):
            first, second = sorted((one, other), key=lambda series: series.transport_role != UDP)
            pairs.append((first, second))
    return pairs


def claimed_speedups(launches: NPBLaunches, series: Series, rtt_ms: float | None) -> list[float]:
    """The claimed speed-ups: modelled if only one of series and base shares processors."""
    formula = measured_speedups if _is_measured_claim(launches, series) else modelled_speedups
    return formula(launches, series, rtt_ms)


def _is_measured_claim(launches: NPBLaunches, series: Series) -> bool:
    """Whether `claimed_speedups` are ratios of measured rates, not modelled."""
    base = launches.one_cluster_base(series)
    return base is None or base.shares_processors == series.shares_processors


def measured_speedups(launches: NPBLaunches, series: Series, rtt_ms: float | None) -> list[float]:
    """Ratios of measured rates to those of `one_cluster_base`, for each round; [] without it."""
    base = launches.one_cluster_base(series)
    return _rate_ratios(launches, series, rtt_ms, base, None) if base else []


def modelled_speedups(launches: NPBLaunches, series: Series, rtt_ms: float | None) -> list[float]:
    """Speed-ups if each rank had its own processor, for each round; [] if times are not split."""
    base = launches.one_cluster_base(series)
    if base is None or series.source != NATIVE or base.shares_processors:
        return []
    sides = launches.values_at(base, None), launches.values_at(series, rtt_ms)
    pairs = launches.paired_values(*sides)
    return [
        (one["compute"] + one["communication"])
        / (one["compute"] * base.ranks / series.ranks + two["communication"])
        for one, two in pairs
        if one["compute"]
    ]


def speedup_over_ranks(launches: NPBLaunches, series: Series) -> Interval | None:
    """Rate over that of `min_ranks_base`; None for that base itself."""
    base = launches.min_ranks_base(series)
    if base == series:
        return None
    return launches.interval(_rate_ratios(launches, series, None, base, None))


def _rate_ratios(
    launches: NPBLaunches,
    series: Series,
    rtt_ms: float | None,
    base: Series,
    base_rtt_ms: float | None,
) -> list[float]:
    first, second = launches.values_at(series, rtt_ms), launches.values_at(base, base_rtt_ms)
    pairing = launches.round_pairing(first, second)
    ratios = [first[one]["rate"] / second[other]["rate"] for one, other in pairing.pairs]
    if launches.data.is_abba and series.environ != base.environ:
        return double_round_ratios(dict(zip(pairing.round_numbers, ratios, strict=True)))
    return ratios


def round_trips_waited(launches: NPBLaunches, series: Series) -> Interval | None:
    """Round trips waited for in an iteration, with an interval if each RTT has enough launches;
    None unless several RTTs were measured."""
    rtts: list[float] = []
    iteration_s: list[float] = []
    for rtt_ms, rounds in launches.values_by_point[series].items():
        for launch in rounds.values():
            # Of NPB's own programs, only the time of the whole section is known.
            seconds = launch["compute"] + launch["communication"] or launch["time"]
            if rtt_ms is not None and launch["iterations"] and math.isfinite(seconds):
                rtts.append(rtt_ms / 1e3)
                iteration_s.append(seconds / launch["iterations"])
    if len(set(rtts)) < 2:
        return None
    level = launches.level
    fit = scipy.stats.theilslopes(iteration_s, rtts, alpha=level)
    has_interval = all(lower_rank(rtts.count(rtt_ms), level) > 0 for rtt_ms in set(rtts))
    low, high = (float(fit.low_slope), float(fit.high_slope)) if has_interval else (None, None)
    return Interval(float(fit.slope), low, high, len(rtts), level)


def rtt_s_of_speedup(launches: NPBLaunches, series: Series, speedup: float) -> float | None:
    """RTT in seconds at which the speed-up falls to `speedup`, by `round_trips_waited`: 0 if it is
    less without a delay; None if it is unknown, or never."""
    base, trips = launches.one_cluster_base(series), round_trips_waited(launches, series)
    is_known = series.source == NATIVE or not series.shares_processors
    if base is None or trips is None or base.shares_processors or not is_known:
        return None
    if trips.median <= 0:
        return None
    min_rtt, rounds = next(iter(launches.values_by_point[series].items()))
    one_cluster_s = _median_times([*launches.values_at(base, None).values()])
    two_clusters_s = _median_times([*rounds.values()])
    seconds = sum(two_clusters_s)
    if series.shares_processors:
        seconds = one_cluster_s[0] * base.ranks / series.ranks + two_clusters_s[1]
    iterations = int(next(iter(rounds.values()))["iterations"])
    undelayed_s = seconds - trips.median * iterations * (min_rtt or 0.0) / 1e3
    lead_s = sum(one_cluster_s) / speedup - undelayed_s
    return max(0.0, lead_s / (trips.median * iterations))


def _median_times(rounds: Sequence[LaunchValues]) -> tuple[float, float]:
    """Median compute and communication time [s]; NPB's own programs' is all compute time."""
    if not all(launch["compute"] for launch in rounds):
        return median(launch["time"] for launch in rounds), 0.0
    parts = ("compute", "communication")
    compute, communication = (median(launch[part] for launch in rounds) for part in parts)
    return compute, communication


def speedup_table(launches: NPBLaunches, verdicts: SeriesVerdicts) -> Table:
    """Table of speed-ups: a row for each series over the link, a column for each RTT."""
    rtts = sorted({rtt_ms for _, rtt_ms in launches.planned_link_points})
    link_series = launches.link_series
    launched_series = {series.planned_series for series in link_series}
    lost_series = {
        series.planned_series: series
        for series, _ in launches.missing_points
        if series.spans_clusters and series.planned_series not in launched_series
    }
    rows = []
    for series in sorted([*link_series, *lost_series.values()], key=lambda series: series.sort_key):
        base = launches.one_cluster_base(series)
        base_cell = display.NO_VALUE_CELL if base is None else Cell(base.ranks_and_placement)
        by_rtt = [_speedup_cell(launches, verdicts, series, base, rtt_ms) for rtt_ms in rtts]
        rows.append((Cell(series.title), base_cell, *by_rtt))
    return Table(
        launches.level.fill_caption(
            f"Speed-up over one cluster, {EMULATED_WAN}: rate on both clusters over the rate on "
            "one in the same round, median and {level} interval over rounds. “On fewer "
            "processors”: ranks share processors, so that the compute time is taken as on "
            "processors of their own; a lower bound."
        ),
        (
            *text_columns("Benchmark and transport", "Over one cluster with"),
            *number_columns(*(f"{rtt_ms:g} ms" for rtt_ms in rtts)),
        ),
        tuple(rows),
    )


def tolerance_table(launches: NPBLaunches) -> Table:
    """Table of messages and round trips waited for in an iteration, and RTTs of two speed-ups."""
    rows = []
    for series in launches.link_series:
        counts, iterations = launches.messages_and_iterations(series)
        messages = int(counts["messages"].sum()) / iterations / series.ranks if iterations else 0.0
        messages_cell = Cell(units.pure_number(messages)) if messages else display.NO_VALUE_CELL
        published_speedup = PUBLISHED_SPEEDUPS.get(series.benchmark)
        rows.append(
            (
                Cell(series.title),
                messages_cell if series.source == NATIVE else display.NOT_MEASURED_CELL,
                display.interval_cell(round_trips_waited(launches, series), Unit.PURE_NUMBER),
                _rtt_cell(rtt_s_of_speedup(launches, series, 1.0)),
                _rtt_cell(
                    published_speedup and rtt_s_of_speedup(launches, series, published_speedup)
                ),
            )
        )
    return Table(
        f"What an iteration waits for, {EMULATED_WAN}: the messages that a rank sends (our "
        "counters), and the growth of the iteration in round-trip times (Sen's slope). These "
        "give the delay at which two clusters are no faster than one, and the delay at which "
        "they have the study's speed-up.",
        (
            Column("Benchmark and transport"),
            *number_columns("Messages of a rank", "Round trips waited for", "No gain at RTT"),
            *number_columns("The study's speed-up at RTT"),
        ),
        tuple(rows),
    )


def transport_table(launches: NPBLaunches, verdicts: SeriesVerdicts) -> Table:
    """Table of ratios and verdicts of each pair of transports at each RTT."""
    rows, limit = [], units.percent_text(launches.settings.critical_difference)
    for claim, verdict in verdicts.items():
        series, base, link = claim.series, claim.base, f"{claim.rtt_ms:g} ms"
        names = text_cells(
            f"{series.problem_name}, {series.ranks_and_placement}, {EMULATED_WAN} {link}",
            f"{series.transport_title} / {base.transport_title}",
        )
        key = launches.series_key(series, claim.rtt_ms)
        rows.append(
            (
                *names,
                display.verdict_cell(verdict, base_name=f"{base.title} {link}", series_key=key),
            )
        )
    return Table(
        f"Transports against each other, {EMULATED_WAN}: ratio of rates in the same round; above 1 "
        f"the first is faster. More than {limit} counts as critical.",
        (Column("Benchmark and link"), Column("Transports"), Column("Ratio", "right")),
        tuple(rows),
    )


def _speedup_cell(
    launches: NPBLaunches,
    verdicts: SeriesVerdicts,
    series: Series,
    base: Series | None,
    rtt_ms: float,
) -> Cell:
    rounds = launches.values_at(series, rtt_ms)
    if not rounds:
        is_lost = (series.planned_series, rtt_ms) in launches.planned_link_points
        return Cell("no launch completed", "bad") if is_lost else display.NOT_MEASURED_CELL
    if base is None:
        return Cell("no base in one cluster", "muted")
    if verdict := verdicts.get(SeriesClaim(SPEEDUP_CONTRAST, series, base, rtt_ms)):
        origin = launches.series_key(series, rtt_ms) if _is_measured_claim(launches, series) else ""
        return display.verdict_cell(verdict, base_name=base.title, series_key=origin)
    pairing = launches.round_pairing(rounds, launches.values_at(base, None))
    reason = "not in the same rounds" if pairing.refusal else "compute not measured"
    return Cell(reason, "muted")


def _rtt_cell(seconds: float | None) -> Cell:
    if seconds is None:
        return display.NO_VALUE_CELL
    return Cell((Quantity(value=seconds * 1e3, unit=Unit.MS), f" {Unit.MS}"), unit=Unit.MS)
