"""The sick are named, the healthy are not, and what cannot be decided is said."""

import math
from dataclasses import replace

import numpy as np
import pytest

from roundtrip.stats.nodes.launches import (
    NO_SECOND_NODE,
    NodeLaunches,
    Scores,
    UnitKind,
    fit_node_effects,
)

from .planted import SETTINGS, judged, launches, names

SICK = {3: math.log(3), 7: 0.7, 11: 0.5}


def test_several_sick_nodes_are_named_and_none_of_their_partners() -> None:
    verdicts = judged(launches(effects=SICK), launches(seed=2))
    assert names(verdicts) == {"n03", "n07", "n11"}
    worst = verdicts.outliers[0]
    assert worst.kind is UnitKind.NODE and worst.members == (worst.name,)
    for outlier in verdicts.outliers:
        (evidence,) = outlier.evidence
        effect, truth = evidence.unit_effect, SICK[int(outlier.name[1:])]
        assert evidence.measure == 0 and evidence.q <= SETTINGS.false_discovery_level
        assert effect.low is not None and effect.low < truth < (effect.high or 0)
        assert effect.nights == 2 and effect.launches >= 6 and effect.partners >= 6


def test_nobody_is_named_on_quiet_nights() -> None:
    assert [judged(launches(seed)).outliers for seed in range(6)] == [()] * 6


def test_one_disturbed_launch_convicts_nobody() -> None:
    quiet = launches(each=3)
    assert judged(quiet).outliers == ()
    cost = quiet.cost.copy()
    cost[5] += 8.0
    cost[60 % cost.size] += 5.0
    assert judged(replace(quiet, cost=cost)).outliers == ()


def test_heavy_tails_ask_for_more() -> None:
    quiet = launches(each=6, noise=0.0)
    rng = np.random.default_rng(3)
    heavy = replace(quiet, cost=quiet.cost + 0.1 * rng.standard_t(2, quiet.cost.size))
    assert judged(heavy).outliers == ()


def test_two_peaks_of_noise_hide_no_node_that_is_slower_than_both() -> None:
    base = launches(each=6, effects={4: math.log(4)}, noise=0.05)
    is_slow = np.random.default_rng(4).random(base.cost.size) < 0.25
    assert names(judged(replace(base, cost=base.cost + math.log(2.5) * is_slow))) == {"n04"}


def test_a_node_that_was_mended_is_not_named() -> None:
    sick = launches(nights=6, effects={3: 0.7})
    assert names(judged(sick)) == {"n03"}
    cost = sick.cost - 0.7 * ((sick.nodes == 3).any(axis=1) & (sick.night == 5))
    assert judged(replace(sick, cost=cost)).outliers == ()


def test_a_node_that_fell_ill_is_named_after_many_healthy_nights() -> None:
    verdicts = judged(launches(nights=14, effects={3: 0.7}, from_night=12))
    assert names(verdicts) == {"n03"}
    assert verdicts.outliers[0].evidence[0].unit_effect.nights <= 4


def test_an_effect_below_the_threshold_of_the_site_is_not_named() -> None:
    small = launches(nights=16, each=6, effects={3: 0.06}, noise=0.02)
    assert judged(small).outliers == ()
    effects = judged(small).sensitivities[0].observed_effects
    (effect,) = (effect for effect in effects if effect.unit.name == "n03")
    assert effect.low is not None and effect.low > 0.03  # it is there, and it is shown


def test_nodes_that_differ_much_have_no_outlier_within() -> None:
    effects = {node: 0.1 * node for node in range(16)}
    assert judged(launches(nights=8, each=6, effects=effects, noise=0.03)).outliers == ()


def test_a_switch_is_named_and_not_its_nodes() -> None:
    leaves = [f"leaf{node // 4}" for node in range(16)]
    effects = dict.fromkeys((4, 5, 6, 7), 0.5)
    (switch,) = judged(launches(effects=effects, switches=leaves, nights=4)).outliers
    assert (switch.kind, switch.name) == (UnitKind.SWITCH, "leaf1")
    assert switch.members == ("n04", "n05", "n06", "n07")
    (node,) = judged(launches(effects={5: 0.7}, switches=leaves, nights=4)).outliers
    assert (node.kind, node.name) == (UnitKind.NODE, "n05")


def test_all_of_almost_half_of_the_nodes_are_named_and_of_half_nobody() -> None:
    for sick_count, nights, name_count in ((7, 4, 7), (8, 2, 0)):
        effects = dict.fromkeys(range(sick_count), 0.7)
        node_names = names(judged(launches(effects=effects, nights=nights)))
        assert node_names == {f"n{node:02d}" for node in range(name_count)}


def test_a_link_is_named_and_neither_of_its_nodes() -> None:
    base = launches(nodes=8, nights=16, each=4, noise=0.05)
    is_link = np.isin(base.nodes, (2, 5)).all(axis=1)
    (outlier,) = judged(replace(base, cost=base.cost + 0.9 * is_link)).outliers
    assert (outlier.kind, outlier.members) == (UnitKind.LINK, ("n02", "n05"))


def test_with_too_few_launches_nothing_is_said_but_how_many_are_missing() -> None:
    verdicts = judged(launches(nights=1, each=3, effects={3: 2.0}))
    assert verdicts.outliers == () and len(verdicts.unjudged_nodes) == 16
    assert {(node.launches, node.extra_rounds) for node in verdicts.unjudged_nodes} == {(3, 3)}
    sensitivity = verdicts.sensitivities[0]
    assert sensitivity.detectable_effect is None and sensitivity.extra_rounds >= 3
    assert judged(launches(nodes=4, each=3)).sensitivities == {}  # too few nodes


def test_what_would_have_been_seen_is_seen() -> None:
    name_sets = []
    for seed in range(100, 110):
        effect = judged(launches(seed)).sensitivities[0].detectable_effect
        assert effect is not None and 0.2 < effect < 0.5
        name_sets.append(names(judged(launches(seed, effects={9: effect}))))
    assert sum("n09" in name_set for name_set in name_sets) >= 7
    assert not set().union(*name_sets) - {"n09"}


def test_launches_on_one_node_are_compared_with_those_on_others() -> None:
    base = launches(nights=2, each=1, nodes=16)
    rng = np.random.default_rng(6)
    nodes = np.array([(node, NO_SECOND_NODE) for node in range(16)] * 8)
    night = np.repeat([0, 1], 64)
    cost = 0.05 * rng.standard_normal(128) + 0.6 * (nodes[:, 0] == 9)
    rounds = np.arange(128) // 16
    verdicts = judged(NodeLaunches(base.names, base.switches, cost, nodes, night, rounds))
    assert names(verdicts) == {"n09"}


def test_the_fit_gives_back_what_was_planted() -> None:
    base = launches(each=15, nights=1, effects=SICK, noise=0.02)
    _, effect = fit_node_effects(base, np.ones(base.cost.size, dtype=bool), 0.005)
    assert np.allclose(effect[list(SICK)], list(SICK.values()), atol=0.15)
    assert np.median(effect) == pytest.approx(0, abs=0.03)


def test_chances_are_those_of_sums_of_healthy_launches() -> None:
    rng = np.random.default_rng(7)
    pool = rng.normal(0, 1, 4000)
    scores = Scores(pool, 1.0, (3.0,))
    sample = np.full(6, 1.2)
    sums = np.clip(rng.choice(pool, (200_000, 6)), -3, 3).sum(axis=1)
    assert scores.p(sample) == pytest.approx(np.mean(sums >= sample.sum()), rel=0.1)
    assert scores.p(np.zeros(6)) == pytest.approx(0.5, abs=0.05)
    assert scores.p(np.full(6, 99.0)) == pytest.approx((8 / 4002) ** 6, abs=1e-12)
