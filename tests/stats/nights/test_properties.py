"""What must not change what is found: the unit, the order of series, the spread."""

import numpy as np
import pytest

from .planted import SD, judged, quiet


@pytest.fixture(scope="module")
def logs() -> np.ndarray:
    values = quiet(16, 150, seed=3)
    values[:4, 100:] += 0.05
    values[4:8] += np.linspace(0, 0.05, 150)
    values[8:12, [50, 149]] += 0.4
    return values


def test_a_constant_changes_nothing(logs: np.ndarray) -> None:
    """Another unit adds a constant to the logarithms."""
    for one, other in zip(judged(logs), judged(logs + 7.0), strict=True):
        assert (one.nights_used, one.spikes) == (other.nights_used, other.spikes)
        assert [s.night for s in one.steps] == [s.night for s in other.steps]
        assert [s.ratio for s in one.steps] == pytest.approx([s.ratio for s in other.steps])
        assert one.detectable_step == pytest.approx(other.detectable_step)


def test_the_order_of_series_changes_nothing(logs: np.ndarray) -> None:
    order = np.random.default_rng(1).permutation(len(logs))
    histories, permuted_histories = judged(logs), judged(logs[order])
    for place, row in enumerate(order):
        assert permuted_histories[place].steps == histories[row].steps
        assert permuted_histories[place].drift == histories[row].drift


def test_a_sign_turns_ratios_round(logs: np.ndarray) -> None:
    for one, other in zip(judged(logs), judged(-logs), strict=True):
        assert [s.night for s in one.steps] == [s.night for s in other.steps]
        assert [s.evidence for s in one.steps] == pytest.approx([-s.evidence for s in other.steps])


def test_twice_the_spread_shows_steps_of_twice_the_size(logs: np.ndarray) -> None:
    for one, other in zip(judged(logs), judged(2 * logs), strict=True):
        assert one.spikes == other.spikes
        assert [s.night for s in one.steps] == [s.night for s in other.steps]
        assert [s.evidence for s in one.steps] == pytest.approx([s.evidence for s in other.steps])


@pytest.mark.parametrize("new_nights", [1, 2, 3, 5, 10])
def test_a_larger_change_is_found_as_often_as_a_small_one(new_nights: int) -> None:
    quiet_site = quiet(20, 90, seed=5)
    shares = []
    for size in (2, 4, 8, 16, 64, 300):
        logs = quiet_site.copy()
        logs[:10, -new_nights:] += size * SD
        is_found = (
            bool(history.steps) or history.is_worse_last_night() for history in judged(logs)[:10]
        )
        shares.append(sum(is_found))
    assert shares == sorted(shares)
    assert shares[-1] == 10


def test_node_sets_may_have_any_number(logs: np.ndarray) -> None:
    nodes = np.arange(150) // 5 % 2 + np.zeros(logs.shape, int)
    assert judged(logs, nodes) == judged(logs, 9 - 4 * nodes)
