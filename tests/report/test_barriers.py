"""axe finds nothing that keeps a reader out: wide and light, narrow and dark, all unfolded."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browser import WHY_NO_AXE, Browser
from support.pairs import Pairs

from roundtrip.measure import store
from roundtrip.report import publish

pytestmark = pytest.mark.skipif(bool(WHY_NO_AXE), reason=WHY_NO_AXE)

CHECKOUT = Path(__file__).parents[2]
PAGES = sorted(
    page.relative_to(CHECKOUT).as_posix() for page in (CHECKOUT / "samples").rglob("*.html")
)
#: Of every kind of page a quick one; the others are nightly.
QUICK = ("reports/smoke/local/2026-11-27/r1/", "wan/virtual/history.html", "reports/index.html")


def check(running: Browser, page: Path) -> None:
    for width, is_dark in ((1280, False), (390, True)):
        running.size(width, dark=is_dark)
        running.open("about:blank")
        running.open(page.as_uri())
        assert running.barriers() == [], (width, is_dark)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if any(word in page for word in QUICK) else pytest.mark.nightly)
        for page in PAGES
    ],
)
def test_a_sample_keeps_no_reader_out(running: Browser, page: str) -> None:
    check(running, CHECKOUT / page)


def test_a_map_of_nodes_keeps_no_reader_out(running: Browser, tmp_path: Path) -> None:
    bundle = Pairs(tmp_path / "nights", nodes=8, slow={3: 100e-6}, alone=True).night(0) / "bundle"
    page = publish.publish(bundle, tmp_path / "reports") / store.PAGE
    assert "data-heat" in page.read_text()
    check(running, page)


def test_axe_is_heard(running: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><html lang=en><title>x</title><main><h1>x</h1><img src=x>")
    running.open(page.as_uri())
    assert [found.partition(":")[0] for found in running.barriers()] == ["image-alt"]
