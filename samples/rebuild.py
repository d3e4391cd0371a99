"""Writes all pages of the samples again from what was measured: ``python samples/rebuild.py``."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import polars as pl

from roundtrip.content.blocks import StrongText
from roundtrip.history import detection
from roundtrip.measure import analysis
from roundtrip.report import publish
from roundtrip.report.pages import history, write

HERE = Path(__file__).resolve().parent
#: A tree as `roundtrip publish` makes it; the bundles in it are what was measured.
REPORTS = HERE / "reports"
NIGHTS = HERE / "sixty-nights"
NOTICE = (
    StrongText("A sample: "),
    "these nights are 60 runs one after the other within half an hour, not calendar days. From "
    "night 41 on, the site's file sets OMPI_MCA_btl_tcp_eager_limit to 4096: the change was "
    "planted to see whether it is found.",
)


def reports(target: Path) -> None:
    """Publish the bundles of `REPORTS` into the empty folder `target`, with index and histories."""
    for bundle in sorted(REPORTS.glob("*/*/*/r*/bundle")):
        publish.publish(bundle, target)
    write.write_pages(target)
    for derived in target.rglob(".*"):  # locks, and what the next page would be made from
        derived.unlink()


def nights() -> str:
    """The history page of the sixty nights, judged by the thresholds of this checkout."""
    measured = pl.read_parquet(NIGHTS / "nights.parquet")
    provenance = pl.read_parquet(NIGHTS / "provenance.parquet")
    settings = analysis.default_settings().history
    judged = detection.histories(measured, settings)
    page = history.HistoryPage(
        "sixty-nights", "emulated-pair", measured, provenance, judged, settings, notices=(NOTICE,)
    )
    return history.render_page(page)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_STATE_HOME"] = scratch  # no key of this account takes part
        reports(Path(scratch, "reports"))
        shutil.rmtree(REPORTS)
        shutil.copytree(Path(scratch, "reports"), REPORTS)
    (NIGHTS / "history.html").write_text(nights(), encoding="utf-8")
