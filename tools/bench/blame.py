"""Searches for the cause of a step, simulated: how often they are right, and how many launches
they take, at the noise of real launches.

The noise is that of the series in samples/sixty-nights: the residuals of 40 nights in their order,
from a place drawn at random, so that drifts and outliers stay as they were.  Beside it stand one
fact at a time, each as `roundtrip ab`, and a plain bisection with a fixed number of launches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import polars as pl

from roundtrip import paths
from roundtrip.cause.facts import Ending, Facts, find_causes
from roundtrip.cause.order import find_changes
from roundtrip.cause.questions import bar, evidence, is_look, is_within
from roundtrip.cause.simulation import Noise, simulate
from roundtrip.stats.sequential import Floats
from tools.bench.sequential import rate

SEED, SEARCHES, BUDGET = 1, 20, 400
_COUNTS, _EFFECTS = (2, 4, 8, 12), (0.02, 0.05, 0.2)
#: Nights of the sample before the planted step; launches of a plain bisection at each probe.
_QUIET, _FIXED = 40, 5
_SERIES = ["case_id", "variant", "size_bytes"]
_VERSIONS = (8, 32, 128)
Rng = np.random.Generator


def real_noise() -> Noise:
    """Noise as launches of the sample had it: each search gets a series, and a place in it."""
    nights = pl.read_parquet(paths.checkout() / "samples/sixty-nights/nights.parquet")
    series = [
        np.log(one["median"].head(_QUIET).to_numpy())
        for _, one in nights.sort("night").group_by(_SERIES, maintain_order=True)
    ]
    centred = [one - np.median(one) for one in series]
    state: dict[str, tuple[Floats, int]] = {}

    def noise(rng: Rng, count: int, begin: bool = False) -> Floats:
        if begin:
            drawn = centred[rng.integers(len(centred))]
            state["now"] = (drawn, int(rng.integers(drawn.size)))
        values, at = state["now"]
        state["now"] = (values, at + count)
        return np.asarray(values[(at + np.arange(count)) % values.size])

    return noise


def effect_of(kind: str, causes: tuple[str, ...], size: float) -> Callable[[object], float]:
    """The log time of an arm in which `causes` act as `kind` says."""

    def effect(arm: object) -> float:
        assert isinstance(arm, frozenset)  # noqa: S101
        new = sum(cause in arm for cause in causes)
        return size * (new == len(causes)) if kind == "two together" else size * new

    return effect


def one_by_one(
    facts: list[str], effect: Callable[[object], float], draw: Callable[[int], Floats], whole: float
) -> tuple[set[str], int]:
    """Each fact alone against all old until it differs or has less than half of the step."""
    named, launches = set(), 0
    for fact in facts:
        logs: list[float] = []
        while launches < BUDGET:
            new, old = draw(2)
            logs.append(effect(frozenset([fact])) + new - old)
            launches += 2
            if not is_look(len(logs)):
                continue
            if evidence(logs) >= bar(0.05 / len(facts)):
                named.add(fact)
                break
            if is_within(logs, whole / 2, 0.05 / len(facts)):
                break
    return named, launches


def plain(
    facts: list[str], effect: Callable[[object], float], draw: Callable[[int], Floats]
) -> tuple[set[str], int]:
    """Bisection over the facts in their order, each probe of `_FIXED` launches against a threshold
    half-way between all old and all new."""

    def median(new: list[str]) -> float:
        return float(np.median(effect(Facts(new)) + draw(_FIXED)))

    low, high, launches = 0, len(facts), 2 * _FIXED
    threshold = (median([]) + median(facts)) / 2
    while high - low > 1:
        middle = (low + high) // 2
        is_slow = median(facts[:middle]) > threshold
        low, high = (low, middle) if is_slow else (middle, high)
        launches += _FIXED
    return {facts[high - 1]}, launches


def _search_row(
    noise: Noise, kind: str, count: int, size: float, rng: Rng, total: Counter[str]
) -> str:
    facts = [f"fact {number}" for number in range(count)]
    told: dict[str, Counter[str]] = {name: Counter() for name in ("search", "one by one", "plain")}
    used: dict[str, list[int]] = {name: [] for name in told}
    for number in range(SEARCHES):
        causes = tuple(rng.choice(facts, 1 if kind == "one" else 2, replace=False).tolist())
        effect = effect_of(kind, causes, float(np.log1p(size)))
        whole = effect(frozenset(facts))
        noise(rng, 0, begin=True)
        found = simulate(find_causes(facts, whole, number), effect, noise, rng, BUDGET)
        is_told = found.ending is Ending.FOUND
        named = {"search": set(found.named) if is_told else set()}
        if not is_told and set(found.named) - set(causes):
            named["search"] = set(found.named)
        used["search"].append(found.launches)
        draw = partial(_shuffled, noise, rng)
        named["one by one"], launches = one_by_one(facts, effect, draw, whole)
        used["one by one"].append(launches)
        named["plain"], launches = plain(facts, effect, draw)
        used["plain"].append(launches)
        for name, those in named.items():
            told[name][_word(those, set(causes))] += 1
    parts = [
        f"{name} right {counts['right']}, wrong {counts['wrong']}, part {counts['part']}, "
        f"cannot tell {counts['cannot tell']}, launches {np.median(used[name]):g}"
        for name, counts in told.items()
    ]
    total.update(told["search"])
    return f"{count} facts, {kind}, {100 * size:g} %: " + "; ".join(parts)


def _shuffled(noise: Noise, rng: Rng, count: int) -> Floats:
    return np.asarray(rng.permutation(noise(rng, count)))


def _word(named: set[str], causes: set[str]) -> str:
    if not named:
        return "cannot tell"
    return "right" if named == causes else "wrong" if named - causes else "part"


def _level(first: int, step: float, at: object) -> float:
    return step * (isinstance(at, int) and at >= first)


def _order_row(noise: Noise, count: int, size: float, rng: Rng, total: Counter[str]) -> str:
    told: Counter[str] = Counter()
    used, fixed, fixed_wrong = [], 0, 0
    step = float(np.log1p(size))
    for _ in range(SEARCHES):
        first = int(rng.integers(1, count))
        noise(rng, 0, begin=True)
        found = simulate(
            find_changes(count, step / 4), partial(_level, first, step), noise, rng, BUDGET
        )
        is_whole = found.differ and not found.open
        right = [one.after for one in found.changes] == [first]
        # What is open still must hold the change; else the turn was wrong.
        lost = found.differ is False or (
            any(one.after != first for one in found.changes)
            or (
                bool(found.open)
                and not found.changes
                and not any(a < first <= b for a, b in found.open)
            )
        )
        told["right" if is_whole and right else "wrong" if lost else "cannot tell"] += 1
        used.append(found.launches)
        versions = [str(at) for at in range(1, count)]
        effect = effect_of("one", (str(first),), step)
        named, fixed = plain(versions, effect, partial(_shuffled, noise, rng))
        fixed_wrong += named != {str(first)}
    total.update(told)
    return (
        f"{count} versions, {100 * size:g} %: search right {told['right']}, wrong {told['wrong']}, "
        f"cannot tell {told['cannot tell']}, launches {np.median(used):g}; "
        f"plain wrong {fixed_wrong}, launches {fixed}"
    )


def measure() -> Iterator[str]:
    """Searches for the cause of a step, simulated: right, wrong, and launches needed.

    A line for each number of facts, kind of cause and size of the step; the seed is fixed.
    """
    noise, rng = real_noise(), np.random.default_rng(SEED)
    facts, versions = Counter[str](), Counter[str]()
    for count in _COUNTS:
        for kind in ("one", "two", "two together"):
            for size in _EFFECTS:
                yield _search_row(noise, kind, count, size, rng, facts)
    yield f"wrong cause in all of these: {rate(facts['wrong'], facts.total())}"
    for count in _VERSIONS:
        for size in _EFFECTS:
            yield _order_row(noise, count, size, rng, versions)
    yield f"wrong version in all of these: {rate(versions['wrong'], versions.total())}"
