"""Rates keep their meaning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.stats.rates import harmonic_mean, total_rate


def test_there_and_back() -> None:
    """60 km at 30 km/h and back at 60 km/h is 40 km/h, not 45."""
    assert harmonic_mean([30, 60]) == pytest.approx(40)
    assert total_rate([60, 60], [2, 1]) == pytest.approx(40)


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=20))
def test_equal_work_makes_both_the_same(times: list[float]) -> None:
    rates = [7 / time for time in times]
    assert harmonic_mean(rates) == pytest.approx(total_rate([7.0] * len(times), times))
    assert min(rates) * (1 - 1e-9) <= harmonic_mean(rates) <= sum(rates) / len(rates) * (1 + 1e-9)


@pytest.mark.parametrize(("work", "times"), [([], []), ([1], [0]), ([1, 2], [1]), ([-1], [1])])
def test_what_is_no_rate(work: list[float], times: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        total_rate(work, times)


@pytest.mark.parametrize("rates", [[], [1, 0], [-1]])
def test_what_has_no_harmonic_mean(rates: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        harmonic_mean(rates)
