"""The matrix is completed exactly: nothing lost, nothing doubled, nothing tried for ever."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.launches import write_launch

from roundtrip.errors import UserError
from roundtrip.measure import scheduler, session, tree
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.matrix import ExpectedCase, NodePair
from roundtrip.measure.outcome import RunOutcome

CASE_IDS = ["NetPIPE/mode=pingpong@local:smp+a", "NetPIPE/mode=stream@local:smp+a"]
Stages = Callable[..., Any]


def passing(steal_s: float = 0.0) -> Callable[[Any, Path, int], None]:
    return lambda case, folder, _: write_launch(case, folder, steal_s=steal_s)


def failing_where(fails: Callable[[Any, int], bool]) -> Callable[[Any, Path, int], None]:
    return lambda case, folder, attempts: write_launch(
        case, folder, passed=not fails(case, attempts)
    )


def test_every_case_gets_its_launches(stage: Stages) -> None:
    campaign = stage(passing())
    campaign.run()
    assert campaign.passed() == dict.fromkeys(CASE_IDS, 3)
    assert campaign.attempts == dict.fromkeys(CASE_IDS, 3)
    assert RunOutcome.from_tree(campaign.tree).is_complete


def test_a_run_that_knows_enough_ends_between_rounds_and_may_record_that(stage: Stages) -> None:
    campaign = stage(passing())
    campaign.enough = lambda: sum(campaign.attempts.values()) >= 4
    campaign.run()
    assert campaign.attempts == dict.fromkeys(CASE_IDS, 2)
    assert not RunOutcome.from_tree(campaign.tree).is_complete
    campaign.tree.record_launch_count(2)
    assert RunOutcome.from_tree(campaign.tree).is_complete


def test_what_is_left_in_the_queue_is_cancelled_before_and_after(
    stage: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    campaign = stage(passing())
    campaign.scheduler = "slurm"
    monkeypatch.setattr(scheduler, "cancel_jobs", lambda *_: counts.append(campaign.passed()))
    campaign.run()
    assert [sum(passed.values()) for passed in counts] == [0, 6]


def test_a_case_that_fails_now_and_then_is_completed(stage: Stages) -> None:
    campaign = stage(failing_where(lambda case, attempts: attempts == 1))
    campaign.run()
    assert campaign.passed() == dict.fromkeys(CASE_IDS, 3)
    assert campaign.attempts == dict.fromkeys(CASE_IDS, 4)


def test_a_case_that_never_passes_is_given_up_and_not_green(stage: Stages) -> None:
    campaign = stage(failing_where(lambda case, attempts: "stream" in str(case.parameters)))
    campaign.run()
    assert campaign.attempts == {CASE_IDS[0]: 3, CASE_IDS[1]: 2}
    outcome = RunOutcome.from_tree(campaign.tree)
    assert not outcome.is_complete
    assert outcome.counts.missing_by_case == {CASE_IDS[1]: 3}
    assert any("missing 3 x NetPIPE/mode=stream" in line for line in outcome.describe_lines())


def test_a_pair_that_failed_is_launched_again_and_no_other(
    stage: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs are launches of one case: one that passed must not stand for one that did not."""
    pairs = [("a", "b"), ("c", "d"), ("e", "f")]
    failed_pairs: list[tuple[str, ...]] = []

    def player(item: Any, folder: Path) -> None:
        hosts = item.pairs[0].hosts
        fails = hosts == ("c", "d") and not failed_pairs
        failed_pairs.extend([hosts] * fails)
        case = replace(item.case, hash=f"0000000{pairs.index(hosts)}")
        write_launch(case, folder, passed=not fails, hosts=hosts)

    campaign = stage(passing(), launches=1)
    launched_pairs: list[tuple[str, ...]] = []

    def run(_site: object, block: list[ExpectedCase], folder: Path, *_: object) -> float:
        for item in block:
            launched_pairs.append(item.pairs[0].hosts)
            player(item, folder)
        return 0.0

    campaign.expected = [
        replace(campaign.expected[0], pairs=(NodePair(0, 1, hosts),)) for hosts in pairs
    ]
    counts: list[int] = []
    campaign.progress.begin_launches = lambda cases, launches, *_: counts.extend((cases, launches))
    monkeypatch.setattr(session, "run_session", run)
    campaign.run()
    assert counts == [1, 3], "one case, three launches"
    assert sorted(launched_pairs) == [("a", "b"), ("c", "d"), ("c", "d"), ("e", "f")]
    assert campaign.passed() == {CASE_IDS[0]: 3}


def test_nothing_at_all_is_not_green(stage: Stages) -> None:
    campaign = stage(lambda case, folder, attempts: None)
    campaign.run()
    outcome = RunOutcome.from_tree(campaign.tree)
    assert not outcome.is_complete
    assert outcome.counts.passed_by_case == {}


@pytest.mark.parametrize("extra", [2, 0])
def test_disturbed_launches_are_kept_and_repeated_as_far_as_allowed(
    stage: Stages, extra: int
) -> None:
    campaign = stage(passing(steal_s=4.0), extra=extra)
    campaign.run()
    assert campaign.passed() == dict.fromkeys(CASE_IDS, 3 + extra)
    assert RunOutcome.from_tree(campaign.tree).all_disturbed


@pytest.mark.parametrize("killed_after", range(6))
def test_a_killed_run_is_resumed_without_loss_or_doubling(stage: Stages, killed_after: int) -> None:
    count = 0

    def player(case: Any, folder: Path, attempts: int) -> None:
        nonlocal count
        if count == killed_after:
            write_launch(case, folder, passed=False)
            count += 1
            raise KeyboardInterrupt
        write_launch(case, folder)
        count += 1

    campaign = stage(player)
    with pytest.raises(KeyboardInterrupt):
        campaign.run()
    assert sum(campaign.passed().values()) == killed_after
    assert not RunOutcome.from_tree(campaign.tree).is_complete
    campaign.run()
    assert campaign.passed() == dict.fromkeys(CASE_IDS, 3)
    assert RunOutcome.from_tree(campaign.tree).is_complete


def test_two_campaigns_cannot_share_a_tree(stage: Stages) -> None:
    campaign = stage(passing())
    with campaign.tree, pytest.raises(UserError, match="another campaign is running"):
        tree.RunTree(campaign.tree.path).__enter__()


def test_the_sessions_of_a_round_say_so_and_a_resumed_run_counts_on(
    stage: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two partitions make two sessions a round: both are marked with the round's number."""
    campaign = stage(passing(), launches=2)
    first, second = campaign.expected
    campaign.expected = [first, replace(second, case=replace(second.case, partition="other"))]
    campaign.run()
    campaign.launches = 3
    campaign.run()
    rounds = {launch.session: launch.campaign_round for launch in scan_launches(campaign.tree.path)}
    assert rounds == {"001": 1, "002": 1, "003": 2, "004": 2, "005": 3, "006": 3}
