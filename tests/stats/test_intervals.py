"""The rank interval of the median: known answers, SciPy as oracle, coverage, properties."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, quantile_test

from roundtrip.stats.summaries import Interval, lower_rank, median_interval, median_intervals

values = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("n", "rank"), [(0, 0), (1, 0), (5, 0), (6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (100, 40)]
)
def test_ranks_of_the_published_tables(n: int, rank: int) -> None:
    assert lower_rank(n, 0.95) == rank


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_scipy_agrees(level: float) -> None:
    for n in range(1, 80):
        drawn = np.random.default_rng(n).normal(size=n)
        ours = median_interval(list(drawn), level)
        theirs = quantile_test(drawn, q=0, p=0.5).confidence_interval(level)
        if ours.exists:
            assert (ours.low, ours.high) == (theirs.low, theirs.high), n
        else:
            assert np.isnan(theirs.low) and np.isnan(theirs.high), n


def test_fewer_than_six_launches_have_no_interval() -> None:
    assert median_interval([3, 1, 2, 5, 4], 0.95) == Interval(3.0, None, None, 5)
    assert median_interval([3, 1, 2, 5, 4, 6], 0.95) == Interval(3.5, 1.0, 6.0, 6)


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")]])
def test_nothing_and_nan_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one value"):
        median_interval(bad, 0.95)


@given(values)
def test_the_interval_holds_the_median_and_is_made_of_values(drawn: list[float]) -> None:
    interval = median_interval(drawn, 0.95)
    assert interval.n == len(drawn)
    if interval.low is not None and interval.high is not None:
        assert interval.low <= interval.median <= interval.high
        assert {interval.low, interval.high} <= set(drawn)


@given(values, st.randoms())
def test_order_does_not_matter_and_monotone_maps_commute(
    drawn: list[float], random: object
) -> None:
    shuffled = list(drawn)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    interval = median_interval(drawn, 0.95)
    assert median_interval(shuffled, 0.95) == interval
    doubled = median_interval([2 * value for value in drawn], 0.95)
    assert doubled.low == (None if interval.low is None else 2 * interval.low)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(1e-9, 1e9)), min_size=1, max_size=60))
def test_the_grouped_form_is_the_single_one(drawn: list[tuple[str, float]]) -> None:
    frame = pl.DataFrame(drawn, schema={"g": pl.String, "v": pl.Float64}, orient="row")
    for row in median_intervals(frame, ["g"], "v", 0.95).iter_rows(named=True):
        alone = median_interval([value for group, value in drawn if group == row["g"]], 0.95)
        assert row["median"] == pytest.approx(alone.median)
        assert (row["low"], row["high"], row["n"]) == (alone.low, alone.high, alone.n)


@pytest.mark.parametrize("n", [6, 8, 10, 20, 30])
@pytest.mark.parametrize("shape", ["lognormal", "bimodal", "heavy"])
def test_coverage_is_exact_whatever_the_distribution(n: int, shape: str) -> None:
    """2000 seeded trials: three sigma of the estimate are at most 0.015."""
    exact = 1 - 2 * binom.cdf(lower_rank(n, 0.95) - 1, n, 0.5)
    assert exact >= 0.95
    rng = np.random.default_rng([n, len(shape)])
    size = (2000, n)
    if shape == "lognormal":
        drawn, truth = np.exp(0.03 * rng.standard_normal(size)), 1.0
    elif shape == "bimodal":
        slow = rng.random(size) < 0.5
        drawn, truth = np.where(slow, 2.0, 0.0) + rng.uniform(-1, 1, size), 1.0
    else:
        drawn, truth = rng.standard_cauchy(size), 0.0
    intervals = [median_interval(list(row), 0.95) for row in drawn]
    covered = np.mean([not interval.excludes(truth) for interval in intervals])
    assert covered == pytest.approx(exact, abs=0.015)


def test_what_an_interval_answers() -> None:
    some, none = Interval(1.0, 0.9, 1.2, 8), Interval(1.0, None, None, 3)
    assert some.within(0.9, 1.2) and not some.within(0.91, 1.2)
    assert some.excludes(1.3) and not some.excludes(1.2)
    assert not none.within(0, 9) and not none.excludes(5) and not none.exists
