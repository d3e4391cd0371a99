"""Rounds of `roundtrip ab --order abba`: in twos, mirrored, by coins that a run goes on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtrip.campaign import model, session
from roundtrip.campaign.matrix import ExpectedCase
from roundtrip.campaign.model import CheckPlan
from roundtrip.errors import UserError
from roundtrip.sites.site import Case

WANTED = [
    ExpectedCase(
        Case("Ping", (("mode", mode),), "0", "local", "smp", environ), "ping.py", (), "ping"
    )
    for mode in ("one", "other")
    for environ in ("b", "a")
]


def order(seed: int, number: int) -> str:
    sides = session.abba_order(WANTED, seed, number)
    assert sorted(len(side) for side in sides) == [2, 2]
    for side in sides:
        assert len({item.case.environ for item in side}) == 1
    return "".join(side[0].case.environ for side in sides)


def test_the_second_round_of_two_is_the_first_one_mirrored() -> None:
    for first in range(1, 400, 2):
        assert order(7, first) == order(7, first + 1)[::-1]


def test_the_coins_are_fair_differ_by_seed_and_are_those_of_the_seed_again() -> None:
    orders_by_seed = [[order(seed, number) for number in range(1, 401, 2)] for seed in (1, 2)]
    assert all(70 < orders.count("ab") < 130 for orders in orders_by_seed)
    assert orders_by_seed[0] != orders_by_seed[1]
    assert orders_by_seed[0] == [order(1, number) for number in range(1, 401, 2)]


def test_a_toolchain_that_was_given_up_leaves_the_other_one() -> None:
    items = [item for item in WANTED if item.case.environ == "b"]
    assert session.abba_order(items, 7, 3) == [items]


def test_the_seed_is_in_the_campaign_that_a_resumed_run_reads(tmp_path: Path) -> None:
    plans = (CheckPlan("Ping", 0),)
    for seed in (None, 0, 4294967295):
        content = model.campaign_text(("a", "b"), plans, 1.0, abba_seed=seed)
        assert (
            model.load_campaign(model.write_campaign(tmp_path, ("a", "b"), content)).abba_seed
            == seed
        )


def test_a_seed_is_of_a_sequential_run_only(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text('abba_seed = 3\n\n[[check]]\nname = "Ping"\n')
    with pytest.raises(UserError, match=r"one.toml:1: abba_seed is for a run of `roundtrip ab`"):
        model.load_campaign(file)
