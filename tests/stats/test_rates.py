"""Rates keep their meaning."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.stats.rates import total_rate


def test_there_and_back() -> None:
    """60 km at 30 km/h and back at 60 km/h is 40 km/h, not 45."""
    assert total_rate([60, 60], [2, 1]) == pytest.approx(40)


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=20))
def test_of_equal_work_it_is_the_harmonic_mean(times: list[float]) -> None:
    rates = [7 / time for time in times]
    assert total_rate([7.0] * len(times), times) == pytest.approx(statistics.harmonic_mean(rates))


@pytest.mark.parametrize(("work", "times"), [([], []), ([1], [0]), ([1, 2], [1]), ([-1], [1])])
def test_what_is_no_rate(work: list[float], times: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        total_rate(work, times)
