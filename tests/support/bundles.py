"""Bundles written over, with a manifest that matches, and bundles of schema 1."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from roundtrip.collect import manifest
from roundtrip.collect.tables import disk, medians
from roundtrip.collect.tables.schema import CASES
from roundtrip.report.data import Data

#: Of schema 1, see README.md there.
FORMER = Path(__file__).parents[1] / "data" / "bundles"


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
    lacking = {name: CASES[name] for name in CASES if name not in data.launches.columns}
    nothing = [pl.lit(None, kind).alias(name) for name, kind in lacking.items()]
    launches = data.launches.with_columns(nothing)
    return replace(data, medians=medians.of(data.samples, launches, level))


def of_schema_2(former: Path, folder: Path) -> Path:
    """The same launches and samples in a bundle of schema 2."""
    shutil.copytree(former, folder)
    made = disk.read(folder, 1)
    disk.write(made, folder)
    facts = manifest.verify(former).data
    (folder / manifest.FILE_NAME).unlink()
    manifest.write(folder, {k: v for k, v in facts.items() if k not in ("schema", "files")})
    return folder
