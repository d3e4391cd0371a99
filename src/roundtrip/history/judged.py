"""What is known of each series of a history: its table as detection takes it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from roundtrip.collect.night_rows import SERIES
from roundtrip.stats.nights.judge import judge
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.verdicts import SeriesHistory

#: The values of the columns of `SERIES`.
Names = tuple[Any, ...]


def histories(nights: pl.DataFrame, settings: Settings) -> dict[Names, SeriesHistory]:
    """By series, in the order of their names; `nights` has the columns `NIGHTS`.

    Each has what was known `before` the newest night, judged anew: nothing that was reported is
    stored.
    """
    names, logs, nodes = table(nights)
    study, metric = (list(SERIES).index(name) for name in ("study", "metric"))
    least = np.array([settings.least(one[study], one[metric]) for one in names])
    arrays = (logs.tobytes(), nodes.tobytes(), least.tobytes())
    return dict(zip(names, _judged(*arrays, logs.shape, settings), strict=True))


@lru_cache(maxsize=2)
def _judged(
    logs: bytes, nodes: bytes, least: bytes, shape: tuple[int, ...], settings: Settings
) -> tuple[SeriesHistory, ...]:
    """A night judges the same values for its confirmation, its report and its page: once here."""
    values = np.frombuffer(logs).reshape(shape)
    sets = np.frombuffer(nodes, int).reshape(shape)
    effects = np.frombuffer(least)
    found = judge(values, sets, settings, effects)
    if shape[1] <= settings.nights_least:
        return tuple(found)
    before = judge(values[:, :-1], sets[:, :-1], settings, effects)
    return tuple(replace(now, before=one) for now, one in zip(found, before, strict=True))


def table(nights: pl.DataFrame) -> tuple[list[Names], np.ndarray, np.ndarray]:
    """(series, logarithms of medians, numbers of node sets), both arrays [series, nights].

    All nights of the history are counted from 0, also those that a series lacks.  Of a night with
    several sets of nodes, the one with the most launches stands for it.
    """
    series = nights.select(SERIES.keys()).unique().sort(SERIES.keys())
    days = nights.select("night").unique().sort("night")
    sets = nights.select("nodes").unique().sort("nodes")
    rows = (
        nights.sort(*SERIES, "night", "launches", "nodes", descending=_LAST)
        .unique([*SERIES, "night"], keep="first", maintain_order=True)
        .join(series.with_row_index("row"), on=list(SERIES), nulls_equal=True)
        .join(days.with_row_index("column"), on="night")
        .join(sets.with_row_index("set"), on="nodes")
        .with_columns(
            log=pl.when((pl.col("left_out") == "") & (pl.col("median") > 0)).then(
                pl.col("median").log()
            ),
            set=pl.when(pl.col("nodes") == "").then(-1).otherwise(pl.col("set").cast(pl.Int64)),
        )
    )
    at = (rows["row"].to_numpy(), rows["column"].to_numpy())
    logs = np.full((series.height, days.height), np.nan)
    nodes = np.full(logs.shape, -1)
    logs[at] = rows["log"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    nodes[at] = rows["set"].to_numpy()
    return series.rows(), logs, nodes


#: Most launches first, all else ascending.
_LAST = [*([False] * len(SERIES)), False, True, False]
