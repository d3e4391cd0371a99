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
    every = [pl.col(name).eq_missing(value) for name, value in zip(SERIES, names, strict=True)]
    return frame.filter(every)


def test_a_planted_step_is_found_in_its_series_at_its_night() -> None:
    frame = years.make(40, 90).nights.sample(fraction=1.0, shuffle=True, seed=5)
    found = histories(frame, SETTINGS)
    steps = {names[3:5]: one.steps[-1].night for names, one in found.items() if one.steps}
    planted = {("mpi", 1), ("mpi", 2), ("mpi", 4), ("mpi", 8)}
    assert {abs(steps[names] - 78) for names in planted} <= {0, 1}
    assert list(found) == sorted(found)


def test_nights_are_counted_over_the_whole_history() -> None:
    stepped, other = one(0), one(4)
    late = stepped.filter(pl.col("night") >= years.night(10))
    found = histories(pl.concat([other, late]), SETTINGS)[named(late)]
    assert abs(found.steps[-1].night - 78) <= 1


def test_a_night_that_was_left_out_does_not_count() -> None:
    frame = one(0)
    since = pl.col("night") >= years.night(78)
    left = frame.with_columns(left_out=pl.when(since).then(pl.lit("late")).otherwise("left_out"))
    assert verdict(named(frame), frame) is Verdict.REGRESSED
    assert verdict(named(frame), left) is Verdict.UNCHANGED


def test_of_two_sets_of_nodes_in_a_night_the_one_with_more_launches_stands_for_it() -> None:
    frame = one(4)
    slow = frame.with_columns(
        pl.col("median") * 3, nodes=pl.lit("node99"), launches=pl.lit(1, pl.Int64)
    )
    assert histories(pl.concat([frame, slow]), SETTINGS) == histories(frame, SETTINGS)


def test_a_slow_set_of_nodes_is_no_step_but_an_unknown_one_is() -> None:
    frame = one(4)
    since = pl.col("night") >= years.night(82)
    slow = frame.with_columns(
        median=pl.when(since).then(pl.col("median") * 1.1).otherwise("median"),
        nodes=pl.when(since).then(pl.lit("node99")).otherwise(pl.lit("node1")),
    )
    assert verdict(named(frame), slow) is not Verdict.REGRESSED
    assert verdict(named(frame), slow.with_columns(nodes=pl.lit(""))) is Verdict.REGRESSED


def test_nothing_and_zero_are_no_value() -> None:
    assert histories(pl.DataFrame(schema=NIGHTS), SETTINGS) == {}
    nought = one(4).with_columns(median=pl.lit(0.0))
    assert verdict(named(nought), nought) is Verdict.TOO_FEW_NIGHTS
