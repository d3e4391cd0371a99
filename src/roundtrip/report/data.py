"""A verified bundle, opened for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.collect import analysis, cases, manifest, points, samples, tables
from roundtrip.errors import UserError


@dataclass(frozen=True)
class Data:
    """`launches` has the columns of cases.parquet, `points` those of `points.SCHEMA`.

    Points are those of the launches that came back.  `samples` is read lazily, and grows large.
    """

    folder: Path
    manifest: manifest.Manifest
    launches: pl.DataFrame
    points: pl.DataFrame
    samples: pl.LazyFrame
    analysis: analysis.Analysis
    campaign_text: str
    environment: dict[str, Any]

    @property
    def title(self) -> str:
        """The campaign's title, or its name."""
        try:
            title = files.parse_toml(self.campaign_text).get("title")
        except UserError:
            title = None
        return title if isinstance(title, str) and title else str(self.manifest.data["campaign"])

    def passed(self, study: str) -> pl.DataFrame:
        """Launches of a study that came back."""
        return self.launches.filter((pl.col("study") == study) & (pl.col("status") == "passed"))


def read(bundle: Path) -> Data:
    """Open a bundle after checking every file of it against its manifest."""
    checked = manifest.verify(bundle)
    with _decoding(bundle / "cases.parquet") as file:
        launches = _parquet(file, cases.SCHEMA, cases.ADDED).collect()
        tables.require_launches(launches, file)
        measured = points.decoded(launches, file)
    with _decoding(bundle / "samples.parquet") as file:
        rows = _parquet(file, {"launch": pl.String, "case_id": pl.String, **samples.SCHEMA})
        # Decodes every page once: what reads them later need not fear any.
        tables.require_samples(rows, launches, file)
    environment = {file.name: _json(file) for file in sorted((bundle / "env").glob("*.json"))}
    return Data(
        folder=bundle,
        manifest=checked,
        launches=launches,
        points=measured,
        samples=rows,
        analysis=analysis.load(bundle / analysis.FILE_NAME),
        campaign_text=files.read_text(bundle / "campaign.toml"),
        environment=environment,
    )


@contextmanager
def _decoding(file: Path) -> Iterator[Path]:
    """Turns whatever the decoder of parquet meets, its own panics included, into one line."""
    try:
        yield file
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        told = (str(error).splitlines() or ["it is damaged"])[0]
        raise UserError(f"not a parquet file: {told[:160]}", file) from None


def _parquet(file: Path, schema: dict[str, Any], added: Sequence[str] = ()) -> pl.LazyFrame:
    """The file, with columns of `added` empty if it is older than they are."""
    frame = pl.scan_parquet(file)
    found = dict(frame.collect_schema())
    absent = [pl.lit(None, schema[name]).alias(name) for name in added if name not in found]
    if {**{name: schema[name] for name in added}, **found} != schema:
        raise UserError("other columns than this version of roundtrip writes", file)
    return frame.with_columns(absent).select(*schema)


def _json(file: Path) -> Any:
    try:
        return files.read_json(file)
    except UserError:
        return None
