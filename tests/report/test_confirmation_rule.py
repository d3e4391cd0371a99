"""The rule by which launches that were made again confirm: known answers, and how often it errs."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.report.confirmation import Confirmation, SignTest, judge_repetitions

LEVEL = 0.05
counts = st.integers(0, 40).flatmap(lambda n: st.builds(SignTest, st.integers(0, n), st.just(n)))


def one(beyond: int, launches: int, control: SignTest | None = None) -> Confirmation:
    (confirmation,) = judge_repetitions([SignTest(beyond, launches)], [control], LEVEL)
    return confirmation


@pytest.mark.parametrize(
    ("beyond", "launches", "verdict"),
    [
        (9, 9, Confirmation.CONFIRMED),  # p = 1/512
        (8, 9, Confirmation.CONFIRMED),  # 10/512
        (7, 9, Confirmation.NOT_CONFIRMED),  # 46/512 = 0.09
        (0, 9, Confirmation.NOT_CONFIRMED),
        (5, 5, Confirmation.CONFIRMED),  # 1/32
        (4, 4, Confirmation.TOO_FEW_LAUNCHES),  # 1/16: as clear as can be, and not enough
        (0, 1, Confirmation.TOO_FEW_LAUNCHES),
        (0, 0, Confirmation.NOT_LAUNCHED),
    ],
)
def test_known_answers(beyond: int, launches: int, verdict: Confirmation) -> None:
    assert one(beyond, launches) is verdict


def test_the_control_comes_first() -> None:
    assert one(9, 9, SignTest(5, 9)) is Confirmation.MACHINE_SLOWER
    assert one(3, 9, SignTest(9, 9)) is Confirmation.MACHINE_SLOWER
    assert one(9, 9, SignTest(4, 9)) is Confirmation.CONFIRMED
    assert one(9, 9, SignTest(0, 0)) is Confirmation.CONFIRMED


def test_many_series_are_held_to_more_and_help_each_other() -> None:
    lone_results = judge_repetitions([SignTest(8, 9), *[SignTest(2, 9)] * 9], [None] * 10, LEVEL)
    assert lone_results[0] is Confirmation.NOT_CONFIRMED
    joint_results = judge_repetitions([SignTest(8, 9)] * 10, [None] * 10, LEVEL)
    assert set(joint_results) == {Confirmation.CONFIRMED}


@pytest.mark.parametrize(("series", "fewest"), [(1, 5), (2, 6), (10, 8), (100, 11)])
def test_the_fewest_launches(series: int, fewest: int) -> None:
    verdicts = {fewest - 1: Confirmation.TOO_FEW_LAUNCHES, fewest: Confirmation.NOT_CONFIRMED}
    for launches, verdict in verdicts.items():
        tests = [SignTest(0, launches)] * series
        assert set(judge_repetitions(tests, [None] * series, LEVEL)) == {verdict}


@given(st.integers(1, 60))
def test_a_series_inside_its_edge_is_confirmed_less_often_than_the_level(launches: int) -> None:
    """Exactly: each launch lies beyond with probability 1/2, the worst that "inside" allows."""
    wrong = [k for k in range(launches + 1) if one(k, launches) is Confirmation.CONFIRMED]
    assert sum(comb(launches, k) for k in wrong) <= LEVEL * 2**launches


@given(counts, counts)
def test_another_launch_beyond_takes_no_confirmation_back(
    sign_test: SignTest, control: SignTest
) -> None:
    larger_test = SignTest(sign_test.beyond + 1, sign_test.launches + 1)
    if one(sign_test.beyond, sign_test.launches, control) is Confirmation.CONFIRMED:
        assert one(larger_test.beyond, larger_test.launches, control) is Confirmation.CONFIRMED


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=20))
def test_nothing_is_confirmed_whose_control_is_slower(
    pairs: list[tuple[SignTest, SignTest]],
) -> None:
    sign_tests, controls = zip(*pairs, strict=True)
    verdicts = judge_repetitions(sign_tests, controls, LEVEL)
    for verdict, sign_test, control in zip(verdicts, sign_tests, controls, strict=True):
        if control.is_majority:
            assert verdict in (Confirmation.MACHINE_SLOWER, Confirmation.NOT_LAUNCHED)
        assert (verdict is Confirmation.NOT_LAUNCHED) == (sign_test.launches == 0)
