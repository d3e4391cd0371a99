"""False alarms and power of the thresholds that come with the package, on a few hundred series.

The full counts take minutes: ``make calibration``.
"""

from __future__ import annotations

import resource
import time

import numpy as np
import pytest

from roundtrip.bench.calibration import quiet
from roundtrip.bench.calibration.models import DEMANDED, MODELS
from roundtrip.bench.calibration.planted import Planted
from roundtrip.stats.nights.judge import judge
from roundtrip.stats.nights.looks import alarms

from .planted import SETTINGS


@pytest.mark.parametrize("model", DEMANDED)
def test_false_alarms_are_rare(model: str) -> None:
    """One in 500 is the rate promised; three or more among 500 would be luck of 8 in 100."""
    (task,) = quiet.tasks(model, 90, 500, 1, SETTINGS)
    assert quiet.count(task).steps <= 2


def test_what_is_planted_is_found() -> None:
    planted = Planted(300, 2, SETTINGS)
    assert planted.power("Gaussian", 90, 10, 2) >= 0.85
    assert planted.power("AR(1) 0.3", 90, 10, 2) >= 0.40
    assert planted.power("AR(1) 0.3", 90, 10, 5) >= 0.95


def test_looking_every_night_tells_what_one_scan_tells() -> None:
    """The alarm of each look is that of the scan of the whole history, at the same night."""
    logs, nodes = MODELS["AR(1) 0.3"](np.random.default_rng(3), 30, 80)
    logs[:, 50:] += 0.03
    scanned = alarms(logs, nodes, SETTINGS)
    first: dict[int, int] = {}
    for night in range(30, 80):
        looked = alarms(logs[:, : night + 1], nodes[:, : night + 1], SETTINGS)
        for row, steps in enumerate(looked):
            if steps:
                assert first.setdefault(row, steps[0].told) == steps[0].told
                assert first[row] <= night
    assert first == {row: steps[0].told for row, steps in enumerate(scanned) if steps}
    assert len(first) >= 20


def test_the_interval_of_a_share_is_exact() -> None:
    low, high = quiet.interval(0, 20_000)
    assert low == 0 and high == pytest.approx(1 - 0.025 ** (1 / 20_000))
    low, high = quiet.interval(10, 100)
    assert low == pytest.approx(0.0490, abs=1e-4) and high == pytest.approx(0.1762, abs=1e-4)


def test_a_year_of_500_series_takes_seconds() -> None:
    logs, nodes = MODELS["Gaussian"](np.random.default_rng(4), 500, 365)
    start = time.process_time()
    judge(logs, nodes, SETTINGS)
    assert time.process_time() - start < 6  # half of that alone on a machine
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1.5e6  # of all tests so far; kB
