"""Calibration on the nights of a site whose noise is known."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import signal
from support.command import roundtrip
from support.nights import SITE, Nights

from roundtrip.errors import UserError
from roundtrip.history import detection
from roundtrip.history.detection import SeriesNoise
from roundtrip.measure import analysis

calibrate = partial(roundtrip, "calibrate")
SETTINGS = analysis.default().history


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
    new_analysis = analysis.parse(
        detection.with_evidence(result.evidence, analysis.default_text()), Path("analysis.toml")
    )
    assert new_analysis.history.evidence == pytest.approx(result.evidence)


def test_too_few_nights_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    noises = site(np.random.default_rng(4).normal(0, 0.01, (5, 39)), monkeypatch)
    with pytest.raises(UserError, match="no series has 40 nights"):
        detection.calibrate(noises, 60, 500, 1, SETTINGS)


@pytest.mark.nightly
def test_the_command_writes_thresholds_that_keep_the_promise(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    stretches = np.repeat(rng.choice([1.0, 1.03], 6, p=[0.7, 0.3]), 8)
    change = lambda night, _: float(stretches[night])  # noqa: E731
    Nights(tmp_path / "reports", series=10, launches=2, samples=2, change=change).write(45)
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
    (first, _) = Nights(tmp_path, series=1).write(2)
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
