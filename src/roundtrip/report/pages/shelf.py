"""What lies in a folder of published reports, and what each campaign on each site tells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from roundtrip import imported, paths
from roundtrip.collect import analysis
from roundtrip.errors import UserError
from roundtrip.history import annotations as remarks
from roundtrip.history import judged, ledger, published
from roundtrip.history.annotations import Annotation
from roundtrip.history.schema import SERIES
from roundtrip.report.blocks import Strong
from roundtrip.report.pages.history import History, Note
from roundtrip.stats.summaries import GEOMETRIC_MEAN

PAGE = "report.html"
_HOME = "../../index.html"


@dataclass(frozen=True)
class Night:
    """A folder of a night: its name, and its revisions, oldest first, as links from the site."""

    name: str
    revisions: tuple[str, ...]


@dataclass(frozen=True)
class Shelf:
    """All nights of a campaign on a site, newest first; `history` is None without any value."""

    campaign: str
    site: str
    nights: tuple[Night, ...]
    history: History | None

    @property
    def path(self) -> str:
        """Its folder, from that of the reports."""
        return f"{self.campaign}/{self.site}"


def read(reports: Path) -> Iterator[Shelf]:
    """Every campaign and site of which a night is published or imported, by name."""
    for site in sorted(path for path in reports.glob("*/*") if path.is_dir()):
        nights = tuple(_nights(site))
        if nights or (site / imported.FOLDER).is_dir():
            yield Shelf(site.parent.name, site.name, nights, _history(reports, site))


def _nights(site: Path) -> Iterator[Night]:
    for folder in reversed(published.nights(site)):
        pages = [path / PAGE for path in published.revisions(folder)]
        found = [f"{folder.name}/{page.parent.name}/{PAGE}" for page in pages if page.is_file()]
        if found:
            yield Night(folder.name, tuple(found))


def _history(reports: Path, site: Path) -> History | None:
    warnings: list[str] = []
    said = _annotations(site.name, warnings)
    known = ledger.read(reports, site.parent.name, site.name, said)
    if known.nights.is_empty():
        return None
    pages = {one.digest: one.path / PAGE for one in published.counting(site)[0]}
    began = known.nights.select("night", "digest").unique().sort("night", "digest")
    links = {
        night: pages[digest].relative_to(site).as_posix()
        for night, digest in began.iter_rows()
        if digest in pages and pages[digest].is_file()
    }
    return History(
        site.parent.name,
        site.name,
        known.nights,
        known.provenance,
        judged.told(known.nights, _thresholds(site.name, warnings).history),
        [Note(*one) for one in remarks.notes(began["night"].unique().to_list(), said)],
        links,
        [(Strong("Left out: "), _relative(one, site)) for one in (*known.warnings, *warnings)],
        _HOME,
    )


def _annotations(site: str, warnings: list[str]) -> tuple[Annotation, ...]:
    try:
        return remarks.of_site(site)
    except UserError as error:
        warnings.append(str(error))
        return ()


def _thresholds(site: str, warnings: list[str]) -> analysis.Analysis:
    try:
        return analysis.of_site(site)
    except UserError as error:
        warnings.append(f"{error}; the package's thresholds are used")
        return analysis.default()


def _relative(warning: str, site: Path) -> str:
    """Without the folders of this machine, which are not for everybody who reads the page."""
    for folder in (site, paths.checkout()):
        warning = warning.replace(f"{folder}{os.sep}", "")
    return warning


def overall(nights: pl.DataFrame) -> list[float]:
    """Of each night, the geometric mean of all series over their own medians; up is worse."""
    level = pl.col("median") / pl.col("median").median().over(*SERIES)
    worse = pl.when(pl.col("lower_is_better")).then(level).otherwise(1 / level)
    found = (
        nights.filter((pl.col("median") > 0) & (pl.col("left_out") == ""))
        .with_columns(worse=worse)
        .group_by("night")
        .agg(GEOMETRIC_MEAN.of(pl.col("worse")))
    )
    every = nights.select("night").unique().join(found, on="night", how="left").sort("night")
    return every["worse"].to_list()
