"""The page in a real browser: no request, no script but ours, nothing cut off on a phone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roundtrip.collect import bundle
from roundtrip.report import publish

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt install chromium")

HOSTILE = (
    '<script>document.title="owned"</script>"><img src=x onerror=document.title="owned">{{7*7}}'
)
#: Put into a copy of the page, behind its policy: reports how wide the unfolded page is.
PROBE = (
    "<script>addEventListener('load', async () => {"
    " for (const one of document.querySelectorAll('details')) one.open = true;"
    " for (const one of document.querySelectorAll('[data-plot]')) { one.scrollIntoView();"
    " await new Promise(go => setTimeout(go, 60)); }"
    " for (let i = 0; i < 300 && !document.querySelector('.live'); i++)"
    " await new Promise(go => setTimeout(go, 30));"
    " const wide = [...document.querySelectorAll('*')]"
    ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName);"
    "document.body.dataset.probe = JSON.stringify({title: document.title,"
    " live: document.querySelectorAll('.live').length, inner: innerWidth,"
    " scroll: document.documentElement.scrollWidth, wide: [...new Set(wide)],"
    " cut: [...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().right"
    " > t.ownerSVGElement.getBoundingClientRect().right + 1).map(t => t.textContent),"
    " stuck: [...document.querySelectorAll('.scroll')].filter(e => e.tabIndex < 0"
    " && e.scrollWidth > e.clientWidth).length,"
    " requests: performance.getEntriesByType('resource').map(r => r.name)}); });</script>"
)
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture
def page(make_tree: Callable[..., Any], tmp_path: Path) -> Path:
    environ = "openmpi41-boost181"
    tree = make_tree(launches=6, environs=(environ,))
    for folder in tree.path.glob(f"rounds/*/output/*/*/{environ}/*"):
        tree.case(folder, environ, extras={"toolchain": HOSTILE})
    tree.fail(6, environ, fail_reason=HOSTILE + "unbreakable" * 40)
    return publish.publish(bundle.build(tree.path), tmp_path / "reports") / publish.PAGE


def browse(
    page: Path, tmp_path: Path, *options: str, fragment: str = ""
) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM
    profile = tmp_path / "profile"
    address = f"{page.as_uri()}{fragment}"
    command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", *options, address]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def probed(page: Path, tmp_path: Path, width: int) -> dict[str, Any]:
    """What the probe finds in an <iframe> of that width: a window itself cannot be so narrow."""
    copy = tmp_path / "probed.html"
    text = re.sub(r"<meta http-equiv=[^>]*>", "", page.read_text())
    copy.write_text(text.replace("</body>", f"{PROBE}</body>"))
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<!doctype html><iframe id="f" src="probed.html" style="width:{width}px;height:800px;'
        'border:0"></iframe><script>addEventListener("load", () => setInterval(() => {'
        'const found = document.getElementById("f").contentDocument.body.dataset.probe;'
        "if (found) document.body.dataset.probe = found; }, 100));</script>"
    )
    process = browse(
        frame,
        tmp_path,
        "--allow-file-access-from-files",
        "--virtual-time-budget=12000",
        "--dump-dom",
    )
    match = re.search(r'<body data-probe="([^"]*)"', process.stdout)
    assert match, process.stdout[-2000:]
    facts: dict[str, Any] = json.loads(match[1].replace("&quot;", '"').replace("&amp;", "&"))
    return facts


def test_hostile_data_is_inert_and_nothing_is_fetched(page: Path, tmp_path: Path) -> None:
    facts = probed(page, tmp_path, 1280)
    assert facts["title"] == "What does Boost.MPI cost over raw MPI on this machine?"
    assert facts["requests"] == []


def test_a_browser_with_a_network_log_sees_no_request(page: Path, tmp_path: Path) -> None:
    log = tmp_path / "net.json"
    browse(page, tmp_path, f"--log-net-log={log}", "--dump-dom")
    urls = set(re.findall(r'"url":"((?:https?|wss?)://[^"]+)"', log.read_text()))
    page_urls = {url for url in urls if "google" not in url and "gvt1" not in url}
    assert page_urls == set()


@pytest.mark.parametrize("width", [390, 320, 1280])
def test_nothing_is_cut_off(page: Path, tmp_path: Path, width: int) -> None:
    facts = probed(page, tmp_path, width)
    assert facts["inner"] == width
    assert facts["live"] > 0
    assert facts["scroll"] <= width, facts["wide"]
    assert facts["cut"] == []
    assert facts["stuck"] == 0, "keys cannot scroll these tables"
