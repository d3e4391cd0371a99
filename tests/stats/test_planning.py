"""The number and the length of launches: known answers, simulated launches, properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from roundtrip.measure import analysis
from roundtrip.stats.planning import (
    Decidability,
    VarianceComponents,
    allocate,
    decidability,
    half_width,
    joint_claims_needed,
    min_launches,
    min_p,
    normality_p,
    recommended_launches,
    variance_components,
)
from roundtrip.stats.verdicts import Verdict, judge, signed_rank_p

LEVELS = analysis.default_settings().statistics


@pytest.mark.parametrize(
    ("n", "p"), [(0, 1.0), (1, 1.0), (5, 0.0625), (6, 0.03125), (9, 0.00390625)]
)
def test_the_least_p_is_known(n: int, p: float) -> None:
    assert min_p(n) == p
    assert signed_rank_p([1.1 + k / 100 for k in range(n)]) == pytest.approx(p)


@pytest.mark.parametrize(
    ("claims", "fewest", "recommended"),
    [
        *((0, 6, 9), (1, 6, 9), (2, 7, 9), (3, 7, 9), (4, 8, 9), (6, 8, 9), (7, 9, 9), (12, 9, 9)),
        *((13, 10, 10), (25, 10, 10), (26, 11, 11), (64, 12, 12), (1000, 16, 16)),
    ],
)
def test_launches_for_so_many_claims(claims: int, fewest: int, recommended: int) -> None:
    assert min_launches(claims, LEVELS) == fewest
    assert recommended_launches(claims, LEVELS) == recommended


@pytest.mark.parametrize(
    ("launches", "claims", "expected", "joint_claims"),
    [
        (0, 1, Decidability.UNDERPOWERED, None),
        (5, 1, Decidability.UNDERPOWERED, None),
        (6, 1, Decidability.ALONE, 1),
        (6, 2, Decidability.TOGETHER, 2),
        (6, 14, Decidability.TOGETHER, 9),
        (7, 14, Decidability.TOGETHER, 5),
        (8, 14, Decidability.TOGETHER, 3),
        (10, 14, Decidability.ALONE, 1),
    ],
)
def test_alone_together_or_not_at_all(
    launches: int, claims: int, expected: Decidability, joint_claims: int | None
) -> None:
    assert decidability(launches, claims, LEVELS) is expected
    assert joint_claims_needed(launches, claims, LEVELS) == joint_claims


@given(st.integers(1, 40))
def test_the_judge_keeps_the_promise(claims: int) -> None:
    """One difference among claims that are none is decided with the fewest launches, not before."""

    def verdict(launches: int) -> Verdict:
        even_ratios = [1 + (-1) ** k * (0.2 + k / 100) for k in range(launches)]
        crowd: dict[int, list[float]] = dict.fromkeys(range(1, claims), even_ratios)
        return judge({0: [2 + k / 100 for k in range(launches)], **crowd}, LEVELS)[0].verdict

    fewest = min_launches(claims, LEVELS)
    assert verdict(fewest) is Verdict.FASTER
    assert verdict(fewest - 1) is Verdict.CANNOT_TELL


def test_a_stricter_level_needs_more() -> None:
    strict = LEVELS.model_copy(update={"confidence_level": 0.99, "false_discovery_level": 0.01})
    assert min_launches(1, strict) == 8
    assert recommended_launches(1, strict) == 12


def launches(
    between: float, within: float, count: int = 100, samples: int = 400, correlation: float = 0.0
) -> list[list[float]]:
    """Log-normal samples: standard deviations between launches and of a sample within one."""
    random = np.random.default_rng(5)
    values = []
    for shift in between * random.standard_normal(count):
        noise = random.standard_normal(samples)
        for i in range(1, samples):
            noise[i] = correlation * noise[i - 1] + math.sqrt(1 - correlation**2) * noise[i]
        values.append([float(value) for value in np.exp(shift + within * noise)])
    return values


@pytest.mark.parametrize("between", [0.14, 0.02])
def test_components_are_those_of_the_simulation(between: float) -> None:
    parts = variance_components(launches(between, 0.1), 4.0)
    assert parts is not None
    assert math.sqrt(parts.between) == pytest.approx(between, rel=0.2)
    # A median of n independent normal samples has a variance of pi/2 of that of their mean.
    assert parts.in_launch == pytest.approx(math.pi / 2 * 0.1**2 / 400, rel=0.15)
    assert parts.within == pytest.approx(4 * parts.in_launch)


def test_samples_that_depend_on_each_other_do_not_look_like_more_than_they_are() -> None:
    independent = variance_components(launches(0.0, 0.1), 1.0)
    dependent = variance_components(launches(0.0, 0.1, correlation=0.7), 1.0)
    assert independent and dependent
    assert 3 < dependent.in_launch / independent.in_launch < 8  # (1 + 0.7) / (1 - 0.7) = 5.7
    assert dependent.between < 0.6 * dependent.in_launch


def test_no_spread_between_launches_is_not_negative() -> None:
    parts = variance_components([[1.0, 1.1, 0.9, 1.05, 0.95, 1.0]] * 4, 1.0)
    assert parts is not None and parts.between == 0


def test_nothing_follows_from_too_little() -> None:
    assert variance_components(launches(0.1, 0.1, count=2, samples=20), 1.0) is None
    assert variance_components(launches(0.1, 0.1, count=9, samples=5), 1.0) is None


def test_noise_between_launches_wants_many_short_ones() -> None:
    parts = VarianceComponents(in_launch=0.012**2, between=0.14**2, seconds=40.0, launches=10)
    plan = allocate(parts, total=10 * 45.0, overhead=5.0, level=0.95, fewest_launches=9)
    assert plan.launches > 50 and plan.seconds < 4
    assert plan.half_width < half_width(parts, 10, 40.0, 0.95) / 2


def test_noise_within_launches_wants_few_long_ones() -> None:
    parts = VarianceComponents(in_launch=0.1**2, between=0.001**2, seconds=10.0, launches=20)
    plan = allocate(parts, total=20 * 30.0, overhead=20.0, level=0.95, fewest_launches=9)
    assert plan.launches == 9


def test_the_optimum_is_cochrans() -> None:
    """Many launches, so that Student's t does not matter: m = sqrt(c within / between)."""
    parts = VarianceComponents(in_launch=0.02, between=0.01, seconds=1.0, launches=100)
    plan = allocate(parts, total=10_000, overhead=8.0, level=0.95, fewest_launches=9)
    assert plan.seconds == pytest.approx(math.sqrt(8.0 * 0.02 / 0.01), rel=0.05)


def test_time_for_less_than_the_fewest_launches_still_gives_them() -> None:
    parts = VarianceComponents(0.01, 0.01, 1.0, 9)
    plan = allocate(parts, total=5, overhead=3.0, level=0.95, fewest_launches=9)
    assert (plan.launches, plan.seconds) == (9, 1.0)


def test_what_is_not_normal_is_seen() -> None:
    normal = norm.ppf((np.arange(20) + 0.5) / 20)
    assert normality_p(list(normal)) > 0.9  # type: ignore[operator]
    assert normality_p([*normal, *(normal + 30)]) < 1e-4  # type: ignore[operator]
    assert normality_p([1.0, 2.0]) is normality_p([1.0] * 9) is None
