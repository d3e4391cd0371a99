"""Frames of `PAIRS` as measures for the search, and as series of nodes for a history."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from roundtrip.history.pairs import BANDWIDTH, TAIL
from roundtrip.history.schema import NIGHTS
from roundtrip.stats.intervals import Interval
from roundtrip.stats.nodes.judge import Measure
from roundtrip.stats.nodes.launches import NOBODY, Launches
from roundtrip.stats.nodes.nightly import effects
from roundtrip.stats.nodes.settings import Settings

_BETWEEN, _INSIDE = "between nodes", "inside a node"
_NAMES = ["study", "place", "environ", "measure"]


@dataclass(frozen=True)
class Name:
    """What a measure is of; `place` is system and partition, `is_alone`: of launches on one node.

    `level` is what the newest night measured usually, in `unit`.
    """

    study: str
    place: str
    environ: str
    measure: str
    is_alone: bool
    level: float
    unit: str


def measures(pairs: pl.DataFrame, settings: Settings) -> list[Measure]:
    """One for each measure of a study, partition, toolchain and kind of launch in `pairs`."""
    return [
        Measure(name, launches(rows), settings.least(is_tail=name.measure == TAIL))
        for name, rows in split(pairs)
    ]


def split(pairs: pl.DataFrame) -> Iterator[tuple[Name, pl.DataFrame]]:
    """The rows of each measure, oldest night first."""
    ordered = pairs.sort("night", "round", "launch").with_columns(is_alone=pl.col("other") == "")
    keys = [*_NAMES, "is_alone"]
    for key, rows in ordered.sort(keys, maintain_order=True).group_by(keys, maintain_order=True):
        study, place, environ, measure, is_alone = key
        told = (str(study), str(place), str(environ), str(measure), bool(is_alone))
        last = rows.row(-1, named=True)
        yield Name(*told, last["level"], last["unit"]), rows


def launches(rows: pl.DataFrame) -> Launches:
    """Rows of one measure as arrays; nodes and nights are counted in their order."""
    known = switches(rows)
    at = {host: number for number, host in enumerate(known)} | {"": NOBODY}
    days = {night: number for number, night in enumerate(sorted(set(rows["night"])))}
    return Launches(
        list(known),
        list(known.values()),
        rows["excess"].to_numpy(),
        np.array([[at[one] for one in pair] for pair in rows.select("host", "other").rows()]),
        np.array([days[night] for night in rows["night"]]),
        rows["round"].to_numpy(),
    )


def switches(pairs: pl.DataFrame) -> dict[str, str]:
    """By node, in the order of names: the switch on which it hung last; "" where none is known."""
    hosts = pl.concat(
        [
            pairs.select("night", "host", "switch"),
            pairs.select("night", host="other", switch="other_switch"),
        ]
    ).filter(pl.col("host") != "")
    told = pl.col("switch").filter(pl.col("switch") != "").last().fill_null("")
    known = hosts.sort("night", maintain_order=True).group_by("host").agg(told).sort("host")
    return dict(known.select("host", "switch").rows())


def series(pairs: pl.DataFrame, settings: Settings, confidence: float) -> pl.DataFrame:
    """Columns `NIGHTS`: a series for each node and measure, its value night after night."""
    found = []
    for name, rows in split(pairs):
        for _, night in rows.group_by("night", maintain_order=True):
            told = effects(launches(night), settings, confidence)
            first = night.row(0, named=True)
            found += [_row(name, first, node, one) for node, one in told.items()]
    return pl.DataFrame(found, schema=NIGHTS)


def case(name: Name) -> tuple[str, str]:
    """The columns `case_id` and `case` of the series of a measure."""
    return f"nodes@{name.place}+{name.environ}", _INSIDE if name.is_alone else _BETWEEN


def _row(name: Name, first: dict[str, object], node: str, one: Interval) -> dict[str, object]:
    is_rate = name.measure == BANDWIDTH
    level = float(str(first["level"]))
    case_id, of = case(name)

    def value(effect: float | None) -> float | None:
        return None if effect is None else level * math.exp(-effect if is_rate else effect)

    low, high = (value(end) for end in ((one.high, one.low) if is_rate else (one.low, one.high)))
    return {
        **{key: first[key] for key in ("night", "digest", "study", "unit")},
        "case_id": case_id,
        "case": of,
        "variant": node,
        "size_bytes": 0,
        "phase": name.measure,
        "metric": f"node_{name.measure}",
        "nodes": node,
        "launches": one.n,
        "disturbed": 0,
        "median": value(one.median),
        "low": low,
        "high": high,
        "lower_is_better": not is_rate,
        "left_out": "",
        "foreign": False,
    }
