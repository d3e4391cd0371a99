"""What was worse is launched again in the time that is left, apart from the night itself."""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from measure.conftest import declared, local_site, write_program
from support.launches import write_launch

from roundtrip.measure import bundle, manifest, records, runner, session
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.matrix import ExpectedCase
from roundtrip.measure.outcome import RunOutcome
from roundtrip.measure.runner import Runner

ONE, OTHER = "NetPIPE/mode=pingpong@local:smp+a", "NetPIPE/mode=stream@local:smp+a"


@pytest.fixture
def night(stage: Callable[..., Any]) -> Runner:
    """A night of two cases, three launches each, which has run."""
    new_stage = stage(lambda case, folder, _: write_launch(case, folder))
    campaign = declared(3, confirm_minutes=30)
    runner = Runner(campaign, local_site(), new_stage.tree, new_stage.expected, new_stage.progress)
    with new_stage.tree:
        assert runner.run()
    return runner


def again(night: Runner) -> Counter[str]:
    folder = night.tree.path / records.CONFIRMATION_FOLDER
    return (
        Counter(launch.case_id for launch in scan_launches(folder))
        if folder.exists()
        else Counter()
    )


def test_launches_that_confirm_are_no_part_of_the_night(night: Runner, tmp_path: Path) -> None:
    bundle_before = bundle.build_bundle(night.tree.path, tmp_path)
    assert runner.launch_confirmation(night, {ONE, OTHER}, 4) == ""
    assert again(night) == {ONE: 4, OTHER: 4}
    assert Counter(launch.case_id for launch in scan_launches(night.tree.path)) == {
        ONE: 3,
        OTHER: 3,
    }
    assert RunOutcome.from_tree(night.tree).is_complete
    record = json.loads((night.tree.path / "env" / records.CONFIRMATION_FILE).read_text())
    assert record == {"schema": 1, "launches": 4, "why_not": ""}
    bundle_after = bundle.build_bundle(night.tree.path, tmp_path)
    assert manifest.verify(bundle_after).digest != manifest.verify(bundle_before).digest
    manifest.verify(bundle_after / records.CONFIRMATION_FOLDER)
    for name in ("samples.parquet", "medians.parquet", "cases.parquet"):
        assert (bundle_after / name).read_bytes() == (bundle_before / name).read_bytes()


def test_each_round_launches_the_worse_and_the_controls_once(night: Runner) -> None:
    runner.launch_confirmation(night, {ONE, OTHER}, 3)
    launches = scan_launches(night.tree.path / records.CONFIRMATION_FOLDER)
    assert Counter(launch.campaign_round for launch in launches) == {1: 2, 2: 2, 3: 2}


def test_only_what_is_named_is_launched_and_nothing_that_is_simulated(night: Runner) -> None:
    runner.launch_confirmation(night, {OTHER, "Gone/@local:smp+a"}, 2)
    assert again(night) == {OTHER: 2}
    night.expected = [replace(item, simulated=True) for item in night.expected]
    assert "launched by this campaign" in runner.launch_confirmation(night, {ONE}, 2)


@pytest.mark.parametrize(("left_s", "launch_s"), [(-1.0, 0.0), (0.0, 0.0), (50.0, 100.0)])
def test_without_the_time_for_a_round_it_says_so(
    night: Runner, left_s: float, launch_s: float
) -> None:
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
def test_it_ends_with_its_own_limit_or_that_of_the_night(
    night: Runner,
    monkeypatch: pytest.MonkeyPatch,
    confirm_minutes: float,
    left_minutes: float,
    launches: int,
) -> None:
    clock = [1000.0]
    run_session = session.run_session

    def ten_minutes(site: Any, block: Sequence[ExpectedCase], folder: Path, *rest: Any) -> float:
        run_session(site, block, folder, *rest)
        clock[0] += 600
        return 600.0

    monkeypatch.setattr(session, "run_session", ten_minutes)
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
def test_each_case_is_launched_on_its_nodes_of_the_night_if_slurm_has_them_in_use(
    night: Runner,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    nodes: int,
    listing: str,
    nodelist: tuple[str, ...],
) -> None:
    for name in ("sinfo", "squeue", "scancel"):
        write_program(tmp_path / name, f"echo {listing!r}" if name == "sinfo" else "")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    night.site = local_site("squeue", checkout=tmp_path)
    night.expected = [replace(item, node_count=nodes) for item in night.expected]
    run_session, nodelists = session.run_session, []

    def noted(site: Any, block: Sequence[ExpectedCase], folder: Path, *rest: Any) -> float:
        nodelists.extend(item.nodelist for item in block)
        return run_session(site, block, folder, *rest)

    monkeypatch.setattr(session, "run_session", noted)
    assert runner.launch_confirmation(night, {ONE, OTHER}, 1) == ""
    assert nodelists == [nodelist, nodelist]


def test_an_interrupted_one_goes_on_without_doubling(
    night: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_session = session.run_session

    def torn(site: Any, block: Sequence[ExpectedCase], folder: Path, *rest: Any) -> float:
        run_session(site, block, folder, *rest)
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "run_session", torn)
    with pytest.raises(KeyboardInterrupt):
        runner.launch_confirmation(night, {ONE, OTHER}, 3)
    monkeypatch.setattr(session, "run_session", run_session)
    runner.launch_confirmation(night, {ONE, OTHER}, 3)
    assert again(night) == {ONE: 3, OTHER: 3}
