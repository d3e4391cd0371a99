"""Launches of an arm that Slurm prevents are repeated, and are no failures of the arm."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from roundtrip.cause import checks
from roundtrip.cause.checks import Checks, StepCase
from roundtrip.cause.steps import Switch
from roundtrip.errors import UserError
from roundtrip.measure import scheduler, session
from roundtrip.measure.launch import Launch, Status
from roundtrip.measure.matrix import ExpectedCase
from roundtrip.measure.tree import RunTree
from roundtrip.sites.schedulers.interface import NoAnswerError

Ends = tuple[tuple[Status, str], ...]


@pytest.fixture
def launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Launches an arm whose launches end one after another as said; returns why it paused."""

    def run(ends: Ends, manager: str = "slurm", pauses: int = 9, log: str = "") -> list[str]:
        rest: Iterator[tuple[Status, str]] = iter(ends)
        reasons = list[str]()

        def take(self: object, reason: str) -> bool:
            reasons.append(reason)
            return len(reasons) <= pauses

        def scan(place: Path) -> list[Launch]:
            folder = max((place / "rounds").iterdir())
            return [Launch("id", "case", *next(rest), folder.name, "gnu")]

        monkeypatch.setattr(session, "run_session", lambda *_: 0.0)
        monkeypatch.setattr(checks, "scan_launches", scan)
        monkeypatch.setattr(scheduler.RoundPauses, "sleep", take)
        case = SimpleNamespace(partition="p")
        item = ExpectedCase(case, "netpipe.py", (), "netpipe")  # type: ignore[arg-type]
        site = SimpleNamespace(name="s", environment={}, partitions={"p": {"scheduler": manager}})
        root = tmp_path / "a" / "s" / "now"
        root.mkdir(parents=True)
        (root / scheduler.LOG_FILE).write_text(log)
        monkeypatch.setattr(Checks, "_tree", lambda *_: RunTree(root))
        step = SimpleNamespace(switches=[Switch("A", "1", "2")], line=SimpleNamespace(series=None))
        launcher = Checks(site, StepCase(step, item), RunTree(root), 1.0, print)  # type: ignore[arg-type]
        with pytest.raises(UserError, match="its own fault"):
            launcher.launch(frozenset(), 60)
        return reasons

    return run


OWN: tuple[Status, str] = ("failed", "its own fault")
KEPT = "Slurm kept its nodes for maintenance"


def test_what_slurm_prevented_is_launched_again(launched: Callable[..., list[str]]) -> None:
    limit = "sbatch: error: QOSMaxSubmitJobPerUserLimit"
    silence = "sbatch: error: Unable to contact slurm controller (connect failure)"
    ends: Ends = (("displaced", KEPT), ("failed", limit), ("failed", silence), OWN)
    assert launched(ends) == [KEPT, limit, "Slurm did not answer"]


def test_what_failed_while_slurm_was_silent_is_no_fault_of_the_arm(
    launched: Callable[..., list[str]],
) -> None:
    now = int(time.time()) + 100
    log = f"{now} lost 1 sacct error\n{now + 5} back 1\n"
    with pytest.raises(NoAnswerError, match="Slurm did not answer"):
        launched((OWN, OWN), pauses=1, log=log)


def test_without_slurm_a_failure_is_one(launched: Callable[..., list[str]]) -> None:
    assert launched((OWN,), manager="local") == []
