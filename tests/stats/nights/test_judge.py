"""What is told of series in which something was planted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from roundtrip.stats.nights.judge import judge
from roundtrip.stats.nights.told import Outcome

from .planted import SD, SETTINGS, quiet, told


def test_a_step_is_found_at_its_night_with_its_size() -> None:
    logs = quiet(50, 120)
    logs[:, 90:] += math.log(1.05)
    for one in told(logs):
        (step,) = one.steps
        assert step.night == pytest.approx(90, abs=1)
        assert step.ratio == pytest.approx(1.05, abs=0.015)
        assert abs(step.evidence) >= step.threshold
        assert one.drift is None


def test_a_change_of_the_whole_site_hides_no_later_one() -> None:
    logs = quiet(300, 140)
    logs[:, 60:] += 0.04
    logs[:, 100:] -= 0.04
    both = [
        [step.night for step in one.steps] == [pytest.approx(60, abs=3), pytest.approx(100, abs=3)]
        for one in told(logs)
    ]
    assert sum(both) >= 285


def test_the_interval_of_a_step_covers_its_size() -> None:
    logs = quiet(200, 120, seed=2)
    logs[:, 80:] += math.log(1.05)
    covered = sum(step.low <= 1.05 <= step.high for one in told(logs) for step in one.steps)
    assert covered >= 180


def test_a_night_alone_is_a_spike_and_no_step() -> None:
    logs = quiet(20, 90)
    logs[:, [30, 60, 89]] += 0.3
    for one in told(logs):
        assert one.spikes == (30, 60, 89)
        assert not one.steps and one.used == 87
        assert one.newest is not None and one.newest.is_outside


def test_a_level_far_off_is_a_step_and_no_spikes() -> None:
    logs = quiet(20, 90)
    logs[:, 70:] += 0.3
    for one in told(logs):
        assert not one.spikes
        assert [step.night for step in one.steps] == [70]


def test_a_drift_is_a_drift_and_no_step() -> None:
    logs = quiet(60, 365) + np.linspace(0, math.log(1.05), 365)
    answers = told(logs)
    drifts = [one.drift for one in answers if one.drift]
    assert len(drifts) >= 58
    assert sum(bool(one.steps) for one in answers) <= 2
    assert np.median([one.a_year for one in drifts]) == pytest.approx(1.05, abs=0.005)


def test_a_slow_node_set_is_no_step_when_the_nodes_are_known() -> None:
    logs = quiet(20, 120)
    nodes = np.zeros(logs.shape, int)
    for start in (20, 50, 95):
        nodes[:, start : start + 9] = 1
    logs[nodes == 1] += 0.04
    assert not any(one.steps for one in told(logs, nodes))


def test_a_step_on_known_nodes_is_found_on_both() -> None:
    logs = quiet(20, 120)
    nodes = np.zeros(logs.shape, int) + np.arange(120) % 2
    logs += 0.04 * nodes
    logs[:, 100:] += math.log(1.05)
    for one in told(logs, nodes):
        assert [step.night for step in one.steps] == [pytest.approx(100, abs=1)]
        assert one.steps[0].ratio == pytest.approx(1.05, abs=0.015)


def test_a_move_to_other_nodes_is_not_called_a_step() -> None:
    logs = quiet(20, 120)
    nodes = np.zeros(logs.shape, int)
    nodes[:, 100:] = 7
    logs[:, 100:] += 0.05
    assert not any(one.steps for one in told(logs, nodes))


def test_the_newest_nights_on_new_nodes_cannot_be_compared() -> None:
    logs = quiet(5, 90)
    nodes = np.zeros(logs.shape, int)
    nodes[:, 80:] = 3
    for one in told(logs[:, :86], nodes[:, :86]):
        assert "newest" in one.why and one.outcome(lower_is_better=True) is Outcome.CANNOT_TELL


def test_news_is_a_step_that_was_told_lately() -> None:
    logs = quiet(20, 120)
    logs[:, 60:] += 0.05
    assert all(one.recent is None for one in told(logs))
    for one in told(logs[:, :70]):
        assert one.recent == one.steps[-1]
        assert one.outcome(lower_is_better=True) is Outcome.REGRESSED
        assert one.outcome(lower_is_better=False) is Outcome.IMPROVED


@pytest.mark.parametrize("nights", [0, 1, 3, 12])
def test_too_few_nights_say_nothing(nights: int) -> None:
    for one in told(quiet(3, nights)):
        assert one.used == nights and not one.steps
        assert one.why == f"{nights} nights, and 30 are needed"
        assert one.outcome(lower_is_better=True) is Outcome.CANNOT_TELL


def test_rows_without_a_night_and_rows_that_never_change_are_told_too() -> None:
    logs = quiet(4, 90)
    logs[0] = np.nan
    logs[1] = 3.0
    logs[2] = np.inf
    answers = told(logs)
    assert [one.used for one in answers] == [0, 90, 0, 90]
    assert not any(one.steps or one.drift or one.spikes for one in answers)
    assert answers[1].outcome(lower_is_better=True) is Outcome.UNCHANGED


def test_nothing_in_is_nothing_out() -> None:
    assert told(np.empty((0, 90))) == []
    with pytest.raises(ValueError, match="equal tables"):
        judge(np.zeros((2, 3)), np.zeros((2, 4), int), SETTINGS)


def test_nights_are_counted_with_those_that_were_left_out() -> None:
    logs = quiet(20, 140)
    logs[:, 100:] += 0.05
    logs[:, 10:40:2] = np.nan
    for one in told(logs):
        assert one.used == 125
        assert [step.night for step in one.steps] == [pytest.approx(100, abs=1)]


def test_would_see_is_what_is_seen() -> None:
    logs = quiet(300, 110, seed=4)
    sees = [one.would_see for one in told(logs[:, :100])]
    assert all(sees)
    planted = logs.copy()
    planted[:, 100:] += np.log1p(np.array(sees, dtype=float))[:, None]
    found = sum(bool(one.steps) for one in told(planted))
    assert 0.84 * 300 <= found <= 0.99 * 300
    assert np.median(np.array(sees, dtype=float)) < 2.5 * SD
