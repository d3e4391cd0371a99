"""Exact p-values with known answers, and the false-discovery correction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.stats.significance import q_values, signed_rank_p

ratios = st.lists(st.floats(0.01, 100), min_size=1, max_size=9)


def test_all_on_one_side_is_the_least_p() -> None:
    drawn = [1.0 + 0.01 * (k + 1) for k in range(11)]
    found = [signed_rank_p(drawn[:n]) for n in range(1, 12)]
    assert found == pytest.approx([2.0 ** (1 - n) for n in range(1, 12)])


@given(ratios)
def test_the_signed_rank_p_is_that_of_all_sign_patterns(drawn: list[float]) -> None:
    logs = np.log(np.array(drawn))
    logs = logs[logs != 0]
    if not logs.size:
        assert signed_rank_p(drawn) == 1.0
        return
    ordered = np.sort(np.abs(logs))
    ranks = [np.mean(np.flatnonzero(ordered == abs(v)) + 1) for v in logs]
    observed = sum(r for r, v in zip(ranks, logs, strict=True) if v > 0)
    middle = sum(ranks) / 2
    places = np.arange(len(ranks))
    sums = (np.arange(2 ** len(ranks))[:, None] >> places & 1) @ np.array(ranks)
    extreme = np.abs(sums - middle) >= abs(observed - middle) - 1e-9
    assert signed_rank_p(drawn) == pytest.approx(np.mean(extreme), abs=1e-9)


def test_sides_are_alike() -> None:
    drawn = [1.2, 1.1, 0.7, 1.3, 1.05, 1.4]
    assert signed_rank_p(drawn) == pytest.approx(signed_rank_p([1 / r for r in drawn]))


def test_ratios_of_one_say_nothing() -> None:
    assert signed_rank_p([1.0] * 8) == 1.0
    assert signed_rank_p([1.0, 1.0, 1.1]) == 1.0


def test_the_example_of_benjamini_and_hochberg() -> None:
    """Section 3.1 of their paper: of 15 p-values, four are discoveries at 0.05."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    q = q_values(p)
    assert sum(value <= 0.05 for value in q) == 4
    assert q[0] == pytest.approx(0.0015)
    assert q_values([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_q_is_never_below_p_and_keeps_the_order(p: list[float]) -> None:
    q = q_values(p)
    assert all(b >= a - 1e-12 and b <= 1 for a, b in zip(p, q, strict=True))
    assert [b for _, b in sorted(zip(p, q, strict=True))] == sorted(q)
