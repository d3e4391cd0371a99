"""Verdicts that may be read at any time: exact under fair coins, seldom false, soon decided."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from roundtrip.measure import analysis
from roundtrip.stats import sequential
from roundtrip.stats.verdicts import Verdict, decide_claim, q_values
from tools.bench import sequential as simulated

LEVELS = analysis.default_settings().statistics
SIZES = st.lists(st.floats(0, 3) | st.just(0.02), min_size=1, max_size=8)


def wealth(logs: list[float], log_ratio: float = 0.0) -> float:
    return float(np.exp(sequential.log_wealth(np.array(logs), np.array([log_ratio]))[0, -1]))


def ratios(effect: float, spread: float, rounds: int, seed: int = 1) -> list[float]:
    rng = np.random.default_rng(seed)
    return np.exp(math.log1p(effect) + spread * rng.standard_normal(rounds)).tolist()


@given(SIZES, st.floats(-2, 2))
def test_a_fair_coin_makes_nobody_richer_whatever_the_sizes(
    sizes: list[float], log_ratio: float
) -> None:
    """Over all signs, the mean wealth is exactly what was staked: the proof of validity."""
    signs = np.array(list(itertools.product([-1, 1], repeat=len(sizes))))
    logs = log_ratio + signs * np.array(sizes)
    wealths = np.exp(sequential.log_wealth(logs, np.array([log_ratio]))[:, 0])
    assert wealths.mean(axis=0) == pytest.approx(1, rel=1e-6)
    assert (wealths <= 2.0 ** np.arange(1, len(sizes) + 1) * (1 + 1e-9)).all()


@given(SIZES, st.floats(-2, 2))
def test_to_swap_the_sides_turns_everything_over(sizes: list[float], log_ratio: float) -> None:
    reverse = wealth([-size for size in sizes], -log_ratio)
    assert wealth(sizes, log_ratio) == pytest.approx(reverse, rel=1e-6)


@pytest.mark.parametrize(
    ("noise", "order"),
    [
        *((noise, simulated.RANDOM) for noise in simulated.NOISE_BY_NAME.values()),
        *((simulated.drifting(drift, 0.01), simulated.ABBA) for drift in (0.0, 0.05)),
    ],
)
def test_equal_sides_are_called_different_no_more_often_than_the_level_allows(
    noise: simulated.Noise, order: str
) -> None:
    """Also where one coin orders two rounds."""
    rng = np.random.default_rng(7)
    logs = simulated.equal_log_ratios(noise, rng, 300, rounds=100, order=order)
    assert logs.shape == (300, 100 // simulated.ROUNDS_PER_COIN[order])
    false_claims = simulated.count_false_claims(logs)
    assert stats.binomtest(false_claims, 300, simulated.LEVEL, alternative="greater").pvalue > 1e-3


def test_a_test_for_one_look_is_false_far_more_often_with_a_look_each_round() -> None:
    """What the simulation can find: it is no test that passes everything."""
    rng = np.random.default_rng(7)
    logs = simulated.equal_log_ratios(simulated.NOISE_BY_NAME["AR(1) 0.3"], rng, 40, rounds=60)
    assert simulated.count_wilcoxon_false_claims(logs) > 5


def test_without_a_random_order_a_drift_would_be_taken_for_a_difference() -> None:
    launches = 0.02 * np.arange(400) + 0.03 * np.random.default_rng(7).standard_normal((40, 400))
    assert simulated.count_false_claims(launches[:, 1::2] - launches[:, 0::2]) == 40


def test_abba_takes_fewer_launches_only_of_what_a_drift_exceeds() -> None:
    def needed(order: str, drift: float) -> float:
        rng = np.random.default_rng(7)
        return simulated.launches_needed(order, 0.02, simulated.drifting(drift, 0.01), rng, 60)

    for drift in (0.0, 0.01):
        assert needed(simulated.ABBA, drift) > needed(simulated.RANDOM, drift)
    assert needed(simulated.ABBA, 0.05) < needed(simulated.RANDOM, 0.05) / 3


@pytest.mark.parametrize(
    ("effect", "spread", "median", "most"),
    [(0.02, 0.02, 14, 30), (0.05, 0.05, 14, 30), (0.10, 0.02, 6, 7), (0.10, 0.05, 7, 11)],
)
def test_a_difference_is_found_in_few_rounds(
    effect: float, spread: float, median: float, most: float
) -> None:
    rounds = simulated.rounds_needed(effect, spread, np.random.default_rng(3), series=100)
    assert rounds[0] <= median
    assert rounds[1] <= most


def test_six_rounds_are_the_fewest_that_decide() -> None:
    assert sequential.interval(ratios(9, 0.01, 5), 0.95).low is None
    interval = sequential.interval(ratios(9, 0.01, 6), 0.95)
    assert interval.exists and interval.excludes(1)


@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_the_interval_holds_the_truth_at_every_round(effect: float) -> None:
    series = 40
    rng = np.random.default_rng(5)
    logs = math.log1p(effect) + 0.03 * rng.standard_t(3, (series, 60))
    misses = 0
    for row in logs:
        intervals = [sequential.interval(np.exp(row[:n]).tolist(), 0.95) for n in (6, 20, 60)]
        misses += any(interval.excludes(1 + effect) for interval in intervals)
    assert stats.binomtest(misses, series, 0.05, alternative="greater").pvalue > 1e-3


def test_the_interval_is_where_the_wealth_reaches_the_bar_and_holds_the_median() -> None:
    values = ratios(0.1, 0.03, 25)
    interval = sequential.interval(values, 0.95)
    assert interval.low is not None and interval.high is not None
    assert interval.low < interval.median < interval.high
    assert interval.median == pytest.approx(float(np.median(values)))
    logs = np.log(values).tolist()
    for end in (interval.low, interval.high):
        assert wealth(logs, math.log(end)) == pytest.approx(20, rel=0.05)


def test_the_verdict_follows_from_interval_and_q_as_everywhere() -> None:
    claims = {
        "much": ratios(0.5, 0.02, 12),
        "less": ratios(-0.3, 0.02, 12),
        "par": ratios(0, 0.01, 12),
        "little": ratios(0.03, 0.1, 12),
        "few": ratios(0.5, 0.02, 3),
    }
    results = sequential.judge(claims, LEVELS)
    verdicts = [Verdict.FASTER, Verdict.SLOWER, Verdict.ON_PAR, *[Verdict.CANNOT_TELL] * 2]
    assert [result.verdict for result in results.values()] == verdicts
    assert [
        decide_claim(result.interval, result.q, LEVELS) for result in results.values()
    ] == verdicts
    tested_results = [result for result in results.values() if result.interval.exists]
    q = q_values([result.p for result in tested_results])
    assert [result.q for result in tested_results] == pytest.approx(q)
    assert results["few"].p == 1


def test_a_forecast_comes_true_on_the_whole() -> None:
    """Claims of a known effect: rounds that were forecast after 10, and rounds that it took."""
    rng = np.random.default_rng(11)
    forecasts, rounds = [], []
    for _ in range(20):
        logs = math.log(1.08) + 0.1 * rng.standard_normal(200)
        forecast = sequential.forecast_rounds(np.exp(logs[:10]).tolist(), LEVELS)
        if forecast is None:
            continue
        is_reached = sequential.log_wealth(logs, np.zeros(1))[0] >= math.log(20)
        forecasts.append(forecast)
        rounds.append(max(1, int(is_reached.argmax()) + 1 - 10))
    assert len(rounds) > 10
    assert 0.3 < np.median(forecasts) / np.median(rounds) < 3


def test_a_forecast_says_when_it_cannot() -> None:
    assert sequential.forecast_rounds([1.1, 1.2, 1.1], LEVELS) is None
    levels = LEVELS.model_copy(update={"minimum_effect": 0.5, "equivalence_margin": 0.001})
    assert sequential.forecast_rounds(ratios(0.2, 0.1, 10), levels) == 201
    assert sequential.forecast_rounds(ratios(0.5, 0.01, 10), LEVELS) == 1


def test_more_claims_need_more_rounds() -> None:
    values = ratios(0.5, 0.02, 5)
    lone_rounds = sequential.forecast_rounds(values, LEVELS)
    family_rounds = sequential.forecast_rounds(values, LEVELS, claims=64)
    rest_rounds = sequential.forecast_rounds(values, LEVELS, claims=64, decided_claims=31)
    assert lone_rounds and family_rounds and rest_rounds
    assert lone_rounds < rest_rounds < family_rounds
