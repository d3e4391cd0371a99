"""Nights published as far as their pages are concerned: a bundle and its facts, and no page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roundtrip.files import sha256
from roundtrip.measure import bundle
from roundtrip.measure.store import contents, facts_text

SITE = "synthetic/local"


class Nights:
    """Publishes nights below `reports`."""

    def __init__(self, make_tree: Callable[..., Any], reports: Path) -> None:
        self._make_tree, self._reports = make_tree, reports
        self._bundles: dict[int, Path] = {}

    def __call__(self, day: int, emulated: str = "", processor: str = "", **facts: str) -> Path:
        """Publish the night of a day of November 2026, or one more revision of it."""
        source = self._bundles.get(day) or self._build(day, emulated, processor)
        folder = self._reports / SITE / f"2026-11-{day:02d}"
        target = folder / f"r{1 + len(list(folder.glob('r*')))}"
        shutil.copytree(source, target / "bundle")
        digest = sha256((source / "manifest.json").read_bytes())
        record = {"schema": 1, "digest": digest, "supersedes": None, "reason": None, **facts}
        (target / "report.json").write_text(json.dumps(record))
        (target / "report.html").write_text("<!doctype html>")
        return target

    def _build(self, day: int, emulated: str, processor: str) -> Path:
        tree = self._make_tree(f"run{day}", launches=6, sizes=[1, 1024], seed=day, steady=True)
        state = tree.path / "state.json"
        state.write_text(state.read_text().replace("2026-11-21T", f"2026-11-{day:02d}T"))
        for folder in tree.path.glob(f"rounds/*/output/*/*/{emulated}/*") if emulated else ():
            tree.case(folder, emulated, emulated={"nodes": "namespaces of one machine"})
        host = tree.path / "env" / "host.json"
        if processor:
            record = json.loads(host.read_text())
            host.write_text(json.dumps(record | {"cpu": {**record["cpu"], "model": processor}}))
        self._bundles[day] = bundle.build(tree.path)
        return self._bundles[day]


def redone(revision: Path) -> Path:
    """The revision with digests of its files, and of its bundle, as they are now."""
    facts = json.loads((revision / "report.json").read_text())
    (revision / "report.json").unlink()
    facts["digest"] = sha256((revision / "bundle" / "manifest.json").read_bytes())
    facts.pop("measurement", None)
    facts["files"] = contents(revision)
    (revision / "report.json").write_text(facts_text(facts))
    return revision
