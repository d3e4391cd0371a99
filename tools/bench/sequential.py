"""Simulated verdicts of ``roundtrip ab``: their false claims, and the rounds that they need.

The order of both toolchains is drawn in each round, or it is ABBA, with one coin for two rounds.
Equal toolchains are judged after each of 200 rounds; a claim at any of these looks is false.
The signed-rank test, which is valid for one look only, is shown for comparison.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy import signal, stats

from roundtrip.stats.sequential import Floats, log_wealth

SEED, SERIES, ROUNDS, LEVEL, CLAIMS = 1, 2000, 200, 0.05, 8
RANDOM, ABBA = "random", "abba"
#: By order of the toolchains in a round: the number of rounds whose order one toss decides.
ROUNDS_PER_COIN = {RANDOM: 1, ABBA: 2}
#: Comparison of both orders: drifts inside rounds, noise of a launch, and number of series.
_DRIFTS, _SPREAD, _ORDER_SERIES = (0.0, 0.01, 0.02, 0.03, 0.05), 0.01, 1000
#: Noise of successive launches on the logarithm of a time: shape (series, launches).
Rng = np.random.Generator
Noise = Callable[[Rng, tuple[int, int]], Floats]


def autoregressive(phi: float) -> Noise:
    """AR(1) noise of 3 %: a launch has `phi` times the deviation of the last, plus noise."""

    def noise(rng: Rng, shape: tuple[int, int]) -> Floats:
        steps = 0.03 * math.sqrt(1 - phi**2) * rng.standard_normal(shape)
        return np.asarray(signal.lfilter([1.0], [1.0, -phi], steps, axis=1))

    return noise


def drifting(drift: float, spread: float) -> Noise:
    """Each launch takes longer than the last, by `drift`, with noise of `spread` (logarithms)."""
    return lambda rng, shape: drift * np.arange(shape[1]) + spread * rng.standard_normal(shape)


def bimodal(rng: Rng, shape: tuple[int, int]) -> Floats:
    """One launch of four takes 2.5 times as long; noise of 1 %."""
    slowdowns = math.log(2.5) * (rng.random(shape) < 0.25)
    return np.asarray(slowdowns + 0.01 * rng.standard_normal(shape))


NOISE_BY_NAME: dict[str, Noise] = {
    "normal, sd 3 %": lambda rng, shape: 0.03 * rng.standard_normal(shape),
    "heavy tails, Student's t with 2 degrees, 3 %": (
        lambda rng, shape: 0.03 * rng.standard_t(2, shape)
    ),
    "skewed, exponential 3 %": lambda rng, shape: rng.exponential(0.03, shape),
    **{f"AR(1) {phi}": autoregressive(phi) for phi in (0.3, 0.7, 0.95)},
    "drift of 0.2 % a launch": drifting(0.002, 0.03),
    "regimes, 1 of 4 launches 2.5 times as long": bimodal,
    "ties, a clock of 5 %": (
        lambda rng, shape: np.round(0.03 * rng.standard_normal(shape) / 0.05) * 0.05
    ),
}


def equal_log_ratios(
    noise: Noise, rng: Rng, series: int, rounds: int = ROUNDS, order: str = RANDOM
) -> Floats:
    """Log ratios of two equal toolchains in rounds of this `order`: shape (series, rounds); for
    ABBA, the means over two rounds: shape (series, rounds / 2)."""
    launches = noise(rng, (series, 2 * rounds))
    coin_rounds = ROUNDS_PER_COIN[order]
    coins = np.repeat(rng.random((series, rounds // coin_rounds)) < 0.5, coin_rounds, axis=1)
    first_is_one = coins ^ (np.arange(rounds) % coin_rounds == 1)
    gap = launches[:, 0::2] - launches[:, 1::2]
    logs = np.where(first_is_one, gap, -gap)
    return np.asarray(logs.reshape(series, rounds // coin_rounds, coin_rounds).mean(axis=2))


def count_false_claims(logs: Floats) -> int:
    """Count the series in `logs`, of shape (series, rounds), called different at any round."""
    wealth = log_wealth(logs, np.zeros(1))[:, 0]
    return int((wealth.max(axis=1) >= -math.log(LEVEL)).sum())


def count_false_reports(rng: Rng, reports: int) -> int:
    """Count the reports, of `CLAIMS` equal pairs each, that make a claim after any round, corrected
    together by e-BH; the noise is AR(1) 0.3."""
    false_count = 0
    for _ in range(reports):
        launches = np.sort(autoregressive(0.3)(rng, (CLAIMS, 2 * ROUNDS)), axis=0)  # dependent
        gap = launches[:, 0::2] - launches[:, 1::2]
        logs = np.where(rng.random(ROUNDS) < 0.5, gap, -gap)  # one order for all claims
        wealth = np.sort(log_wealth(logs, np.zeros(1))[:, 0], axis=0)[::-1]
        bar = np.log(CLAIMS / (LEVEL * np.arange(1, CLAIMS + 1)))[:, None]
        false_count += bool((wealth >= bar).any())
    return false_count


def count_wilcoxon_false_claims(logs: Floats) -> int:
    """Count the series that Wilcoxon's test calls different after any round from the 6th on."""
    return sum(
        any(stats.wilcoxon(row[:n], method="approx").pvalue < LEVEL for n in range(6, len(row)))
        for row in logs
    )


def rounds_needed(effect: float, spread: float, rng: Rng, series: int = 500) -> tuple[float, float]:
    """Return (median, 90 % of series) of the rounds until one claim of this `effect` is decided."""
    logs = math.log1p(effect) + spread * rng.standard_normal((series, 2 * ROUNDS))
    return _decision_rounds(log_wealth(logs, np.zeros(1))[:, 0])


def rounds_needed_on_par(
    margin: float, spread: float, rng: Rng, series: int = 500
) -> tuple[float, float]:
    """Return (median, 90 % of series) of the rounds until two equal sides are on par."""
    logs = spread * rng.standard_normal((series, 2 * ROUNDS))
    bounds = math.log1p(margin) * np.array([-1.0, 1.0])
    return _decision_rounds(log_wealth(logs, bounds).min(axis=1))


def launches_needed(order: str, effect: float, noise: Noise, rng: Rng, series: int = 300) -> float:
    """Return the median number of launches until one claim of this `effect` is decided."""
    logs = equal_log_ratios(noise, rng, series, order=order) + math.log1p(effect)
    return 2 * ROUNDS_PER_COIN[order] * _decision_rounds(log_wealth(logs, np.zeros(1))[:, 0])[0]


def _decision_rounds(wealth: Floats) -> tuple[float, float]:
    is_hit = wealth >= -math.log(LEVEL)
    rounds = np.where(is_hit.any(axis=1), is_hit.argmax(axis=1) + 1, math.inf)
    return float(np.median(rounds)), float(np.quantile(rounds, 0.9, method="higher"))


def describe_rate(count: int, total: int) -> str:
    """``3 of 100 (3.0 % [0.6, 8.5])``, with the exact interval at 95 %."""
    low, high = stats.binomtest(count, total).proportion_ci(method="exact")
    return f"{count} of {total} ({100 * count / total:.1f} % [{100 * low:.1f}, {100 * high:.1f}])"


def _compare_orders(rng: Rng) -> Iterator[str]:
    """Yield a line for each order and drift: the rate of false claims, and the launches needed."""
    for drift, order in itertools.product(_DRIFTS, ROUNDS_PER_COIN):
        noise = drifting(drift, _SPREAD)
        logs = equal_log_ratios(noise, rng, _ORDER_SERIES, order=order)
        rate = describe_rate(count_false_claims(logs), _ORDER_SERIES)
        launch_counts = {
            effect: launches_needed(order, effect, noise, rng) for effect in (0.02, 0.05, 0.1)
        }
        medians = ", ".join(
            f"{100 * effect:g} %: " + (f"{count:g}" if count < math.inf else f"over {2 * ROUNDS}")
            for effect, count in launch_counts.items()
        )
        yield (
            f"{order} order, drift of {100 * drift:g} % a launch, noise of {100 * _SPREAD:g} %: "
            f"false claims {rate}; median of launches to tell {medians}"
        )


def verdict_errors() -> Iterator[str]:
    """Verdicts of ``roundtrip ab``, simulated: how often they are false, and after how many rounds.

    A line for each model and effect; the seed is fixed, so the numbers are too.
    """
    rng = np.random.default_rng(SEED)
    for name, noise in NOISE_BY_NAME.items():
        logs = equal_log_ratios(noise, rng, SERIES)
        rate = describe_rate(count_false_claims(logs), SERIES)
        yield f"false claims, {name}: {rate}, level {100 * LEVEL:g} %"
    rate = describe_rate(count_false_reports(rng, 500), 500)
    yield f"false reports, {CLAIMS} claims, AR(1) 0.3: {rate}"
    logs = equal_log_ratios(NOISE_BY_NAME["AR(1) 0.3"], rng, 100)
    rate = describe_rate(count_wilcoxon_false_claims(logs), 100)
    yield f"false claims of Wilcoxon's test, asked after each round: {rate}"
    for spread in (0.02, 0.05):
        for effect in (0.02, 0.05, 0.10):
            median, p90 = rounds_needed(effect, spread, rng)
            yield (
                f"rounds to tell {100 * effect:g} % at a paired sd of {100 * spread:g} %: "
                f"median {median:g}, 90 % of series {p90:g}"
            )
        median, p90 = rounds_needed_on_par(0.05, spread, rng)
        yield (
            f"rounds to tell on par within 5 % at a paired sd of {100 * spread:g} %: "
            f"median {median:g}, 90 % of series {p90:g}"
        )
    yield from _compare_orders(np.random.default_rng(SEED))
