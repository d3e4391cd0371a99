"""From the table of nights to the verdict of each series, and calibration on known noise."""

from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import signal
from support import years
from support.command import run_roundtrip
from support.nights import SITE, NightWriter, start_time

from roundtrip.content.nights import JudgedSeries, judge_all_series
from roundtrip.errors import UserError
from roundtrip.history import detection
from roundtrip.history.detection import SeriesNoise, histories, night_days
from roundtrip.history.night_rows import NIGHTS, PROVENANCE, SERIES
from roundtrip.measure import analysis
from roundtrip.stats.nights.verdicts import Verdict

SETTINGS = analysis.default_settings().history
calibrate = partial(run_roundtrip, "calibrate")


def verdict(names: tuple[object, ...], frame: pl.DataFrame) -> Verdict:
    return histories(frame, SETTINGS)[names].verdict()


def named(frame: pl.DataFrame) -> tuple[object, ...]:
    return frame.select(SERIES.keys()).row(0)


def one(number: int) -> pl.DataFrame:
    frame = years.make_history(10, 90).nights
    names = frame.select(SERIES.keys()).unique(maintain_order=True).row(number)
    conditions = [pl.col(name).eq_missing(value) for name, value in zip(SERIES, names, strict=True)]
    return frame.filter(conditions)


def test_a_planted_step_is_found_in_its_series_at_its_night() -> None:
    frame = years.make_history(40, 90).nights.sample(fraction=1.0, shuffle=True, seed=5)
    series_histories = histories(frame, SETTINGS)
    steps = {
        names[3:5]: each.steps[-1].night for names, each in series_histories.items() if each.steps
    }
    planted_series = {("mpi", 1), ("mpi", 2), ("mpi", 4), ("mpi", 8)}
    assert {abs(steps[names] - 78) for names in planted_series} <= {0, 1}
    assert list(series_histories) == sorted(series_histories)


def test_nights_are_counted_over_the_whole_history() -> None:
    step_frame, calm_frame = one(0), one(4)
    late_frame = step_frame.filter(pl.col("night") >= start_time(10))
    history = histories(pl.concat([calm_frame, late_frame]), SETTINGS)[named(late_frame)]
    assert abs(history.steps[-1].night - 78) <= 1


def test_a_night_that_was_left_out_does_not_count() -> None:
    frame = one(0)
    is_after = pl.col("night") >= start_time(78)
    reason = pl.when(is_after).then(pl.lit("late")).otherwise("left_out")
    masked_frame = frame.with_columns(left_out=reason)
    assert verdict(named(frame), frame) is Verdict.REGRESSED
    assert verdict(named(frame), masked_frame) is Verdict.NO_VALUE


@pytest.mark.parametrize(
    "columns",
    [
        {"launches": pl.lit(1, pl.Int64)},
        {"launches": pl.col("launches") + 1, "left_out": pl.lit("disturbed")},
    ],
    ids=["fewer launches", "left out"],
)
def test_of_two_sets_of_nodes_in_a_night_the_one_with_more_launches_that_count_stands_for_it(
    columns: dict[str, pl.Expr],
) -> None:
    frame = one(4)
    slow_frame = frame.with_columns(pl.col("median") * 3, nodes=pl.lit("node99"), **columns)
    assert histories(pl.concat([frame, slow_frame]), SETTINGS) == histories(frame, SETTINGS)


def test_nights_at_midnight_are_a_day_apart() -> None:
    starts = ["2026-11-02T23:59:30Z", "2026-11-04T00:00:20Z", "2026-11-10T23:59:50Z"]
    days = night_days(pl.DataFrame({"night": [*starts, starts[0]]}))
    assert np.diff(np.floor(days)).tolist() == [1, 7]
    assert np.diff(days) == pytest.approx([1, 7], abs=0.001)


def test_a_drift_is_given_for_a_year_however_often_a_campaign_runs() -> None:
    frame = years.make_history(1, 90).nights
    names, drifts = named(frame), {}
    for days in (1, 7):
        starts = {
            start_time(number): f"{datetime(2020, 1, 1) + timedelta(days=days * number):%FT%TZ}"
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
    is_after = pl.col("night") >= start_time(82)
    slow_frame = frame.with_columns(
        median=pl.when(is_after).then(pl.col("median") * 1.1).otherwise("median"),
        nodes=pl.when(is_after).then(pl.lit("node99")).otherwise(pl.lit("node1")),
    )
    assert verdict(named(frame), slow_frame) is not Verdict.REGRESSED
    assert verdict(named(frame), slow_frame.with_columns(nodes=pl.lit(""))) is Verdict.REGRESSED


def test_nothing_is_no_value_and_zero_is_one() -> None:
    assert histories(pl.DataFrame(schema=NIGHTS), SETTINGS) == {}
    zero_frame = one(4).with_columns(median=pl.lit(0.0))
    assert verdict(named(zero_frame), zero_frame) is Verdict.UNCHANGED


def judged(values: list[float], lower_is_better: bool = True) -> JudgedSeries:
    """A series with these values, of which none is left out."""
    columns = {"median": pl.Series(values), "unit": pl.lit("errors"), "left_out": pl.lit("")}
    frame = one(4).sort("night").with_columns(**columns, lower_is_better=lower_is_better)
    (series,) = judge_all_series(frame, pl.DataFrame(schema=PROVENANCE), SETTINGS).judged_series
    return series


@pytest.mark.parametrize(
    ("lower_is_better", "expected"), [(True, "regressed"), (False, "improved")]
)
def test_nights_of_zero_count_and_are_told(lower_is_better: bool, expected: str) -> None:
    errors = [0.0, 0.0, 1.0, 0.0, 0.0, 2.0] * 13 + [9.0, 11.0, 8.0, 10.0, 12.0, 9.0] * 2
    series = judged(errors, lower_is_better)
    assert series.judgement.verdict == expected
    assert series.history.steps[-1].night == 78
    assert str(series.level_before).split()[0] == "0"
    assert series.zero_text == "0 in 52 nights, which counts as 0.71"


@pytest.mark.parametrize(
    ("value", "step", "zeros"),
    [
        (0.0, "", "0 in all 90 nights: a rise from 0 is no percentage"),
        (64.0, "less than 0.01\N{NO-BREAK SPACE}%", ""),
    ],
)
def test_a_constant_series_would_have_shown_no_step_of_a_billionth(
    value: float, step: str, zeros: str
) -> None:
    series = judged([value] * 90)
    assert (series.judgement.detectable_step_text, series.zero_text) == (step, zeros)


def test_a_first_rise_from_zero_is_a_step() -> None:
    errors = [0.0] * 82 + [8.0, 12.0, 9.0, 11.0, 10.0, 8.0, 12.0, 9.0]
    assert judged(errors).judgement.verdict is Verdict.REGRESSED


def test_zeros_of_a_measured_value_count_as_a_share_of_the_least() -> None:
    waits = [0.0, 2.5, 3.5, 0.0] * 22 + [2.5] * 2
    assert judged(waits).zero_text.endswith("which counts as 0.71 times the least other value")


def test_the_least_value_of_a_series_is_no_zero() -> None:
    assert str(judged([5.0] * 60 + [10.0] * 30).level_before).split()[0] == "5.00"


def site(logs: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> list[SeriesNoise]:
    names = [(str(number),) for number in range(len(logs))]
    series = (names, logs, np.full(logs.shape, -1))
    monkeypatch.setattr(detection, "series_table", lambda _: series)
    monkeypatch.setattr(detection, "night_days", lambda _: np.arange(float(logs.shape[1])))
    return detection.measure_noise(None, SETTINGS)  # type: ignore[arg-type]


def test_the_noise_of_each_series_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    innovations = np.random.default_rng(1).normal(0, 0.01, (40, 200))
    logs = signal.lfilter([1.0], [1.0, -0.5], innovations, axis=1)
    logs[:, 150:] += 0.05
    logs[0, 20] += 0.5
    noises = site(logs, monkeypatch)
    assert len(noises) == 40 and noises[0].incidents == 1
    assert np.median([noise.sd for noise in noises]) == pytest.approx(0.01155, rel=0.1)
    assert np.median([noise.phi for noise in noises]) == pytest.approx(0.5, abs=0.08)
    assert all(noise.steps >= 1 for noise in noises)


def test_thresholds_that_fit_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    noises = site(np.random.default_rng(2).normal(0, 0.01, (40, 120)), monkeypatch)
    result = detection.calibrate(noises, 60, 500, 1, SETTINGS)
    assert result.false_alarms <= 1 and result.evidence == SETTINGS.evidence


@pytest.mark.nightly
def test_noise_that_moves_in_stretches_needs_higher_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    stretches = np.repeat(rng.choice([0.0, 0.03], (20, 30), p=[0.8, 0.2]), 8, axis=1)
    logs = stretches + rng.normal(0, 0.01, stretches.shape)
    noises = [SeriesNoise(("",), 0.01, 0.0, 0, 1, 0, row) for row in logs]
    result = detection.calibrate(noises, 60, 500, 1, SETTINGS)
    assert result.false_alarms > 1 >= result.remaining_alarms
    assert result.evidence > SETTINGS.evidence
    text = detection.replace_evidence(result.evidence, analysis.default_toml())
    new_analysis = analysis.parse(text, Path("analysis.toml"))
    assert new_analysis.history.evidence == pytest.approx(result.evidence)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[disturbance]\nsteal_fraction = 0.05", "[history] # ours\nnights_least = 14\n"),
        *("[history.minimum_effects]\nosu = 0.05\n", "[history]\nevidence=4.4\n"),
    ],
)
def test_an_evidence_is_written_into_a_file_that_may_lack_it(text: str) -> None:
    new_text = detection.replace_evidence(5.5, text)
    assert analysis.parse(new_text, Path("analysis.toml")).history.evidence == 5.5


def test_too_few_nights_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    noises = site(np.random.default_rng(4).normal(0, 0.01, (5, 39)), monkeypatch)
    with pytest.raises(UserError, match="no series has 40 nights"):
        detection.calibrate(noises, 60, 500, 1, SETTINGS)


@pytest.mark.nightly
def test_the_command_writes_thresholds_that_keep_the_promise(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    stretches = np.repeat(rng.choice([1.0, 1.03], 6, p=[0.7, 0.3]), 8)
    change = lambda night, _: float(stretches[night])  # noqa: E731
    NightWriter(tmp_path / "reports", series=10, launches=2, samples=2, change=change).write(45)
    file = tmp_path / "analysis.toml"
    options = ("--series", "500", "--nights", "60", "--write", file)
    status, output, _ = calibrate(SITE, "--reports", tmp_path / "reports", *options)
    evidence = analysis.load(file).history.evidence
    assert "10 series: a night scatters by" in output and f"evidence = {evidence:.1f}" in output
    assert status == int(evidence != SETTINGS.evidence)


def test_a_site_without_nights_is_an_error(tmp_path: Path) -> None:
    status, _, error = calibrate("nowhere", "--reports", tmp_path)
    assert status == 2 and "no series has 40 nights" in error


def test_the_command_warns_of_a_night_that_it_cannot_read(tmp_path: Path) -> None:
    (first, _) = NightWriter(tmp_path, series=1).write(2)
    (first / "report.json").unlink()
    *_, error = calibrate(SITE, "--reports", tmp_path)
    assert f"warning: {first}: not a published report\n" in error


def test_a_place_that_takes_no_file_fails_before_a_simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "nowhere" / "analysis.toml"
    monkeypatch.setattr(detection, "measure_noise", pytest.fail)
    error = f"roundtrip: {place.parent}: no such folder\n"
    assert calibrate(SITE, "--write", place) == (2, "", error)
