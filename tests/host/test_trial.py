"""Both ends of the A/A test, each without the other."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from roundtrip.host import echo, trial


class Silence:
    """A memory in which nobody asks anything, for so many reads."""

    def __init__(self, reads: int) -> None:
        self.left = iter(range(reads))

    def __getitem__(self, place: int) -> int:
        return 0 * next(self.left)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo, "_PATIENCE", 10)


@pytest.mark.usefixtures("impatient")
def test_the_other_end_does_not_outlive_its_parent() -> None:
    memory: Any = Silence(100)
    echo.serve(memory, parent=-1)
    assert next(memory.left) == 10
    with pytest.raises(StopIteration):
        echo.serve(memory, os.getppid())


def test_a_block_has_as_many_times_of_a_as_of_b(monkeypatch: pytest.MonkeyPatch) -> None:
    end = trial._End(memory=None, other=SimpleNamespace(pid=os.getpid()))  # type: ignore[arg-type]
    times, orders = iter([0.25, 0.25]), iter([("b", "a")])
    chance = SimpleNamespace(sample=lambda names, count: next(orders))
    monkeypatch.setattr(trial, "random", chance)
    monkeypatch.setattr(end, "batch", lambda hands: next(times) * hands)
    block = end.block(seconds=0.0, hands=2)
    assert (block.a_s, block.b_s) == ([0.5], [0.5])
    assert block.loop_s > 0 and block.own_s >= 0
