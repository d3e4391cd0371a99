"""Which launches are compared: those of one round; and how often equal ones seem to differ."""

from __future__ import annotations

import numpy as np

from roundtrip.measure import analysis
from roundtrip.stats.rounds import Pairing, RoundLaunch, double_round_ratios, pair_by_round
from roundtrip.stats.verdicts import Verdict, judge

LEVELS = analysis.default().statistics


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


def drifting(rng: np.random.Generator, count: int, points: int) -> np.ndarray:
    """Logs of `count` launch medians in the order of launching, at `points` sizes.

    The machine's drift has a standard deviation of 12 % and a lag-1 autocorrelation of 0.7, and is
    common to all sizes; each launch and size adds 1.5 % of its own.
    """
    drift = np.zeros(count)
    drift[0] = rng.standard_normal()
    for k in range(1, count):
        drift[k] = 0.7 * drift[k - 1] + np.sqrt(1 - 0.7**2) * rng.standard_normal()
    logs: np.ndarray = 0.12 * drift[:, None] + 0.015 * rng.standard_normal((count, points))
    return logs


def false_reports(by_round: bool, reports: int = 200, rounds: int = 10, points: int = 6) -> int:
    """Reports of one toolchain under two names in which one is the faster."""
    rng = np.random.default_rng(17)
    wrong_reports = 0
    for _ in range(reports):
        logs = drifting(rng, 2 * rounds, points)
        if by_round:  # who is first is drawn in each round
            first = rng.integers(0, 2, rounds)
            begins = 2 * np.arange(rounds)
            one, other = logs[begins + first], logs[begins + 1 - first]
        else:  # one after the other
            one, other = logs[:rounds], logs[rounds:]
        ratios = np.exp(one - other)
        results = judge({size: ratios[:, size].tolist() for size in range(points)}, LEVELS)
        verdicts = {result.verdict for result in results.values()}
        wrong_reports += bool(verdicts & {Verdict.FASTER, Verdict.SLOWER})
    return wrong_reports


def test_a_toolchain_is_hardly_ever_faster_than_itself_by_round() -> None:
    """Of 200 reports 5 % may err."""
    assert false_reports(by_round=True) <= 10


def test_in_blocks_one_after_the_other_it_often_is() -> None:
    """Why these are refused: drift between the blocks is taken for a difference."""
    assert false_reports(by_round=False) >= 25
