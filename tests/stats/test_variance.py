"""Variance components and the allocation of time: simulated launches whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from roundtrip.stats.variance import (
    Components,
    allocate,
    components,
    half_width,
    normality_p,
)


def launches(
    between: float, within: float, count: int = 100, samples: int = 400, correlation: float = 0.0
) -> list[list[float]]:
    """Log-normal samples: standard deviations between launches and of a sample within one."""
    random = np.random.default_rng(5)
    made = []
    for shift in between * random.standard_normal(count):
        noise = random.standard_normal(samples)
        for i in range(1, samples):
            noise[i] = correlation * noise[i - 1] + math.sqrt(1 - correlation**2) * noise[i]
        made.append([float(v) for v in np.exp(shift + within * noise)])
    return made


@pytest.mark.parametrize("between", [0.14, 0.02])
def test_components_are_those_of_the_simulation(between: float) -> None:
    found = components(launches(between, 0.1), 4.0)
    assert found is not None
    assert math.sqrt(found.between) == pytest.approx(between, rel=0.2)
    # A median of n independent normal samples has a variance of pi/2 of that of their mean.
    assert found.in_launch == pytest.approx(math.pi / 2 * 0.1**2 / 400, rel=0.15)
    assert found.within == pytest.approx(4 * found.in_launch)


def test_samples_that_depend_on_each_other_do_not_look_like_more_than_they_are() -> None:
    independent = components(launches(0.0, 0.1), 1.0)
    dependent = components(launches(0.0, 0.1, correlation=0.7), 1.0)
    assert independent and dependent
    assert 3 < dependent.in_launch / independent.in_launch < 8  # (1 + 0.7) / (1 - 0.7) = 5.7
    assert dependent.between < 0.6 * dependent.in_launch


def test_no_spread_between_launches_is_not_negative() -> None:
    found = components([[1.0, 1.1, 0.9, 1.05, 0.95, 1.0]] * 4, 1.0)
    assert found is not None and found.between == 0


def test_nothing_follows_from_too_little() -> None:
    assert components(launches(0.1, 0.1, count=2, samples=20), 1.0) is None
    assert components(launches(0.1, 0.1, count=9, samples=5), 1.0) is None


def test_noise_between_launches_wants_many_short_ones() -> None:
    parts = Components(in_launch=0.012**2, between=0.14**2, seconds=40.0, launches=10)
    plan = allocate(parts, total=10 * 45.0, overhead=5.0, level=0.95, fewest_launches=9)
    assert plan.launches > 50 and plan.seconds < 4
    assert plan.half_width < half_width(parts, 10, 40.0, 0.95) / 2


def test_noise_within_launches_wants_few_long_ones() -> None:
    parts = Components(in_launch=0.1**2, between=0.001**2, seconds=10.0, launches=20)
    plan = allocate(parts, total=20 * 30.0, overhead=20.0, level=0.95, fewest_launches=9)
    assert plan.launches == 9


def test_the_optimum_is_cochrans() -> None:
    """Many launches, so that Student's t does not matter: m = sqrt(c within / between)."""
    parts = Components(in_launch=0.02, between=0.01, seconds=1.0, launches=100)
    plan = allocate(parts, total=10_000, overhead=8.0, level=0.95, fewest_launches=9, shortest=0.1)
    assert plan.seconds == pytest.approx(math.sqrt(8.0 * 0.02 / 0.01), rel=0.05)


def test_time_for_less_than_the_fewest_launches_still_gives_them() -> None:
    parts = Components(0.01, 0.01, 1.0, 9)
    plan = allocate(parts, total=5, overhead=3.0, level=0.95, fewest_launches=9)
    assert (plan.launches, plan.seconds) == (9, 1.0)


def test_what_is_not_normal_is_told() -> None:
    normal = norm.ppf((np.arange(20) + 0.5) / 20)
    assert normality_p(list(normal)) > 0.9  # type: ignore[operator]
    assert normality_p([*normal, *(normal + 30)]) < 1e-4  # type: ignore[operator]
    assert normality_p([1.0, 2.0]) is normality_p([1.0] * 9) is None
