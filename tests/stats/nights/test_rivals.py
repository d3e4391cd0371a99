"""Other detectors, which the calibration puts beside the package's own: known answers."""

from __future__ import annotations

import numpy as np
import pytest

from roundtrip.bench.calibration import __main__ as calibration
from roundtrip.bench.calibration.models import DEMANDED, SD
from roundtrip.bench.calibration.rivals import table
from roundtrip.bench.calibration.rivals.given import used
from roundtrip.bench.calibration.rivals.table import NEW, NIGHTS, RIVALS, Site, limits, most

from .planted import SETTINGS


@pytest.fixture(scope="module")
def thresholds() -> dict[str, np.ndarray]:
    """What no quiet series of a site exceeds, on a model without and one with autocorrelation."""
    runs = [most(SETTINGS, Site(model, 500, 1, 0)) for model in ("Gaussian", "AR(1) 0.5")]
    return {name: limits([run[name] for run in runs], 0) for name in RIVALS}


@pytest.mark.parametrize("name", RIVALS)
def test_a_large_step_is_found_and_quiet_series_are_not(
    name: str, thresholds: dict[str, np.ndarray]
) -> None:
    steps = most(SETTINGS, Site("Gaussian", 100, 2, 0, step=8 * SD))
    assert table.alarms(steps[name], thresholds[name]).mean() >= 0.95
    calm = most(SETTINGS, Site("Gaussian", 100, 3, 0))
    assert table.alarms(calm[name], thresholds[name]).sum() <= 1


@pytest.mark.parametrize("name", RIVALS)
def test_evidence_tells_the_direction_and_nothing_before_the_step(name: str) -> None:
    logs, nodes = Site("Gaussian", 40, 4, 0).logs()
    before = RIVALS[name](used(logs, nodes, SETTINGS), SETTINGS)
    logs[:20, NIGHTS - NEW :] += 3 * SD
    logs[20:, NIGHTS - NEW :] -= 3 * SD
    evidence = RIVALS[name](used(logs, nodes, SETTINGS), SETTINGS)
    assert (evidence[:20, -1] > 0).all() and (evidence[20:, -1] < 0).all()
    assert np.array_equal(evidence[:, : NIGHTS - NEW], before[:, : NIGHTS - NEW])


@pytest.mark.parametrize("name", [name for name in RIVALS if name.startswith("e-")])
def test_an_e_detector_keeps_its_bound(name: str) -> None:
    """Its mean after n quiet nights is at most n, so it reaches 10 n in a tenth of the series."""
    watched = NIGHTS - SETTINGS.baseline_least
    evidence = RIVALS[name](used(*Site("Gaussian", 500, 5, 0).logs(), SETTINGS), SETTINGS)
    wealth = np.exp(np.abs(evidence[..., 0]))
    assert wealth[:, -1].mean() <= watched
    assert (wealth.max(axis=1) >= 10 * watched).mean() <= 0.1


def test_a_slow_node_is_no_step(thresholds: dict[str, np.ndarray]) -> None:
    run = most(SETTINGS, Site("sticky node", 100, 6, 0))
    assert all(table.alarms(run[name], thresholds[name]).sum() <= 2 for name in RIVALS)


def test_limits_allow_so_many_alarms_on_the_worst_model() -> None:
    runs = [np.random.default_rng(seed).exponential(size=(200, 3)) * seed for seed in (1, 2)]
    limit = limits(runs, 4)
    counts = [int(table.alarms(run, limit).sum()) for run in runs]
    assert max(counts) == 4


@pytest.mark.nightly
def test_the_command_shows_each_rival_beside_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["calibration", "--rivals", "--series", "60", "--processes", "1"]
    monkeypatch.setattr("sys.argv", asked)
    assert calibration.main() == 0
    rows = [line[2:31].strip() for line in capsys.readouterr().out.splitlines()[3:-1]]
    bounds = [f"{name}, 1/alpha" for name in RIVALS if name.startswith("e-")]
    assert sorted(rows) == sorted(["ours", "ours, no trend test", *RIVALS, *bounds])
    assert len(table._HEADS) == len(DEMANDED) + 1
