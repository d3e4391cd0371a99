"""The launch medians of a bundle: those of its samples, in bundles from before them too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.bundles import RECORDED
from support.hosts import pseudonym

from roundtrip.collect import bundle, bundle_tables
from roundtrip.collect.bundle_rows import MEDIANS
from roundtrip.report import data
from roundtrip.stats.summaries import lower_rank

ENVIRON = "openmpi41-boost181"
Maker = Callable[..., Any]
KEYS = ("launch", "case", "variant", "size_bytes", "phase", "metric")


def test_each_launch_and_series_has_the_median_of_its_samples(make_tree: Maker) -> None:
    built = bundle.build(make_tree(launches=2, samples=9, sizes=[1, 64]).path)
    found = pl.read_parquet(built / "medians.parquet")
    assert dict(found.schema) == MEDIANS
    samples = pl.read_parquet(built / "samples.parquet")
    assert found.height == 2 * 2 * 5 * 2 == samples.select(KEYS).n_unique()
    rank = lower_rank(9, 0.95)
    for row in found.iter_rows(named=True):
        mine = samples.filter(pl.col(name) == row[name] for name in KEYS)
        values = np.sort(mine["value"].to_numpy())
        told = [row[name] for name in ("samples", "median", "low", "high")]
        assert told == [9, values[4], values[rank - 1], values[-rank]]
        assert mine.select("case_id", "study", "unit").unique().rows() == [
            (row["case_id"], row["study"], row["unit"])
        ]
    assert found.select("launch", "nodes").unique()["nodes"].to_list() == [pseudonym()] * 4


def test_five_samples_have_a_median_and_no_interval(make_tree: Maker) -> None:
    built = bundle.build(make_tree(launches=1, samples=5, environs=(ENVIRON,)).path)
    found = pl.read_parquet(built / "medians.parquet")
    assert found["samples"].unique().to_list() == [5]
    assert found["median"].null_count() == 0
    assert found["low"].null_count() == found["high"].null_count() == found.height


def test_hosts_of_a_launch_are_a_set() -> None:
    launches = pl.DataFrame(
        {"launch": ["1"], "case_id": ["c"], "study": ["s"], "campaign_round": [3]}
    ).with_columns(hosts=pl.Series([["b", "a", "b"]]))
    rows = pl.LazyFrame(
        {"launch": "1", "case": "c", "variant": "v", "size_bytes": 1, "phase": "measure"}
        | {"metric": "rate", "unit": "Mop/s", "value": [3.0, 1.0]}
    )
    (row,) = bundle_tables.launch_medians(rows, launches, 0.95).rows(named=True)
    assert (row["nodes"], row["campaign_round"]) == ("a+b", 3)
    assert (row["median"], row["samples"], row["unit"]) == (2.0, 2, "Mop/s")


@pytest.mark.parametrize("name", ["ring", "wan"])
def test_a_bundle_from_before_the_table_has_them_in_its_samples(name: str) -> None:
    read = data.read(RECORDED / name)
    launches = bundle_tables.read_tables(RECORDED / name).frames["cases"]
    found = bundle_tables.read_medians(RECORDED / name, launches, 0.95)
    assert found.equals(read.medians)
    assert found["launch"].n_unique() == read.launches.filter(status="passed").height
    assert found["samples"].sum() == read.samples.select(pl.len()).collect().item()


def test_what_is_read_is_what_was_written(make_tree: Maker) -> None:
    built: Path = bundle.build(make_tree(launches=2).path)
    read = data.read(built)
    assert read.medians.equals(pl.read_parquet(built / "medians.parquet"))
