"""All that is published, judged and compared follows a store that names its files otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.synthetic import Tree

from roundtrip.cli import common
from roundtrip.compare.side import open_sources
from roundtrip.history import ledger
from roundtrip.measure import bundle, store
from roundtrip.report import public, publish
from roundtrip.report.pages import write

ENVIRON = "openmpi41-boost181"


def test_only_the_store_knows_the_names_of_a_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_BUNDLE", "data"), ("FACTS", "facts.json"), ("PAGE", "index.htm")):
        monkeypatch.setattr(store, name, value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ROUNDTRIP_REPORTS", str(tmp_path / "reports"))
    small: dict[str, Any] = {"environs": (ENVIRON,), "sizes": [1], "launches": 2, "samples": 3}
    tree = Tree(tmp_path / "run", started="2026-11-21T07:00:00Z", **small)
    revision = publish.publish(bundle.build(tree.write().path), tmp_path / "reports")
    names = {path.name for path in revision.iterdir()}
    assert {"data", "facts.json", "index.htm"} < names and "bundle" not in names
    assert publish.verify(revision) == []
    site = revision.parents[1]
    nights = ledger.read_ledger(tmp_path / "reports", "synthetic", "local")
    assert nights.warnings == () and nights.nights["night"].n_unique() == 1
    write.write_pages(tmp_path / "reports")
    assert "2026-11-21/r1/index.htm" in (site / write.HISTORY).read_text()
    assert common.newest_night("local") == revision / "index.htm"
    with open_sources(tmp_path / "reports") as sources:
        side = sources.side("local/synthetic/2026-11-21")
    assert side.run == "local/synthetic/2026-11-21/r1"
    facts = json.loads((revision / "facts.json").read_text())
    assert facts["digest"] == side.data.manifest.digest
    assert public.find_revisions([tmp_path / "reports"]) == store.all_revisions(site)
