"""The matrix is completed exactly; what was worse is launched again, apart from the night."""

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from measure.conftest import declared, local_site
from support.launches import write_launch
from support.programs import write_script

from roundtrip.errors import UserError
from roundtrip.measure import bundle, manifest, records, runner, scheduler, session, tree
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.matrix import ExpectedCase, NodePair
from roundtrip.measure.outcome import RunOutcome
from roundtrip.measure.runner import Runner

ONE, OTHER = "NetPIPE/mode=pingpong@local:smp+a", "NetPIPE/mode=stream@local:smp+a"
CASE_IDS = [ONE, OTHER]
Stages = Callable[..., Any]


def passing(steal_s: float = 0.0) -> Callable[[Any, Path, int], None]:
    return lambda case, folder, _: write_launch(case, folder, steal_s=steal_s)


def passing_where(passes: Callable[[Any, int], bool]) -> Callable[[Any, Path, int], None]:
    return lambda case, folder, attempts: write_launch(case, folder, passes(case, attempts))


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


def test_the_queue_is_emptied_at_both_ends(stage: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    campaign = stage(passing())
    campaign.scheduler = "slurm"
    monkeypatch.setattr(scheduler, "cancel_jobs", lambda *_: counts.append(campaign.passed()))
    campaign.run()
    assert [sum(passed.values()) for passed in counts] == [0, 6]


def test_a_case_that_fails_now_and_then_is_completed(stage: Stages) -> None:
    campaign = stage(passing_where(lambda case, attempts: attempts != 1))
    campaign.run()
    assert campaign.passed() == dict.fromkeys(CASE_IDS, 3)
    assert campaign.attempts == dict.fromkeys(CASE_IDS, 4)


def test_a_case_that_never_passes_is_given_up_and_not_green(stage: Stages) -> None:
    campaign = stage(passing_where(lambda case, _: "stream" not in str(case.parameters)))
    campaign.run()
    assert campaign.attempts == {CASE_IDS[0]: 3, CASE_IDS[1]: 2}
    outcome = RunOutcome.from_tree(campaign.tree)
    assert not outcome.is_complete
    assert outcome.counts.missing_by_case == {CASE_IDS[1]: 3}
    assert any("missing 3 x NetPIPE/mode=stream" in line for line in outcome.describe_lines())


def test_a_pair_that_failed_is_repeated(stage: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs are launches of one case: one that passed must not stand for one that did not."""
    pairs = [("a", "b"), ("c", "d"), ("e", "f")]
    campaign = stage(passing(), launches=1)
    launched_pairs: list[tuple[str, ...]] = []

    def run(_site: object, block: list[ExpectedCase], folder: Path, *_: object) -> float:
        for item in block:
            hosts = item.pairs[0].hosts
            launched_pairs.append(hosts)
            passes = hosts != ("c", "d") or launched_pairs.count(hosts) == 2
            case = replace(item.case, hash=f"0000000{pairs.index(hosts)}")
            write_launch(case, folder, passes, hosts=hosts)
        return 0.0

    first, _ = campaign.expected
    campaign.expected = [replace(first, pairs=(NodePair(0, 1, hosts),)) for hosts in pairs]
    counts: list[int] = []
    campaign.progress.begin_launches = lambda cases, launches, *_: counts.extend((cases, launches))
    monkeypatch.setattr(session, "run_session", run)
    campaign.run()
    assert counts == [1, 3], "one case, three launches"
    assert sorted(launched_pairs) == [("a", "b"), ("c", "d"), ("c", "d"), ("e", "f")]
    assert campaign.passed() == {CASE_IDS[0]: 3}


@pytest.mark.parametrize("extra", [2, 0])
def test_disturbed_launches_are_kept_and_repeated(stage: Stages, extra: int) -> None:
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


def test_sessions_know_their_round_and_a_resumed_run_counts_on(stage: Stages) -> None:
    """Two partitions make two sessions a round: both are marked with the round's number."""
    campaign = stage(passing(), launches=2)
    first, second = campaign.expected
    campaign.expected = [first, replace(second, case=replace(second.case, partition="other"))]
    campaign.run()
    campaign.launches = 3
    campaign.run()
    rounds = {launch.session: launch.campaign_round for launch in scan_launches(campaign.tree.path)}
    assert rounds == {"001": 1, "002": 1, "003": 2, "004": 2, "005": 3, "006": 3}


@pytest.fixture
def night(stage: Stages) -> Runner:
    """A night of two cases, three launches each, which has run."""
    new_stage = stage(passing())
    campaign = declared(3, confirm_minutes=30)
    runner = Runner(campaign, local_site(), new_stage.tree, new_stage.expected, new_stage.progress)
    with new_stage.tree:
        assert runner.run()
    return runner


def launched(folder: Path) -> Counter[str]:
    return Counter(launch.case_id for launch in scan_launches(folder))


def again(night: Runner) -> Counter[str]:
    return launched(night.tree.path / records.CONFIRMATION_FOLDER)


def follow(then: Callable[[Any], float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Call `then` with the block of each session that has ended; it returns its seconds."""
    run_session = session.run_session

    def run(site: Any, block: Any, folder: Path, *rest: Any) -> float:
        run_session(site, block, folder, *rest)
        return then(block)

    monkeypatch.setattr(session, "run_session", run)


def test_launches_that_confirm_are_no_part_of_the_night(night: Runner, tmp_path: Path) -> None:
    bundle_before = bundle.build_bundle(night.tree.path, tmp_path)
    assert runner.launch_confirmation(night, {ONE, OTHER}, 4) == ""
    launches = scan_launches(night.tree.path / records.CONFIRMATION_FOLDER)
    rounds = Counter((launch.case_id, launch.campaign_round) for launch in launches)
    assert rounds == {(case, number): 1 for case in CASE_IDS for number in (1, 2, 3, 4)}
    assert launched(night.tree.path) == {ONE: 3, OTHER: 3}
    assert RunOutcome.from_tree(night.tree).is_complete
    record = json.loads((night.tree.path / "env" / records.CONFIRMATION_FILE).read_text())
    assert record == {"schema": 1, "launches": 4, "why_not": ""}
    bundle_after = bundle.build_bundle(night.tree.path, tmp_path)
    assert manifest.verify(bundle_after).digest != manifest.verify(bundle_before).digest
    manifest.verify(bundle_after / records.CONFIRMATION_FOLDER)
    for name in ("samples.parquet", "medians.parquet", "cases.parquet"):
        assert (bundle_after / name).read_bytes() == (bundle_before / name).read_bytes()


def test_only_what_is_named_is_launched_and_nothing_that_is_simulated(night: Runner) -> None:
    runner.launch_confirmation(night, {OTHER, "Gone/@local:smp+a"}, 2)
    assert again(night) == {OTHER: 2}
    night.expected = [replace(item, simulated=True) for item in night.expected]
    assert "launched by this campaign" in runner.launch_confirmation(night, {ONE}, 2)


@pytest.mark.parametrize(("left_s", "launch_s"), [(-1.0, 0.0), (0.0, 0.0), (50.0, 100.0)])
def test_without_the_time_for_a_round(night: Runner, left_s: float, launch_s: float) -> None:
    night.deadline_s = time.monotonic() + left_s
    night._launch_times_s = [launch_s]
    reason = runner.launch_confirmation(night, {ONE, OTHER}, 4)
    assert reason.startswith("no time was left: a round takes ")
    assert not (night.tree.path / records.CONFIRMATION_FOLDER).exists()
    record = json.loads((night.tree.path / "env" / records.CONFIRMATION_FILE).read_text())
    assert record["why_not"] == reason


@pytest.mark.parametrize(
    ("confirm_minutes", "left_minutes", "launches"),
    [(15, 60, 1), (25, 60, 2), (60, 35, 3), (90, 90, 5)],
)
def test_it_ends_with_its_limit_or_that_of_the_night(
    night: Runner,
    monkeypatch: pytest.MonkeyPatch,
    confirm_minutes: float,
    left_minutes: float,
    launches: int,
) -> None:
    clock = [1000.0]

    def ten_minutes(_: object) -> float:
        clock[0] += 600
        return 600.0

    follow(ten_minutes, monkeypatch)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    night.campaign = replace(night.campaign, confirm_minutes=confirm_minutes)
    night.deadline_s = clock[0] + 60 * left_minutes
    runner.launch_confirmation(night, {ONE, OTHER}, 5)
    assert again(night) == {ONE: launches, OTHER: launches}


@pytest.mark.parametrize(
    ("nodes", "listing", "nodelist"),
    [
        (1, "node.cluster|mixed|(null)|none", ("node.cluster",)),
        (1, "node|drained|(null)|bad cable", ()),
        (1, "other|idle|(null)|none", ()),
        (2, "node|idle|(null)|none", ()),
    ],
)
def test_each_case_is_launched_on_its_nodes_of_the_night(
    night: Runner,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    nodes: int,
    listing: str,
    nodelist: tuple[str, ...],
) -> None:
    for name in ("sinfo", "squeue", "scancel"):
        write_script(tmp_path / name, f"echo {listing!r}" if name == "sinfo" else "")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    night.site = local_site("squeue", checkout=tmp_path)
    night.expected = [replace(item, node_count=nodes) for item in night.expected]
    nodelists: list[tuple[str, ...]] = []

    def note(block: Any) -> float:
        nodelists.extend(item.nodelist for item in block)
        return 0.0

    follow(note, monkeypatch)
    assert runner.launch_confirmation(night, {ONE, OTHER}, 1) == ""
    assert nodelists == [nodelist, nodelist]


def test_an_interrupted_one_is_not_doubled(night: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> float:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        follow(interrupt, patch)
        runner.launch_confirmation(night, {ONE, OTHER}, 3)
    runner.launch_confirmation(night, {ONE, OTHER}, 3)
    assert again(night) == {ONE: 3, OTHER: 3}
