"""The page in a real browser: no request, no script but ours, nothing cut off on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.browser import CHROMIUM, WHY_SKIPPED, browser

from roundtrip.measure import bundle, store
from roundtrip.report import publish

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WHY_SKIPPED)

HOSTILE = (
    '<script>document.title="owned"</script>"><img src=x onerror=document.title="owned">{{7*7}}'
)
#: Unfolds the page, waits for its figures, and says what is cut off.
PROBE = (
    "(async () => { for (const one of document.querySelectorAll('details')) one.open = true;"
    " for (const one of document.querySelectorAll('[data-plot]')) { one.scrollIntoView();"
    " await new Promise(go => setTimeout(go, 60)); }"
    " for (let i = 0; i < 300 && !document.querySelector('.live'); i++)"
    " await new Promise(go => setTimeout(go, 30));"
    " const wide = [...document.querySelectorAll('*')]"
    ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName);"
    " return {title: document.title,"
    " live: document.querySelectorAll('.live').length, inner: innerWidth,"
    " scroll: document.documentElement.scrollWidth, wide: [...new Set(wide)],"
    " cut: [...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().right"
    " > t.ownerSVGElement.getBoundingClientRect().right + 1).map(t => t.textContent),"
    " stuck: [...document.querySelectorAll('.scroll')].filter(e => e.tabIndex < 0"
    " && e.scrollWidth > e.clientWidth).length}; })()"
)


@pytest.fixture
def page(make_tree: Callable[..., Any], tmp_path: Path) -> Path:
    environ = "openmpi41-boost181"
    tree = make_tree(launches=6, environs=(environ,))
    for folder in tree.path.glob(f"rounds/*/output/*/*/{environ}/*"):
        tree.case(folder, environ, extras={"toolchain": HOSTILE})
    tree.fail(6, environ, fail_reason=HOSTILE + "unbreakable" * 40)
    return publish.publish(bundle.build(tree.path), tmp_path / "reports") / store.PAGE


@pytest.mark.parametrize("width", [390, 320, 1280])
def test_hostile_data_is_inert_nothing_is_fetched_and_nothing_is_cut_off(
    page: Path, tmp_path: Path, width: int
) -> None:
    """Without its policy, which would keep a script of others from running."""
    copy = tmp_path / "copy.html"
    copy.write_text(re.sub(r"<meta http-equiv=[^>]*>", "", page.read_text()))
    with browser(tmp_path / "profile") as session:
        session.size(width)
        session.open(copy.as_uri())
        facts = session.run(PROBE)
        assert session.requests() == [copy.as_uri()]
    assert facts["title"] == "What does Boost.MPI cost over raw MPI on this machine?"
    assert facts["inner"] == width
    assert facts["live"] > 0
    assert facts["scroll"] <= width, facts["wide"]
    assert facts["cut"] == []
    assert facts["stuck"] == 0, "keys cannot scroll these tables"
