"""Series with two modes: visits are noise, a third level is not, and a change of shares is said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.stats.nights.noise import (
    ModePrior,
    Modes,
    find_modes,
    mode_share_change,
    site_prior,
    visit_offsets,
)
from roundtrip.stats.nights.verdicts import Verdict

from .planted import SD, SETTINGS, judged, quiet, step_nights, verdicts

GAP = 0.08
LEAST = 1e-4


def found(logs: np.ndarray) -> Modes | None:
    """The modes of a series of a site whose visits are not known."""
    return find_modes(logs, LEAST, ModePrior(), SETTINGS)


def two_modes(series: int, nights: int, share: float | np.ndarray, seed: int = 6) -> np.ndarray:
    """Each night at the higher of two modes with the probability `share`."""
    rng = np.random.default_rng(seed)
    return quiet(series, nights, seed) / 2 + GAP * (rng.random((series, nights)) < share)


def sticky(series: int, nights: int, stay: float, seed: int = 6) -> np.ndarray:
    """A night stays in the mode of the night before with the probability `stay`."""
    rng = np.random.default_rng(seed)
    moves = rng.random((series, nights)) > stay
    return quiet(series, nights, seed) / 2 + GAP * (np.cumsum(moves, axis=1) % 2)


@pytest.mark.parametrize("logs", [two_modes(30, 120, 0.5), sticky(30, 120, 0.8)])
def test_visits_of_a_mode_are_no_change(logs: np.ndarray) -> None:
    histories = judged(logs)
    assert sum(bool(history.steps) for history in histories) <= 1
    assert sum(history.mode_shares is not None for history in histories) <= 1


def test_a_third_level_is_worse_at_once_and_regressed_the_night_after() -> None:
    logs = two_modes(20, 102, 0.5)
    logs[:, 100:] = quiet(20, 2, seed=7) / 2 + 2 * GAP
    assert set(verdicts(logs[:, :101])) == {Verdict.WORSE_LAST_NIGHT}
    assert set(verdicts(logs)) == {Verdict.REGRESSED}


def test_the_higher_mode_more_often_is_a_change_of_shares_and_no_step() -> None:
    logs = two_modes(30, 130, np.where(np.arange(130) < 100, 0.2, 0.75))
    pairs = [(history.mode_shares, history.steps) for history in judged(logs)]
    share_changes = [shares for shares, steps in pairs if shares and not steps]
    assert len(share_changes) >= 20
    for shares in share_changes:
        assert shares.before == pytest.approx(0.2, abs=0.15)
        assert shares.after == pytest.approx(0.75, abs=0.25)
        assert shares.ratio == pytest.approx(np.exp(GAP), rel=0.01)
        assert 5 <= shares.nights <= 60


def test_all_nights_in_the_worse_mode_are_said() -> None:
    """As a level that is too long for a visit, or as a change of shares."""
    logs = two_modes(20, 130, 0.4)
    logs[:, 100:] = quiet(20, 30, seed=7) / 2 + GAP
    changes = [history.steps or history.mode_shares for history in judged(logs)]
    assert sum(map(bool, changes)) >= 19


def test_a_level_that_lasts_is_no_mode() -> None:
    logs = quiet(20, 120)
    logs[:, 90:] += 0.05
    assert not any(map(found, logs))


def test_two_modes_by_hand() -> None:
    logs = np.tile([0.0, 0.0, 0.1, 0.1, 0.0], 12)
    modes = found(logs)
    assert modes is not None
    assert modes.is_high.tolist() == (logs > 0).tolist()
    assert modes.log_gap == pytest.approx(0.1)
    assert visit_offsets(modes, ModePrior(), SETTINGS) == pytest.approx(logs)
    assert mode_share_change(modes, SETTINGS) is None


@given(st.integers(0, 2**32), st.floats(0.2, 0.8), st.floats(-5, 5))
def test_unit_and_direction_change_no_mode(seed: int, share: float, constant: float) -> None:
    (logs,) = two_modes(1, 90, share, seed)
    modes, moved_modes, turned_modes = map(found, (logs, logs + constant, -logs))
    assert (modes is None) == (moved_modes is None) == (turned_modes is None)
    if modes and moved_modes and turned_modes:
        assert (modes.is_high == moved_modes.is_high).all()
        assert (modes.is_high != turned_modes.is_high).all()
        assert modes.log_gap == pytest.approx(turned_modes.log_gap)


def test_a_step_of_both_modes_is_found_as_if_there_were_one() -> None:
    logs = two_modes(20, 120, 0.5)
    logs[:, 105:] += 3 * SD / 2
    assert sum(max(nights, default=0) >= 100 for nights in step_nights(logs)) >= 17


def test_what_the_site_says_of_visits_counts_for_each_series() -> None:
    """A stay of 15 nights is a level beside visits of 1 to 3, unless others stay as long."""
    stays = [6, 1, 4, 1, 15, 3, 9, 15, 1, 1, 2, 1, 20, 1, 8, 2]
    is_high = np.repeat(np.arange(len(stays)) % 2 == 0, stays)
    logs = quiet(1, is_high.size, seed=3)[0] / 2 + GAP * is_high
    assert found(logs) is None
    prior = site_prior([found(row) for row in sticky(40, 365, 0.8)])
    modes = find_modes(logs, LEAST, prior, SETTINGS)
    assert modes is not None
    assert np.array_equal(visit_offsets(modes, prior, SETTINGS) != 0, ~is_high)
    assert site_prior([None, None]) == site_prior([]) == ModePrior()


def test_nights_that_scatter_across_the_cut_are_no_visits() -> None:
    logs = np.where(np.arange(90) < 60, 0.0, GAP) + quiet(1, 90, seed=3)[0] / 4
    for night in (10, 20, 30, 40):
        logs[night] = 0.55 * GAP  # nearer to the other level, and not there
    assert found(logs) is None
