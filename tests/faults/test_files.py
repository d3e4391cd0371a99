"""Files of a real run tree truncated, flipped, removed and duplicated, against the scanner."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.oracle import fingerprint
from faults.tally import TALLY, Row
from faults.trial import LOCAL, Trial

from roundtrip.measure.launches import scan

pytestmark = pytest.mark.usefixtures("toolchain")
Damage = Callable[[Path, random.Random], None]


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
            item.folder for item in scan(tree) if item.status == "passed" and item.folder
        )
        target = rng.choice(folders)
        fingerprints = {folder: fingerprint(folder) for folder in folders}
        damage(target / rng.choice(("samples.csv", "run.json", "case.json")), rng)
        row.injected += 1
        passed_folders = [item.folder for item in scan(tree) if item.status == "passed"]
        row.doubled += len(passed_folders) - len(set(passed_folders))
        row.lost += any(folder not in passed_folders for folder in folders if folder != target)
        row.false_green += target in passed_folders and fingerprint(target) != fingerprints[target]
        shutil.rmtree(tree)
    assert not row.breaches, vars(row)
