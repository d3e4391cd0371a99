"""Bundles written over, with a manifest that matches, and recorded bundles."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip.measure import bundle, bundle_tables, manifest
from roundtrip.measure.bundle_rows import CASES
from roundtrip.report.data import Data, read
from support.synthetic import Tree

#: See README.md there.
RECORDED = Path(__file__).parents[1] / "data" / "bundles"


def read_tree(tree: Tree) -> Data:
    """What a report is made from, of the bundle of a run tree."""
    return read(bundle.build(tree.path))


def rewritten(
    built: Path, change: Callable[[pl.DataFrame], pl.DataFrame], table: str = "cases"
) -> Path:
    """The bundle with another table, as if it had been built so."""
    file = built / f"{table}.parquet"
    change(pl.read_parquet(file)).write_parquet(file)
    manifest.write(built, json.loads((built / "manifest.json").read_text()))
    return built


def set_of(name: str, value: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """A change of a table: one value in all rows of a column."""
    return lambda frame: frame.with_columns(pl.lit(value, frame.schema[name]).alias(name))


def with_medians(data: Data) -> Data:
    """The same, with the launch medians of its samples, as `report.data.read` has them."""
    level = data.analysis.statistics.confidence_level
    dtypes = {name: CASES[name] for name in CASES if name not in data.launches.columns}
    nulls = [pl.lit(None, dtype).alias(name) for name, dtype in dtypes.items()]
    launches = data.launches.with_columns(nulls)
    return replace(data, medians=bundle_tables.launch_medians(data.samples, launches, level))
