"""What is known of series in which something was planted."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from roundtrip.stats.nights.judge import fit_windows, judge_nights
from roundtrip.stats.nights.noise import MAX_NIGHTS
from roundtrip.stats.nights.series import series_rows
from roundtrip.stats.nights.verdicts import Segment, SeriesHistory, Step, Verdict

from .planted import SD, SETTINGS, judged, quiet, step_nights, verdicts


def test_a_step_is_found_at_its_night_with_its_size() -> None:
    logs = quiet(20, 120)
    logs[:, 90:] += math.log(1.05)
    for history in judged(logs):
        (step,) = history.steps
        assert step.night == pytest.approx(90, abs=1)
        assert step.ratio == pytest.approx(1.05, abs=0.015)
        assert abs(step.evidence) >= step.threshold
        assert history.drift is None
        spans = [(part.begin, part.end) for part in history.segments]
        assert spans == [(0, step.night), (step.night, 120)]
        assert history.segments[1].level == pytest.approx(1.05, abs=0.015)


def test_the_interval_of_a_step_covers_its_size() -> None:
    logs = quiet(60, 120, seed=2)
    logs[:, 80:] += math.log(1.05)
    coverage = [step.low <= 1.05 <= step.high for history in judged(logs) for step in history.steps]
    assert sum(coverage) >= 52


def test_one_change_does_not_blind_for_the_next() -> None:
    logs = quiet(20, 140)
    logs[:, 60:] += 0.06
    logs[:, 90:] -= 0.1
    logs[:, 110:] += 0.03
    expected = pytest.approx([60, 90, 110], abs=1)
    assert sum(nights == expected for nights in step_nights(logs)) >= 18


@pytest.mark.parametrize("size", [0.3, 1.0, 30.0])
def test_a_night_far_off_is_worse_at_once_and_two_are_a_regression(size: float) -> None:
    logs = quiet(10, 101)
    logs[:, 99:] += size
    assert set(verdicts(logs[:, :100])) == {Verdict.WORSE_LAST_NIGHT}
    assert set(verdicts(logs)) == {Verdict.REGRESSED}


def test_an_old_improvement_hides_no_regression() -> None:
    logs = quiet(10, 100)
    logs[:, 40:] -= 0.1
    assert set(verdicts(logs)) == {Verdict.IMPROVED}
    logs[:, 99:] += 0.4
    assert set(verdicts(logs)) == {Verdict.WORSE_LAST_NIGHT}


def test_an_old_improvement_hides_no_flapping_and_no_silence() -> None:
    logs = quiet(10, 110)
    logs[:, 10:] -= 0.1
    flapping = logs.copy()
    flapping[:, 100::3] += 0.3
    assert Verdict.IMPROVED not in verdicts(flapping[:, :108])
    logs[:, -1] = np.nan
    assert set(verdicts(logs)) == {Verdict.NO_VALUE}
    logs[:, 105:-1] -= 0.3  # that is news
    assert set(verdicts(logs)) == {Verdict.IMPROVED}


def test_a_series_without_a_value_last_night_is_not_unchanged() -> None:
    logs = quiet(10, 100)
    assert set(verdicts(logs)) == {Verdict.UNCHANGED}
    logs[:5, 98:] = np.nan
    histories = judged(logs)
    assert [history.nights_without_value for history in histories] == [2] * 5 + [0] * 5
    assert verdicts(logs) == [Verdict.NO_VALUE] * 5 + [Verdict.UNCHANGED] * 5


def test_a_level_is_news_until_it_is_old_whatever_small_step_follows() -> None:
    step, later_step = (Step(n, r, r, r, 9.0, 4.0, 10) for n, r in ((40, 1.05), (50, 0.994)))
    for nights, is_news in ((50, True), (300, False)):
        segments = (Segment(0, nights, 1.0),)
        history = SeriesHistory(nights, (step, later_step), segments, min_effect=0.01)
        assert history.newest_step() == step and history.is_new_step(step) is is_news
    silent = replace(history, segments=(Segment(0, 50, 1.0),), nights_without_value=250)
    assert not silent.is_new_step(step)


def test_a_regression_that_goes_back_is_recovered() -> None:
    logs = quiet(10, 100)
    logs[:, 40:80] += 0.1
    for history in judged(logs):
        assert history.verdict() is Verdict.RECOVERED
        assert history.unreversed_steps() == ()


def test_nights_that_go_back_are_an_incident_and_no_step() -> None:
    logs = quiet(20, 90)
    logs[:, 30] += 0.3
    logs[:, 60:63] += 0.1
    for history in judged(logs):
        assert not history.steps
        incidents = {incident.first: incident for incident in history.incidents}
        assert incidents[30].last == 30 and incidents[60].last in (62, 63)
        assert incidents[30].ratio == pytest.approx(math.exp(0.3), rel=0.1)


@pytest.mark.parametrize("period", [2, 3])
def test_bad_nights_that_come_and_go_are_flapping(period: int) -> None:
    logs = quiet(10, 110)
    logs[:, 100::period] += 0.3
    assert set(verdicts(logs)) <= {Verdict.FLAPPING, Verdict.REGRESSED, Verdict.WORSE_LAST_NIGHT}
    flaps = [history.worse_flapping() for history in judged(logs)]
    assert sum(flapping is not None and flapping.share_before == 0 for flapping in flaps) >= 8


@pytest.mark.parametrize("period", [2, 3])
def test_a_bad_night_is_worse_again_although_good_ones_were_between(period: int) -> None:
    """And no night makes those before it look like incidents, nor a level of its own."""
    logs = quiet(20, 112)
    logs[:10, 100::period] += 0.3
    for nights, verdict in (
        (101, Verdict.WORSE_LAST_NIGHT),
        (101 + period, Verdict.WORSE_LAST_NIGHT),
        (101 + 2 * period, Verdict.FLAPPING),
        (101 + 3 * period, Verdict.FLAPPING),
    ):
        histories = judged(logs[:, :nights])[:10]
        assert {history.verdict() for history in histories} == {verdict}
        incidents = [incident for history in histories for incident in history.incidents]
        assert all(incident.ratio >= 1 for incident in incidents)


def test_a_drift_is_a_drift_and_no_step() -> None:
    logs = quiet(20, 365) + np.linspace(0, math.log(1.05), 365)
    histories = judged(logs)
    drifts = [history.drift for history in histories if history.drift]
    assert len(drifts) >= 18
    assert not any(history.steps for history in histories)
    assert np.median([drift.yearly_ratio for drift in drifts]) == pytest.approx(1.05, abs=0.01)


@pytest.mark.parametrize(
    ("spread", "levels", "verdict"),
    [
        (0.1, np.linspace(0, math.log(1.005), 365), Verdict.UNCHANGED),  # below the least effect
        (1.0, 0.03 * np.sin(np.arange(365) / 25), Verdict.WANDERING),
    ],
)
def test_a_small_drift_and_a_wave_are_no_row_of_steps(
    spread: float, levels: np.ndarray, verdict: Verdict
) -> None:
    assert set(verdicts(spread * quiet(10, 365) + levels)) == {verdict}


def test_a_plain_step_is_found_where_the_level_wanders_too() -> None:
    """A model of noise that wanders explains a step as well, unless the step is plain."""
    logs = quiet(20, 300, seed=8) / 4
    logs[:, :150] += 0.02 * np.sin(np.arange(150) / 25)
    logs[:, 240:] -= 0.06
    assert all(any(abs(night - 240) <= 2 for night in nights) for nights in step_nights(logs))


@pytest.mark.parametrize("begins", [[330], [380], [440], [500], [100, 400, 700]])
def test_steps_in_windows_of_nights_and_near_their_ends_are_found_once(begins: list[int]) -> None:
    logs = quiet(5, MAX_NIGHTS + 300, seed=9)
    for begin in begins:
        logs[:, begin:] += 0.05
    assert step_nights(logs) == [[pytest.approx(begin, abs=1) for begin in begins]] * 5


def test_a_step_that_two_windows_place_differently_is_one() -> None:
    """Noise of a third of the step: each window finds it a few nights off."""
    logs = quiet(40, MAX_NIGHTS + 300, seed=11)
    logs[:, 400:] += 3 * SD
    nights = step_nights(logs)
    assert sum(map(len, nights)) >= 38
    assert all(b - a >= SETTINGS.incident_nights for row in nights for a, b in pairwise(row))


def test_a_coarse_clock_is_no_change() -> None:
    rng = np.random.default_rng(5)
    logs = np.log(np.where(rng.random((30, 112)) < 0.7, 1.50, 1.51))
    logs[15:] = np.log(np.where(rng.random((15, 112)) < 0.9, 1.50, 1.51))
    assert not any(step_nights(logs))


def test_two_modes_are_noise_and_a_third_is_not() -> None:
    rng = np.random.default_rng(6)
    logs = quiet(20, 120) + 0.05 * (rng.random((20, 120)) < 0.5)
    assert not any(step_nights(logs))
    logs[:, 110:] = quiet(20, 10, seed=7) + 0.15
    assert sum(map(bool, step_nights(logs))) == 20


def test_what_is_smaller_than_the_least_effect_is_no_verdict() -> None:
    logs = quiet(10, 120) / 20
    logs[:, 90:] += 0.005
    for history in judged(logs):
        assert history.steps and history.newest_step() is None
        assert history.verdict() is Verdict.UNCHANGED


def test_what_was_accepted_is_the_baseline() -> None:
    logs = quiet(10, 120)
    logs[:, 60:] += 0.1
    for history in judged(logs):
        assert history.verdict() is Verdict.REGRESSED
        assert history.verdict(119) is Verdict.UNCHANGED
        assert history.unreversed_steps(119) == ()


@pytest.mark.parametrize("spans", [[(20, 29), (50, 59), (95, 104)], [(100, 120)]])
def test_nights_on_slow_known_nodes_are_no_step(spans: list[tuple[int, int]]) -> None:
    logs = quiet(20, 120)
    nodes = np.zeros(logs.shape, int)
    for begin, end in spans:
        nodes[:, begin:end] = 1
    logs[nodes == 1] += 0.05
    assert not any(step_nights(logs, nodes))


def test_a_step_on_known_nodes_is_found_on_both() -> None:
    logs = quiet(20, 120)
    nodes = np.zeros(logs.shape, int) + np.arange(120) % 2
    logs += 0.04 * nodes
    logs[:, 100:] += math.log(1.05)
    for history in judged(logs, nodes):
        assert [step.night for step in history.steps] == [pytest.approx(100, abs=1)]
        assert history.steps[0].ratio == pytest.approx(1.05, abs=0.015)


def test_newest_nights_on_new_nodes_cannot_be_compared() -> None:
    logs = quiet(5, 84)
    nodes = np.zeros(logs.shape, int)
    nodes[:, 80:] = 3
    assert not any(history.newest_night for history in judged(logs, nodes))


@pytest.mark.parametrize("nights", [0, 1, 3, 11])
def test_too_few_nights_say_when_there_will_be_enough(nights: int) -> None:
    for history in judged(quiet(3, nights)):
        assert history.nights_used == nights and not history.steps
        assert history.reason == f"{nights} of the 12 nights that a verdict needs"
        assert history.verdict() is Verdict.TOO_FEW_NIGHTS


def test_rows_without_a_night_and_rows_that_never_change_are_judged_too() -> None:
    logs = quiet(4, 90)
    logs[0] = np.nan
    logs[1] = 3.0
    logs[2] = np.inf
    histories = judged(logs)
    assert [history.nights_used for history in histories] == [0, 90, 0, 90]
    assert not any(history.steps or history.drift for history in histories)
    assert histories[1].verdict() is Verdict.UNCHANGED


def test_nothing_in_is_nothing_out() -> None:
    assert judged(np.empty((0, 90))) == []


def test_nights_are_counted_with_those_that_were_left_out() -> None:
    logs = quiet(20, 140)
    logs[:, 100:] += 0.05
    logs[:, 10:40:2] = np.nan
    for history in judged(logs):
        assert history.nights_used == 125
        assert [step.night for step in history.steps] == [pytest.approx(100, abs=1)]


def test_would_see_is_about_what_is_seen() -> None:
    logs = quiet(60, 110, seed=4)
    least_steps = np.array([history.detectable_step or np.nan for history in judged(logs[:, :100])])
    logs[:, 100:] += np.log1p(least_steps)[:, None]
    assert sum(map(bool, step_nights(logs))) >= 45
    assert np.median(least_steps) < 3 * SD


@pytest.mark.parametrize("nights", [13, 15, 20, 40])
@pytest.mark.parametrize("ratio", [1.2, 1.5, 3.0])
def test_a_newest_night_far_off_is_outside_whatever_its_size(nights: int, ratio: float) -> None:
    """What is judged says nothing of how far the nights before lie apart."""
    logs = quiet(12, nights, seed=nights)
    logs[:6, -1] += np.log(ratio)
    newest_nights = [history.newest_night for history in judged(logs)]
    assert [bool(night and night.is_outside) for night in newest_nights] == [True] * 6 + [False] * 6
    assert all(night and night.high < 1.15 for night in newest_nights)


@pytest.mark.parametrize("new_nights", [20, 40])
def test_a_change_of_spread_alone_is_no_step(new_nights: int) -> None:
    logs = quiet(30, 100, seed=3)
    logs[:, 100 - new_nights :] *= 4
    assert sum(map(bool, step_nights(logs))) <= 1


def test_weekdays_hide_no_step() -> None:
    logs = quiet(30, 112) + 2 * SD * (np.arange(112) % 7 >= 5)
    assert not any(step_nights(logs))
    logs[:, 100:] += 2 * SD
    assert sum(map(bool, step_nights(logs))) >= 24


def test_weekdays_are_known_where_a_campaign_rests_at_weekends() -> None:
    days = np.array([day for day in range(154) if day % 7 < 5], dtype=float)
    logs = quiet(30, days.size) + 3 * SD * (days % 7 == 0)
    histories = judge_nights(logs, np.full(logs.shape, -1), SETTINGS, days=days)
    windows_by_row = fit_windows(
        list(series_rows(logs, np.full(logs.shape, -1), SETTINGS, days)), SETTINGS
    )
    assert not any(history.steps for history in histories)
    assert np.median([windows[-1].series.spread for windows in windows_by_row]) < 1.15 * SD


def test_how_long_incidents_last_is_known_from_the_site() -> None:
    """A first excursion as large as others of the site is worse each night, and no level yet."""
    logs = quiet(60, 92)
    for number in range(1, 60):
        logs[number, number : number + 3] += 0.07
    logs[0, 89:] += 0.08
    for nights in (90, 91, 92):
        assert verdicts(logs[:, :nights])[0] is Verdict.WORSE_LAST_NIGHT
    logs[0, 89:] += 0.2
    assert verdicts(logs)[0] is Verdict.REGRESSED
    logs[1:] = quiet(60, 92, seed=2)[1:]
    logs[0, 89:] -= 0.2
    assert verdicts(logs)[0] is Verdict.REGRESSED


def test_the_first_nights_are_no_level_if_they_are_few() -> None:
    logs = quiet(10, 90)
    logs[:, :7] += 0.06
    histories = judged(logs)
    assert not any(history.steps for history in histories)
    incidents = [incident for history in histories for incident in history.incidents]
    assert sum((incident.first, incident.last) == (0, 6) for incident in incidents) >= 9


def test_a_step_that_was_said_is_not_withdrawn_while_it_lasts() -> None:
    logs = quiet(50, 105)
    logs[:, 100:] += 5 * SD
    has_step = np.array([[*map(bool, step_nights(logs[:, :n]))] for n in (103, 104, 105)])
    assert has_step[0].mean() > 0.8
    assert (has_step[:-1] & ~has_step[1:]).sum() <= 1
