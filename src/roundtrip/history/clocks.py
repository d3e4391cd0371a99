"""Nodes whose clocks disagree with those of other nodes, in the launches of a night."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from roundtrip.collect import bundle_tables, reader
from roundtrip.collect.bundle_rows import DisturbanceRow, PlaceRow
from roundtrip.stats.clocks import ClockComparison, OddClock, odd_clocks

#: Maximum difference between wall clocks of nodes under NTP.
_UTC_LIMIT_S = 1.0


def wrong_rates(placement: pl.DataFrame, disturbance: pl.DataFrame, limit: float) -> list[OddClock]:
    """Return the nodes whose clock runs faster or slower than others by a factor above 1 + `limit`.

    The frames are tables of a bundle; `excess` is the logarithm of the rate.
    """
    rates = (
        ClockComparison(root, host, math.log(rate), error / rate)
        for root, host, (rate, error) in _against_root(
            placement, disturbance, "clock_rate", "clock_rate_error"
        )
        if rate > 0
    )
    return odd_clocks(rates, math.log1p(limit))


def wrong_wall_clocks(placement: pl.DataFrame, disturbance: pl.DataFrame) -> list[OddClock]:
    """Return the nodes whose wall clock is ahead of others or behind them; `excess` in seconds."""
    offsets = (
        ClockComparison(root, host, ahead_s, 0.0)
        for root, host, (ahead_s,) in _against_root(placement, disturbance, "utc_ahead_s")
    )
    return odd_clocks(offsets, _UTC_LIMIT_S)


def wrong_rates_in(bundle: Path, limit: float) -> list[OddClock]:
    """`wrong_rates` of a bundle; UserError if it cannot be read."""
    files = [bundle / f"{name}.parquet" for name in ("placement", "disturbance")]
    reader.require_tables(files)
    placement = bundle_tables.read_table(files[0], PlaceRow, ["launch", "rank", "host"])
    names = ["launch", "rank", "clock_rate", "clock_rate_error"]
    disturbance = bundle_tables.read_table(files[1], DisturbanceRow, names)
    return wrong_rates(placement, disturbance, limit)


def _against_root(
    placement: pl.DataFrame, disturbance: pl.DataFrame, *names: str
) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """(Host of rank 0, host of another rank, columns `names`: its clock against rank 0)."""
    hosts = placement.select("launch", "rank", "host")
    roots = hosts.filter(pl.col("rank") == 0).select("launch", root="host")
    readings = disturbance.select("launch", "rank", *names).drop_nulls()
    rows = readings.join(hosts, on=["launch", "rank"]).join(roots, on="launch")
    for root, host, *values in rows.sort("launch", "rank").select("root", "host", *names).rows():
        yield root, host, tuple(values)
