"""A file system that is full from a moment on until it is freed; files of a run tree damaged."""

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.oracle import TALLY, Row, fingerprint
from faults.trial import LOCAL, Trial, numbered, running_at
from support.virtual import VirtualCluster, campaign_text, mounted_small_disk

from roundtrip.measure.launches import scan_launches

MOMENTS = ("start", "build", "submit", "measure", "wrote", "copy", "copied", "between", "collect")

pytestmark = pytest.mark.usefixtures("toolchain")
Damage = Callable[[Path, random.Random], None]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A small file system; ReFrame alone logs 4 MiB there each time it loads the checks."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    with mounted_small_disk(tmp_path / "small"):
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
        trial, process = running_at(trials, trial, moment, row)
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
def test_disk_full_on_slurm(cluster: VirtualCluster) -> None:
    small, text = cluster.share / "small", campaign_text(3, cases=1)
    trials = (Trial(path, text, 3, cluster=cluster) for path in numbered(small))
    fill(trials, small, ("measure", "copy", "submit"))


def test_disk_full_once(small: Path) -> None:
    text = LOCAL.format(launches=1, budget=0.5)
    fill((Trial(path, text, 1) for path in numbered(small)), small, ("measure",))


def truncated(file: Path, rng: random.Random) -> None:
    file.write_bytes(file.read_bytes()[: rng.randrange(file.stat().st_size)])


def removed(file: Path, rng: random.Random) -> None:
    file.unlink()


def zeroed(file: Path, rng: random.Random) -> None:
    """A block that a crash left unwritten."""
    data = bytearray(file.read_bytes())
    start = rng.randrange(len(data))
    end = min(len(data), start + 512)
    data[start:end] = bytes(end - start)
    file.write_bytes(data)


def last_line_doubled(file: Path, rng: random.Random) -> None:
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines, lines[-1]]))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run tree of two launches."""
    folder = tmp_path_factory.mktemp("whole")
    trial = Trial(folder, LOCAL.format(launches=2, budget=0.5), 2)
    trial.complete(Row())
    assert trial.oracle.tree
    return trial.oracle.tree


@pytest.mark.parametrize("damage", [truncated, removed, zeroed, last_line_doubled])
def test_a_damaged_launch_is_not_counted_and_the_other_is_kept(
    whole: Path, tmp_path: Path, damage: Damage, is_whole: bool
) -> None:
    rng = random.Random(damage.__name__)
    row = TALLY[f"files: {damage.__name__.replace('_', ' ')}"]
    for number in range(50 if is_whole else 10):
        tree = tmp_path / str(number)
        shutil.copytree(whole, tree)
        folders = sorted(
            item.folder for item in scan_launches(tree) if item.status == "passed" and item.folder
        )
        target = rng.choice(folders)
        fingerprints = {folder: fingerprint(folder) for folder in folders}
        damage(target / rng.choice(("samples.csv", "run.json", "case.json")), rng)
        row.injected += 1
        passed_folders = [item.folder for item in scan_launches(tree) if item.status == "passed"]
        row.doubled += len(passed_folders) - len(set(passed_folders))
        row.lost += any(folder not in passed_folders for folder in folders if folder != target)
        row.false_green += target in passed_folders and fingerprint(target) != fingerprints[target]
        shutil.rmtree(tree)
    assert not row.breaches, vars(row)
