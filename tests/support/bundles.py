"""Bundles: recorded, written over with a manifest that matches, and published without a page."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip.content.data import BundleData, read_bundle
from roundtrip.content.series import series_key
from roundtrip.files import sha256
from roundtrip.history.night_rows import SERIES
from roundtrip.measure import bundle, bundle_tables, manifest
from roundtrip.measure.bundle_rows import CASES_SCHEMA
from roundtrip.measure.store import digest_by_path, facts_json
from support.synthetic import SyntheticTree

#: See README.md there.
RECORDED_BUNDLES = Path(__file__).parents[1] / "data" / "bundles"
#: Where `Publisher` publishes.
SITE = "synthetic/local"


def read_tree(tree: SyntheticTree) -> BundleData:
    """Collect the tree into a bundle, and read it as a report does."""
    return read_bundle(bundle.build_bundle(tree.path))


def rewrite_table(
    built: Path, change: Callable[[pl.DataFrame], pl.DataFrame], table: str = "cases"
) -> Path:
    """Change a table of a bundle in place, and its manifest to match; return the bundle."""
    file = built / f"{table}.parquet"
    change(pl.read_parquet(file)).write_parquet(file)
    manifest.write_unsigned(built, json.loads((built / "manifest.json").read_text()))
    return built


def set_column(name: str, value: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return the function that sets a column of a table to one value."""
    return lambda frame: frame.with_columns(pl.lit(value, frame.schema[name]).alias(name))


def with_launch_medians(data: BundleData) -> BundleData:
    """The same, with the launch medians of its samples, as `content.data.read_bundle` has them."""
    level = data.analysis.statistics.confidence_level
    dtypes = {
        name: CASES_SCHEMA[name] for name in CASES_SCHEMA if name not in data.launches.columns
    }
    nulls = [pl.lit(None, dtype).alias(name) for name, dtype in dtypes.items()]
    launches = data.launches.with_columns(nulls)
    return replace(data, launch_medians=bundle_tables.launch_medians(data.samples, launches, level))


def fields_by_series_key(data: BundleData) -> dict[str, dict[str, Any]]:
    """What names each series with a launch median, by the key that cells link to."""
    rows = data.launch_medians.select(*SERIES).to_dicts()
    return {series_key(fields): fields for fields in rows}


class Publisher:
    """Publishes nights with a bundle, report.json and an empty page below `reports`."""

    def __init__(self, make_tree: Callable[..., Any], reports: Path) -> None:
        self._make_tree, self._reports = make_tree, reports
        self._bundles: dict[int, Path] = {}

    def __call__(self, day: int, emulated: str = "", processor: str = "", **facts: str) -> Path:
        """Publish the night of a day of November 2026, or one more revision of it."""
        source = self._bundles.get(day) or self._build(day, emulated, processor)
        folder = self._reports / SITE / f"2026-11-{day:02d}"
        target = folder / f"r{1 + len(list(folder.glob('r*')))}"
        shutil.copytree(source, target / "bundle")
        digest = sha256((source / manifest.MANIFEST_FILE).read_bytes())
        record = {"schema": 1, "digest": digest, "supersedes": None, "reason": None, **facts}
        (target / "report.json").write_text(json.dumps(record))
        (target / "report.html").write_text("<!doctype html>")
        return target

    def _build(self, day: int, emulated: str, processor: str) -> Path:
        tree = self._make_tree(f"run{day}", launches=6, sizes=[1, 1024], seed=day, steady=True)
        state = tree.path / "state.json"
        state.write_text(state.read_text().replace("2026-11-21T", f"2026-11-{day:02d}T"))
        for folder in tree.path.glob(f"rounds/*/output/*/*/{emulated}/*") if emulated else ():
            tree.write_case(folder, emulated, emulated={"nodes": "namespaces of one machine"})
        host = tree.path / "env" / "host.json"
        if processor:
            record = json.loads(host.read_text())
            host.write_text(json.dumps(record | {"cpu": {**record["cpu"], "model": processor}}))
        self._bundles[day] = bundle.build_bundle(tree.path)
        return self._bundles[day]


def redigest_report(revision: Path) -> Path:
    """Write the present digests of files and bundle to report.json; return the revision."""
    facts = json.loads((revision / "report.json").read_text())
    (revision / "report.json").unlink()
    facts["digest"] = sha256((revision / "bundle" / "manifest.json").read_bytes())
    facts.pop("measurement", None)
    facts["files"] = digest_by_path(revision)
    (revision / "report.json").write_text(facts_json(facts))
    return revision


def redigest_bundle(revision: Path) -> Path:
    """As `redigest_report`, after the manifest of the bundle was made to match its files."""
    manifest.write_unsigned(
        revision / "bundle", json.loads((revision / "bundle" / manifest.MANIFEST_FILE).read_text())
    )
    return redigest_report(revision)
