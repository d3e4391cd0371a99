"""A campaign of two cases, whose ReFrame sessions the test plays; run trees of one toolchain."""

import io
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from rich.console import Console
from support.launches import write_launch
from support.synthetic import SyntheticTree

from roundtrip.measure import bundle, scheduler, session
from roundtrip.measure.campaign_file import Campaign, CheckPlan
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.matrix import ExpectedCase, Matrix, SkippedCase
from roundtrip.measure.progress import TerminalProgress
from roundtrip.measure.runner import Runner
from roundtrip.measure.tree import RunTree, create_tree
from roundtrip.sites.site import Case

CASES = [
    Case("NetPIPE", (("mode", mode),), str(number) * 8, "local", "smp", "a")
    for number, mode in enumerate(("pingpong", "stream"))
]
EXPECTED = [ExpectedCase(case, "check.py", ()) for case in CASES]

#: Plays one launch: (case, folder of the session, how many launches this case had before).
Player = Callable[[Case, Path, int], None]


def declared(launches: int, extra: int = 0, minutes: float = 60, **more: Any) -> Campaign:
    checks = (CheckPlan("N", 1),)
    return Campaign("night", Path("night.toml"), "t", launches, extra, minutes, checks, **more)


def local_site(scheduler: str = "local", **more: object) -> Any:
    partitions = {"smp": {"scheduler": scheduler}}
    site = {"name": "local", "partitions": partitions, "environment": dict(os.environ)}
    return SimpleNamespace(**{**site, **more})


@dataclass
class Stage:
    """A run tree, and sessions played by `player`."""

    tree: RunTree
    player: Player
    launches: int
    extra: int
    scheduler: str = "local"
    minutes: float = 60
    attempts: Counter[str] = field(default_factory=Counter)
    expected: list[ExpectedCase] = field(default_factory=lambda: list(EXPECTED))
    enough: Callable[[], bool] = lambda: False
    #: What is printed of the progress.
    output: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        self.progress = TerminalProgress("t", Console(file=self.output))

    def session(self, site: Any, block: Sequence[ExpectedCase], folder: Path, *_: Any) -> float:
        for item in block:
            self.player(item.case, folder, self.attempts[item.case.id])
            self.attempts[item.case.id] += 1
        return 0.0

    def run(self) -> bool:
        campaign = declared(self.launches, self.extra, self.minutes)
        with self.tree:
            site = local_site(self.scheduler)
            runner = Runner(campaign, site, self.tree, self.expected, self.progress)
            runner.should_stop = self.enough
            return runner.run()

    def passed(self) -> Counter[str]:
        launches = scan_launches(self.tree.path)
        return Counter(launch.case_id for launch in launches if launch.status == "passed")


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stage]:
    def make(player: Player, launches: int = 3, extra: int = 0) -> Stage:
        file = tmp_path / "night.toml"
        file.write_text("title = 't'\n")
        campaign = Campaign("night", file, "t", launches, extra, 60, ())
        matrix = Matrix(tuple(EXPECTED), (SkippedCase("Other/@local:smp+a", "no such feature"),))
        site = local_site(checkout=tmp_path)
        run_tree = create_tree(tmp_path / "runs", campaign, site, matrix)
        (run_tree.path / "env").mkdir()
        new_stage = Stage(run_tree, player, launches, extra)
        monkeypatch.setattr(session, "run_session", new_stage.session)
        return new_stage

    return make


def failing(times: int, mark: Callable[[Path], object]) -> Player:
    """Plays launches of which each case's first `times` fail, with a `mark` in their folders."""

    def play(case: Case, folder: Path, attempts: int) -> None:
        write_launch(case, folder, passed=attempts >= times)
        if attempts < times:
            mark(*folder.glob(f"stage/*/*/*/{case.check}_{case.hash}"))

    return play


def failing_with(error: str, times: int) -> Player:
    """As `failing`, with the standard error of the launches that fail."""
    return failing(times, lambda folder: (folder / "rfm_job.err").write_text(error))


@pytest.fixture
def slurm_stage(
    stage: Callable[..., Stage],
    failing_command: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Player], Stage]:
    """A stage with Slurm, whose queue is empty, and with short pauses."""
    failing_command("squeue", failures=0)
    monkeypatch.setattr(scheduler, "_FIRST_PAUSE_S", 0.01)

    def make(player: Player) -> Stage:
        new_stage = stage(player)
        new_stage.scheduler = "slurm"
        return new_stage

    return make


ENVIRON = "openmpi41-boost181"
Maker = Callable[..., SyntheticTree]


@pytest.fixture
def tree(make_tree: Maker) -> SyntheticTree:
    return make_tree(launches=1, environs=(ENVIRON,))


@pytest.fixture
def two_launches(make_tree: Maker) -> SyntheticTree:
    return make_tree(launches=2, environs=(ENVIRON,))


def read_cases(tree: SyntheticTree) -> pl.DataFrame:
    """The table `cases` of the tree's bundle."""
    return pl.read_parquet(bundle.build_bundle(tree.path) / "cases.parquet")


@pytest.fixture
def bundle_path(tree: SyntheticTree) -> Path:
    """The bundle of a tree with one launch."""
    return bundle.build_bundle(tree.path)
