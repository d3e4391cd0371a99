"""Faults of nodes that show without partners: slow processors, absent nodes, wrong clocks."""

from __future__ import annotations

import contextlib
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.history import published
from roundtrip.history.nodes import BANDWIDTH, FAILURE, LATENCY, PAIRS_PLAN_FILE, TAIL
from roundtrip.measure import bundle_tables, manifest, reader
from roundtrip.measure.analysis import DisturbanceLimits
from roundtrip.measure.bundle_rows import DisturbanceRow, LaunchRow, PlacementRow
from roundtrip.measure.manifest import Manifest
from roundtrip.stats.settings import NodeSettings

#: Number of newest launches inside a node that count; largest ratio of similar logarithms.
_NEWEST_LAUNCHES, _MAX_SIMILAR_RATIO = 6, 2.0
FAILED, MISSING = "failed", "missing"
#: Maximum difference between wall clocks of nodes under NTP.
_MAX_UTC_OFFSET_S = 1.0
_FAILED_STATUSES = (FAILED, "partial")


@dataclass(frozen=True)
class SlowProcessor:
    """A slow processor, by (measure, effect as a logarithm) of launches inside the node, or by its
    kernel: a CPU limit stopped its ranks for the share `throttled` of their time, 0 if unknown.

    `pauses`: it stops at times; otherwise it is slow all the time.
    """

    effects: tuple[tuple[str, float], ...]
    pauses: bool
    launches: int
    throttled: float = 0.0


def slow_processors(pairs: pl.DataFrame, settings: NodeSettings) -> dict[str, SlowProcessor]:
    """Return the nodes with a slow processor, according to the newest launches inside each node.

    These use no network.  A slow processor slows short messages and copies by similar factors:
    neither logarithm exceeds twice the other; slow memory slows only copies.  A processor that
    stops for milliseconds (throttled, suspended, shared with another program) does not change the
    medians but lengthens the tail, since shared memory loses no message.  All launches must agree,
    and at least two are needed.
    """
    newest = (
        pairs.filter(pl.col("other") == "", pl.col("measure") != FAILURE)
        .sort("night", "round", "launch")
        .group_by("host", "measure")
        .agg(pl.col("excess").tail(_NEWEST_LAUNCHES))
    )
    by_host: dict[str, dict[str, list[float]]] = {}
    for host, measure, excesses in newest.rows():
        by_host.setdefault(host, {})[measure] = excesses
    processors = {host: _slow_processor(excesses, settings) for host, excesses in by_host.items()}
    return {host: processor for host, processor in processors.items() if processor}


def _slow_processor(
    excesses: Mapping[str, list[float]], settings: NodeSettings
) -> SlowProcessor | None:
    slowdowns = {
        measure: float(np.median(effects))
        for measure, effects in excesses.items()
        if len(effects) > 1 and min(effects) > settings.min_effect(is_tail=measure == TAIL)
    }
    logs = [slowdowns.get(measure, 0.0) for measure in (LATENCY, BANDWIDTH)]
    if min(logs) > 0 and max(logs) <= _MAX_SIMILAR_RATIO * min(logs):
        effects = ((LATENCY, logs[0]), (BANDWIDTH, logs[1]))
        return SlowProcessor(effects, False, len(excesses[LATENCY]))
    if TAIL in slowdowns:
        return SlowProcessor(((TAIL, slowdowns[TAIL]),), True, len(excesses[TAIL]))
    return None


def throttled_nodes(
    placement: pl.DataFrame, disturbance: pl.DataFrame, limit: float
) -> dict[str, SlowProcessor]:
    """Return the nodes whose ranks a CPU limit stopped for more than `limit` of their time.

    The share is the median over the launches of a night; a node needs two launches.  The frames are
    tables of a bundle.
    """
    shares = (
        disturbance.join(placement, on=["launch", "rank"])
        .group_by("launch", "host")
        .agg(share=pl.col("throttled_s").max() / pl.col("duration_s").sum())
        .drop_nulls()
    )
    medians = shares.group_by("host").agg(pl.col("share").median(), launches=pl.len())
    throttled = medians.filter(pl.col("share") > limit, pl.col("launches") > 1)
    rows = throttled.rows()
    return {host: SlowProcessor((), True, launches, share) for host, share, launches in rows}


@dataclass(frozen=True)
class AbsentNode:
    """A node without a measurement in the night that began at `night`.

    `state` and `reason` are the scheduler's for a node that it had taken out.  Otherwise the state
    is `FAILED` if all launches on the node failed, else `MISSING`.  `last` is the newest night that
    measured it, "" if none did; times are ISO 8601.
    """

    node: str
    state: str
    reason: str
    night: str
    last: str

    @property
    def is_failed(self) -> bool:
        return self.state == FAILED


def absent_nodes(bundle: Path, bundle_manifest: Manifest, pairs: pl.DataFrame) -> list[AbsentNode]:
    """The absent nodes of a night, by name; `pairs`: of all nights.  UserError for a bad bundle."""
    cases = bundle / manifest.table_file("cases")
    reader.require_decodable_tables([cases])
    columns = ["launch", "status", "reason", "hosts", "nodes_down"]
    launches = bundle_tables.read_table(cases, LaunchRow, columns)
    reasons = dict.fromkeys(_planned_nodes(bundle), (MISSING, "no launch on it was made"))
    down_launches = launches.drop_nulls(["hosts", "nodes_down"])
    down = down_launches.select("hosts", pl.col("nodes_down").list.join(", ")).rows()
    for hosts, names in down:
        reason = f"no launch on it completed: {names} went down"
        reasons |= dict.fromkeys(hosts, (MISSING, reason))
    reasons |= _failure_reasons(launches)
    for entry in bundle_manifest.data.get("nodes_not_measured") or []:
        reasons[entry["node"]] = entry["state"], entry["reason"]
    hosts_of_launches = launches.filter(status="passed")["hosts"].drop_nulls()
    measured_nodes = {host for hosts in hosts_of_launches for host in hosts}
    passed = pairs.filter((pl.col("measure") != FAILURE) | (pl.col("excess") == 0))
    hosts = pl.concat([passed.select("night", "host"), passed.select("night", host="other")])
    last_nights = dict(hosts.group_by("host").agg(pl.col("night").max()).rows())
    night = str(bundle_manifest.data["started"])
    return [
        AbsentNode(node, *reasons[node], night, last_nights.get(node, ""))
        for node in sorted(reasons.keys() - measured_nodes)
    ]


def _failure_reasons(launches: pl.DataFrame) -> dict[str, tuple[str, str]]:
    rows = launches.with_columns(hosts=pl.coalesce("nodes_down", "hosts")).drop_nulls("hosts")
    lost_rows = (
        rows.filter(pl.col("status").is_in(_FAILED_STATUSES)).select("hosts", "reason").rows()
    )
    reasons: dict[str, Counter[str]] = {}
    for hosts, reason in lost_rows:
        for host in set(hosts):
            reasons.setdefault(host, Counter())[reason or "no reason given"] += 1
    return {
        host: (FAILED, f"all {counts.total()} launches failed, {counts.most_common(1)[0][0]}")
        for host, counts in reasons.items()
    }


def _planned_nodes(bundle: Path) -> list[str]:
    file = bundle / PAIRS_PLAN_FILE
    plan: Any = files.read_json(file) if file.exists() else {"partitions": {}}
    try:
        parts = plan["partitions"].values()
        return [str(host) for part in parts for pair in part["pairs"] for host in pair["hosts"]]
    except (AttributeError, KeyError, TypeError):
        raise UserError("not the plan of a night", file) from None


@dataclass(frozen=True)
class DeviatingClock:
    """A clock that exceeds the clocks of `partners` nodes by `excess`, the median difference.

    If `other` is set, only the pair is known to differ: either clock may be wrong.
    """

    node: str
    excess: float
    partners: int
    other: str = ""


def deviating_clocks(
    comparisons: Iterable[tuple[str, str, float, float]], limit: float
) -> list[DeviatingClock]:
    """Return the nodes whose clocks differ from others by more than `limit`, the worst first.

    A comparison has a reference, another node, the clock of the other minus that of the reference,
    and the largest error of this, both in the unit of `limit`.  The most exact comparison of each
    pair counts.  Report the node that differs from most others, drop its pairs, and repeat.  When
    all nodes differ from equally many others, report their pairs.
    """
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for reference, other, excess, error in comparisons:
        pair = (min(reference, other), max(reference, other))
        if reference != other and error < best.get(pair, (0.0, math.inf))[1]:
            best[pair] = (excess if other == pair[1] else -excess, error)
    differences = {
        pair: excess for pair, (excess, error) in best.items() if abs(excess) - error > limit
    }
    clocks: list[DeviatingClock] = []
    while differences:
        excesses: dict[str, list[float]] = defaultdict(list)
        for (one, other), excess in differences.items():
            excesses[one].append(-excess)
            excesses[other].append(excess)
        if len({len(values) for values in excesses.values()}) == 1:
            pairs = sorted(differences.items())
            clocks += [DeviatingClock(other, excess, 1, one) for (one, other), excess in pairs]
            break
        node = max(sorted(excesses), key=lambda name: len(excesses[name]))
        clocks.append(DeviatingClock(node, statistics.median(excesses[node]), len(excesses[node])))
        differences = {pair: excess for pair, excess in differences.items() if node not in pair}
    return sorted(clocks, key=lambda clock: -abs(clock.excess))


def wrong_clock_rates(
    placement: pl.DataFrame, disturbance: pl.DataFrame, limit: float
) -> list[DeviatingClock]:
    """Return the nodes whose clock runs faster or slower than others by a factor above 1 + `limit`.

    The frames are tables of a bundle; `excess` is the logarithm of the rate.
    """
    readings = _compare_with_root(placement, disturbance, "clock_rate", "clock_rate_error")
    positive = (reading for reading in readings if reading[2] > 0)
    rates = ((root, host, math.log(rate), error / rate) for root, host, rate, error in positive)
    return deviating_clocks(rates, math.log1p(limit))


def wrong_wall_clocks(placement: pl.DataFrame, disturbance: pl.DataFrame) -> list[DeviatingClock]:
    """Return the nodes whose wall clock is ahead of others or behind them; `excess` in seconds."""
    readings = _compare_with_root(placement, disturbance, "utc_ahead_s")
    return deviating_clocks(((*reading, 0.0) for reading in readings), _MAX_UTC_OFFSET_S)


def newest_node_faults(
    site: Path, pairs: pl.DataFrame, limits: DisturbanceLimits
) -> tuple[list[DeviatingClock], dict[str, SlowProcessor], list[AbsentNode]]:
    """`wrong_clock_rates`, `throttled_nodes` and `absent_nodes` of the newest readable bundle.

    The ledger warns of unreadable ones.
    """
    for revision in reversed(published.current_revisions(site)[0]):
        with contextlib.suppress(UserError):
            bundle, bundle_manifest = revision.bundle, manifest.verify(revision.bundle)
            tables = [bundle / manifest.table_file(n) for n in ("placement", "disturbance")]
            reader.require_decodable_tables(tables)
            placement = bundle_tables.read_table(
                tables[0], PlacementRow, ["launch", "rank", "host"]
            )
            times = ["clock_rate", "clock_rate_error", "throttled_s", "duration_s"]
            names = ["launch", "rank", *times]
            disturbance = bundle_tables.read_table(tables[1], DisturbanceRow, names)
            return (
                wrong_clock_rates(placement, disturbance, limits.clock_rate),
                throttled_nodes(placement, disturbance, limits.throttled_fraction),
                absent_nodes(bundle, bundle_manifest, pairs),
            )
    return [], {}, []


def _compare_with_root(
    placement: pl.DataFrame, disturbance: pl.DataFrame, *names: str
) -> list[tuple[Any, ...]]:
    """(Host of rank 0, host of the rank, *`names`) for each rank that has them in `disturbance`."""
    hosts = placement.select("launch", "rank", "host")
    roots = hosts.filter(rank=0).select("launch", root="host")
    readings = disturbance.select("launch", "rank", *names).drop_nulls()
    rows = readings.join(hosts, on=["launch", "rank"]).join(roots, on="launch")
    return rows.sort("launch", "rank").select("root", "host", *names).rows()
