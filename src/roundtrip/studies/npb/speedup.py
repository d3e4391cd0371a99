"""Speed-ups over one cluster, and the claims of the section: ratios, one for each round."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from roundtrip.stats.rounds import double_round_ratios
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import Family
from roundtrip.studies.npb import NATIVE, SOURCES, SPEEDUP, TRANSPORTS, UDP, UPSTREAM, derived
from roundtrip.studies.npb.data import Launches, Series


@dataclass(frozen=True)
class NpbSpeedup:
    """Speed-up of both clusters over one; from separated times if ranks share processors."""

    series: Series
    rtt: float

    @property
    def family(self) -> Family:
        """Family in which the claim is corrected."""
        return SPEEDUP.family(self.series.place_at(self.rtt))


@dataclass(frozen=True)
class NpbTransports:
    """Rate of one transport over that of another, on as many ranks at the same RTT in ms."""

    series: Series
    base: Series
    rtt: float

    @property
    def family(self) -> Family:
        """Family in which the claim is corrected."""
        return TRANSPORTS.family(self.series.place_at(self.rtt))


@dataclass(frozen=True)
class NpbSources:
    """Rate of our program over that of NPB 3.4; `rtt` in ms, None in one cluster."""

    native: Series
    upstream: Series
    rtt: float | None = None

    @property
    def family(self) -> Family:
        """Family in which the claim is corrected."""
        return SOURCES.family(self.native.place_at(self.rtt))


Comparison = NpbSpeedup | NpbTransports | NpbSources
Point = tuple[Series, float | None]


def claims(launches: Launches) -> dict[Comparison, Sequence[float]]:
    """Return all claims of the section that have ratios, with one ratio for each round."""
    ratios_by_claim: dict[Comparison, Sequence[float]] = {}
    for series in launches.link_series:
        for rtt in launches.points[series]:
            if rtt is not None and (ratios := claimed_speedups(launches, series, rtt)):
                ratios_by_claim[NpbSpeedup(series, rtt)] = ratios
    for pair in transport_pairs(launches):
        for rtt in launches.points[pair[0]]:
            if rtt is not None and (ratios := _rate_ratios(launches, *pair, rtt)):
                ratios_by_claim[NpbTransports(*pair, rtt)] = ratios
    for native, upstream in source_pairs(launches):
        for rtt in launches.points[native]:
            if ratios := _rate_ratios(launches, native, upstream, rtt):
                ratios_by_claim[NpbSources(native, upstream, rtt)] = ratios
    return ratios_by_claim


def pairing_refusals(launches: Launches) -> list[tuple[str, str]]:
    """Return (pair, reason) of each pair that has values but cannot be paired by round."""
    refusals = []
    for (one, rtt), (other, other_rtt) in _ratio_points(launches):
        sides = launches.points[one].get(rtt, {}), launches.points[other].get(other_rtt, {})
        reason = launches.pairing(*sides).refusal
        if all(sides) and reason:
            delay = "" if rtt is None else f" at {rtt:g} ms"
            refusals.append((f"{one.label}{delay}, over {other.label}", reason))
    return refusals


def _ratio_points(launches: Launches) -> Iterator[tuple[Point, Point]]:
    """Pairs of points whose ratios are formed; the base is second."""
    points = launches.points
    for series in launches.link_series:
        if base := launches.base_of(series):
            yield from (((series, rtt), (base, None)) for rtt in points[series])
    for one, other in transport_pairs(launches) + source_pairs(launches):
        yield from (((one, rtt), (other, rtt)) for rtt in points[one])
    for series in launches.cluster_series:
        if (base := launches.fewest_ranks_base(series)) != series:
            yield (series, None), (base, None)


def measured_speedups(launches: Launches, series: Series, rtt: float) -> list[float]:
    """Speed-ups as ratios of rates, one for each round; empty without a base."""
    base = launches.base_of(series)
    if base is None:
        return []
    pairs = launches.pairs(launches.points[base][None], launches.points[series].get(rtt, {}))
    return [figures["rate"] / base_figures["rate"] for base_figures, figures in pairs]


def separated_speedups(launches: Launches, series: Series, rtt: float) -> list[float]:
    """Speed-up on processors of their own, one for each round; empty without separated times."""
    base = launches.base_of(series)
    if base is None or series.source != NATIVE or base.shares_processors:
        return []
    pairs = launches.pairs(launches.points[base][None], launches.points[series].get(rtt, {}))
    ranks = (base.ranks, series.ranks)
    return [
        derived.separated_speedup(_split(base_figures), _split(figures), ranks)
        for base_figures, figures in pairs
        if base_figures["compute"]
    ]


def communication_shares(launches: Launches, series: Series, rtt: float) -> list[float]:
    """Share of communication in the time of all iterations, for each launch that has both."""
    return [
        figures["communication"] / (figures["compute"] + figures["communication"])
        for figures in launches.points[series].get(rtt, {}).values()
        if figures["compute"]
    ]


def speedups_over_ranks(launches: Launches, series: Series) -> list[float]:
    """Ratios of the rate to that on the fewest ranks in the same place, one for each round."""
    base = launches.fewest_ranks_base(series)
    if base == series:
        return []
    return _rate_ratios(launches, series, base, None)


def claimed_speedups(launches: Launches, series: Series, rtt: float) -> list[float]:
    """Speed-ups that are claimed: measured if both or neither share processors, else separated."""
    formula = measured_speedups if is_rate_ratio(launches, series) else separated_speedups
    return formula(launches, series, rtt)


def is_rate_ratio(launches: Launches, series: Series) -> bool:
    """Whether the claimed speed-up is a ratio of measured rates."""
    base = launches.base_of(series)
    return base is None or base.shares_processors == series.shares_processors


def transport_pairs(launches: Launches) -> list[tuple[Series, Series]]:
    """All pairs of transports over the link with the same problem; UDP is first."""
    pairs = []
    for one, other in combinations(launches.link_series, 2):
        if same_problem(one, other):
            first, second = sorted((one, other), key=lambda item: item.role != UDP)
            pairs.append((first, second))
    return pairs


def source_pairs(launches: Launches) -> list[tuple[Series, Series]]:
    """Pairs of our program and NPB's own, for the same problem in the same place."""
    return [
        (native, upstream)
        for native in launches.points
        for upstream in launches.points
        if (native.source, upstream.source) == (NATIVE, UPSTREAM)
        and _place(native) == _place(upstream)
    ]


def round_trips(launches: Launches, series: Series) -> Interval | None:
    """Round trips waited for in an iteration; None unless several RTTs were measured."""
    points = [
        (rtt / 1e3, _iterations_s(figures) / figures["iterations"])
        for rtt, rounds in launches.points[series].items()
        for figures in rounds.values()
        if rtt is not None and figures["iterations"] and math.isfinite(_iterations_s(figures))
    ]
    if not points:
        return None
    rtts, seconds = zip(*points, strict=True)
    return derived.slope(rtts, seconds, launches.level)


def rtt_of_speedup(launches: Launches, series: Series, speedup: float) -> float | None:
    """RTT in s at which the speed-up falls to `speedup`, from medians and `round_trips`."""
    base, trips = launches.base_of(series), round_trips(launches, series)
    rtts = [rtt for rtt in launches.points[series] if rtt is not None]
    is_known = series.source == NATIVE or not series.shares_processors
    if base is None or trips is None or base.shares_processors or not is_known:
        return None
    min_rtt = min(rtts)
    base_rounds = list(launches.points[base][None].values())
    rounds = list(launches.points[series][min_rtt].values())
    ranks = (base.ranks, series.ranks)
    pair = _median_split(launches, base_rounds), _median_split(launches, rounds)
    separated_s = derived.separated_time(*pair, ranks)
    two_clusters_s = separated_s if series.shares_processors else sum(pair[1])
    iterations = int(rounds[0]["iterations"])
    undelayed_s = two_clusters_s - trips.median * iterations * min_rtt / 1e3
    return derived.rtt_at_speedup(speedup, sum(pair[0]), undelayed_s, trips.median, iterations)


def _iterations_s(figures: dict[str, float]) -> float:
    """Seconds in all iterations; for NPB's own programs, in the whole timed section."""
    return figures["compute"] + figures["communication"] or figures["time"]


def _median_split(launches: Launches, rounds: Sequence[dict[str, float]]) -> tuple[float, float]:
    if not all(figures["compute"] for figures in rounds):
        time = launches.interval([figures["time"] for figures in rounds])
        return (time.median if time else 0.0), 0.0
    intervals = [
        launches.interval([figures[name] for figures in rounds])
        for name in ("compute", "communication")
    ]
    compute, communication = (value.median if value else 0.0 for value in intervals)
    return compute, communication


def _split(figures: dict[str, float]) -> tuple[float, float]:
    return figures["compute"], figures["communication"]


def _rate_ratios(launches: Launches, one: Series, other: Series, rtt: float | None) -> list[float]:
    first, second = (launches.points[side].get(rtt, {}) for side in (one, other))
    pairing = launches.pairing(first, second)
    ratios = {
        number: first[launch]["rate"] / second[other_launch]["rate"]
        for number, (launch, other_launch) in zip(pairing.round_numbers, pairing.pairs, strict=True)
    }
    is_abba = launches.is_abba and one.environ != other.environ
    return double_round_ratios(ratios) if is_abba else list(ratios.values())


def same_problem(one: Series, other: Series) -> bool:
    """Whether two series have the same benchmark, class, ranks and source."""
    return _problem(one) == _problem(other)


def _problem(series: Series) -> tuple[object, ...]:
    return series.benchmark, series.problem_class, series.ranks, series.source


def _place(series: Series) -> tuple[object, ...]:
    problem = series.benchmark, series.problem_class, series.ranks
    return *problem, series.environ, series.placement, series.partition, series.spans_clusters
