"""A statistic is formed as it says."""

from __future__ import annotations

import polars as pl
import pytest

from roundtrip.stats.summaries import (
    DEVIATION,
    LEAST,
    MAXIMUM,
    MEAN,
    MEDIAN,
    SUM,
    TOTAL,
    Kind,
    Summary,
    fewest_for_interval,
)


def test_a_summary_forms_what_it_says() -> None:
    frame = pl.DataFrame({"value": [1.0, 2.0, 6.0]})
    for statistic, value in ((MEDIAN, 2.0), (LEAST, 1.0), (MAXIMUM, 6.0), (SUM, 9.0), (MEAN, 3.0)):
        summary = Summary("value", Kind.COST, "launches", statistic)
        assert frame.select(summary.aggregate("value")).item() == value
    assert str(summary) == "value: arithmetic mean over launches"
    assert frame.select(DEVIATION.aggregate(pl.col("value"))).item() == pytest.approx(7**0.5)


def test_what_another_program_forms_is_not_formed_here() -> None:
    with pytest.raises(ValueError, match="not computed"):
        Summary("rate", Kind.RATE, "a run", TOTAL).aggregate("value")


def test_the_fewest_launches_for_an_interval_follow_from_its_level() -> None:
    fewest = [fewest_for_interval(level) for level in (0.9, 0.95, 0.99)]
    assert fewest == [5, 6, 8]
