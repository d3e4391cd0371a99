"""The page in a real browser: its script and no other, nothing cut off, no reader kept out."""

import base64
import hashlib
import html as entities
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import years
from support.browser import CHROMIUM, NO_AXE_REASON, NO_CHROMIUM_REASON, Browser, open_browser
from support.bundles import read_tree
from support.pairs import PairNightWriter
from support.synthetic import SyntheticTree
from support.virtual import await_true

from roundtrip.content import data, plot
from roundtrip.measure import bundle, store
from roundtrip.report import publish, renderers
from roundtrip.report.build import build_report
from roundtrip.report.pages import history
from roundtrip.units import Unit

Maker = Callable[..., Any]

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM_REASON)
CHECKS = Path(__file__).with_name("figure_checks.js").read_text()
ENVIRONS = ("openmpi41-boost181", "mpich40-boost181")


@pytest.fixture(scope="module")
def revision(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("script")
    tree = SyntheticTree(folder / "run", launches=6, environs=ENVIRONS, samples=5)
    tree.sizes = [1, 8, 64, 1024, 65536, 1 << 20]
    return publish.publish(bundle.build_bundle(tree.write().path), folder / "reports")


@needs_chromium
def test_the_script_runs_under_the_policy_of_the_page(revision: Path, tmp_path: Path) -> None:
    page = revision / store.PAGE_FILE
    names = [figure.name for figure in build_report(data.read_bundle(revision / "bundle")).figures]
    name = next(name for name in names if "bandwidth" in name)
    forged_page = tmp_path / "refused.html"
    forged_page.write_text(page.read_text().replace("sha256-", "sha256-A"))
    with open_browser(tmp_path / "profile") as session:
        session.open(f"{page.as_uri()}#{name}?at=1.2")
        panel = f"document.querySelector('[data-plot=\"{name}\"]')"
        assert await_true(lambda: session.evaluate(f"{panel}.classList.contains('live')"), 20)
        output = session.evaluate(f"{panel}.querySelector('output').textContent")
        assert re.match(r"Boost.MPI, 64.B: [\d.]+.MB/s \[", output)
        assert session.evaluate(f"{panel}.closest('details.part').open")
        assert session.console_errors() == []
        session.open(f"{forged_page.as_uri()}#{name}?at=1.2")
        assert await_true(
            lambda: session.evaluate("1") and "inline script" in str(session.console_errors()), 20
        )
        assert not session.evaluate("document.querySelector('.panel.live')")


@needs_chromium
def test_a_curve_below_the_axis_is_marked_in_a_legend_below_the_figure(
    revision: Path, tmp_path: Path
) -> None:
    panel = "document.querySelector('[data-plot=\"netpipe-1-ratio-1\"]')"
    names = f"[...{panel}.querySelectorAll('.legend button')].map((one) => one.textContent)"
    with open_browser(tmp_path / "profile") as session:
        session.set_window(1280)
        session.open((revision / store.PAGE_FILE).as_uri())
        assert await_true(lambda: bool(session.evaluate(names)), 20)
        assert not session.evaluate(f"{panel}.classList.contains('wide')")
        assert [name for name in session.evaluate(names) if "↓" in name] == ["Serialized / MPI ↓"]


@needs_chromium
def test_what_a_reader_does(revision: Path, tmp_path: Path) -> None:
    with open_browser(tmp_path / "profile") as session:
        session.set_window(1280)
        session.open((revision / store.PAGE_FILE).as_uri())
        results: dict[str, Any] = session.evaluate(CHECKS)
    assert results.pop("faults") == []
    texts = {key: results.pop(key) for key in list(results) if isinstance(results[key], str)}
    for key in ("first", "second", "end", "down", "hover"):
        text = texts[key].replace("\u202f", " ")
        assert re.search(r"MPI.*, \d+.(B|KiB|MiB): [\d. ]+.MB/s \[[^]]+\] n.=.6$", text), key
    assert texts["first"].startswith("MPI, 1\u00a0B: ")
    assert texts["second"].startswith("MPI, 8\u00a0B: ")
    assert texts["end"].startswith("MPI, 1\u00a0MiB: ")
    assert texts["down"].startswith("Boost.MPI, 1\u00a0MiB: ")
    assert (texts["aria"], texts["gone"], texts["pressed"]) == ("polite", "", "false")
    assert texts["tip"].count("MB/s") == 5 and "Boost.MPI (Serialized)" in texts["tip"]
    assert "at=0.0" in texts["link"] and "x=" in texts["link"]
    caption, empty, heads, rule, *rows = texts["copied"].splitlines()
    assert caption == "Median over launches, 95\u00a0% rank interval." and not empty
    assert heads.startswith("| What | ") and rule.startswith("| --- | ---: |")
    assert rows[0].startswith("| Half-round-trip latency at 1 B (lower is better) | ")
    assert rows[0].endswith(" µs |")
    assert texts["says"] == "Copied"
    assert (results.pop("off"), results.pop("width") > 300) == (1, True)
    assert {key: value for key, value in results.items() if value is not True} == {}


def test_values_of_figures_are_data_and_no_markup() -> None:
    hostile = '</script><script>alert(1)</script>&amp;<!--\u2028"'
    curve = plot.Curve(hostile, ("#000", "#fff"), ((1, 2.123456789, None, None, 3),))
    axis = plot.Axis(hostile, Unit.PURE_NUMBER, 1, 10, True)
    text = plot.plot_json(
        "a", plot.Plot(hostile, hostile, (plot.View(hostile, axis, axis, (curve,)),))
    )
    assert not set("<>&") & set(text)
    content = json.loads(text)
    assert content["title"] == hostile == content["views"][0]["curves"][0]["name"]
    assert content["views"][0]["curves"][0]["points"] == [[1, 2.1235, None, None, 3]]
    bad_curve = plot.Curve("", ("", ""), ((1, float("nan"), None, None, None),))
    with pytest.raises(ValueError, match="cannot be drawn"):
        plot.plot_json("a", plot.Plot("", "", (plot.View("", axis, axis, (bad_curve,)),)))


@pytest.mark.parametrize("is_report", [True, False])
def test_one_script_of_our_own_and_no_other(make_tree: Maker, is_report: bool) -> None:
    if is_report:
        page = renderers.render_html(build_report(read_tree(make_tree(launches=6))))
    else:
        page = history.render_page(years.make_history(2, 30))
    kinds = [kind.removesuffix(' id="data"') for kind in re.findall(r"<script([^>]*)>", page)]
    assert kinds.count("") == 1 and set(kinds) == {"", ' type="application/json"'}
    assert not re.search(r"https?://(?!www\.w3\.org)", page)
    text = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]  # type: ignore[index]
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    policy = entities.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])  # type: ignore[index]
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}'; ")
    for word in ("eval(", "innerHTML", "fetch(", "XMLHttp", "import(", "http:", "https:", "</"):
        assert word not in text.replace("http://www.w3.org/2000/svg", ""), word


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
def page(make_tree: Maker, tmp_path: Path) -> Path:
    environ = "openmpi41-boost181"
    tree = make_tree(launches=6, environs=(environ,))
    for folder in tree.path.glob(f"rounds/*/output/*/*/{environ}/*"):
        tree.write_case(folder, environ, extras={"toolchain": HOSTILE})
    tree.fail_launch(6, environ, fail_reason=HOSTILE + "unbreakable" * 40)
    return publish.publish(bundle.build_bundle(tree.path), tmp_path / "reports") / store.PAGE_FILE


@needs_chromium
@pytest.mark.parametrize("width", [390, 320, 1280])
def test_hostile_data_is_inert_nothing_is_fetched_and_nothing_is_cut_off(
    page: Path, tmp_path: Path, width: int
) -> None:
    """Without its policy, which would keep a script of others from running."""
    copy = tmp_path / "copy.html"
    copy.write_text(re.sub(r"<meta http-equiv=[^>]*>", "", page.read_text()))
    with open_browser(tmp_path / "profile") as session:
        session.set_window(width)
        session.open(copy.as_uri())
        facts = session.evaluate(PROBE)
        assert session.requested_urls() == [copy.as_uri()]
    assert facts["title"] == "What does Boost.MPI cost over raw MPI on this machine?"
    assert facts["inner"] == width
    assert facts["live"] > 0
    assert facts["scroll"] <= width, facts["wide"]
    assert facts["cut"] == []
    assert facts["stuck"] == 0, "keys cannot scroll these tables"


needs_axe = pytest.mark.skipif(bool(NO_AXE_REASON), reason=NO_AXE_REASON)
CHECKOUT = Path(__file__).parents[2]
PAGES = sorted(
    page.relative_to(CHECKOUT).as_posix() for page in (CHECKOUT / "samples").rglob("*.html")
)
#: Of every kind of page a quick one; the others are nightly.
QUICK = ("reports/smoke/local/2026-11-27/r1/", "wan/virtual/history.html", "reports/index.html")


def check(running: Browser, page: Path) -> None:
    for width, is_dark in ((1280, False), (390, True)):
        running.set_window(width, dark=is_dark)
        running.open("about:blank")
        running.open(page.as_uri())
        assert running.axe_violations() == [], (width, is_dark)


@needs_axe
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if any(word in page for word in QUICK) else pytest.mark.nightly)
        for page in PAGES
    ],
)
def test_a_sample_keeps_no_reader_out(running: Browser, page: str) -> None:
    check(running, CHECKOUT / page)


@needs_axe
def test_a_map_of_nodes_keeps_no_reader_out(running: Browser, tmp_path: Path) -> None:
    changes = {"added_s_by_node": {3: 100e-6}, "has_single_launches": True}
    night = PairNightWriter(tmp_path / "nights", nodes=8, **changes).night(0)  # type: ignore[arg-type]
    page = publish.publish(night / "bundle", tmp_path / "reports") / store.PAGE_FILE
    assert "data-heat" in page.read_text()
    check(running, page)


@needs_axe
def test_axe_is_heard(running: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><html lang=en><title>x</title><main><h1>x</h1><img src=x>")
    running.open(page.as_uri())
    assert [found.partition(":")[0] for found in running.axe_violations()] == ["image-alt"]
