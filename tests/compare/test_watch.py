"""When a run is looked at, what is said of it, and when it may stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from compare.conftest import MPICH, OPENMPI

from roundtrip.collect import records
from roundtrip.compare import comparison
from roundtrip.compare.comparison import Watch
from roundtrip.compare.model import Status
from roundtrip.errors import UserError

Tree = Callable[..., Any]


def watch(run: Any, **more: Any) -> tuple[Watch, list[str]]:
    for session in sorted(run.path.glob("rounds/*")):
        records.write_round(session, int(session.name))
    file = run.path / "campaign.toml"
    file.write_text("sequential = true\n" + file.read_text())
    said: list[str] = []
    return Watch(run.path, OPENMPI, MPICH, said.append, **more), said


def test_a_run_stops_when_decided(tree: Tree) -> None:
    watched, said = watch(tree(launches=20), fail_on=0.02)
    compared = watched.compare()
    assert compared.is_sequential
    assert watched.pairs == 20
    open_ = sum(row.status is Status.CANNOT_TELL for row in compared.rows)
    assert watched.should_stop() is (open_ == 0)
    (line,) = said
    decided = len(compared.rows) - open_
    assert line.startswith(f"round 20: {decided} of {len(compared.rows)} decided")


def test_what_is_open_is_said_with_how_long_it_will_take(tree: Tree) -> None:
    watched, said = watch(tree(launches=6, steady=False, seed=3), fail_on=0.001)
    assert not watched.should_stop()
    assert "; open: " in said[0]
    assert "more round" in said[0]


def test_nothing_is_said_before_it_can_be(tree: Tree) -> None:
    watched, said = watch(tree(launches=5))
    assert not watched.should_stop()
    assert said == []


def test_a_side_that_never_comes_back_ends_the_run(tree: Tree) -> None:
    watched, said = watch(tree(launches=5, environs=(OPENMPI,)))
    assert [watched.should_stop() for _ in range(4)] == [False, False, False, True]
    assert said == ["no round launched both in the last 3: stopping"]
    with pytest.raises(UserError, match=f"no launch with toolchain={MPICH}"):
        watched.compare()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (None, "too few rounds to say how many more"),
        (1, "about 1 more round, 2 launches"),
        (200, "about 200 more rounds, 400 launches"),
        (201, "more than 200 more rounds"),
    ],
)
def test_what_an_open_claim_lacks_is_said(tree: Tree, more: int | None, said: str) -> None:
    watched, _ = watch(tree(launches=6, steady=False, seed=3), fail_on=0.001)
    compared = watched.compare()
    row = next(row for row in compared.rows if row.status is Status.CANNOT_TELL)
    left = replace(compared, rows=(replace(row, ratios_missing=more),))
    assert not comparison.is_decided(left)
    assert comparison.describe_status(left, 6).endswith(f"({said})")
