"""What became of change points that were reported after the night before."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.content.nights import judge_series
from roundtrip.stats.nights.verdicts import (
    Incident,
    LevelDrift,
    ModeShares,
    Segment,
    SeriesHistory,
    Step,
    StepRevision,
    Verdict,
)

from .planted import judged, quiet

#: A change point is the same up to so many nights away.
WITHIN = 10


def step(night: int, ratio: float = 1.1, half: float = 0.02) -> Step:
    return Step(night, ratio, ratio - half, ratio + half, 9.0, 4.3, 5)


def known(*steps: Step, **fields: object) -> SeriesHistory:
    return SeriesHistory(100, tuple(steps), min_effect=0.01, **fields)  # type: ignore[arg-type]


def revisions(newest: SeriesHistory, previous: SeriesHistory) -> tuple[StepRevision, ...]:
    return replace(newest, previous_history=previous).revisions


def test_a_change_point_that_lies_elsewhere_is_moved_to_the_nearest_of_its_direction() -> None:
    old_step, new_step = step(41), step(40)
    before, after = known(old_step), known(step(38, 0.9), step(33), new_step)
    assert revisions(after, before) == (StepRevision(old_step, new_step),)


def test_one_that_stands_is_no_revision_even_if_others_are_new() -> None:
    assert revisions(known(step(41, 1.2), step(44)), known(step(41))) == ()


def test_what_was_no_effect_was_not_reported() -> None:
    assert revisions(known(), known(step(41, 1.005))) == ()


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (known(incidents=(Incident(40, 43, 1.1),)), "an incident"),
        (known(step(41, 1.005)), "no longer exceeds the minimum effect"),
        (known(drift=LevelDrift(1.1, 1.05, 1.2)), "a drift explains"),
        (known(is_wandering=True), "wanders"),
        (known(step(41, 0.9)), "weakens its evidence below the threshold"),
        (known(step(52)), "weakens its evidence below the threshold"),
    ],
)
def test_one_that_is_gone_is_withdrawn_with_the_reason(after: SeriesHistory, reason: str) -> None:
    (revision,) = revisions(after, known(step(41)))
    assert revision.new_step is None and reason in revision.reason


nights = st.lists(st.integers(0, 60), unique=True, max_size=6).map(sorted)
ratios = st.sampled_from([0.9, 1.1, 1.005])


@given(st.data(), nights, nights)
def test_each_reported_change_point_stands_or_is_revised_once(
    data: st.DataObject, first: list[int], second: list[int]
) -> None:
    before = known(*(step(night, data.draw(ratios), 0.001) for night in first))
    after = known(*(step(night, data.draw(ratios), 0.001) for night in second))
    changes = revisions(after, before)
    lost_steps = [each for each in before.steps if each.is_effect(0.01) and each not in after.steps]
    assert [revision.old_step for revision in changes] == lost_steps
    new_steps = [revision.new_step for revision in changes if revision.new_step]
    assert len(set(new_steps)) == len(new_steps) and set(new_steps) <= set(after.steps)
    assert all(revision.reason for revision in changes if revision.new_step is None)
    for revision in changes:
        if revision.new_step:
            assert 0 < abs(revision.new_step.night - revision.old_step.night) <= WITHIN
            assert revision.new_step.is_effect(0.01)
    assert revisions(before, before) == ()


def test_a_change_that_went_back_is_withdrawn_as_an_incident() -> None:
    logs = quiet(10, 105)
    logs[:, 100:103] += math.log(1.3)
    before = judged(logs[:, :103])
    assert all(history.steps for history in before)
    for night in (104, 105):
        after = judged(logs[:, :night])
        withdrawals = [
            revisions(history, previous)
            for history, previous in zip(after, before, strict=True)
            if not history.steps
        ]
        assert all("an incident" in revision.reason for (revision,) in withdrawals)
    assert len(withdrawals) == len(after)


def test_a_night_that_was_worse_and_is_back_is_named_once() -> None:
    logs = quiet(10, 103)
    logs[:, 100] += math.log(1.3)
    ratio_lists = []
    for night in (101, 102, 103):
        pairs = zip(judged(logs[:, :night]), judged(logs[:, : night - 1]), strict=True)
        newest_nights = [
            replace(history, previous_history=previous).recovered_night()
            for history, previous in pairs
        ]
        ratio_lists.append([round(newest.ratio, 1) for newest in newest_nights if newest])
    assert ratio_lists == [[], [1.3] * 10, []]


def test_a_night_that_was_worse_and_lasts_is_no_incident() -> None:
    logs = quiet(10, 102)
    logs[:, 100:] += math.log(1.3)
    for newest, previous in zip(judged(logs), judged(logs[:, :101]), strict=True):
        history = replace(newest, previous_history=previous)
        assert history.steps and history.recovered_night() is None
        previous = replace(previous, lower_is_better=False)
        history = replace(newest, previous_history=previous, lower_is_better=False)
        assert history.recovered_night() is None


@pytest.mark.parametrize(
    ("before", "after", "lower_is_better", "verdict"),
    [
        (0.08, 0.4, True, Verdict.FLAPPING),
        (0.4, 0.08, True, Verdict.IMPROVED),
        (0.08, 0.4, False, Verdict.IMPROVED),
        (1.0, 0.6, False, Verdict.FLAPPING),
    ],
)
def test_a_change_of_shares_is_said_of_the_worse_mode(
    before: float, after: float, lower_is_better: bool, verdict: Verdict
) -> None:
    segments = (Segment(0, 100, 1.0),)
    shares = ModeShares(20, before, after, 1.08)
    history = known(segments=segments, mode_shares=shares, lower_is_better=lower_is_better)
    assert history.verdict() is verdict
    summary = judge_series(history)
    share = after if lower_is_better else 1 - after
    assert f"in {share:.0%}".replace("%", "") in summary.ratio_text.replace(
        "\N{NO-BREAK SPACE}", ""
    )
    assert "of 20 nights" in summary.ratio_text and summary.is_alarm is (
        verdict is Verdict.FLAPPING
    )
    assert history.verdict(accepted_night=85) is Verdict.UNCHANGED
