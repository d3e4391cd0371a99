"""False namings on quiet nights of 32 nodes, and how soon sick nodes are named.

The nights are asked one after the other, with all nights before them, as an operator asks.  Noise
is that of launches on shared virtual machines: 10 % from launch to launch, with heavy tails, with
disturbed launches, or with two peaks; the level of each round is its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from roundtrip.stats.nodes.judge import Measure, judge
from roundtrip.stats.nodes.launches import Launches
from roundtrip.stats.settings import NodeSettings
from tools.calibration.counts import interval
from tools.calibration.estimates import Estimate, Told

NODES, NIGHTS, ROUNDS, MESSAGES = 32, 20, 4, 300
_LATENCY, _SD = 50e-6, 0.1
#: What a lost message waits for.
_TIMEOUT = 0.2
Rng = np.random.Generator
Noise = Callable[[Rng, int], np.ndarray]


def _disturbed(rng: Rng, count: int) -> np.ndarray:
    """One launch of twenty takes longer, some of them many times."""
    return rng.normal(0, _SD, count) + (rng.random(count) < 0.05) * rng.exponential(1.0, count)


def _two_peaks(rng: Rng, count: int) -> np.ndarray:
    """One launch of four takes 2.5 times as long."""
    return rng.normal(0, _SD / 2, count) + (rng.random(count) < 0.25) * math.log(2.5)


NOISES: Mapping[str, Noise] = {
    "normal": lambda rng, count: rng.normal(0, _SD, count),
    "Student t3": lambda rng, count: _SD * rng.standard_t(3, count),
    "disturbed": _disturbed,
    "two peaks": _two_peaks,
}


@dataclass(frozen=True)
class Sick:
    """What is wrong with a node: seconds on each message, share of messages lost, a factor."""

    added: float = 0.0
    lost: float = 0.0
    slower: float = 1.0


#: Planted together, in nodes 3, 11 and 20.
PLANTED: Mapping[int, tuple[str, Sick]] = {
    3: ("+100 us", Sick(added=100e-6)),
    11: ("0.5 % loss", Sick(lost=0.005)),
    20: ("core at half speed", Sick(slower=2.0)),
}


def lines(nights: int, processes: int, settings: NodeSettings) -> Iterator[Told]:
    """The table and its numbers: false namings in about `nights` quiet nights of each noise, then
    power."""
    runs = max(1, nights // NIGHTS)
    yield f"nodes: {runs * NIGHTS} quiet nights of {NODES} nodes, {ROUNDS} rounds a night"
    with ProcessPoolExecutor(processes) as pool:
        for noise in NOISES:
            each = list(pool.map(partial(quiet, noise, settings=settings), range(runs)))
            told = sum(each)
            low, high = (100 * end for end in interval(told, runs * NIGHTS))
            yield (
                f"  {noise:<12} {told} nights with a false naming: "
                f"{100 * told / (runs * NIGHTS):.1f} in 100 [{low:.1f}, {high:.1f}]"
            )
            row = f"a node named in {NIGHTS} quiet nights, {noise}"
            yield Estimate(row, sum(map(bool, each)), runs)
        yield f"  named within two nights, of {runs * 4} runs; and healthy nodes named"
        for noise in NOISES:
            found = list(pool.map(partial(planted, noise, settings=settings), range(runs * 4)))
            shares = ", ".join(
                f"{name} {_share([node in one for one in found])}"
                for node, (name, _) in PLANTED.items()
            )
            false = sum(bool(one - PLANTED.keys()) for one in found)
            yield f"  {noise:<12} {shares}; {false} false"
            for node, (name, _) in PLANTED.items():
                row = f"named within two nights, {name}, {noise}"
                yield Estimate(row, sum(node in one for one in found), len(found))


def quiet(noise: str, seed: int, settings: NodeSettings) -> int:
    """Of `NIGHTS` quiet nights, asked one after the other, those with a naming."""
    rng = np.random.default_rng([1, list(NOISES).index(noise), seed])
    every = _measures(rng, NOISES[noise], NIGHTS, {}, settings)
    return sum(bool(_named(every, night, settings)) for night in range(NIGHTS))


def planted(noise: str, seed: int, settings: NodeSettings) -> set[int]:
    """The nodes named after two nights with those of `PLANTED`."""
    rng = np.random.default_rng([2, list(NOISES).index(noise), seed])
    sick = {node: what for node, (_, what) in PLANTED.items()}
    return _named(_measures(rng, NOISES[noise], 2, sick, settings), 1, settings)


def _named(every: list[Measure], night: int, settings: NodeSettings) -> set[int]:
    known = [replace(one, launches=one.launches.take(one.launches.night <= night)) for one in every]
    found = judge(known, settings, 0.95).named
    return {int(member) for one in found for member in one.members}


def _measures(
    rng: Rng, noise: Noise, nights: int, sick: Mapping[int, Sick], settings: NodeSettings
) -> list[Measure]:
    """Latency, tail and bandwidth of the same launches."""
    pairs, night, round_ = design(nights)
    load = rng.normal(0, 0.3, (nights, ROUNDS))[night, round_]
    own = rng.normal(0, 0.02, NODES)

    def launches(cost: np.ndarray) -> Launches:
        names = [str(node) for node in range(NODES)]
        return Launches(names, [""] * NODES, cost, pairs, night, round_)

    def noisy(effect: np.ndarray) -> Launches:
        return launches(effect + load + own[pairs].sum(axis=1) + noise(rng, night.size))

    of = [[sick.get(int(node), Sick()) for node in pair] for pair in pairs]
    slow = np.array([max(one.slower for one in pair) for pair in of])
    times = slow * _LATENCY + np.array([sum(one.added for one in pair) for pair in of])
    lost = rng.binomial(MESSAGES, [2 * sum(one.lost for one in pair) for pair in of])
    tail = np.log1p(lost * _TIMEOUT / MESSAGES / times) + 0.5 * np.abs(noise(rng, night.size))
    return [
        Measure("latency", noisy(np.log(times)), settings.least(is_tail=False)),
        Measure("tail", launches(tail), settings.least(is_tail=True)),
        Measure("bandwidth", noisy(np.zeros(night.size)), settings.least(is_tail=False)),
    ]


def design(nights: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Launches of all nights: pairs by the circle method, night and round of each."""
    order, plan = list(range(NODES)), []
    for _ in range(NODES - 1):
        plan.append([(order[k], order[-1 - k]) for k in range(NODES // 2)])
        order = [order[0], order[-1], *order[1:-1]]
    rows = [
        (*pair, night, one)
        for night in range(nights)
        for one in range(ROUNDS)
        for pair in plan[(night * ROUNDS + one) % len(plan)]
    ]
    made = np.array(rows)
    return made[:, :2], made[:, 2], made[:, 3]


def _share(found: list[bool]) -> str:
    low, high = interval(sum(found), len(found))
    return f"{np.mean(found):.0%} [{low:.0%}, {high:.0%}]"
