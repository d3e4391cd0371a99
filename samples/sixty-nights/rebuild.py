"""Writes history.html from the two tables beside it: ``python samples/sixty-nights/rebuild.py``."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from roundtrip.collect import analysis
from roundtrip.history import detection
from roundtrip.report.blocks import Strong
from roundtrip.report.pages import history

HERE = Path(__file__).resolve().parent
CAMPAIGN, SITE = "sixty-nights", "emulated-pair"
PAGE = HERE / "history.html"
NOTICE = (
    Strong("A sample: "),
    "these nights are 60 runs one after the other within half an hour, not calendar days. From "
    "night 41 on, the site's file sets OMPI_MCA_btl_tcp_eager_limit to 4096: the change was "
    "planted to see whether it is found.",
)


def render() -> str:
    """The page, judged by the thresholds of this checkout."""
    nights = pl.read_parquet(HERE / "nights.parquet")
    provenance = pl.read_parquet(HERE / "provenance.parquet")
    told = detection.histories(nights, analysis.default().history)
    made = history.History(CAMPAIGN, SITE, nights, provenance, told, notices=(NOTICE,))
    return history.render(made)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
