"""A verified bundle, opened for reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.collect import analysis, manifest, samples
from roundtrip.collect.tables import disk, medians, require, settings
from roundtrip.collect.tables.schema import LABELS
from roundtrip.errors import UserError
from roundtrip.history import attached
from roundtrip.history.ledger import Ledger
from roundtrip.history.schema import MEDIANS


@dataclass(frozen=True)
class Data:
    """The tables of a bundle, with columns as in `collect.tables.schema`; rows go by launch.

    `launches` is cases.parquet with two columns more, null where there is nothing: `parameters` and
    `emulation`, lists as `settings.by_launch` makes them.  `points` are those of the launches that
    came back, `details` by study.  `samples` is read lazily, and grows large; `medians` are those
    of each launch and series, `history` the nights before this one that the bundle holds.
    """

    folder: Path
    manifest: manifest.Manifest
    launches: pl.DataFrame
    points: pl.DataFrame
    placement: pl.DataFrame
    details: Mapping[str, pl.DataFrame]
    samples: pl.LazyFrame
    analysis: analysis.Analysis
    campaign_text: str
    environment: dict[str, Any]
    history: Ledger = field(default_factory=Ledger)
    medians: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=MEDIANS))

    @property
    def title(self) -> str:
        """The campaign's title, or its name."""
        title = self._declared("title")
        return title if isinstance(title, str) and title else str(self.manifest.data["campaign"])

    @property
    def is_sequential(self) -> bool:
        """Whether the launches went on until they told enough, as those of ``roundtrip ab``."""
        return self._declared("sequential") is True

    def _declared(self, key: str) -> Any:
        """What the campaign declares at its top, None without it."""
        try:
            return files.parse_toml(self.campaign_text).get(key)
        except UserError:
            return None

    def passed(self, study: str) -> pl.DataFrame:
        """Launches of a study that came back, with the columns of `launches`."""
        return self.launches.filter((pl.col("study") == study) & (pl.col("status") == "passed"))

    def told(self, study: str) -> dict[str, dict[str, Any]]:
        """By launch: what the workload of a study told, as its room's `record` has it."""
        if study not in self.details:
            return {}
        return {row.pop("launch"): row for row in self.details[study].iter_rows(named=True)}


def read(bundle: Path) -> Data:
    """Compare every file of `bundle` with its manifest, and open it.

    UserError for a bundle that does not match its manifest, or whose tables no collector wrote.
    """
    checked = manifest.verify(bundle)
    made = disk.read(bundle, checked.data["schema"])
    launches = made.frames["cases"]
    for name in ("parameters", "emulation"):
        lists = settings.by_launch(made.frames[name], name)
        launches = launches.join(lists, on="launch", how="left", maintain_order="left")
    with disk.decoding(bundle / "samples.parquet") as file:
        rows = disk.scan(file, {**LABELS, **samples.SCHEMA})
        # This decodes every page once, so that no later reader can fail on one.
        require.measured(rows, launches, file)
    thresholds = analysis.load(bundle / analysis.FILE_NAME)
    level = thresholds.statistics.confidence_level
    told = medians.of(rows, launches, level)
    if (held := medians.held(bundle, launches)) is not None:
        medians.require_of(held, told, bundle)
    environment = {file.name: _json(file) for file in sorted((bundle / "env").glob("*.json"))}
    return Data(
        folder=bundle,
        manifest=checked,
        launches=launches,
        points=made.frames["points"],
        placement=made.frames["placement"],
        details=made.details,
        samples=rows,
        analysis=thresholds,
        campaign_text=files.read_text(bundle / "campaign.toml"),
        environment=environment,
        medians=told,
        history=attached.read(bundle, checked),
    )


def _json(file: Path) -> Any:
    try:
        return files.read_json(file)
    except UserError:
        return None
