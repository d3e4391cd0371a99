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

from roundtrip.collect.launches import scan

pytestmark = pytest.mark.usefixtures("toolchain")
Damage = Callable[[Path, random.Random], None]


def truncated(file: Path, chance: random.Random) -> None:
    file.write_bytes(file.read_bytes()[: chance.randrange(file.stat().st_size)])


def removed(file: Path, chance: random.Random) -> None:
    file.unlink()


def zeroed(file: Path, chance: random.Random) -> None:
    """A block that a crash left unwritten."""
    data = bytearray(file.read_bytes())
    start = chance.randrange(len(data))
    end = min(len(data), start + 512)
    data[start:end] = bytes(end - start)
    file.write_bytes(data)


def last_line_doubled(file: Path, chance: random.Random) -> None:
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
    chance = random.Random(damage.__name__)
    row = TALLY[f"files: {damage.__name__.replace('_', ' ')}"]
    for number in range(50 if is_whole else 10):
        tree = tmp_path / str(number)
        shutil.copytree(whole, tree)
        folders = sorted(
            item.folder for item in scan(tree) if item.status == "passed" and item.folder
        )
        hurt = chance.choice(folders)
        before = {folder: fingerprint(folder) for folder in folders}
        damage(hurt / chance.choice(("samples.csv", "run.json", "case.json")), chance)
        row.injected += 1
        passed = [item.folder for item in scan(tree) if item.status == "passed"]
        row.doubled += len(passed) - len(set(passed))
        row.lost += any(folder not in passed for folder in folders if folder != hurt)
        row.false_green += hurt in passed and fingerprint(hurt) != before[hurt]
        shutil.rmtree(tree)
    assert row.clean, vars(row)
