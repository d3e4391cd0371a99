"""Shares of a step: an estimate, with ends where there are rounds enough to give them."""

from __future__ import annotations

import numpy as np
import pytest

from roundtrip.cause.questions import MIN_ROUNDS, Span, share

RNG = np.random.default_rng(5)
STEPS = 0.2 + 0.01 * RNG.standard_normal(30)


def test_a_share_is_within_its_interval() -> None:
    span = share(0.7 * STEPS + 0.005 * RNG.standard_normal(30), STEPS, 0.05)
    assert span.low is not None and span.high is not None
    assert 0.6 < span.low < 0.7 < span.high < 0.8
    assert str(span) == f"70 % [{100 * span.low:.0f}, {100 * span.high:.0f}]"


@pytest.mark.parametrize(
    ("part", "rounds"), [(0.7, MIN_ROUNDS - 1), (5.0, 30), (-3.0, 30)], ids=["few", "far", "less"]
)
def test_too_few_rounds_and_a_share_off_the_scale_have_no_interval(
    part: float, rounds: int
) -> None:
    span = share(part * STEPS[:rounds], STEPS[:rounds], 0.05)
    assert span == Span(pytest.approx(part), None, None)
    assert str(span) == f"{100 * part:.0f} %"


def test_of_no_step_there_is_no_share() -> None:
    assert np.isnan(share([], [], 0.05).middle)
