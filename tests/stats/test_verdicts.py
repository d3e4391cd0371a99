"""What may be said of a ratio, and how often it is said wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from roundtrip.stats.levels import Levels
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import Verdict, decide, judge

LEVELS = Levels(
    confidence_level=0.95,
    false_discovery_level=0.05,
    minimum_effect=0.05,
    equivalence_margin=0.05,
)


@pytest.mark.parametrize(
    ("median", "low", "high", "q", "verdict"),
    [
        (1.20, 1.10, 1.30, 0.01, Verdict.FASTER),
        (0.80, 0.70, 0.90, 0.01, Verdict.SLOWER),
        (1.20, 1.10, 1.30, 0.05, Verdict.CANNOT_TELL),
        (1.20, 0.99, 1.30, 0.01, Verdict.CANNOT_TELL),
        (1.03, 1.02, 1.04, 0.01, Verdict.ON_PAR),
        (1.00, 0.96, 1.04, 0.90, Verdict.ON_PAR),
        (1.00, 0.90, 1.04, 0.90, Verdict.CANNOT_TELL),
        (1.00, 0.951, 1.00, 0.90, Verdict.CANNOT_TELL),
        (1.04, 1.01, 1.06, 0.01, Verdict.CANNOT_TELL),
    ],
)
def test_the_rules(median: float, low: float, high: float, q: float, verdict: Verdict) -> None:
    assert decide(Interval(median, low, high, 8), q, LEVELS) is verdict


def test_without_an_interval_nothing_can_be_told() -> None:
    assert decide(Interval(9.0, None, None, 5), 0.0, LEVELS) is Verdict.CANNOT_TELL


def test_claims_are_judged_together() -> None:
    clear = [1.3 + 0.01 * k for k in range(6)]
    alone = judge({"a": clear}, LEVELS)["a"]
    assert alone.verdict is Verdict.FASTER
    assert alone.p == alone.q == pytest.approx(2 / 64)
    noise = {f"n{k}": [0.9, 1.1, 0.95, 1.06, 0.97, 1.02 + k / 1000] for k in range(9)}
    crowded = judge({"a": clear, **noise}, LEVELS)["a"]
    assert crowded.q == pytest.approx(10 * 2 / 64)
    assert crowded.verdict is Verdict.CANNOT_TELL


def test_too_few_launches_take_no_part_in_the_correction() -> None:
    clear = [1.3 + 0.01 * k for k in range(6)]
    judged = judge({"a": clear, "few": [1.0, 1.1]}, LEVELS)
    assert judged["a"].q == pytest.approx(2 / 64)
    assert judged["few"].verdict is Verdict.CANNOT_TELL
    assert (judged["few"].p, judged["few"].q) == (1.0, 1.0)
    assert judge({}, LEVELS) == {}


@pytest.mark.parametrize("noise", ["gauss", "heavy", "bimodal"])
def test_equal_variants_are_hardly_ever_told_apart(noise: str) -> None:
    """40 campaigns of 80 equal pairs at 10 % noise: campaigns with a false claim, 5 % allowed."""
    rng = np.random.default_rng(len(noise))
    wrong = 0
    for _ in range(40):
        if noise == "gauss":
            logs = 0.1 * rng.standard_normal((80, 10))
        elif noise == "heavy":
            logs = 0.05 * rng.standard_t(2, (80, 10))
        else:
            logs = 0.1 * rng.choice([-1, 1], (80, 10)) + 0.02 * rng.standard_normal((80, 10))
        judged = judge(dict(enumerate(np.exp(logs).tolist())), LEVELS)
        verdicts = {one.verdict for one in judged.values()}
        wrong += bool(verdicts & {Verdict.FASTER, Verdict.SLOWER})
    assert wrong <= 5


def test_a_real_difference_is_found() -> None:
    rng = np.random.default_rng(7)
    logs = np.log(0.8) + 0.03 * rng.standard_normal((40, 8))
    judged = judge(dict(enumerate(np.exp(logs).tolist())), LEVELS)
    assert {one.verdict for one in judged.values()} == {Verdict.SLOWER}


def test_each_family_is_corrected_apart() -> None:
    """Six launches, one primary claim: what the others are does not touch it."""
    clear = [1.3 + 0.01 * k for k in range(6)]
    noise = {f"n{k}": [0.9, 1.1, 0.95, 1.06, 0.97, 1.02 + k / 1000] for k in range(9)}
    judged = judge({"a": clear, **noise}, LEVELS, family=lambda key: key == "a")
    assert list(judged) == ["a", *noise]
    assert judged["a"].verdict is Verdict.FASTER
    assert (judged["a"].q, judged["a"].claims) == (pytest.approx(2 / 64), 1)
    assert {judged[key].claims for key in noise} == {9}
    assert judged["n0"].q == pytest.approx(judge(noise, LEVELS)["n0"].q)


def test_too_few_launches_for_a_verdict_say_so_and_how_many_would_do() -> None:
    """370 times slower in each of six launches, among fourteen claims: q is 0.44."""
    slow = [1 / (370 + k) for k in range(6)]
    noise = {f"n{k}": [0.9, 1.1, 0.95, 1.06, 0.97, 1.02 + k / 1000] for k in range(13)}
    one = judge({"slow": slow, **noise}, LEVELS)["slow"]
    assert one.verdict is Verdict.CANNOT_TELL
    assert one.words == "cannot tell: 6 launches cannot reach the level among 14 claims; 10 would"
    enough = judge({"slow": [*slow, 1 / 381, 1 / 382, 1 / 383, 1 / 384]}, LEVELS)
    assert enough["slow"].words == "slower"
    (few,) = judge({"few": [0.5, 0.51, 0.52]}, LEVELS).values()
    assert few.words == "cannot tell: 3 launches give no interval; 6 would"


def test_what_more_launches_might_not_mend_is_not_blamed_on_them() -> None:
    mixed = [0.7, 1.4, 0.8, 1.3, 0.9, 1.2]
    small = [1.02 + 0.01 * k for k in range(6)]  # beyond the margin, below the minimum effect
    judged = judge({"mixed": mixed, "small": small}, LEVELS)
    assert judged["mixed"].words == judged["small"].words == "cannot tell"
