"""How many launches let a family of claims speak: known answers, and the judge agrees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.stats.levels import Levels
from roundtrip.stats.planning import (
    Reach,
    fewest_launches,
    least_p,
    needed_together,
    reach,
    recommended_launches,
)
from roundtrip.stats.significance import signed_rank_p
from roundtrip.stats.verdicts import Verdict, judge

LEVELS = Levels(
    confidence_level=0.95,
    false_discovery_level=0.05,
    minimum_effect=0.05,
    equivalence_margin=0.05,
)


@pytest.mark.parametrize(("n", "p"), [(1, 1.0), (5, 0.0625), (6, 0.03125), (9, 0.00390625)])
def test_the_least_p_is_known(n: int, p: float) -> None:
    assert least_p(n) == p
    assert signed_rank_p([1.1 + k / 100 for k in range(n)]) == pytest.approx(p)


def test_no_launches_prove_nothing() -> None:
    assert least_p(0) == 1.0
    assert reach(0, 1, LEVELS) is Reach.MUTE


@pytest.mark.parametrize(
    ("claims", "fewest", "recommended"),
    [
        *((0, 6, 9), (1, 6, 9), (2, 7, 9), (3, 7, 9), (4, 8, 9), (6, 8, 9), (7, 9, 9), (12, 9, 9)),
        *((13, 10, 10), (25, 10, 10), (26, 11, 11), (64, 12, 12), (1000, 16, 16)),
    ],
)
def test_launches_for_so_many_claims(claims: int, fewest: int, recommended: int) -> None:
    assert fewest_launches(claims, LEVELS) == fewest
    assert recommended_launches(claims, LEVELS) == recommended


@pytest.mark.parametrize(
    ("launches", "claims", "told", "together"),
    [
        (5, 1, Reach.MUTE, None),
        (6, 1, Reach.ALONE, 1),
        (6, 2, Reach.TOGETHER, 2),
        (6, 14, Reach.TOGETHER, 9),
        (7, 14, Reach.TOGETHER, 5),
        (8, 14, Reach.TOGETHER, 3),
        (10, 14, Reach.ALONE, 1),
    ],
)
def test_alone_together_or_not_at_all(
    launches: int, claims: int, told: Reach, together: int | None
) -> None:
    assert reach(launches, claims, LEVELS) is told
    assert needed_together(launches, claims, LEVELS) == together


@given(st.integers(1, 40))
def test_the_judge_keeps_the_promise(claims: int) -> None:
    """One difference among claims that are none is told with the fewest launches, not before."""

    def verdict(launches: int) -> Verdict:
        even = [1 + (-1) ** k * (0.2 + k / 100) for k in range(launches)]
        crowd: dict[int, list[float]] = dict.fromkeys(range(1, claims), even)
        return judge({0: [2 + k / 100 for k in range(launches)], **crowd}, LEVELS)[0].verdict

    fewest = fewest_launches(claims, LEVELS)
    assert verdict(fewest) is Verdict.FASTER
    assert verdict(fewest - 1) is Verdict.CANNOT_TELL


def test_a_stricter_level_needs_more() -> None:
    strict = LEVELS.model_copy(update={"confidence_level": 0.99, "false_discovery_level": 0.01})
    assert fewest_launches(1, strict) == 8
    assert recommended_launches(1, strict) == 12
