"""The search over ordered versions: the first slow one, a second one, none, and what is skipped."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from roundtrip.cause import order, page, questions
from roundtrip.cause.journal import Plan
from roundtrip.cause.order import Changes, find_changes
from roundtrip.cause.questions import ERROR, Answer, Question, evidence_threshold, normal, simulate

COUNT, STEP, LEAST = 24, 0.2, 0.02


def searched(
    effect: Callable[[Any], float], seed: int = 1, spread: float = 0.01, budget: int = 2000
) -> Changes:
    rng = np.random.default_rng(seed)
    return simulate(find_changes(COUNT, LEAST), effect, normal(spread), rng, budget)


@pytest.mark.parametrize("first", [1, 11, 23])
def test_the_first_slow_version_is_found(first: int) -> None:
    result = searched(lambda at: STEP * (at >= first))
    (change,) = result.changes
    assert (change.before, change.after, result.open_intervals) == (first - 1, first, [])
    assert change.step and change.step.low and change.step.high
    assert change.step.low < np.exp(STEP) < change.step.high
    assert len(result.probes) <= 5


def test_a_change_that_is_located_is_named_before_others_are_looked_for() -> None:
    whole = searched(lambda at: STEP * (at >= 11))
    part = searched(lambda at: STEP * (at >= 11), budget=whole.launches - 4)
    (change,) = part.changes
    assert (change.before, change.after, change.step, part.open_intervals) == (10, 11, None, [])


def test_a_second_change_is_found_too() -> None:
    result = searched(lambda at: STEP * (at >= 5) + STEP * (at >= 17))
    assert [(change.before, change.after) for change in result.changes] == [(4, 5), (16, 17)]


def test_versions_of_which_none_is_slower_have_no_change() -> None:
    result = searched(lambda at: 0.0)
    assert result.ends_differ is False and not result.changes and not result.probes


def test_noise_that_hides_the_step_leaves_the_answer_open() -> None:
    result = searched(lambda at: 0.03 * (at >= 9), spread=0.5, budget=200)
    assert not result.changes
    assert result.ends_differ is None or result.open_intervals


@pytest.mark.nightly
def test_a_wrong_turn_is_as_rare_as_promised() -> None:
    """100 searches of a small step: a change elsewhere in at most 5 %."""
    wrong = 0
    for seed in range(100):
        first = 1 + seed % (COUNT - 1)
        result = searched(lambda at, first=first: 0.04 * (at >= first), seed, 0.02)
        wrong += any(change.after != first for change in result.changes)
    assert wrong <= 5


def ended(
    unbuilt: dict[int, str], first: int, failing: int | None = None, count: int = COUNT
) -> Changes:
    rng = np.random.default_rng(1)

    def answer(question: Question) -> Answer:
        arms = [arm for arm in question.arms if isinstance(arm, int)]
        values = [
            None if arm == failing else STEP * (arm >= first) + 0.01 * rng.standard_normal()
            for arm in arms
        ]
        skip_reasons = {arm: unbuilt[arm] for arm in arms if arm in unbuilt}
        return Answer([None] * len(arms), skip_reasons) if skip_reasons else Answer(values)

    return questions.run(find_changes(count, LEAST), answer)


def test_versions_that_cannot_be_built_are_skipped_with_the_reason() -> None:
    result = ended({11: "make failed", 12: "make failed"}, first=12)
    assert result.skip_reasons == {11: "make failed", 12: "make failed"}
    assert [(change.before, change.after) for change in result.changes] == [(10, 13)]
    plan = Plan.model_construct(kind="bisect", arms=[f"v{at}" for at in range(COUNT)])
    (line, *_) = page.plain_sentences(plan, result)
    assert line.startswith("The first slow version is v13: it takes ")
    assert line.endswith(" of v10, the last earlier one that can be measured (2 between cannot).")


def test_a_version_whose_launches_fail_is_skipped() -> None:
    result = ended({}, first=7, failing=11)
    assert result.skip_reasons == {11: "its launches fail"}
    assert [change.after for change in result.changes] == [7]


def test_an_end_that_cannot_be_built_ends_the_search() -> None:
    result = ended({COUNT - 1: "make failed"}, first=7)
    assert result.ends_differ is None and not result.changes
    assert result.skip_reasons == {COUNT - 1: "make failed"}


def test_skipped_versions_do_not_make_more_probes_than_the_error_is_divided_by() -> None:
    """The buildable version next to the middle leaves all others on one side."""
    skip_reasons = dict.fromkeys([*range(1, 30), *range(31, 35)], "make failed")
    result = ended(skip_reasons, first=64, count=65)
    assert [change.after for change in result.changes] == [64]
    assert len(result.probes) <= (65 - 2).bit_length()


def test_the_tests_of_two_gaps_share_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = list[float]()

    def threshold(error: float) -> float:
        errors.append(error)
        return evidence_threshold(error)

    monkeypatch.setattr(order, "evidence_threshold", threshold)
    searched(lambda at: STEP * (at >= 11))
    probe_count = (COUNT - 2).bit_length()
    parts = {
        "ends": order._ENDS_ERROR,
        "probes": order._PROBES_ERROR / probe_count,
        "gaps": order._FURTHER_ERROR / 2,
    }
    assert {*errors} == {*parts.values()}
    total = order._ENDS_ERROR + 2 * (order._PROBES_ERROR + order._FURTHER_ERROR)
    assert total == pytest.approx(ERROR)
