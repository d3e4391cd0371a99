"""A thousand cases of the fuzzer, the same each time; `make fuzz` runs a hundred thousand."""

from pathlib import Path
from random import Random

import pytest

from fuzz import run
from fuzz.mutate import mutated
from fuzz.readers import READERS, Reader, accepted


@pytest.mark.parametrize("name", run.SHARES)
def test_no_input_breaks_a_reader(name: str, tmp_path: Path) -> None:
    _, counts, findings = run.several(name, range(run.share(name, 600)), tmp_path / "doing")
    assert not findings, findings[0]
    assert counts.total() == run.share(name, 600)
    assert counts["rejected"] > 0


@pytest.mark.parametrize("name", READERS)
def test_what_is_good_is_accepted(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    verdicts = [accepted(reader, content, content, tmp_path) for content in reader.seeds()]
    assert any(verdicts)


def test_mutations_change_something_mostly_and_are_the_same_again() -> None:
    original = b'{"a": [1, 2], "b": "c"}\nx,y\n'
    mutants = [mutated(Random(seed), original) for seed in range(200)]
    assert mutants == [mutated(Random(seed), original) for seed in range(200)]
    assert sum(content != original for content in mutants) > 100


def test_a_traceback_a_lost_row_and_a_hang_would_be_found(tmp_path: Path) -> None:
    def broken(content: bytes, seed: bytes, folder: Path) -> bool:
        return bool(content[1000])

    READERS["broken"] = Reader(lambda: [b"x"], broken)
    try:
        _, counts, findings = run.several("broken", range(3), tmp_path / "doing")
    finally:
        del READERS["broken"]
    assert counts["found"] == 3
    assert findings[0].startswith("broken, seed 0:")
    assert "IndexError" in findings[0]
