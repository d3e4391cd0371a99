"""The matrix is completed exactly: nothing lost, nothing doubled, nothing tried for ever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.launches import leave

from roundtrip.campaign import scheduler, session, tree
from roundtrip.campaign.matrix import ExpectedCase, Matrix, NodePair
from roundtrip.campaign.outcome import Outcome
from roundtrip.collect.launches import scan
from roundtrip.errors import UserError
from roundtrip.sites.site import Case

CASE_IDS = ["NetPIPE/mode=pingpong@local:smp+a", "NetPIPE/mode=stream@local:smp+a"]
Stages = Callable[..., Any]


def passing(steal_s: float = 0.0) -> Callable[[Any, Path, int], None]:
    return lambda case, folder, _: leave(case, folder, steal_s=steal_s)


def failing_where(fails: Callable[[Any, int], bool]) -> Callable[[Any, Path, int], None]:
    return lambda case, folder, before: leave(case, folder, passed=not fails(case, before))


def test_every_case_gets_its_launches(stage: Stages) -> None:
    staged = stage(passing())
    staged.run()
    assert staged.passed() == dict.fromkeys(CASE_IDS, 3)
    assert staged.attempts == dict.fromkeys(CASE_IDS, 3)
    assert Outcome.from_tree(staged.tree).is_complete


def test_a_run_that_knows_enough_ends_between_rounds(stage: Stages) -> None:
    staged = stage(passing())
    staged.enough = lambda: sum(staged.attempts.values()) >= 4
    staged.run()
    assert staged.attempts == dict.fromkeys(CASE_IDS, 2)


def test_a_run_may_record_that_it_wanted_no_more(stage: Stages) -> None:
    staged = stage(passing())
    staged.enough = lambda: bool(staged.attempts)
    staged.run()
    assert not Outcome.from_tree(staged.tree).is_complete
    staged.tree.record_launch_count(1)
    assert Outcome.from_tree(staged.tree).is_complete


def test_what_is_left_in_the_queue_is_cancelled_before_and_after(
    stage: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    staged = stage(passing())
    monkeypatch.setattr(scheduler, "cancel", lambda *_: seen.append(staged.passed()))
    staged.run()
    assert [sum(passed.values()) for passed in seen] == [0, 6]


def test_a_case_that_fails_now_and_then_is_completed(stage: Stages) -> None:
    staged = stage(failing_where(lambda case, before: before == 1))
    staged.run()
    assert staged.passed() == dict.fromkeys(CASE_IDS, 3)
    assert staged.attempts == dict.fromkeys(CASE_IDS, 4)


def test_a_case_that_never_passes_is_given_up_and_not_green(stage: Stages) -> None:
    staged = stage(failing_where(lambda case, before: "stream" in str(case.parameters)))
    staged.run()
    assert staged.attempts == {CASE_IDS[0]: 3, CASE_IDS[1]: 2}
    outcome = Outcome.from_tree(staged.tree)
    assert not outcome.is_complete
    assert outcome.missing == {CASE_IDS[1]: 3}
    assert any("missing 3 x NetPIPE/mode=stream" in line for line in outcome.lines())


def test_a_pair_that_failed_is_launched_again_and_no_other(
    stage: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs are launches of one case: one that passed must not stand for one that did not."""
    pairs = [("a", "b"), ("c", "d"), ("e", "f")]
    failed: list[tuple[str, ...]] = []

    def player(item: Any, folder: Path) -> None:
        hosts = item.pairs[0].hosts
        fails = hosts == ("c", "d") and not failed
        failed.extend([hosts] * fails)
        case = replace(item.case, hash=f"0000000{pairs.index(hosts)}")
        leave(case, folder, passed=not fails, hosts=hosts)

    staged = stage(passing(), launches=1)
    launched: list[tuple[str, ...]] = []

    def run(_site: object, block: list[ExpectedCase], folder: Path, *_: object) -> float:
        for item in block:
            launched.append(item.pairs[0].hosts)
            player(item, folder)
        return 0.0

    staged.expected = [
        replace(staged.expected[0], pairs=(NodePair(0, 1, hosts),)) for hosts in pairs
    ]
    counts: list[int] = []
    staged.progress.begin_launches = lambda cases, launches, *_: counts.extend((cases, launches))
    monkeypatch.setattr(session, "run_session", run)
    staged.run()
    assert counts == [1, 3], "one case, three launches"
    assert sorted(launched) == [("a", "b"), ("c", "d"), ("c", "d"), ("e", "f")]
    assert staged.passed() == {CASE_IDS[0]: 3}


def test_nothing_at_all_is_not_green(stage: Stages) -> None:
    staged = stage(lambda case, folder, before: None)
    staged.run()
    outcome = Outcome.from_tree(staged.tree)
    assert not outcome.is_complete
    assert outcome.passed == {}


def test_disturbed_launches_are_kept_and_repeated_as_far_as_allowed(stage: Stages) -> None:
    staged = stage(passing(steal_s=4.0), extra=2)
    staged.run()
    assert staged.passed() == dict.fromkeys(CASE_IDS, 5)


def test_disturbed_launches_are_not_repeated_where_that_is_not_allowed(stage: Stages) -> None:
    staged = stage(passing(steal_s=4.0))
    staged.run()
    assert staged.passed() == dict.fromkeys(CASE_IDS, 3)


@pytest.mark.parametrize("killed_after", range(6))
def test_a_killed_run_is_resumed_without_loss_or_doubling(stage: Stages, killed_after: int) -> None:
    done = 0

    def player(case: Any, folder: Path, before: int) -> None:
        nonlocal done
        if done == killed_after:
            leave(case, folder, passed=False)
            done += 1
            raise KeyboardInterrupt
        leave(case, folder)
        done += 1

    staged = stage(player)
    with pytest.raises(KeyboardInterrupt):
        staged.run()
    assert sum(staged.passed().values()) == killed_after
    assert not Outcome.from_tree(staged.tree).is_complete
    staged.run()
    assert staged.passed() == dict.fromkeys(CASE_IDS, 3)
    assert Outcome.from_tree(staged.tree).is_complete


def test_two_campaigns_cannot_share_a_tree(stage: Stages) -> None:
    staged = stage(passing())
    with staged.tree, pytest.raises(UserError, match="another campaign is running"):
        tree.RunTree(staged.tree.path).__enter__()


def test_only_an_unfinished_run_is_resumed(stage: Stages) -> None:
    staged = stage(passing())
    runs = staged.tree.path.parents[2]
    assert tree.newest_unfinished(runs, "night", "local").path == staged.tree.path
    staged.tree.finish()
    with pytest.raises(UserError, match="no unfinished run of 'night'"):
        tree.newest_unfinished(runs, "night", "local")


def test_a_changed_campaign_does_not_resume_an_old_run(stage: Stages) -> None:
    staged = stage(passing())
    other = ExpectedCase(Case("New", (), "0" * 8, "local", "smp", "a"), "check.py", ())
    with pytest.raises(UserError, match="has changed since this run began"):
        tree.require_same_matrix(staged.tree, Matrix((other,), ()))


def test_a_broken_state_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(UserError, match=r"state\.json:1: not JSON"):
        _ = tree.RunTree(tmp_path).state


def test_the_sessions_of_a_round_say_so_and_a_resumed_run_counts_on(
    stage: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two partitions make two sessions a round: both are marked with the round's number."""
    staged = stage(passing(), launches=2)
    here, there = staged.expected
    staged.expected = [here, replace(there, case=replace(there.case, partition="other"))]
    staged.run()
    staged.launches = 3
    staged.run()
    rounds = {launch.round: launch.campaign_round for launch in scan(staged.tree.path)}
    assert rounds == {"001": 1, "002": 1, "003": 2, "004": 2, "005": 3, "006": 3}
