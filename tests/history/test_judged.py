"""From the table of nights to the verdict of each series."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from support import years

from roundtrip.history.detection import histories, night_days
from roundtrip.history.night_rows import NIGHTS, SERIES
from roundtrip.measure import analysis
from roundtrip.stats.nights.verdicts import Verdict

SETTINGS = analysis.default().history


def verdict(names: tuple[object, ...], frame: pl.DataFrame) -> Verdict:
    return histories(frame, SETTINGS)[names].verdict(lower_is_better=True)


def named(frame: pl.DataFrame) -> tuple[object, ...]:
    return frame.select(SERIES.keys()).row(0)


def one(number: int) -> pl.DataFrame:
    frame = years.make(10, 90).nights
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
    assert verdict(named(frame), masked_frame) is Verdict.NO_VALUE


def test_of_two_sets_of_nodes_in_a_night_the_one_with_more_launches_stands_for_it() -> None:
    frame = one(4)
    slow_frame = frame.with_columns(
        pl.col("median") * 3, nodes=pl.lit("node99"), launches=pl.lit(1, pl.Int64)
    )
    assert histories(pl.concat([frame, slow_frame]), SETTINGS) == histories(frame, SETTINGS)


def test_a_set_of_nodes_that_is_left_out_hides_no_other_of_its_night() -> None:
    frame = one(4)
    disturbed_frame = frame.with_columns(
        pl.col("median") * 3,
        nodes=pl.lit("node99"),
        launches=pl.col("launches") + 1,
        left_out=pl.lit("disturbed"),
    )
    both = pl.concat([frame, disturbed_frame])
    assert histories(both, SETTINGS) == histories(frame, SETTINGS)


def test_nights_at_midnight_are_a_day_apart() -> None:
    starts = ["2026-11-02T23:59:30Z", "2026-11-04T00:00:20Z", "2026-11-10T23:59:50Z"]
    days = night_days(pl.DataFrame({"night": [*starts, starts[0]]}))
    assert np.diff(np.floor(days)).tolist() == [1, 7]
    assert np.diff(days) == pytest.approx([1, 7], abs=0.001)


def test_a_drift_is_given_for_a_year_however_often_a_campaign_runs() -> None:
    frame = years.make(1, 90).nights
    names, drifts = named(frame), {}
    for days in (1, 7):
        starts = {
            years.night(number): f"{datetime(2020, 1, 1) + timedelta(days=days * number):%FT%TZ}"
            for number in range(90)
        }
        ramp = pl.col("night").rank("dense") * 0.005
        rising = frame.with_columns(
            median=pl.lit(1e-6) * ramp.exp() * pl.col("median") / pl.col("median").mean(),
            night=pl.col("night").replace(starts),
        )
        drifts[days] = histories(rising, SETTINGS)[names].drift
    assert drifts[1] and drifts[7]
    assert drifts[1].yearly_ratio == pytest.approx(drifts[7].yearly_ratio ** 7, rel=0.05)


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
