"""What must not change what is told: the unit, the order of series, the spread."""

from __future__ import annotations

import numpy as np
import pytest

from .planted import quiet, told


@pytest.fixture
def logs() -> np.ndarray:
    made = quiet(40, 150, seed=3)
    made[:10, 100:] += 0.05
    made[10:20] += np.linspace(0, 0.05, 150)
    made[20:30, [50, 149]] += 0.4
    return made


def test_a_constant_changes_nothing(logs: np.ndarray) -> None:
    """Another unit adds a constant to the logarithms."""
    for one, other in zip(told(logs), told(logs + 7.0), strict=True):
        assert (one.used, one.spikes) == (other.used, other.spikes)
        assert [s.night for s in one.steps] == [s.night for s in other.steps]
        assert [s.ratio for s in one.steps] == pytest.approx([s.ratio for s in other.steps])
        assert one.would_see == pytest.approx(other.would_see)


def test_the_order_of_series_changes_nothing(logs: np.ndarray) -> None:
    order = np.random.default_rng(1).permutation(len(logs))
    answers, permuted = told(logs), told(logs[order])
    for place, row in enumerate(order):
        assert permuted[place].steps == answers[row].steps
        assert permuted[place].drift == answers[row].drift


def test_a_sign_turns_ratios_round(logs: np.ndarray) -> None:
    for one, other in zip(told(logs), told(-logs), strict=True):
        assert [s.night for s in one.steps] == [s.night for s in other.steps]
        assert [s.evidence for s in one.steps] == pytest.approx([-s.evidence for s in other.steps])


def test_twice_the_spread_shows_steps_of_twice_the_size(logs: np.ndarray) -> None:
    for one, other in zip(told(logs), told(2 * logs), strict=True):
        assert one.spikes == other.spikes
        assert [s.night for s in one.steps] == [s.night for s in other.steps]
        assert [s.evidence for s in one.steps] == pytest.approx([s.evidence for s in other.steps])
        assert one.would_see is not None and other.would_see is not None
        assert np.log1p(other.would_see) == pytest.approx(2 * np.log1p(one.would_see))


def test_a_night_later_nothing_that_was_told_is_taken_back(logs: np.ndarray) -> None:
    """Each look tells what the looks before told: alarms depend on earlier nights alone."""
    early = told(logs[:, :130])
    for one, other in zip(early, told(logs), strict=True):
        assert len(one.steps) <= len(other.steps)
        for before, after in zip(one.steps, other.steps, strict=False):
            assert before.evidence == pytest.approx(after.evidence)
            assert after.night == pytest.approx(before.night, abs=3)


def test_node_sets_may_have_any_number(logs: np.ndarray) -> None:
    nodes = np.arange(150) // 5 % 2 + np.zeros(logs.shape, int)
    assert told(logs, nodes) == told(logs, 9 - 4 * nodes)
