"""The file system of runs and reports full, from a given moment on, until it is freed again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.tally import TALLY
from faults.trial import LOCAL, Trial, numbered
from support.virtual import Virtual, campaign, small_disk

MOMENTS = ("start", "build", "submit", "measure", "wrote", "copy", "copied", "between", "collect")

pytestmark = pytest.mark.usefixtures("toolchain")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A small file system; ReFrame alone logs 4 MiB there each time it loads the checks."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    with small_disk(tmp_path / "small"):
        yield tmp_path / "small"


@contextlib.contextmanager
def full(folder: Path) -> Iterator[None]:
    """No byte left on the file system of `folder`."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        for size in (1 << 20, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    stream.write(bytes(size))
    yield
    filler.unlink()


def fill(trials: Iterator[Trial], small: Path, moments: tuple[str, ...]) -> None:
    trial = next(trials)
    for moment in moments:
        row = TALLY[f"disk full at {moment}"]
        while True:
            if trial.finished:
                trial.complete(row)
                trial = next(trials)
            process = trial.reach(moment)
            if process.poll() is None:
                break
            trial.complete(row, process)
            trial = next(trials)
        with full(small):
            row.injected += 1
            trial.end(row, process)
        trial.oracle.examine(row)
    trial.complete(row)


@pytest.mark.usefixtures("whole_drill")
def test_disk_full_on_local(small: Path) -> None:
    text = LOCAL.format(launches=3, budget=0.5)
    fill((Trial(path, text, 3, report=True) for path in numbered(small)), small, MOMENTS)


@pytest.mark.usefixtures("whole_drill")
def test_disk_full_on_slurm(cluster: Virtual) -> None:
    small, text = cluster.share / "small", campaign(3, cases=1)
    trials = (Trial(path, text, 3, cluster=cluster) for path in numbered(small))
    fill(trials, small, ("measure", "copy", "submit"))


def test_disk_full_once(small: Path) -> None:
    text = LOCAL.format(launches=1, budget=0.5)
    fill((Trial(path, text, 1) for path in numbered(small)), small, ("measure",))
