"""Bundles written over, with a manifest that matches, and bundles of schema 1."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl

from roundtrip.collect import manifest
from roundtrip.collect.tables import disk

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


def of_schema_2(former: Path, folder: Path) -> Path:
    """The same launches and samples in a bundle of schema 2."""
    shutil.copytree(former, folder)
    made = disk.read(folder, 1)
    disk.write(made, folder)
    facts = manifest.verify(former).data
    (folder / manifest.FILE_NAME).unlink()
    manifest.write(folder, {k: v for k, v in facts.items() if k not in ("schema", "files")})
    return folder
