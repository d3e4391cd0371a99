"""False namings on nights of 32 healthy nodes, and the time until sick and flaky nodes are named.

Nights are judged one after the other, with all nights before, as by an operator.  Noise is that of
launches on shared virtual machines: 10 % from launch to launch, normal, with heavy tails, with
disturbed launches, or with two peaks; each round has its own level.  For flaky nodes, each night
has four rounds of pairs and a launch on each single node; a launch fails at the usual rate of its
site, and at the rate of a node that crashes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from roundtrip.stats.nodes.failures import Outcomes, find_flaky_nodes
from roundtrip.stats.nodes.judge import NodeMeasure, judge_nodes
from roundtrip.stats.nodes.launches import NodeLaunches
from roundtrip.stats.settings import NodeSettings
from tools.calibration import Demand, Estimate, TableOutput, share_interval

NODES, NIGHTS, ROUNDS, MESSAGES = 32, 20, 4, 300
_LATENCY_S, _LAUNCH_SD = 50e-6, 0.1
#: Delay of a lost message, s.
_TIMEOUT_S = 0.2
#: Nights of a site without a flaky node, and days of a month.
SITE_NIGHTS, MONTH = 60, 30
Rng = np.random.Generator
Noise = Callable[[Rng, int], np.ndarray]


def _disturbed_noise(rng: Rng, count: int) -> np.ndarray:
    """One launch of twenty takes longer, some of them many times."""
    return rng.normal(0, _LAUNCH_SD, count) + (rng.random(count) < 0.05) * rng.exponential(
        1.0, count
    )


def _two_peak_noise(rng: Rng, count: int) -> np.ndarray:
    """One launch of four takes 2.5 times as long."""
    return rng.normal(0, _LAUNCH_SD / 2, count) + (rng.random(count) < 0.25) * math.log(2.5)


NOISE_BY_NAME: Mapping[str, Noise] = {
    "normal": lambda rng, count: rng.normal(0, _LAUNCH_SD, count),
    "Student t3": lambda rng, count: _LAUNCH_SD * rng.standard_t(3, count),
    "disturbed": _disturbed_noise,
    "two peaks": _two_peak_noise,
}


@dataclass(frozen=True)
class NodeDefect:
    """A defect of a node: added seconds a message, share of lost messages, slowdown factor."""

    added_s: float = 0.0
    loss: float = 0.0
    slowdown: float = 1.0


#: Planted together, in nodes 3, 11 and 20.
PLANTED_DEFECTS: Mapping[int, tuple[str, NodeDefect]] = {
    3: ("+100 us", NodeDefect(added_s=100e-6)),
    11: ("0.5 % loss", NodeDefect(loss=0.005)),
    20: ("core at half speed", NodeDefect(slowdown=2.0)),
}


@dataclass(frozen=True)
class Site:
    """A site where `failure_share` of the launches fail, in one night of ten `bad_night_share`;
    `is_per_node`: each node has its own share, up to `failure_share`."""

    failure_share: float
    is_per_node: bool = False
    bad_night_share: float = 0.0


SITE_BY_NAME = {
    "0.1 % fail": Site(0.001),
    "0.3 % fail": Site(0.003),
    "1 % fail": Site(0.01),
    "3 % fail": Site(0.03),
    "each node 0 to 3 %": Site(0.03, is_per_node=True),
    "0.3 %, bad nights 20 %": Site(0.003, bad_night_share=0.2),
}
#: The node that crashes.
_CRASHING_NODE = 5
#: By text: the share of its launches that fail, and within how many nights it is to be named.
CRASH_SHARE_AND_NIGHTS = {"1/3 of launches": (1 / 3, 2), "5 % of launches": (0.05, 14)}


def slow_nodes(nights: int, processes: int, settings: NodeSettings) -> Iterator[TableOutput]:
    """False namings in about `nights` quiet nights of each noise, then power."""
    runs = max(1, nights // NIGHTS)
    yield f"nodes: {runs * NIGHTS} quiet nights of {NODES} nodes, {ROUNDS} rounds a night"
    with ProcessPoolExecutor(processes) as pool:
        for noise in NOISE_BY_NAME:
            night_counts = list(
                pool.map(partial(count_false_naming_nights, noise, settings=settings), range(runs))
            )
            yield (
                f"  {noise:<12} {sum(night_counts)} nights with a false naming: "
                f"{_describe_rate(sum(night_counts), runs * NIGHTS)}"
            )
            # A naming lasts for nights, so runs are counted: 0.001 a night is [nodes]'s rate.
            row, demand = f"a node named in {NIGHTS} quiet nights, {noise}", 0.001 * NIGHTS
            yield Estimate(row, sum(map(bool, night_counts)), runs, Demand(demand, is_maximum=True))
        yield f"  named within two nights, of {runs * 4} runs; and healthy nodes named"
        for noise in NOISE_BY_NAME:
            namings = list(
                pool.map(partial(named_nodes, noise, settings=settings), range(runs * 4))
            )
            hits = {
                name: sum(node in naming for naming in namings)
                for node, (name, _) in PLANTED_DEFECTS.items()
            }
            shares = ", ".join(
                f"{name} {_describe_share(hit, len(namings))}" for name, hit in hits.items()
            )
            false_count = sum(bool(naming - PLANTED_DEFECTS.keys()) for naming in namings)
            yield f"  {noise:<12} {shares}; {false_count} false"
            for name, hit in hits.items():
                # One of two peaks is as far off as these nodes: nothing is demanded.
                is_demanded = noise != "two peaks" or name == "0.5 % loss"
                row = f"named within two nights, {name}, {noise}"
                yield Estimate(row, hit, len(namings), Demand(0.95) if is_demanded else None)


def flaky_nodes(months: int, processes: int, settings: NodeSettings) -> Iterator[TableOutput]:
    """False namings in about `months` site-months for each kind of site, then power."""
    runs = max(1, months * MONTH // SITE_NIGHTS)
    site_months = runs * SITE_NIGHTS // MONTH
    yield f"flaky nodes: {site_months} months of each kind of site; nodes falsely named"
    with ProcessPoolExecutor(processes) as pool:
        for name, site in SITE_BY_NAME.items():
            count = sum(pool.map(partial(count_falsely_flaky, site, settings), range(runs)))
            share = _describe_rate(count, site_months, "site-months ")
            yield f"  {name:<22} {count}: {share}"
            row, demand = f"nodes falsely called flaky, {name}", Demand(0.01, is_maximum=True)
            yield Estimate(row, count, site_months, demand)
        for name, (fail_share, nights) in CRASH_SHARE_AND_NIGHTS.items():
            for usual_share in (0.0, 0.003, 0.01):
                task = partial(is_named, fail_share, nights, Site(usual_share), settings)
                hits = sum(pool.map(task, range(4 * runs)))
                row = (
                    f"flaky node, {name}, named within {nights} nights where {usual_share:.1%} fail"
                )
                yield f"  {row}: {hits / (4 * runs):.0%} of {4 * runs}"
                yield Estimate(row, hits, 4 * runs)


def count_false_naming_nights(noise: str, seed: int, settings: NodeSettings) -> int:
    """Count the nights, of `NIGHTS` quiet ones, after which some healthy node is named."""
    rng = np.random.default_rng([1, list(NOISE_BY_NAME).index(noise), seed])
    measures = _measures(rng, NOISE_BY_NAME[noise], NIGHTS, {}, settings)
    return sum(bool(_named_on_night(measures, night, settings)) for night in range(NIGHTS))


def named_nodes(noise: str, seed: int, settings: NodeSettings) -> set[int]:
    """Return the nodes named after two nights with `PLANTED_DEFECTS`."""
    rng = np.random.default_rng([2, list(NOISE_BY_NAME).index(noise), seed])
    defects = {node: defect for node, (_, defect) in PLANTED_DEFECTS.items()}
    return _named_on_night(_measures(rng, NOISE_BY_NAME[noise], 2, defects, settings), 1, settings)


def count_falsely_flaky(site: Site, settings: NodeSettings, seed: int) -> int:
    """Count the nodes named in `SITE_NIGHTS` nights of a site without flaky nodes."""
    rng = np.random.default_rng([3, seed])
    return len(_first_naming_nights(_outcomes(site, SITE_NIGHTS, {}, rng), settings))


def is_named(share: float, nights: int, site: Site, settings: NodeSettings, seed: int) -> bool:
    """Whether a node of which a `share` of the launches fail is named within `nights` nights."""
    rng = np.random.default_rng([4, seed])
    return _CRASHING_NODE in _first_naming_nights(
        _outcomes(site, nights, {_CRASHING_NODE: share}, rng), settings
    )


def _named_on_night(measures: list[NodeMeasure], night: int, settings: NodeSettings) -> set[int]:
    history = [
        replace(measure, launches=measure.launches.take(measure.launches.night <= night))
        for measure in measures
    ]
    outliers = judge_nodes(history, settings, 0.95).outliers
    return {int(member) for verdict in outliers for member in verdict.members}


def _measures(
    rng: Rng, noise: Noise, nights: int, defects: Mapping[int, NodeDefect], settings: NodeSettings
) -> list[NodeMeasure]:
    """Generate latency, tail and bandwidth of the same launches, in nodes with `defects`."""
    pairs, night, round_ = pair_launches(nights)
    load = rng.normal(0, 0.3, (nights, ROUNDS))[night, round_]
    node_noise = rng.normal(0, 0.02, NODES)

    def launches(cost: np.ndarray) -> NodeLaunches:
        names = [str(node) for node in range(NODES)]
        return NodeLaunches(names, [""] * NODES, cost, pairs, night, round_)

    def noisy(effect: np.ndarray) -> NodeLaunches:
        return launches(effect + load + node_noise[pairs].sum(axis=1) + noise(rng, night.size))

    defect_pairs = [[defects.get(int(node), NodeDefect()) for node in pair] for pair in pairs]
    slowdown = np.array([max(defect.slowdown for defect in pair) for pair in defect_pairs])
    times = slowdown * _LATENCY_S + np.array(
        [sum(defect.added_s for defect in pair) for pair in defect_pairs]
    )
    losses = rng.binomial(
        MESSAGES, [2 * sum(defect.loss for defect in pair) for pair in defect_pairs]
    )
    tail = np.log1p(losses * _TIMEOUT_S / MESSAGES / times) + 0.5 * np.abs(noise(rng, night.size))
    return [
        NodeMeasure("latency", noisy(np.log(times)), settings.min_effect(is_tail=False)),
        NodeMeasure("tail", launches(tail), settings.min_effect(is_tail=True)),
        NodeMeasure("bandwidth", noisy(np.zeros(night.size)), settings.min_effect(is_tail=False)),
    ]


def circle_schedule(nodes: int) -> list[list[tuple[int, int]]]:
    """Return rounds of pairs by the circle method: each two nodes are a pair in one round."""
    order, plan = list(range(nodes)), []
    for _ in range(nodes - 1):
        plan.append([(order[k], order[-1 - k]) for k in range(nodes // 2)])
        order = [order[0], order[-1], *order[1:-1]]
    return plan


def pair_launches(
    nights: int, nodes: int = NODES, rounds: int = ROUNDS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each launch of all nights: its pair, by the circle method, its night and round."""
    plan = circle_schedule(nodes)
    rows = np.array(
        [
            (*pair, night, round_)
            for night in range(nights)
            for round_ in range(rounds)
            for pair in plan[(night * rounds + round_) % len(plan)]
        ]
    )
    return rows[:, :2], rows[:, 2], rows[:, 3]


def _outcomes(site: Site, nights: int, crash_rates: Mapping[int, float], rng: Rng) -> Outcomes:
    pairs, night, _ = pair_launches(nights)
    solo_nights = np.repeat(np.arange(nights), NODES)
    launch = np.r_[np.repeat(np.arange(night.size), 2), night.size + np.arange(solo_nights.size)]
    node = np.r_[pairs.ravel(), np.tile(np.arange(NODES), nights)]
    kind = np.repeat([0, 1], [night.size, solo_nights.size])
    night = np.r_[night, solo_nights]
    pass_rates = np.full(night.size, 1.0 if site.is_per_node else 1 - site.failure_share)
    node_rates = site.failure_share * rng.random(NODES) if site.is_per_node else np.zeros(NODES)
    node_rates[list(crash_rates)] = list(crash_rates.values())
    np.multiply.at(pass_rates, launch, 1 - node_rates[node])
    if site.bad_night_share:
        pass_rates = np.where(
            (rng.random(nights) < 0.1)[night], 1 - site.bad_night_share, pass_rates
        )
    failures = rng.random(night.size) > pass_rates
    return Outcomes(tuple(map(str, range(NODES))), failures, night, 2 * night + kind, launch, node)


def _first_naming_nights(outcomes: Outcomes, settings: NodeSettings) -> dict[int, int]:
    """Return the first night in which each named node is named, by node."""
    night_by_node: dict[int, int] = {}
    for last in range(int(outcomes.night.max()) + 1):
        first = max(0, last + 1 - max(settings.windows_nights))
        mask = (outcomes.night >= first) & (outcomes.night <= last)
        member_mask = mask[outcomes.launch]
        window = Outcomes(
            outcomes.names,
            outcomes.failed[mask],
            outcomes.night[mask] - first,
            outcomes.stratum[mask],
            (np.cumsum(mask) - 1)[outcomes.launch[member_mask]],
            outcomes.node[member_mask],
        )
        for name in (name for group in find_flaky_nodes(window, settings) for name in group.names):
            night_by_node.setdefault(int(name), last)
    return night_by_node


def _describe_rate(count: int, trials: int, unit: str = "") -> str:
    low, high = (100 * end for end in share_interval(count, trials))
    return f"{100 * count / trials:.1f} in 100 {unit}[{low:.1f}, {high:.1f}]"


def _describe_share(hits: int, trials: int) -> str:
    low, high = share_interval(hits, trials)
    return f"{hits / trials:.0%} [{low:.0%}, {high:.0%}]"
