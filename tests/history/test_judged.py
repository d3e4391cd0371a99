"""From the table of nights to the verdict of each series."""

from __future__ import annotations

import polars as pl
from support import years

from roundtrip.collect import analysis
from roundtrip.collect.night_rows import NIGHTS, SERIES
from roundtrip.history.detection import histories
from roundtrip.stats.nights.verdicts import Verdict

SETTINGS = analysis.default().history


def verdict(names: tuple[object, ...], frame: pl.DataFrame) -> Verdict:
    return histories(frame, SETTINGS)[names].verdict(lower_is_better=True)


def named(frame: pl.DataFrame) -> tuple[object, ...]:
    return frame.select(SERIES.keys()).row(0)


def one(number: int, series: int = 10) -> pl.DataFrame:
    frame = years.make(series, 90).nights
    names = frame.select(SERIES.keys()).unique(maintain_order=True).row(number)
    conditions = [pl.col(name).eq_missing(value) for name, value in zip(SERIES, names, strict=True)]
    return frame.filter(conditions)


def test_a_planted_step_is_found_in_its_series_at_its_night() -> None:
    frame = years.make(40, 90).nights.sample(fraction=1.0, shuffle=True, seed=5)
    series_histories = histories(frame, SETTINGS)
    steps = {
        names[3:5]: history.steps[-1].night
        for names, history in series_histories.items()
        if history.steps
    }
    planted_series = {("mpi", 1), ("mpi", 2), ("mpi", 4), ("mpi", 8)}
    assert {abs(steps[names] - 78) for names in planted_series} <= {0, 1}
    assert list(series_histories) == sorted(series_histories)


def test_nights_are_counted_over_the_whole_history() -> None:
    step_frame, calm_frame = one(0), one(4)
    late_frame = step_frame.filter(pl.col("night") >= years.night(10))
    history = histories(pl.concat([calm_frame, late_frame]), SETTINGS)[named(late_frame)]
    assert abs(history.steps[-1].night - 78) <= 1


def test_a_night_that_was_left_out_does_not_count() -> None:
    frame = one(0)
    is_after = pl.col("night") >= years.night(78)
    masked_frame = frame.with_columns(
        left_out=pl.when(is_after).then(pl.lit("late")).otherwise("left_out")
    )
    assert verdict(named(frame), frame) is Verdict.REGRESSED
    assert verdict(named(frame), masked_frame) is Verdict.UNCHANGED


def test_of_two_sets_of_nodes_in_a_night_the_one_with_more_launches_stands_for_it() -> None:
    frame = one(4)
    slow_frame = frame.with_columns(
        pl.col("median") * 3, nodes=pl.lit("node99"), launches=pl.lit(1, pl.Int64)
    )
    assert histories(pl.concat([frame, slow_frame]), SETTINGS) == histories(frame, SETTINGS)


def test_a_slow_set_of_nodes_is_no_step_but_an_unknown_one_is() -> None:
    frame = one(4)
    is_after = pl.col("night") >= years.night(82)
    slow_frame = frame.with_columns(
        median=pl.when(is_after).then(pl.col("median") * 1.1).otherwise("median"),
        nodes=pl.when(is_after).then(pl.lit("node99")).otherwise(pl.lit("node1")),
    )
    assert verdict(named(frame), slow_frame) is not Verdict.REGRESSED
    assert verdict(named(frame), slow_frame.with_columns(nodes=pl.lit(""))) is Verdict.REGRESSED


def test_nothing_and_zero_are_no_value() -> None:
    assert histories(pl.DataFrame(schema=NIGHTS), SETTINGS) == {}
    zero_frame = one(4).with_columns(median=pl.lit(0.0))
    assert verdict(named(zero_frame), zero_frame) is Verdict.TOO_FEW_NIGHTS
