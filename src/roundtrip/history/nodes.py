"""Nodes by their launches in pairs and alone: measures, verdicts, outcomes, series.

A measure (latency, its tail, bandwidth, failures) combines all series of a launch that show the
same quantity: the difference of each from the median over all pairs of the night, so that launches
may lack sizes.  The tail is the mean of the messages over their median: lost packets are too rare
to change a median, and cost far more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from roundtrip.history.night_rows import NIGHTS, PAIRS
from roundtrip.measure.bundle_rows import SERIES_COLUMNS
from roundtrip.measure.manifest import Manifest
from roundtrip.sites.launching import SOCKET_PLACEMENTS
from roundtrip.stats.nodes.failures import Outcomes
from roundtrip.stats.nodes.judge import NodeMeasure, NodeVerdicts, judge_nodes
from roundtrip.stats.nodes.launches import NO_SECOND_NODE, NodeLaunches, node_effects
from roundtrip.stats.settings import NodeSettings
from roundtrip.stats.summaries import Interval
from roundtrip.study import METRICS

LATENCY, TAIL, BANDWIDTH = "latency", "tail", "bandwidth"
#: Whether the launch failed: its excess is 1 if it did, else 0.
FAILURE = "failure"
#: Parameters of a launch's check that mark a campaign over pairs: the round of the whole design,
#: and the round of the night.
ROUND_PARAMETER, NIGHT_ROUND_PARAMETER = "pair_round", "pair_night_round"
#: The plan of the rounds, a file in bundles of such campaigns.
PAIRS_PLAN_FILE = "env/pairs.json"
#: With fewer messages a launch has no tail.
_MIN_TAIL_MESSAGES = 30
_MEASURE_COLUMNS = ["study", "place", "environ", "is_alone"]
#: Columns of a measure of launches.
_PAIR_COLUMNS = ("launch", *_MEASURE_COLUMNS, "measure", "excess", "level", "unit")
#: The key of a series without the phase: all measured values are of one.
_SERIES_COLUMNS = [name for name in SERIES_COLUMNS if name != "phase"]
LOWER_IS_BETTER_BY_METRIC = {name: metric.lower_is_better for name, metric in METRICS.items()}
#: The `case_id` of the series of nodes, by place and environment.
CASE_ID_FORMAT = "nodes@{}+{}"
_BETWEEN, _INSIDE = "between nodes", "inside a node"


def pair_launch_names(parameters: pl.DataFrame) -> list[str]:
    """The launches of a campaign over pairs; `parameters` has the columns launch and name."""
    return parameters.filter(name=ROUND_PARAMETER)["launch"].unique().to_list()


def measure_pairs(
    samples: pl.LazyFrame,
    frames: Mapping[str, pl.DataFrame],
    settings: NodeSettings,
    bundle_manifest: Manifest,
) -> pl.DataFrame:
    """Columns `PAIRS`, by launch; `samples` and `frames` are tables of a bundle."""
    all_launches = _launches_on_nodes(frames)
    passed_launches = all_launches.filter(~pl.col("failed"))
    if all_launches.is_empty():
        return pl.DataFrame(schema=PAIRS)
    size = pl.col("size_bytes")
    small, large = size <= settings.small_bytes, size >= settings.large_bytes
    is_time, is_rate = pl.col("unit") == "s", pl.col("unit") == "MB/s"
    is_passed = pl.col("launch").is_in(passed_launches["launch"].to_list())
    medians = (
        samples.filter(is_passed, pl.col("phase") == "measure", pl.col("value") > 0)
        .filter((is_time & (small | large)) | (is_rate & large))
        .group_by("launch", *_SERIES_COLUMNS, "unit")
        .agg(median=pl.col("value").median(), mean=pl.col("value").mean(), n=pl.len())
        .collect()
        .filter(pl.col("size_bytes").max().over("launch", "case") > 0)
        .join(passed_launches, on="launch")
    )
    lower_is_better = pl.col("metric").replace_strict(
        LOWER_IS_BETTER_BY_METRIC, default=True, return_dtype=pl.Boolean
    )
    cost = pl.when(lower_is_better).then(pl.col("median").log()).otherwise(-pl.col("median").log())
    usual = pl.col("median").median().over(*_MEASURE_COLUMNS, *_SERIES_COLUMNS)
    excesses = medians.with_columns(
        excess=cost - cost.median().over(*_MEASURE_COLUMNS, *_SERIES_COLUMNS),
        usual=usual,
        measure=pl.when(small).then(pl.lit(LATENCY)).otherwise(pl.lit(BANDWIDTH)),
    )
    rows = [
        _latencies_and_bandwidths(excesses),
        _tail_measures(medians.filter(is_time & small)),
        _failure_measures(all_launches),
    ]
    return (
        pl.concat(rows)
        .join(all_launches, on=["launch", *_MEASURE_COLUMNS])
        .with_columns(
            night=pl.lit(bundle_manifest.data["started"]), digest=pl.lit(bundle_manifest.digest)
        )
        .select(*PAIRS)
        .sort("launch", "measure")
    )


def _launches_on_nodes(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Launches on one or two nodes that passed or failed: columns of `PAIRS`, is_alone, failed."""
    parameters = frames["parameters"]
    round_rows = parameters.filter(pl.col("name").is_in([ROUND_PARAMETER, NIGHT_ROUND_PARAMETER]))
    placement = parameters.filter(pl.col("value").is_in(SOCKET_PLACEMENTS), name="placement")
    sockets = placement.select("launch", on=pl.format(", {}", "value"))
    rounds = round_rows.select("launch", "name", "number").sort("launch", "name")
    # The round of the night, whose launches are near in time, is first in the order of names.
    rounds = rounds.group_by("launch", maintain_order=True).agg(round=pl.col("number").first())
    switches = (
        frames["placement"]
        .select("launch", "host", "switch")
        .unique(["launch", "host"], keep="first", maintain_order=True)
    )
    is_known = pl.col("status").is_in(["passed", "failed"])
    outcomes = frames["cases"].filter(is_known).join(rounds, on="launch")
    outcomes = outcomes.join(sockets, on="launch", how="left")
    has_one_down = (pl.col("status") == "failed") & (pl.col("nodes_down").list.len() == 1)
    hosts = pl.col("hosts").list.unique(maintain_order=True)
    rows = outcomes.filter(hosts.list.len().is_between(1, 2)).select(
        "launch",
        pl.col("round").cast(pl.Int64, strict=False).fill_null(0),
        "study",
        "environ",
        place=pl.format("{}:{}{}", "system", "partition", pl.col("on").fill_null("")),
        host=hosts.list.get(0),
        other=hosts.list.get(1, null_on_oob=True).fill_null(""),
        down=pl.when(has_one_down).then(pl.col("nodes_down").list.first()),
        is_alone=hosts.list.len() == 1,
        failed=pl.col("status") == "failed",
    )
    for name, column in (("switch", "host"), ("other_switch", "other")):
        host_switches = switches.rename({"host": column, "switch": name})
        rows = rows.join(host_switches, on=["launch", column], how="left")
    return rows.with_columns(pl.col("switch", "other_switch").fill_null(""))


def _latencies_and_bandwidths(excesses: pl.DataFrame) -> pl.DataFrame:
    """Latency and bandwidth of each launch; the level is from the smallest or the largest size."""
    is_time = pl.col("unit") == "s"
    ends = excesses.group_by(*_MEASURE_COLUMNS, "measure").agg(
        end=pl.when(pl.col("measure").first() == LATENCY)
        .then(pl.col("size_bytes").min())
        .otherwise(pl.col("size_bytes").max())
    )
    rate = pl.when(is_time).then(pl.col("size_bytes") / pl.col("usual") / 1e6).otherwise("usual")
    level = pl.when(pl.col("measure") == LATENCY).then("usual").otherwise(rate)
    size_ends = excesses.join(ends, on=[*_MEASURE_COLUMNS, "measure"])
    end_rows = size_ends.filter(pl.col("size_bytes") == pl.col("end"))
    levels = end_rows.group_by(*_MEASURE_COLUMNS, "measure").agg(level=level.median())
    excess = excesses.group_by("launch", *_MEASURE_COLUMNS, "measure").agg(
        pl.col("excess").median()
    )
    unit = pl.when(pl.col("measure") == LATENCY).then(pl.lit("s")).otherwise(pl.lit("MB/s"))
    return (
        excess.join(levels, on=[*_MEASURE_COLUMNS, "measure"])
        .with_columns(unit=unit)
        .select(*_PAIR_COLUMNS)
    )


def _tail_measures(small: pl.DataFrame) -> pl.DataFrame:
    """The log of each launch's tail (mean over median) over the usual one, but for few messages."""
    ratio = (pl.col("mean") / pl.col("median") * pl.col("n")).sum() / pl.col("n").sum()
    tails = small.group_by("launch", *_MEASURE_COLUMNS).agg(tail=ratio.log(), n=pl.col("n").sum())
    usual = pl.col("tail").median().over(*_MEASURE_COLUMNS)
    return (
        tails.filter(pl.col("n") >= _MIN_TAIL_MESSAGES)
        .with_columns(measure=pl.lit(TAIL), unit=pl.lit("1"))
        .with_columns(excess=pl.col("tail") - usual, level=usual.exp())
        .select(*_PAIR_COLUMNS)
    )


def _failure_measures(launches: pl.DataFrame) -> pl.DataFrame:
    """Whether each launch failed; the level is the share of failed launches."""
    failure = pl.col("failed").cast(pl.Float64)
    return launches.with_columns(
        measure=pl.lit(FAILURE),
        excess=failure,
        level=failure.mean().over(*_MEASURE_COLUMNS),
        unit=pl.lit("1"),
    ).select(*_PAIR_COLUMNS)


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
    pairs: pl.DataFrame, wrong_clocks: Iterable[str], settings: NodeSettings, confidence: float
) -> NodeVerdicts:
    """Judge the nodes by `pairs`; `confidence` is the level of intervals.

    Times by the clocks of the nodes `wrong_clocks` look like those of sick nodes, and name none.
    """
    measures = [
        NodeMeasure(name, launches(rows), settings.min_effect(is_tail=name.measure == TAIL))
        for name, rows in split_measures(pairs)
    ]
    verdicts = judge_nodes(measures, settings, confidence)
    wrong = set(wrong_clocks)
    outliers = tuple(outlier for outlier in verdicts.outliers if outlier.name not in wrong)
    return replace(verdicts, outliers=outliers)


def split_measures(pairs: pl.DataFrame) -> Iterator[tuple[MeasureName, pl.DataFrame]]:
    """Yield the rows of each measure except failures, oldest night first."""
    keys = ["study", "place", "environ", "measure", "is_alone"]
    passed_rows = pairs.filter(pl.col("measure") != FAILURE)
    sorted_rows = passed_rows.with_columns(is_alone=pl.col("other") == "").sort(
        *keys, "night", "round", "launch", maintain_order=True
    )
    for _, rows in sorted_rows.group_by(keys, maintain_order=True):
        yield MeasureName(*rows.select(*keys, "level", "unit").row(-1)), rows


def outcomes(pairs: pl.DataFrame) -> Outcomes:
    """The outcomes of the launches of `pairs`; those of one study, place and toolchain are similar.

    A launch during which one node went down counts only against this node.
    """
    kind = pl.concat_str("study", "place", "environ", pl.col("other") == "", separator=" ")
    rows = pairs.filter(measure=FAILURE).sort("night", "round", "launch")
    return Outcomes.from_rows(
        ([down] if down else [host, *filter(None, [other])], bool(failed), night, kind)
        for host, other, down, failed, night, kind in rows.select(
            "host", "other", "down", "excess", "night", kind.alias("kind")
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
    all_hosts = pl.concat([pairs.select("night", "host", "switch"), others])
    hosts = all_hosts.filter(pl.col("host") != "")
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
            values += [_series_row(name, first, *each) for each in intervals.items()]
    return pl.DataFrame(values, schema=NIGHTS)


def case_columns(name: MeasureName) -> tuple[str, str]:
    """The columns `case_id` and `case` of the series of a measure."""
    return CASE_ID_FORMAT.format(name.place, name.environ), _INSIDE if name.is_alone else _BETWEEN


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
