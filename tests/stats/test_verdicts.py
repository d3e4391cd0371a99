"""Pairs of launches, p-values and verdicts: SciPy as oracle, simulated claims, families."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from roundtrip.measure import analysis
from roundtrip.stats import sequential
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import (
    Pairing,
    RoundLaunch,
    Verdict,
    decide_claim,
    double_round_ratios,
    judge,
    pair_by_round,
    q_values,
    signed_rank_p,
)

LEVELS = analysis.default_settings().statistics
CLEAR = [1.3 + 0.01 * k for k in range(6)]
ratios = st.lists(st.floats(0.01, 100), min_size=1, max_size=9)


def noise(claims: int) -> dict[str, list[float]]:
    """So many claims of which none is clear."""
    return {f"n{k}": [0.9, 1.1, 0.95, 1.06, 0.97, 1.02 + k / 1000] for k in range(claims)}


@given(ratios)
def test_the_signed_rank_p_is_that_of_all_sign_patterns(sample: list[float]) -> None:
    logs = np.log(np.array(sample))
    logs = logs[logs != 0]
    if not logs.size:
        assert signed_rank_p(sample) == 1.0
        return
    ordered = np.sort(np.abs(logs))
    ranks = [np.mean(np.flatnonzero(ordered == abs(v)) + 1) for v in logs]
    observed_sum = sum(r for r, v in zip(ranks, logs, strict=True) if v > 0)
    middle = sum(ranks) / 2
    places = np.arange(len(ranks))
    sums = (np.arange(2 ** len(ranks))[:, None] >> places & 1) @ np.array(ranks)
    is_extreme = np.abs(sums - middle) >= abs(observed_sum - middle) - 1e-9
    assert signed_rank_p(sample) == pytest.approx(np.mean(is_extreme), abs=1e-9)


@pytest.mark.parametrize("count", [1, 2, 7, 15, 40])
def test_scipy_has_the_same_p(count: int) -> None:
    rng = np.random.default_rng(count)
    samples = [np.exp(rng.normal(0.2, 1, count)) for _ in range(20)]
    p = [signed_rank_p(sample) for sample in samples]
    exact_p = [stats.wilcoxon(np.log(sample), method="exact").pvalue for sample in samples]
    assert p == pytest.approx(exact_p, rel=1e-12)


def test_no_number_of_launches_is_promised_where_only_other_claims_are_in_the_way() -> None:
    levels = LEVELS.model_copy(update={"confidence_level": 0.90, "minimum_effect": 0.01})
    almost_clear = [1.5, 1.52, 1.48, 1.51, 1.49, 1.5, 1.53, 1.47, 0.99]
    alone = [1.0, 1.001] * 4 + [1.0]
    claims = {0: almost_clear, **dict.fromkeys(range(1, 14), alone)}
    claim = judge(claims, levels)[0]
    assert claim.verdict is Verdict.CANNOT_TELL and claim.q > 0.05
    assert decide_claim(claim.interval, 0.0, levels) is Verdict.FASTER
    assert claim.extra_launches is None


def test_ratios_of_one_say_nothing() -> None:
    assert signed_rank_p([1.0] * 8) == 1.0
    assert signed_rank_p([1.0, 1.0, 1.1]) == 1.0


@given(st.lists(st.floats(0, 1), max_size=40))
def test_scipy_has_the_same_q(p: list[float]) -> None:
    assert q_values(p) == pytest.approx(stats.false_discovery_control(p) if p else [])


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
        (9.00, None, None, 0.00, Verdict.CANNOT_TELL),
    ],
)
def test_the_rules(
    median: float, low: float | None, high: float | None, q: float, verdict: Verdict
) -> None:
    assert decide_claim(Interval(median, low, high, 8), q, LEVELS) is verdict


def test_claims_are_judged_together() -> None:
    lone_result = judge({"a": CLEAR}, LEVELS)["a"]
    assert lone_result.verdict is Verdict.FASTER
    assert lone_result.p == lone_result.q == pytest.approx(2 / 64)
    family_result = judge({"a": CLEAR, **noise(9)}, LEVELS)["a"]
    assert family_result.q == pytest.approx(10 * 2 / 64)
    assert family_result.verdict is Verdict.CANNOT_TELL


def test_too_few_launches_take_no_part_in_the_correction() -> None:
    results = judge({"a": CLEAR, "few": [1.0, 1.1]}, LEVELS)
    assert results["a"].q == pytest.approx(2 / 64)
    assert results["few"].verdict is Verdict.CANNOT_TELL
    assert (results["few"].p, results["few"].q) == (1.0, 1.0)
    assert judge({}, LEVELS) == {}


@pytest.mark.parametrize("kind", ["gauss", "heavy", "bimodal"])
def test_equal_variants_hardly_ever_seem_to_differ(kind: str) -> None:
    """40 campaigns of 80 equal pairs at 10 % noise: campaigns with a false claim, 5 % allowed."""
    rng = np.random.default_rng(len(kind))
    wrong_campaigns = 0
    for _ in range(40):
        if kind == "gauss":
            logs = 0.1 * rng.standard_normal((80, 10))
        elif kind == "heavy":
            logs = 0.05 * rng.standard_t(2, (80, 10))
        else:
            logs = 0.1 * rng.choice([-1, 1], (80, 10)) + 0.02 * rng.standard_normal((80, 10))
        results = judge(dict(enumerate(np.exp(logs).tolist())), LEVELS)
        verdicts = {result.verdict for result in results.values()}
        wrong_campaigns += bool(verdicts & {Verdict.FASTER, Verdict.SLOWER})
    assert wrong_campaigns <= 5


@pytest.mark.parametrize("judge_claims", [judge, sequential.judge])
def test_each_family_is_corrected_apart(judge_claims: Any) -> None:
    """Six launches, one primary claim: what the others are does not touch it."""
    others = noise(9)
    results = judge_claims({"a": CLEAR, **others}, LEVELS, family=lambda key: key == "a")
    assert list(results) == ["a", *others]
    assert results["a"].verdict is Verdict.FASTER
    assert (results["a"].q, results["a"].family_size) == (results["a"].p, 1)
    assert {results[key].family_size for key in others} == {9}
    assert results["n0"].q == pytest.approx(judge_claims(others, LEVELS)["n0"].q)


def test_too_few_launches_for_a_verdict_say_so_and_how_many_would_do() -> None:
    """370 times slower in each of six launches, among fourteen claims: q is 0.44."""
    slow = [1 / (370 + k) for k in range(6)]
    result = judge({"slow": slow, **noise(13)}, LEVELS)["slow"]
    assert result.verdict is Verdict.CANNOT_TELL
    lack = "6 launches cannot reach the level among 14 claims"
    assert result.words == f"open: {lack}; 10 would"
    results = judge({"slow": [*slow, 1 / 381, 1 / 382, 1 / 383, 1 / 384]}, LEVELS)
    assert results["slow"].words == "slower"
    (few_result,) = judge({"few": [0.5, 0.51, 0.52]}, LEVELS).values()
    assert few_result.words == "open: 3 launches give no interval; 6 would"


def test_what_more_launches_might_not_mend_is_not_blamed_on_them() -> None:
    mixed = [0.7, 1.4, 0.8, 1.3, 0.9, 1.2]
    small = [1.02 + 0.01 * k for k in range(6)]  # beyond the margin, below the minimum effect
    results = judge({"mixed": mixed, "small": small}, LEVELS)
    assert results["mixed"].words == results["small"].words == "open"


@pytest.mark.parametrize("judge_claims", [judge, sequential.judge])
def test_a_claim_is_held_to_the_margin_of_its_study(judge_claims: Any) -> None:
    levels = LEVELS.model_copy(update={"equivalence_margins": (("lenient", 0.5),)})
    (sample,) = noise(1).values()
    claims = {"lenient": 5 * sample, "other": 5 * sample}
    results = judge_claims(claims, levels, study=lambda key: key)
    assert results["lenient"].verdict is Verdict.ON_PAR
    assert results["other"] == judge_claims(claims, LEVELS)["other"]
    (few,) = judge_claims({"lenient": sample[:3]}, levels, study=lambda key: key).values()
    assert few.verdict is Verdict.CANNOT_TELL


def launches(name: str, rounds: list[int], second: int = 0) -> list[RoundLaunch]:
    return [RoundLaunch(f"{name}{k}", k, f"2026-11-21T07:{k:02d}:{second:02d}Z") for k in rounds]


def test_launches_of_a_round_are_a_pair() -> None:
    pairing = pair_by_round(launches("a", [1, 2, 3]), launches("b", [3, 1, 2], second=5))
    pairs = (("a1", "b1"), ("a2", "b2"), ("a3", "b3"))
    assert pairing == Pairing(pairs, rounds=3, first_count=3, round_numbers=(1, 2, 3))


def test_of_rounds_in_twos_only_whole_ones_give_a_ratio() -> None:
    """Rounds 2 and 3 follow one another, and are no two."""
    assert double_round_ratios({1: 2.0, 2: 0.5, 3: 4.0, 4: 1.0}) == [1.0, 2.0]
    assert double_round_ratios({2: 2.0, 3: 3.0, 5: 9.0, 6: 1.0}) == [3.0]
    assert double_round_ratios({1: 2.0}) == [] == double_round_ratios({})


def test_rounds_that_lack_one_are_left_out_and_counted() -> None:
    pairing = pair_by_round(launches("a", [1, 2, 4, 5]), launches("b", [2, 3, 4], second=5))
    assert pairing.pairs == (("a2", "b2"), ("a4", "b4"))
    assert pairing.rounds == 5


def test_blocks_one_after_the_other_are_refused() -> None:
    pairing = pair_by_round(launches("a", [1, 2, 3]), launches("b", [4, 5, 6]))
    assert pairing.pairs == ()
    assert pairing.refusal == (
        "no round launched both (one in rounds 1 to 3, the other in rounds 4 to 6): what was not "
        "interleaved cannot be compared"
    )


def test_two_campaigns_put_together_are_refused_though_their_rounds_are_called_alike() -> None:
    later_launches = [RoundLaunch(f"b{k}", k, f"2026-11-22T07:{k:02d}:00Z") for k in (1, 2, 3)]
    pairing = pair_by_round(launches("a", [1, 2, 3]), later_launches)
    assert pairing.pairs == ()
    assert pairing.refusal.startswith("round 1 was not over when the next one began")


def test_without_times_the_rounds_are_believed() -> None:
    untimed_launches = [RoundLaunch(f"a{k}", k) for k in (1, 2)]
    assert len(pair_by_round(untimed_launches, launches("b", [1, 2])).pairs) == 2


def test_the_first_launch_of_a_round_counts() -> None:
    launch_list = [*launches("a", [1, 2]), RoundLaunch("again", 1, "2026-11-21T07:01:30Z")]
    assert pair_by_round(launch_list, launches("b", [1, 2])).pairs == (("a1", "b1"), ("a2", "b2"))
