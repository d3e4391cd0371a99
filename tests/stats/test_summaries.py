"""A statistic is formed as it says."""

from __future__ import annotations

import statistics

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.stats.summaries import (
    DEVIATION,
    LARGEST,
    LEAST,
    MEAN,
    MEDIAN,
    SUM,
    TOTAL,
    Kind,
    Summary,
    fewest_for_interval,
    total_rate,
)


def test_a_summary_forms_what_it_says() -> None:
    frame = pl.DataFrame({"value": [1.0, 2.0, 6.0]})
    for statistic, value in ((MEDIAN, 2.0), (LEAST, 1.0), (LARGEST, 6.0), (SUM, 9.0), (MEAN, 3.0)):
        summary = Summary("value", Kind.COST, "launches", statistic)
        assert frame.select(summary.aggregate("value")).item() == value
    assert str(summary) == "value: arithmetic mean over launches"
    assert frame.select(DEVIATION.aggregate(pl.col("value"))).item() == pytest.approx(7**0.5)


def test_what_another_program_forms_is_not_formed_here() -> None:
    with pytest.raises(ValueError, match="not computed"):
        Summary("rate", Kind.RATE, "a run", TOTAL).aggregate("value")


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=20))
def test_of_equal_work_it_is_the_harmonic_mean(times: list[float]) -> None:
    """60 km at 30 km/h and back at 60 km/h is 40 km/h, not 45."""
    rates = [7 / time for time in times]
    assert total_rate([7.0] * len(times), times) == pytest.approx(statistics.harmonic_mean(rates))


@pytest.mark.parametrize(("work", "times"), [([], []), ([1], [0]), ([1, 2], [1]), ([-1], [1])])
def test_what_is_no_rate(work: list[float], times: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        total_rate(work, times)


def test_the_fewest_launches_for_an_interval_follow_from_its_level() -> None:
    fewest = [fewest_for_interval(level) for level in (0.9, 0.95, 0.99)]
    assert fewest == [5, 6, 8]
