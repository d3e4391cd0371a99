"""Bundles written over, with a manifest that matches, and recorded bundles."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from roundtrip.collect import bundle_tables, manifest
from roundtrip.collect.bundle_rows import CASES
from roundtrip.report.data import Data

#: See README.md there.
RECORDED = Path(__file__).parents[1] / "data" / "bundles"


def rewritten(
    built: Path, change: Callable[[pl.DataFrame], pl.DataFrame], table: str = "cases"
) -> Path:
    """The bundle with another table, as if it had been built so."""
    file = built / f"{table}.parquet"
    change(pl.read_parquet(file)).write_parquet(file)
    facts = json.loads((built / "manifest.json").read_text())
    manifest.write(built, {k: v for k, v in facts.items() if k != "files"})
    return built


def with_medians(data: Data) -> Data:
    """The same, with the launch medians of its samples, as `report.data.read` has them."""
    level = data.analysis.statistics.confidence_level
    dtypes = {name: CASES[name] for name in CASES if name not in data.launches.columns}
    nulls = [pl.lit(None, dtype).alias(name) for name, dtype in dtypes.items()]
    launches = data.launches.with_columns(nulls)
    return replace(data, medians=bundle_tables.launch_medians(data.samples, launches, level))
