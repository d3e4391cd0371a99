"""Nodes by their launches in pairs and alone: own series, slow processors, wrong clocks."""

import itertools
import math
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pairs import CAMPAIGN, SITE, PairNightWriter, pseudonym

from roundtrip.content import data
from roundtrip.history import ledger, node_faults, nodes
from roundtrip.history.annotations import Annotation
from roundtrip.history.ledger import Ledger
from roundtrip.history.node_faults import DeviatingClock, deviating_clocks
from roundtrip.measure import analysis, bundle_tables, manifest

THRESHOLDS = analysis.default_settings()
CLOCK_LIMIT = 0.002


def read(reports: Path, annotations: Sequence[Annotation] = ()) -> Ledger:
    return ledger.read_ledger(reports, CAMPAIGN, SITE, annotations)


def test_a_slow_and_a_lossy_node_are_found_in_two_published_nights(tmp_path: Path) -> None:
    PairNightWriter(
        tmp_path, messages=250, added_s_by_node={3: 100e-6}, loss_by_node={9: 0.01}
    ).write(2)
    site_ledger = read(tmp_path)
    assert site_ledger.warnings == ()
    assert set(site_ledger.pairs["measure"]) == {"latency", "tail", "bandwidth", "failure"}
    assert site_ledger.pairs["night"].n_unique() == 2
    verdicts = nodes.node_verdicts(site_ledger.pairs, [], THRESHOLDS.nodes, 0.95)
    why = {node.name: {str(e.measure.measure) for e in node.evidence} for node in verdicts.outliers}  # type: ignore[attr-defined]
    assert why.keys() == {pseudonym(3), pseudonym(9)}
    assert "latency" in why[pseudonym(3)] and "tail" in why[pseudonym(9)]
    # The cache gives the same, and so does what a later night takes with it.
    assert read(tmp_path).pairs.equals(site_ledger.pairs)


def test_nodes_are_the_only_series_of_such_nights(tmp_path: Path) -> None:
    PairNightWriter(tmp_path, nodes=8, added_s_by_node={3: 100e-6}).night(0)
    nights = read(tmp_path).nights
    assert set(nights["variant"]) == {pseudonym(node) for node in range(8)}
    assert set(nights["metric"]) == {"node_latency", "node_tail", "node_bandwidth"}
    latency = nights.filter(metric="node_latency").sort("median")
    assert latency["variant"][-1] == pseudonym(3)
    assert 40e-6 < latency["median"][3] < 65e-6 and 100e-6 < latency["median"][-1] < 210e-6
    rate = nights.filter(pl.col("metric") == "node_bandwidth")
    assert not rate["lower_is_better"].any() and set(rate["unit"]) == {"MB/s"}


def test_a_bundle_takes_the_nights_before_with_it(tmp_path: Path) -> None:
    second = PairNightWriter(tmp_path, nodes=8).write(2)[1] / "bundle"
    bundle_manifest = manifest.verify(second)
    ledger.attach_history(second, bundle_manifest, read(tmp_path))
    night_data = data.read_bundle(second)
    assert night_data.past_nights.pairs["night"].unique().to_list() == ["2026-01-01T01:00:00Z"]
    assert night_data.node_pairs["night"].unique().to_list() == ["2026-01-02T01:00:00Z"]
    assert night_data.samples.collect().is_empty() and night_data.launch_medians.is_empty()
    assert night_data.study_launches("netpipe").is_empty() and night_data.launches.height == 16


def test_a_night_of_too_few_nodes_for_series_is_a_night_too(tmp_path: Path) -> None:
    second = PairNightWriter(tmp_path, nodes=4, failed_nodes=frozenset({3})).write(2)[1] / "bundle"
    site_ledger = read(tmp_path)
    assert site_ledger.nights.is_empty() and site_ledger.pairs["night"].n_unique() == 2
    assert site_ledger.nights_before("2026-01-02T01:00:00Z", 9).pairs["night"].n_unique() == 1
    assert read(tmp_path).pairs.equals(site_ledger.pairs)
    ledger.attach_history(second, manifest.verify(second), site_ledger)
    assert data.read_bundle(second).past_nights.pairs["night"].unique().to_list() == [
        "2026-01-01T01:00:00Z"
    ]


def test_a_night_that_is_left_out_convicts_no_node(tmp_path: Path) -> None:
    PairNightWriter(tmp_path, nodes=8).write(2)
    record = {"from": date(2026, 1, 2), "text": "the cooling failed", "leave_out": True}
    annotation = Annotation.model_validate(record)
    pair_rows = read(tmp_path, [annotation]).pairs
    assert pair_rows["night"].unique().to_list() == ["2026-01-01T01:00:00Z"]
    elsewhere = annotation.model_copy(update={"series": "NetPIPE*"})
    assert read(tmp_path, [elsewhere]).pairs["night"].n_unique() == 2


def test_a_value_of_zero_does_not_count(tmp_path: Path) -> None:
    bundle = PairNightWriter(tmp_path, nodes=4).night(0) / "bundle"
    frames = bundle_tables.read_tables(bundle).frames
    bundle_manifest = manifest.verify(bundle)
    samples = pl.read_parquet(bundle / "samples.parquet")
    zeros = samples.with_columns(value=pl.lit(0.0))
    pair_rows, rows_with_zeros = (
        nodes.measure_pairs(frame.lazy(), frames, THRESHOLDS.nodes, bundle_manifest)
        for frame in (samples, pl.concat([samples, zeros]))
    )
    assert pair_rows.height and pair_rows.equals(rows_with_zeros)


def test_a_node_is_measured_alone_apart_from_pairs(tmp_path: Path) -> None:
    PairNightWriter(tmp_path, nodes=8, has_single_launches=True).night(0)
    pair_rows = read(tmp_path).pairs
    names = [name for name, _ in nodes.split_measures(pair_rows)]
    measures = itertools.product(("latency", "tail", "bandwidth"), (True, False))
    assert {(name.measure, name.is_alone) for name in names} == {*measures}
    (latency,) = (n for n in names if n.is_alone and n.measure == "latency")
    assert latency.level < 1e-6 and latency.unit == "s"


@pytest.mark.parametrize("down", [{3}, {3, 4}, set()])
def test_a_launch_under_which_one_node_went_down_is_held_against_it_alone(
    tmp_path: Path, down: set[int]
) -> None:
    PairNightWriter(
        tmp_path, nodes=8, rounds_a_night=7, failed_nodes=frozenset({3}), down_nodes=frozenset(down)
    ).night(0)
    outcomes = nodes.outcomes(read(tmp_path).pairs)
    culprits = {outcomes.names[node] for node in outcomes.node[outcomes.failed[outcomes.launch]]}
    assert outcomes.failed.sum() == 7
    # With node 4 both went down, and both may have.
    assert culprits == {pseudonym(node) for node in down or range(8)}


class OnSockets(PairNightWriter):
    """Launches on one node are on one socket or on two by turns: the latter are slower."""

    def _record(self, launch: tuple[int, int, tuple[int, ...]], started: str) -> dict[str, Any]:
        record = super()._record(launch, started)
        if len(launch[2]) == 1:
            record["parameters"]["placement"] = "one-socket" if launch[1] % 2 else "two-sockets"
        return record

    def _samples(
        self, launch: tuple[int, int, tuple[int, ...]], rng: np.random.Generator
    ) -> pl.DataFrame:
        slowdown = 3.0 if len(launch[2]) == 1 and launch[1] % 2 == 0 else 1.0
        return super()._samples(launch, rng).with_columns(pl.col("value") * slowdown)


def test_one_socket_is_not_compared_with_two(tmp_path: Path) -> None:
    OnSockets(tmp_path, nodes=8, has_single_launches=True).night(0)
    pair_rows = read(tmp_path).pairs.filter(measure="latency")
    alone_rows = pair_rows.filter(pl.col("other") == "")
    levels = dict(alone_rows.group_by("place").agg(pl.col("level").first()).iter_rows())
    one_socket, two_sockets = f"{SITE}:cluster, one-socket", f"{SITE}:cluster, two-sockets"
    assert levels.keys() == {one_socket, two_sockets}
    assert levels[two_sockets] == pytest.approx(3 * levels[one_socket], rel=0.2)
    assert alone_rows["excess"].abs().max() < 0.5
    assert set(pair_rows.filter(pl.col("other") != "")["place"]) == {f"{SITE}:cluster"}


def inside(**effects: list[float]) -> pl.DataFrame:
    """Launches inside one node: of each measure, the excess of one launch after the other."""
    rows = [
        {
            **{"night": f"2026-01-{n + 1:02d}", "launch": f"{n}", "round": 1, "host": "node-1"},
            **{"other": "", "measure": measure, "excess": excess},
        }
        for measure, excesses in effects.items()
        for n, excess in enumerate(excesses)
    ]
    return pl.DataFrame(rows, schema_overrides={"excess": pl.Float64})


@pytest.mark.parametrize(
    ("effects", "pauses"),
    [
        ({"latency": [0.7, 0.6], "bandwidth": [0.5, 0.7]}, False),
        ({"latency": [0.0, 0.1], "bandwidth": [0.0, 0.0], "tail": [1.0, 0.9]}, True),
        # Memory is slow, not the processor.
        ({"latency": [0.0, 0.1], "bandwidth": [0.7, 0.7]}, None),
        ({"latency": [0.15, 0.2], "bandwidth": [0.7, 0.7]}, None),
        # One launch, or one that disagrees, decides nothing; nor do old launches.
        ({"latency": [0.7], "bandwidth": [0.7]}, None),
        ({"latency": [0.7, 0.0], "bandwidth": [0.7, 0.7]}, None),
        ({"latency": [0.7] * 5 + [0.0] * 6, "bandwidth": [0.7] * 5 + [0.0] * 6}, None),
        ({"failure": [1.0, 1.0]}, None),
    ],
)
def test_a_slow_processor_slows_short_messages_and_copies_alike(
    effects: dict[str, list[float]], pauses: bool | None
) -> None:
    processors = node_faults.slow_processors(inside(**effects), THRESHOLDS.nodes)
    found = {host: processor.pauses for host, processor in processors.items()}
    assert found == ({} if pauses is None else {"node-1": pauses})


@pytest.mark.parametrize(
    ("throttled_s", "shares"),
    [
        ([0.6, 0.2, 0.4], {"b": 0.2}),
        ([0.6, 0.0, 0.0], {}),  # one launch of three
        ([0.6, None, None], {}),  # one launch that says it
        ([None] * 3, {}),
    ],
)
def test_a_node_whose_kernel_stops_its_ranks_has_a_slow_processor(
    throttled_s: list[float | None], shares: dict[str, float]
) -> None:
    """Of 2 s; those of the other node are not stopped."""
    launches = [name for name in "xyz" for _ in range(2)]
    placement = pl.DataFrame({"launch": launches, "rank": 3 * [0, 1], "host": 3 * ["a", "b"]})
    times = [time for stopped_s in throttled_s for time in (0.0, stopped_s)]
    schema = {"launch": pl.String, "rank": pl.Int64, "throttled_s": pl.Float64}
    disturbance = pl.DataFrame(
        {"launch": launches, "rank": 3 * [0, 1], "throttled_s": times}, schema
    ).with_columns(duration_s=pl.lit(2.0))
    slow = node_faults.throttled_nodes(placement, disturbance, 0.01)
    assert {host: processor.throttled for host, processor in slow.items()} == pytest.approx(shares)


def test_each_launch_that_failed_counts_once_with_both_of_its_nodes(tmp_path: Path) -> None:
    PairNightWriter(tmp_path, nodes=8, has_single_launches=True, failed_nodes=frozenset({5})).night(
        0
    )
    pair_rows = read(tmp_path).pairs
    outcomes = nodes.outcomes(pair_rows)
    assert set(outcomes.names) == {pseudonym(node) for node in range(8)}
    assert (outcomes.failed.size, outcomes.failed.sum()) == (4 * 4 + 4 * 8, 4 + 4)
    failures = np.bincount(outcomes.node, weights=outcomes.failed[outcomes.launch])
    assert failures[outcomes.names.index(pseudonym(5))] == 8 and failures.sum() == 2 * 4 + 4
    levels = pair_rows.filter(measure="failure").select("other", "level").unique()
    assert levels["level"].is_between(0.1, 0.3).all()


def compare(logs: dict[str, float], error: float = 1e-5) -> list[tuple[str, str, float, float]]:
    """Each node with each other, as launches between pairs do it."""
    return [
        (one, other, logs[other] - logs[one], error)
        for one, other in itertools.combinations(logs, 2)
    ]


@pytest.mark.parametrize(
    ("comparisons", "clocks"),
    [
        ([], []),
        (compare({"a": 0.0, "b": 5e-5, "c": -5e-5}), []),
        # Of two nodes nobody knows which is wrong, nor of two pairs.
        (compare({"a": 0.0, "b": 0.3}), [DeviatingClock("b", 0.3, 1, "a")]),
        (compare({"b": 0.3, "a": 0.0}), [DeviatingClock("b", 0.3, 1, "a")]),
        (
            [("a", "b", 0.3, 0.0), ("c", "d", 0.2, 0.0)],
            [DeviatingClock("b", 0.3, 1, "a"), DeviatingClock("d", 0.2, 1, "c")],
        ),
        # The most exact comparison of a pair counts, and none of two ranks of a node.
        ([("a", "b", 1e-5, 1e-6), ("b", "a", 0.5, 0.4)], []),
        ([("b", "a", 0.5, 0.4)], [DeviatingClock("b", -0.5, 1, "a")]),
        ([("a", "a", 0.3, 0.0)], []),
    ],
)
def test_clocks_that_disagree_are_named(
    comparisons: list[tuple[str, str, float, float]], clocks: list[DeviatingClock]
) -> None:
    assert deviating_clocks(comparisons, CLOCK_LIMIT) == clocks


@pytest.mark.parametrize("fast", ["a", "c", "e"])
def test_a_fast_node_is_named_and_its_partners_are_not(fast: str) -> None:
    clocks = dict.fromkeys("abcde", 0.0) | {fast: math.log(1.3)}
    (clock,) = deviating_clocks(compare(clocks), CLOCK_LIMIT)
    assert (clock.node, clock.partners, clock.other) == (fast, 4, "")
    assert math.exp(clock.excess) == pytest.approx(1.3)


@given(st.permutations("abcdefg"), st.floats(0.01, 2), st.booleans())
def test_a_minority_is_named_whatever_the_order(
    names: list[str], excess: float, slow: bool
) -> None:
    sign = -1 if slow else 1
    clocks = dict.fromkeys(names, 0.0) | {names[0]: sign * excess, names[1]: sign * 2 * excess}
    outliers = deviating_clocks(compare(clocks), CLOCK_LIMIT)
    assert {clock.node for clock in outliers} == set(names[:2])
    assert all(math.copysign(1, clock.excess) == sign for clock in outliers)
