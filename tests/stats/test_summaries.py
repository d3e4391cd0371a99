"""Statistics, and the rank interval of the median: SciPy as oracle, properties."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import quantile_test

from roundtrip.stats.summaries import (
    MAXIMUM,
    MEAN,
    MEDIAN,
    MINIMUM,
    RATIO_OF_TOTALS,
    STANDARD_DEVIATION,
    SUM,
    Interval,
    Summary,
    ValueKind,
    median_interval,
    median_intervals,
    min_launches_for_interval,
)

values = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_scipy_agrees(level: float) -> None:
    for n in range(1, 80):
        sample = np.random.default_rng(n).normal(size=n)
        interval = median_interval(list(sample), level)
        oracle = quantile_test(sample, q=0, p=0.5).confidence_interval(level)
        if interval.exists:
            assert (interval.low, interval.high) == (oracle.low, oracle.high), n
        else:
            assert np.isnan(oracle.low) and np.isnan(oracle.high), n


def test_fewer_than_six_launches_have_no_interval() -> None:
    assert median_interval([3, 1, 2, 5, 4], 0.95) == Interval(3.0, None, None, 5)
    assert median_interval([3, 1, 2, 5, 4, 6], 0.95) == Interval(3.5, 1.0, 6.0, 6)


@pytest.mark.parametrize("sample", [[], [1.0, float("nan")]])
def test_nothing_and_nan_are_refused(sample: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one value"):
        median_interval(sample, 0.95)


@given(values)
def test_the_interval_holds_the_median_and_is_made_of_values(sample: list[float]) -> None:
    interval = median_interval(sample, 0.95)
    assert interval.n == len(sample)
    if interval.low is not None and interval.high is not None:
        assert interval.low <= interval.median <= interval.high
        assert {interval.low, interval.high} <= set(sample)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(1e-9, 1e9)), min_size=1, max_size=60))
def test_the_grouped_form_is_the_single_one(pairs: list[tuple[str, float]]) -> None:
    frame = pl.DataFrame(pairs, schema={"g": pl.String, "v": pl.Float64}, orient="row")
    for row in median_intervals(frame, ["g"], "v", 0.95).iter_rows(named=True):
        interval = median_interval([value for group, value in pairs if group == row["g"]], 0.95)
        assert row["median"] == pytest.approx(interval.median)
        assert (row["low"], row["high"], row["n"]) == (interval.low, interval.high, interval.n)


def test_what_an_interval_answers() -> None:
    interval, point = Interval(1.0, 0.9, 1.2, 8), Interval(1.0, None, None, 3)
    assert interval.within(0.9, 1.2) and not interval.within(0.91, 1.2)
    assert interval.excludes(1.3) and not interval.excludes(1.2)
    assert not point.within(0, 9) and not point.excludes(5) and not point.exists


def test_a_summary_forms_what_it_says() -> None:
    frame = pl.DataFrame({"value": [1.0, 2.0, 6.0]})
    for statistic, value in (
        (MEDIAN, 2.0),
        (MINIMUM, 1.0),
        (MAXIMUM, 6.0),
        (SUM, 9.0),
        (MEAN, 3.0),
    ):
        summary = Summary("value", ValueKind.COST, "launches", statistic)
        assert frame.select(summary.aggregate("value")).item() == value
    assert str(summary) == "value: arithmetic mean over launches"
    assert frame.select(STANDARD_DEVIATION.aggregate(pl.col("value"))).item() == pytest.approx(
        7**0.5
    )


def test_what_another_program_forms_is_not_formed_here() -> None:
    with pytest.raises(ValueError, match="not computed"):
        Summary("rate", ValueKind.RATE, "a run", RATIO_OF_TOTALS).aggregate("value")


def test_the_fewest_launches_for_an_interval_follow_from_its_level() -> None:
    fewest = [min_launches_for_interval(level) for level in (0.9, 0.95, 0.99)]
    assert fewest == [5, 6, 8]
