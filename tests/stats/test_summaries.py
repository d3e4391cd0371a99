"""Which statistic means something of which kind of value, and that it is formed as it says."""

from __future__ import annotations

import polars as pl
import pytest

from roundtrip.stats.summaries import (
    DEVIATION,
    GEOMETRIC_MEAN,
    HARMONIC_MEAN,
    LARGEST,
    LEAST,
    MEAN,
    MEDIAN,
    SUM,
    TOTAL,
    Kind,
    Statistic,
    Summary,
)


@pytest.mark.parametrize(
    ("statistic", "suits"),
    [
        (MEAN, {Kind.COST, Kind.COUNT}),
        (SUM, {Kind.COST, Kind.COUNT}),
        (HARMONIC_MEAN, {Kind.RATE}),
        (TOTAL, {Kind.RATE}),
        (GEOMETRIC_MEAN, {Kind.RATIO}),
        (MEDIAN, set(Kind)),
    ],
)
def test_what_a_statistic_suits(statistic: Statistic, suits: set[Kind]) -> None:
    found = {kind for kind in Kind if Summary("value", kind, "launches", statistic).suits}
    assert found == suits


def test_a_summary_forms_what_it_says() -> None:
    frame = pl.DataFrame({"value": [1.0, 2.0, 6.0]})
    for statistic, value in ((MEDIAN, 2.0), (LEAST, 1.0), (LARGEST, 6.0), (SUM, 9.0), (MEAN, 3.0)):
        summary = Summary("value", Kind.COST, "launches", statistic)
        assert frame.select(summary.formed("value")).item() == value
    assert str(summary) == "value: arithmetic mean over launches"
    assert frame.select(DEVIATION.of(pl.col("value"))).item() == pytest.approx(7**0.5)


def test_what_another_program_forms_is_not_formed_here() -> None:
    with pytest.raises(ValueError, match="not formed"):
        Summary("rate", Kind.RATE, "a run", TOTAL).formed("value")
