"""The sick are named, the healthy are not, and what cannot be decided is said."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from roundtrip.stats.nodes.launches import NO_NODE, Kind, Launches, Scores, fit

from .planted import SETTINGS, judged, launches, names

SICK = {3: math.log(3), 7: 0.7, 11: 0.5}


def test_several_sick_nodes_are_named_and_none_of_their_partners() -> None:
    found = judged(launches(effects=SICK), launches(seed=2))
    assert names(found) == {"n03", "n07", "n11"}
    worst = found.outliers[0]
    assert worst.kind is Kind.NODE and worst.members == (worst.name,)
    for one in found.outliers:
        (evidence,) = one.evidence
        tested, truth = evidence.unit_effect, SICK[int(one.name[1:])]
        assert evidence.measure == 0 and evidence.q <= SETTINGS.false_discovery_level
        assert tested.low is not None and tested.low < truth < (tested.high or 0)
        assert tested.nights == 2 and tested.launches >= 6 and tested.partners >= 6


def test_nobody_is_named_on_quiet_nights() -> None:
    assert [judged(launches(seed)).outliers for seed in range(6)] == [()] * 6


def test_one_disturbed_launch_convicts_nobody() -> None:
    quiet = launches(each=3)
    assert judged(quiet).outliers == ()
    wild = quiet.cost.copy()
    wild[5] += 8.0
    wild[60 % wild.size] += 5.0
    assert judged(replace(quiet, cost=wild)).outliers == ()


def test_heavy_tails_ask_for_more() -> None:
    quiet = launches(each=6, noise=0.0)
    rng = np.random.default_rng(3)
    heavy = replace(quiet, cost=quiet.cost + 0.1 * rng.standard_t(2, quiet.cost.size))
    assert judged(heavy).outliers == ()


def test_two_peaks_of_noise_hide_no_node_that_is_slower_than_both() -> None:
    some = launches(each=6, effects={4: math.log(4)}, noise=0.05)
    slow = np.random.default_rng(4).random(some.cost.size) < 0.25
    assert names(judged(replace(some, cost=some.cost + math.log(2.5) * slow))) == {"n04"}


def test_a_node_that_was_mended_is_not_named() -> None:
    sick = launches(nights=6, effects={3: 0.7})
    assert names(judged(sick)) == {"n03"}
    mended = sick.cost - 0.7 * ((sick.nodes == 3).any(axis=1) & (sick.night == 5))
    assert judged(replace(sick, cost=mended)).outliers == ()


def test_a_node_that_fell_ill_is_named_after_many_healthy_nights() -> None:
    found = judged(launches(nights=14, effects={3: 0.7}, from_night=12))
    assert names(found) == {"n03"}
    assert found.outliers[0].evidence[0].unit_effect.nights <= 4


def test_an_effect_below_the_threshold_of_the_site_is_not_named() -> None:
    small = launches(nights=16, each=6, effects={3: 0.06}, noise=0.02)
    assert judged(small).outliers == ()
    (one,) = (t for t in judged(small).sensitivities[0].effects if t.unit.name == "n03")
    assert one.low is not None and one.low > 0.03  # it is there, and it is shown


def test_nodes_that_differ_much_have_no_outlier_within() -> None:
    wide = {node: 0.1 * node for node in range(16)}
    assert judged(launches(nights=8, each=6, effects=wide, noise=0.03)).outliers == ()


def test_a_switch_is_named_and_not_its_nodes() -> None:
    leaves = [f"leaf{node // 4}" for node in range(16)]
    sick = dict.fromkeys((4, 5, 6, 7), 0.5)
    (one,) = judged(launches(effects=sick, switches=leaves, nights=4)).outliers
    assert (one.kind, one.name, one.members) == (Kind.SWITCH, "leaf1", ("n04", "n05", "n06", "n07"))
    (node,) = judged(launches(effects={5: 0.7}, switches=leaves, nights=4)).outliers
    assert (node.kind, node.name) == (Kind.NODE, "n05")


def test_all_of_almost_half_of_the_nodes_are_named_and_of_half_nobody() -> None:
    for sick, nights, found in ((7, 4, 7), (8, 2, 0)):
        effects = dict.fromkeys(range(sick), 0.7)
        named = names(judged(launches(effects=effects, nights=nights)))
        assert named == {f"n{node:02d}" for node in range(found)}


def test_a_link_is_named_and_neither_of_its_nodes() -> None:
    some = launches(nodes=8, nights=16, each=4, noise=0.05)
    mine = np.isin(some.nodes, (2, 5)).all(axis=1)
    (one,) = judged(replace(some, cost=some.cost + 0.9 * mine)).outliers
    assert (one.kind, one.members) == (Kind.LINK, ("n02", "n05"))


def test_with_too_few_launches_nothing_is_said_but_how_many_are_missing() -> None:
    found = judged(launches(nights=1, each=3, effects={3: 2.0}))
    assert found.outliers == () and len(found.unjudged_nodes) == 16
    assert {(one.launches, one.extra_rounds) for one in found.unjudged_nodes} == {(3, 3)}
    assert (
        found.sensitivities[0].detectable_effect is None
        and found.sensitivities[0].extra_rounds >= 3
    )
    assert judged(launches(nodes=4, each=3)).sensitivities == {}  # too few nodes


def test_what_would_have_been_seen_is_seen() -> None:
    found = []
    for seed in range(100, 110):
        would_see = judged(launches(seed)).sensitivities[0].detectable_effect
        assert would_see is not None and 0.2 < would_see < 0.5
        found.append(names(judged(launches(seed, effects={9: would_see}))))
    assert sum("n09" in one for one in found) >= 7
    assert not set().union(*found) - {"n09"}


def test_launches_on_one_node_are_compared_with_those_on_others() -> None:
    some = launches(nights=2, each=1, nodes=16)
    rng = np.random.default_rng(6)
    nodes = np.array([(node, NO_NODE) for node in range(16)] * 8)
    night = np.repeat([0, 1], 64)
    cost = 0.05 * rng.standard_normal(128) + 0.6 * (nodes[:, 0] == 9)
    found = judged(Launches(some.names, some.switches, cost, nodes, night, np.arange(128) // 16))
    assert names(found) == {"n09"}


def test_the_fit_gives_back_what_was_planted() -> None:
    some = launches(each=15, nights=1, effects=SICK, noise=0.02)
    fitted = fit(some, np.ones(some.cost.size, dtype=bool), 0.005)
    assert np.allclose(fitted.effect[list(SICK)], list(SICK.values()), atol=0.15)
    assert np.median(fitted.effect) == pytest.approx(0, abs=0.03)


def test_chances_are_those_of_sums_of_healthy_launches() -> None:
    rng = np.random.default_rng(7)
    pool = rng.normal(0, 1, 4000)
    scores = Scores(pool, 1.0, (3.0,))
    left = np.full(6, 1.2)
    sums = np.clip(rng.choice(pool, (200_000, 6)), -3, 3).sum(axis=1)
    assert scores.p(left) == pytest.approx(np.mean(sums >= left.sum()), rel=0.1)
    assert scores.p(np.zeros(6)) == pytest.approx(0.5, abs=0.05)
    assert scores.p(np.full(6, 99.0)) == pytest.approx((8 / 4002) ** 6, abs=1e-12)
