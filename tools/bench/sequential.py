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
from scipy import stats

from roundtrip.stats.sequential import Floats, log_wealth

SEED, SERIES, ROUNDS, LEVEL, CLAIMS = 1, 2000, 200, 0.05, 8
RANDOM, ABBA = "random", "abba"
#: By order, the number of rounds for one coin.
ORDERS = {RANDOM: 1, ABBA: 2}
#: Comparison of both orders: drifts inside rounds, noise of a launch, and number of series.
_DRIFTS, _SPREAD, _FEWER = (0.0, 0.01, 0.02, 0.03, 0.05), 0.01, 1000
#: Noise of successive launches on the logarithm of a time: shape (series, launches).
Rng = np.random.Generator
Noise = Callable[[Rng, tuple[int, int]], Floats]


def correlated(phi: float) -> Noise:
    """AR(1) noise: each launch keeps the part `phi` of the last one's deviation; sd 3 %."""

    def noise(rng: Rng, shape: tuple[int, int]) -> Floats:
        steps = 0.03 * math.sqrt(1 - phi**2) * rng.standard_normal(shape)
        for number in range(1, shape[1]):
            steps[:, number] += phi * steps[:, number - 1]
        return steps

    return noise


def steady(drift: float, spread: float) -> Noise:
    """Each launch is slower by `drift` than the last one, with noise of `spread`; logarithms."""
    return lambda rng, shape: drift * np.arange(shape[1]) + spread * rng.standard_normal(shape)


def regimes(rng: Rng, shape: tuple[int, int]) -> Floats:
    """One launch of four takes 2.5 times as long; noise of 1 %."""
    slowdowns = math.log(2.5) * (rng.random(shape) < 0.25)
    return np.asarray(slowdowns + 0.01 * rng.standard_normal(shape))


MODELS: dict[str, Noise] = {
    "normal, sd 3 %": lambda rng, shape: 0.03 * rng.standard_normal(shape),
    "heavy tails, Student's t with 2 degrees, 3 %": (
        lambda rng, shape: 0.03 * rng.standard_t(2, shape)
    ),
    "skewed, exponential 3 %": lambda rng, shape: rng.exponential(0.03, shape),
    **{f"AR(1) {phi}": correlated(phi) for phi in (0.3, 0.7, 0.95)},
    "drift of 0.2 % a launch": steady(0.002, 0.03),
    "regimes, 1 of 4 launches 2.5 times as long": regimes,
    "ties, a clock of 5 %": (
        lambda rng, shape: np.round(0.03 * rng.standard_normal(shape) / 0.05) * 0.05
    ),
}


def equal_log_ratios(
    noise: Noise, rng: Rng, series: int, rounds: int = ROUNDS, order: str = RANDOM
) -> Floats:
    """Log ratios of two equal toolchains in rounds of this `order`: shape (series, rounds).

    For ABBA, the means over two rounds: shape (series, rounds / 2).
    """
    launches = noise(rng, (series, 2 * rounds))
    coin_rounds = ORDERS[order]
    coins = np.repeat(rng.random((series, rounds // coin_rounds)) < 0.5, coin_rounds, axis=1)
    first_is_one = coins ^ (np.arange(rounds) % coin_rounds == 1)
    gap = launches[:, 0::2] - launches[:, 1::2]
    logs = np.where(first_is_one, gap, -gap)
    return np.asarray(logs.reshape(series, rounds // coin_rounds, coin_rounds).mean(axis=2))


def false_claims(logs: Floats) -> int:
    """Count the series in `logs`, of shape (series, rounds), called different at any round."""
    wealth = log_wealth(logs, np.zeros(1))[:, 0]
    return int((wealth.max(axis=1) >= -math.log(LEVEL)).sum())


def false_reports(rng: Rng, reports: int) -> int:
    """Count reports on CLAIMS equal pairs with a claim at any round: e-BH at each, AR(1) 0.3."""
    false_count = 0
    for _ in range(reports):
        launches = np.sort(correlated(0.3)(rng, (CLAIMS, 2 * ROUNDS)), axis=0)  # dependent
        gap = launches[:, 0::2] - launches[:, 1::2]
        logs = np.where(rng.random(ROUNDS) < 0.5, gap, -gap)  # one order for all claims
        wealth = np.sort(log_wealth(logs, np.zeros(1))[:, 0], axis=0)[::-1]
        bar = np.log(CLAIMS / (LEVEL * np.arange(1, CLAIMS + 1)))[:, None]
        false_count += bool((wealth >= bar).any())
    return false_count


def wilcoxon_false_claims(logs: Floats) -> int:
    """As `false_claims`, by Wilcoxon's test after each round from the 6th on."""
    return sum(
        any(stats.wilcoxon(row[:n], method="approx").pvalue < LEVEL for n in range(6, len(row)))
        for row in logs
    )


def rounds_needed(effect: float, spread: float, rng: Rng, series: int = 500) -> tuple[float, float]:
    """Return (median, 90 % of series) of the rounds until one claim of this `effect` is decided."""
    logs = math.log1p(effect) + spread * rng.standard_normal((series, 2 * ROUNDS))
    return _first_rounds(log_wealth(logs, np.zeros(1))[:, 0])


def rounds_on_par(margin: float, spread: float, rng: Rng, series: int = 500) -> tuple[float, float]:
    """As `rounds_needed`, until two equal sides are called on par within `margin`."""
    logs = spread * rng.standard_normal((series, 2 * ROUNDS))
    ends = math.log1p(margin) * np.array([-1.0, 1.0])
    return _first_rounds(log_wealth(logs, ends).min(axis=1))


def launches_needed(order: str, effect: float, noise: Noise, rng: Rng, series: int = 300) -> float:
    """Return the median number of launches until one claim of this `effect` is decided."""
    logs = equal_log_ratios(noise, rng, series, order=order) + math.log1p(effect)
    return 2 * ORDERS[order] * _first_rounds(log_wealth(logs, np.zeros(1))[:, 0])[0]


def _first_rounds(wealth: Floats) -> tuple[float, float]:
    is_hit = wealth >= -math.log(LEVEL)
    rounds = np.where(is_hit.any(axis=1), is_hit.argmax(axis=1) + 1, math.inf)
    return float(np.median(rounds)), float(np.quantile(rounds, 0.9, method="higher"))


def rate(count: int, total: int) -> str:
    """``3 of 100 (3.0 % [0.6, 8.5])``, with the exact interval at 95 %."""
    low, high = stats.binomtest(count, total).proportion_ci(method="exact")
    return f"{count} of {total} ({100 * count / total:.1f} % [{100 * low:.1f}, {100 * high:.1f}])"


def _orders(rng: Rng) -> Iterator[str]:
    """Yield a comparison of both orders, with and without a drift inside rounds."""
    for drift, order in itertools.product(_DRIFTS, ORDERS):
        noise = steady(drift, _SPREAD)
        false_count = false_claims(equal_log_ratios(noise, rng, _FEWER, order=order))
        launch_counts = {
            effect: launches_needed(order, effect, noise, rng) for effect in (0.02, 0.05, 0.1)
        }
        medians = ", ".join(
            f"{100 * effect:g} %: " + (f"{count:g}" if count < math.inf else f"over {2 * ROUNDS}")
            for effect, count in launch_counts.items()
        )
        yield (
            f"{order} order, drift of {100 * drift:g} % a launch, noise of {100 * _SPREAD:g} %: "
            f"false claims {rate(false_count, _FEWER)}; median of launches to tell {medians}"
        )


def measure() -> Iterator[str]:
    """Verdicts of ``roundtrip ab``, simulated: how often they are false, and after how many rounds.

    A line for each model and effect; the seed is fixed, so the numbers are too.
    """
    rng = np.random.default_rng(SEED)
    for name, noise in MODELS.items():
        logs = equal_log_ratios(noise, rng, SERIES)
        yield f"false claims, {name}: {rate(false_claims(logs), SERIES)}, level {100 * LEVEL:g} %"
    yield f"false reports, {CLAIMS} claims, AR(1) 0.3: {rate(false_reports(rng, 500), 500)}"
    false_count = wilcoxon_false_claims(equal_log_ratios(MODELS["AR(1) 0.3"], rng, 100))
    yield f"false claims of Wilcoxon's test, asked after each round: {rate(false_count, 100)}"
    for spread in (0.02, 0.05):
        for effect in (0.02, 0.05, 0.10):
            median, p90 = rounds_needed(effect, spread, rng)
            yield (
                f"rounds to tell {100 * effect:g} % at a paired sd of {100 * spread:g} %: "
                f"median {median:g}, 90 % of series {p90:g}"
            )
        median, p90 = rounds_on_par(0.05, spread, rng)
        yield (
            f"rounds to tell on par within 5 % at a paired sd of {100 * spread:g} %: "
            f"median {median:g}, 90 % of series {p90:g}"
        )
    yield from _orders(np.random.default_rng(SEED))
