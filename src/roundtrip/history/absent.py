"""Nodes that the newest night of a campaign over pairs did not measure, and why."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.collect import bundle_tables, manifest, reader
from roundtrip.collect.bundle_rows import Case
from roundtrip.errors import UserError
from roundtrip.history import pairs as between
from roundtrip.history import published

FAILED, MISSING = "failed", "missing"
_LOST = (FAILED, "partial")


@dataclass(frozen=True)
class Absent:
    """A node in the night that began at `night`.

    `state` and `reason` are Slurm's for a node that it had taken out.  Otherwise the state is
    `FAILED`, if all launches on it failed, or `MISSING`, if none was made.  `last` is the newest
    night that measured it, "" if none did; times are ISO 8601.
    """

    node: str
    state: str
    reason: str
    night: str
    last: str

    @property
    def is_failed(self) -> bool:
        """Whether launches were made on it, and all failed."""
        return self.state == FAILED


def of(folder: Path, pairs: pl.DataFrame) -> list[Absent]:
    """Those of the newest night in `folder` that can be read, of a campaign on a site, by name.

    `pairs`: columns `PAIRS`, of all nights.  A night that cannot be read raises no UserError: the
    ledger warns of it.
    """
    for revision in reversed(published.counting(folder)[0]):
        with contextlib.suppress(UserError):
            return _in(revision.bundle, pairs)
    return []


def _in(bundle: Path, pairs: pl.DataFrame) -> list[Absent]:
    """Those of one night; UserError for a bundle that cannot be read."""
    checked, cases = manifest.verify(bundle), bundle / "cases.parquet"
    reader.require_tables([cases])
    columns = ["launch", "status", "reason", "hosts", "nodes_down"]
    launches = bundle_tables.read_table(cases, Case, columns)
    told = {
        **dict.fromkeys(_planned(bundle), (MISSING, "no launch on it was made")),
        **_beside(launches),
        **_failed(launches),
        **{
            one["node"]: (one["state"], one["reason"])
            for one in checked.data.get("nodes_not_measured") or []
        },
    }
    measured = set(_hosts(launches, "passed"))
    last = _last(pairs)
    started = str(checked.data["started"])
    return [
        Absent(node, *told[node], started, last.get(node, ""))
        for node in sorted(told.keys() - measured)
    ]


def _beside(launches: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Nodes of launches under which another one went down."""
    down = launches.drop_nulls(["hosts", "nodes_down"])
    rows = down.select("hosts", pl.col("nodes_down").list.join(", ")).rows()
    return {
        host: (MISSING, f"no launch on it completed: {other} went down")
        for hosts, other in rows
        for host in hosts
    }


def _failed(launches: pl.DataFrame) -> dict[str, tuple[str, str]]:
    launches = launches.with_columns(hosts=pl.coalesce("nodes_down", "hosts"))
    counts: Counter[str] = Counter(_hosts(launches, *_LOST))
    reasons: dict[str, Counter[str]] = {}
    rows = launches.filter(pl.col("status").is_in(_LOST)).drop_nulls("hosts")
    for hosts, reason in rows.select("hosts", "reason").rows():
        for host in hosts:
            reasons.setdefault(host, Counter())[reason or "no reason given"] += 1
    return {
        host: (FAILED, f"all {count} launches failed, {reasons[host].most_common(1)[0][0]}")
        for host, count in counts.items()
    }


def _hosts(launches: pl.DataFrame, *statuses: str) -> Iterator[str]:
    """The hosts of each launch that ended so, once for each launch."""
    for hosts in launches.filter(pl.col("status").is_in(statuses))["hosts"].drop_nulls():
        yield from set(hosts)


def _planned(bundle: Path) -> list[str]:
    """The nodes of the launches that were planned."""
    file = bundle / between.PLAN
    plan: Any = files.read_json(file) if file.exists() else {"partitions": {}}
    try:
        parts = plan["partitions"].values()
        return [str(host) for part in parts for one in part["pairs"] for host in one["hosts"]]
    except (AttributeError, KeyError, TypeError):
        raise UserError("not the plan of a night", file) from None


def _last(pairs: pl.DataFrame) -> dict[str, str]:
    """The newest night in which each node was measured."""
    passed = pairs.filter((pl.col("measure") != between.FAILURE) | (pl.col("excess") == 0))
    both = pl.concat([passed.select("night", "host"), passed.select("night", host="other")])
    return dict(both.group_by("host").agg(pl.col("night").max()).iter_rows())
