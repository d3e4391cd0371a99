"""Nodes by their launches with partners: measures, verdicts, outcomes, series."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from roundtrip.history.night_rows import NIGHTS
from roundtrip.history.node_faults import OddClock
from roundtrip.history.pairs import BANDWIDTH, FAILURE, TAIL
from roundtrip.stats.nodes.failures import Outcomes
from roundtrip.stats.nodes.judge import NodeMeasure, NodeVerdicts, judge_nodes
from roundtrip.stats.nodes.launches import NO_SECOND_NODE, NodeLaunches, node_effects
from roundtrip.stats.settings import NodeSettings
from roundtrip.stats.summaries import Interval

#: The `case_id` of the series of nodes, by place and environment.
CASE_ID = "nodes@{}+{}"
_BETWEEN, _INSIDE = "between nodes", "inside a node"
_MEASURE_COLUMNS = ["study", "place", "environ", "measure"]


@dataclass(frozen=True)
class MeasureName:
    """The identity of a measure; `place` is system and partition, `is_alone`: launches on one node.

    `level` is the usual value in the newest night, in `unit`.
    """

    study: str
    place: str
    environ: str
    measure: str
    is_alone: bool
    level: float
    unit: str


def node_verdicts(
    pairs: pl.DataFrame, bad_clocks: Iterable[OddClock], settings: NodeSettings, confidence: float
) -> NodeVerdicts:
    """Judge the nodes by `pairs`; `confidence` is the level of intervals.

    Times by one of `bad_clocks` are wrong: they look like those of a sick node, and name none.
    """
    measures = [
        NodeMeasure(name, launches(rows), settings.least_effect(is_tail=name.measure == TAIL))
        for name, rows in split_measures(pairs)
    ]
    verdicts = judge_nodes(measures, settings, confidence)
    wrong = {clock.node for clock in bad_clocks}
    outliers = tuple(outlier for outlier in verdicts.outliers if outlier.name not in wrong)
    return replace(verdicts, outliers=outliers)


def split_measures(pairs: pl.DataFrame) -> Iterator[tuple[MeasureName, pl.DataFrame]]:
    """Yield the rows of each measure except failures, oldest night first."""
    passed_rows = pairs.filter(pl.col("measure") != FAILURE)
    sorted_rows = passed_rows.sort("night", "round", "launch").with_columns(
        is_alone=pl.col("other") == ""
    )
    keys = [*_MEASURE_COLUMNS, "is_alone"]
    for key, rows in sorted_rows.sort(keys, maintain_order=True).group_by(
        keys, maintain_order=True
    ):
        study, place, environ, measure, is_alone = key
        names = (str(study), str(place), str(environ), str(measure), bool(is_alone))
        last = rows.row(-1, named=True)
        yield MeasureName(*names, last["level"], last["unit"]), rows


def outcomes(pairs: pl.DataFrame) -> Outcomes:
    """The outcomes of the launches of `pairs`; those of one study, place and toolchain are similar.

    A launch during which one node went down counts only against this node.
    """
    launch_kind = pl.concat_str(*_MEASURE_COLUMNS[:3], pl.col("other") == "", separator=" ")
    rows = pairs.filter(pl.col("measure") == FAILURE).sort("night", "round", "launch")
    return Outcomes.from_rows(
        ([down] if down else [host, *filter(None, [other])], bool(failed), night, kind)
        for host, other, down, failed, night, kind in rows.select(
            "host", "other", "down", "excess", "night", launch_kind.alias("kind")
        ).rows()
    )


def launches(rows: pl.DataFrame) -> NodeLaunches:
    """Convert rows of one measure to arrays; nodes and nights are numbered in their order."""
    host_switches = switches(rows)
    numbers = {host: number for number, host in enumerate(host_switches)} | {"": NO_SECOND_NODE}
    days = {night: number for number, night in enumerate(sorted(set(rows["night"])))}
    return NodeLaunches(
        list(host_switches),
        list(host_switches.values()),
        rows["excess"].to_numpy(),
        np.array(
            [[numbers[host] for host in pair] for pair in rows.select("host", "other").rows()]
        ),
        np.array([days[night] for night in rows["night"]]),
        rows["round"].to_numpy(),
    )


def switches(pairs: pl.DataFrame) -> dict[str, str]:
    """The last known switch of each node, in the order of node names; "" if none is known."""
    others = pairs.select("night", host="other", switch="other_switch")
    hosts = pl.concat([pairs.select("night", "host", "switch"), others]).filter(
        pl.col("host") != ""
    )
    newest = pl.col("switch").filter(pl.col("switch") != "").last().fill_null("")
    table = hosts.sort("night", maintain_order=True).group_by("host").agg(newest).sort("host")
    return dict(table.select("host", "switch").rows())


def node_series(pairs: pl.DataFrame, settings: NodeSettings, confidence: float) -> pl.DataFrame:
    """Columns `NIGHTS`: a series for each node and measure, with one value per night."""
    values = []
    for name, rows in split_measures(pairs):
        for _, night in rows.group_by("night", maintain_order=True):
            intervals = node_effects(launches(night), settings, confidence)
            first = night.row(0, named=True)
            values += [
                _series_row(name, first, node, interval) for node, interval in intervals.items()
            ]
    return pl.DataFrame(values, schema=NIGHTS)


def case_columns(name: MeasureName) -> tuple[str, str]:
    """The columns `case_id` and `case` of the series of a measure."""
    return CASE_ID.format(name.place, name.environ), _INSIDE if name.is_alone else _BETWEEN


def _series_row(
    name: MeasureName, first: dict[str, object], node: str, interval: Interval
) -> dict[str, object]:
    is_rate = name.measure == BANDWIDTH
    level = float(str(first["level"]))
    case_id, case = case_columns(name)

    def value(effect: float | None) -> float | None:
        return None if effect is None else level * math.exp(-effect if is_rate else effect)

    ends = value(interval.low), value(interval.high)
    low, high = ends[::-1] if is_rate else ends
    return {
        **{key: first[key] for key in ("night", "digest", "study", "unit")},
        "case_id": case_id,
        "case": case,
        "variant": node,
        "size_bytes": 0,
        "phase": name.measure,
        "metric": f"node_{name.measure}",
        "nodes": node,
        "launches": interval.n,
        "disturbed": 0,
        "median": value(interval.median),
        "low": low,
        "high": high,
        "lower_is_better": not is_rate,
        "left_out": "",
        "foreign": False,
    }
