"""`make site` builds a site that loads nothing from another host and keeps no reader out."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest
from support.browser import NO_AXE_REASON, open_browser

CHECKOUT = Path(__file__).parents[2]
#: What a page loads by itself; a link that a reader follows is none of these.
LOADED = re.compile(r"<(?:script|img|iframe|link(?![^>]*rel=\"?canonical))\b[^>]*https?://[^>]*>")
#: A page with indented code and links, one with a table of 100 rows, one with coloured code.
QUICK = {"index.html", "docs/reference.html", "workloads/index.html"}


@pytest.fixture(scope="module")
def site() -> Path:
    if importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed: make setup-test")
    command = ["make", "--old-file=setup-test", "site"]
    process = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    return Path(process.stdout.splitlines()[-1].removeprefix("site: ")).parent


def test_the_site_loads_nothing_from_a_network(site: Path) -> None:
    pages = {page: page.read_text() for page in site.rglob("*.html")}
    assert len(pages) > 20
    assert [page.name for page, text in pages.items() if LOADED.search(text)] == []
    assert "fonts." not in "".join(pages.values())
    for sample in (CHECKOUT / "samples").rglob("*.html"):
        assert site / sample.relative_to(CHECKOUT) in pages


@pytest.mark.skipif(bool(NO_AXE_REASON), reason=NO_AXE_REASON)
@pytest.mark.parametrize("is_all", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_site_keeps_no_reader_out(site: Path, tmp_path: Path, is_all: bool) -> None:
    """But 404.html, whose addresses are those of a server."""
    pages = {
        name: page
        for page in sorted(site.rglob("*.html"))
        if not (CHECKOUT / (name := page.relative_to(site).as_posix())).exists()
        and name != "404.html"
        and (is_all or name in QUICK)
    }
    assert len(pages) > 20 if is_all else pages.keys() == QUICK
    with open_browser(tmp_path / "profile") as session:
        for is_dark in (False, True):
            session.set_window(1280, dark=is_dark)
            for name, page in pages.items():
                session.open(page.as_uri())
                assert session.axe_violations() == [], (name, is_dark)
