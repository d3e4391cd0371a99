"""Simulated searches for the cause of a step: accuracy and launches, at the noise of real ones.

The noise is that of the series in samples/sixty-nights: the residuals of 40 nights in their order,
from a random position, so that drifts and outliers are preserved.  For comparison: one fact at a
time, each as by `roundtrip ab`, and a plain bisection with a fixed number of launches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import polars as pl

from roundtrip import paths
from roundtrip.cause import questions
from roundtrip.cause.facts import Ending, NewFacts, find_causes
from roundtrip.cause.order import find_changes
from roundtrip.cause.questions import DrawNoise, simulate
from roundtrip.stats.sequential import Floats
from tools.bench.sequential import describe_rate

SEED, SEARCHES, BUDGET = 1, 20, 400
_FACT_COUNTS, _EFFECTS = (2, 4, 8, 12), (0.02, 0.05, 0.2)
#: Nights of the sample before the planted step; launches of a plain bisection at each probe.
_NIGHTS_BEFORE_STEP, _PROBE_LAUNCHES = 40, 5
_SERIES_COLUMNS = ["case_id", "variant", "size_bytes"]
_VERSION_COUNTS = (8, 32, 128)
Rng = np.random.Generator


def sample_noise() -> Callable[[Rng], DrawNoise]:
    """Return a function that starts the noise of one search: residuals of a random series of the
    sample, from a random night on."""
    nights = pl.read_parquet(paths.checkout() / "samples/sixty-nights/nights.parquet")
    series = [
        np.log(frame["median"].head(_NIGHTS_BEFORE_STEP).to_numpy())
        for _, frame in nights.sort("night").group_by(_SERIES_COLUMNS, maintain_order=True)
    ]
    residuals = [logs - np.median(logs) for logs in series]

    def start_noise(rng: Rng) -> DrawNoise:
        values = residuals[rng.integers(len(residuals))]
        position = int(rng.integers(values.size))

        def noise(rng: Rng, count: int) -> Floats:
            nonlocal position
            position += count
            return np.asarray(values[np.arange(position - count, position) % values.size])

        return noise

    return start_noise


def arm_effect(cause_kind: str, causes: tuple[str, ...], size: float) -> Callable[[object], float]:
    """Return the function from an arm, a set of new facts, to the logarithm that it adds to times:
    `size` for each of `causes`, or once for all of them if `cause_kind` is "two together"."""

    def effect(arm: object) -> float:
        assert isinstance(arm, frozenset)  # noqa: S101
        count = sum(cause in arm for cause in causes)
        return size * (count == len(causes)) if cause_kind == "two together" else size * count

    return effect


def single_fact_search(
    facts: list[str],
    effect: Callable[[object], float],
    draw: Callable[[int], Floats],
    full_effect: float,
) -> tuple[set[str], int]:
    """Compare each new fact alone with all old, until it differs or has less than half of the step;
    return the facts that differ, and the number of launches."""
    named_causes, launches = set(), 0
    for fact in facts:
        logs: list[float] = []
        while launches < BUDGET:
            new, old = draw(2)
            logs.append(effect(frozenset([fact])) + new - old)
            launches += 2
            if not questions.is_evaluation_due(len(logs)):
                continue
            if questions.evidence(logs) >= questions.evidence_threshold(0.05 / len(facts)):
                named_causes.add(fact)
                break
            if questions.is_within(logs, full_effect / 2, 0.05 / len(facts)):
                break
    return named_causes, launches


def plain_bisection(
    facts: list[str], effect: Callable[[object], float], draw: Callable[[int], Floats]
) -> tuple[set[str], int]:
    """Bisect the facts in their order; return the one found, as a set, and the number of launches.

    A probe takes the median of `_PROBE_LAUNCHES` launches.  Its threshold is half-way between the
    medians of all old and all new.
    """

    def median(arm: list[str]) -> float:
        return float(np.median(effect(NewFacts(arm)) + draw(_PROBE_LAUNCHES)))

    low, high, launches = 0, len(facts), 2 * _PROBE_LAUNCHES
    threshold = (median([]) + median(facts)) / 2
    while high - low > 1:
        middle = (low + high) // 2
        is_slow = median(facts[:middle]) > threshold
        low, high = (low, middle) if is_slow else (middle, high)
        launches += _PROBE_LAUNCHES
    return {facts[high - 1]}, launches


def _fact_search_row(
    start_noise: Callable[[Rng], DrawNoise],
    cause_kind: str,
    count: int,
    size: float,
    rng: Rng,
    total: Counter[str],
) -> str:
    facts = [f"fact {number}" for number in range(count)]
    tally: dict[str, Counter[str]] = {name: Counter() for name in ("search", "one by one", "plain")}
    launch_counts: dict[str, list[int]] = {name: [] for name in tally}
    for number in range(SEARCHES):
        causes = tuple(rng.choice(facts, 1 if cause_kind == "one" else 2, replace=False).tolist())
        effect = arm_effect(cause_kind, causes, float(np.log1p(size)))
        full_effect = effect(frozenset(facts))
        noise = start_noise(rng)
        result = simulate(find_causes(facts, full_effect, number), effect, noise, rng, BUDGET)
        # Without a decision, only a false name counts.
        is_decided = result.ending is Ending.FOUND or bool(set(result.causes) - set(causes))
        draw = partial(_draw_shuffled, noise, rng)
        outcomes = {
            "search": (set(result.causes) if is_decided else set(), result.launches),
            "one by one": single_fact_search(facts, effect, draw, full_effect),
            "plain": plain_bisection(facts, effect, draw),
        }
        for name, (named_causes, launches) in outcomes.items():
            verdict = "wrong" if named_causes - {*causes} else "part"
            verdict = "right" if named_causes == {*causes} else verdict
            tally[name][verdict if named_causes else "cannot tell"] += 1
            launch_counts[name].append(launches)
    parts = [
        f"{name} right {counts['right']}, wrong {counts['wrong']}, part {counts['part']}, "
        f"cannot tell {counts['cannot tell']}, launches {np.median(launch_counts[name]):g}"
        for name, counts in tally.items()
    ]
    total.update(tally["search"])
    return f"{count} facts, {cause_kind}, {100 * size:g} %: " + "; ".join(parts)


def _draw_shuffled(noise: DrawNoise, rng: Rng, count: int) -> Floats:
    return np.asarray(rng.permutation(noise(rng, count)))


def _version_effect(change_version: int, step: float, version: object) -> float:
    return step * (isinstance(version, int) and version >= change_version)


def _version_search_row(
    start_noise: Callable[[Rng], DrawNoise], count: int, size: float, rng: Rng, total: Counter[str]
) -> str:
    tally: Counter[str] = Counter()
    launch_counts, plain_launches, plain_errors = [], 0, 0
    step = float(np.log1p(size))
    for _ in range(SEARCHES):
        change_version = int(rng.integers(1, count))
        noise = start_noise(rng)
        version_effect = partial(_version_effect, change_version, step)
        result = simulate(find_changes(count, step / 4), version_effect, noise, rng, BUDGET)
        is_whole = result.ends_differ and not result.open_intervals
        is_right = [change.after for change in result.changes] == [change_version]
        # An open interval must hold the change; else a decision was wrong.
        is_wrong = result.ends_differ is False or (
            any(change.after != change_version for change in result.changes)
            or (
                bool(result.open_intervals)
                and not result.changes
                and not any(a < change_version <= b for a, b in result.open_intervals)
            )
        )
        tally["right" if is_whole and is_right else "wrong" if is_wrong else "cannot tell"] += 1
        launch_counts.append(result.launches)
        versions = [str(version) for version in range(1, count)]
        effect = arm_effect("one", (str(change_version),), step)
        named_causes, plain_launches = plain_bisection(
            versions, effect, partial(_draw_shuffled, noise, rng)
        )
        plain_errors += named_causes != {str(change_version)}
    total.update(tally)
    return (
        f"{count} versions, {100 * size:g} %: search right {tally['right']}, "
        f"wrong {tally['wrong']}, cannot tell {tally['cannot tell']}, "
        f"launches {np.median(launch_counts):g}; "
        f"plain wrong {plain_errors}, launches {plain_launches}"
    )


def search_errors() -> Iterator[str]:
    """Searches for the cause of a step, simulated: right, wrong, and launches needed.

    A line for each number of facts, kind of cause and size of the step; the seed is fixed.
    """
    start_noise, rng = sample_noise(), np.random.default_rng(SEED)
    facts, versions = Counter[str](), Counter[str]()
    for count in _FACT_COUNTS:
        for cause_kind in ("one", "two", "two together"):
            for size in _EFFECTS:
                yield _fact_search_row(start_noise, cause_kind, count, size, rng, facts)
    yield f"wrong cause in all of these: {describe_rate(facts['wrong'], facts.total())}"
    for count in _VERSION_COUNTS:
        for size in _EFFECTS:
            yield _version_search_row(start_noise, count, size, rng, versions)
    yield f"wrong version in all of these: {describe_rate(versions['wrong'], versions.total())}"
