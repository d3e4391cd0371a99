"""`make site` builds a site that loads nothing from another host."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
#: What a page loads by itself; a link that a reader follows is none of these.
LOADED = re.compile(r"<(?:script|img|iframe|link(?![^>]*rel=\"?canonical))\b[^>]*https?://[^>]*>")


@pytest.mark.skipif(
    importlib.util.find_spec("material") is None,
    reason="mkdocs-material is not installed: make site",
)
def test_the_site_is_built_and_loads_nothing_from_a_network() -> None:
    command = ["make", "--old-file=setup-test", "site"]
    process = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    index = Path(process.stdout.splitlines()[-1].removeprefix("site: "))
    pages = {page: page.read_text() for page in index.parent.rglob("*.html")}
    assert len(pages) > 20
    assert {
        page.name: element for page, text in pages.items() if (element := LOADED.search(text))
    } == {}
    assert "fonts." not in "".join(pages.values())
    for sample in (CHECKOUT / "samples").rglob("*.html"):
        assert index.parent / sample.relative_to(CHECKOUT) in pages
