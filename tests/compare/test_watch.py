"""When a run is looked at, what is said of it, and when it may stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from compare.conftest import MPICH, OPENMPI

from roundtrip.compare import comparison
from roundtrip.compare.comparison import Watch
from roundtrip.compare.model import Status
from roundtrip.errors import UserError
from roundtrip.measure import records

Tree = Callable[..., Any]


def watch(run: Any, **options: Any) -> tuple[Watch, list[str]]:
    for session in sorted(run.path.glob("rounds/*")):
        records.write_round(session, int(session.name))
    file = run.path / "campaign.toml"
    file.write_text("sequential = true\n" + file.read_text())
    messages: list[str] = []
    return Watch(run.path, OPENMPI, MPICH, messages.append, **options), messages


def test_a_run_stops_when_decided(tree: Tree) -> None:
    run_watch, messages = watch(tree(launches=20), fail_on=0.02)
    result = run_watch.compare()
    assert result.is_sequential
    assert run_watch.pairs == 20
    open_count = sum(row.status is Status.OPEN for row in result.rows)
    assert run_watch.should_stop() is (open_count == 0)
    (line,) = messages
    decided_count = len(result.rows) - open_count
    assert line.startswith(f"round 20: {decided_count} of {len(result.rows)} decided")


def test_what_is_open_is_said_with_how_long_it_will_take(tree: Tree) -> None:
    run_watch, messages = watch(tree(launches=6, steady=False, seed=3), fail_on=0.001)
    assert not run_watch.should_stop()
    assert "; open: " in messages[0]
    assert "more round" in messages[0]


def test_nothing_is_said_before_it_can_be(tree: Tree) -> None:
    run_watch, messages = watch(tree(launches=5))
    assert not run_watch.should_stop()
    assert messages == []


def test_a_side_that_never_comes_back_ends_the_run(tree: Tree) -> None:
    run_watch, messages = watch(tree(launches=5, environs=(OPENMPI,)))
    assert [run_watch.should_stop() for _ in range(4)] == [False, False, False, True]
    assert messages == ["no round launched both in the last 3: stopping"]
    with pytest.raises(UserError, match=f"no launch with toolchain={MPICH}"):
        run_watch.compare()


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        (None, "too few rounds to say how many more"),
        (1, "about 1 more round, 2 launches"),
        (200, "about 200 more rounds, 400 launches"),
        (201, "more than 200 more rounds"),
    ],
)
def test_what_an_open_claim_lacks_is_said(tree: Tree, rounds: int | None, words: str) -> None:
    run_watch, _ = watch(tree(launches=6, steady=False, seed=3), fail_on=0.001)
    result = run_watch.compare()
    row = next(row for row in result.rows if row.status is Status.OPEN)
    open_result = replace(result, rows=(replace(row, ratios_missing=rounds),))
    assert not comparison.is_decided(open_result)
    assert comparison.describe_status(open_result, 6).endswith(f"({words})")
