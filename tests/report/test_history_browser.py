"""The history page in a real browser: a year of 500 series, found, filtered, opened, printed."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support import years
from support.browser import CHROMIUM, NO_CHROMIUM_REASON, Browser
from support.nights import start_time

from roundtrip.content.series import split_series
from roundtrip.history.night_rows import PROVENANCE
from roundtrip.report.pages import history
from roundtrip.report.pages.history import HistoryPage

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM_REASON)

SHOWN = "[...document.querySelectorAll('#rows tbody tr')].filter(r => !r.hidden)"
OPEN = "document.querySelector('.nights-of.open')"


@pytest.fixture(scope="module")
def year() -> HistoryPage:
    links = {night: f"{night[:10]}/r1/report.html" for night in map(start_time, range(365))}
    notes = [(start_time(200), "new switch")]
    full_history = years.make_history(500, 365)
    return replace(full_history, report_link_by_night=links, night_notes=notes)


@pytest.fixture(scope="module")
def file(year: HistoryPage, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("pages") / "history.html"
    page.write_text(history.render_page(year), encoding="utf-8")
    return page


@pytest.fixture
def page(running: Browser, file: Path) -> Iterator[Browser]:
    """The page, opened anew; afterwards it must have made no fault and no request."""
    running.set_window(1280)
    running.open("about:blank")
    running.open(file.as_uri())
    yield running
    assert running.console_errors() == []
    assert {url.partition("#")[0] for url in running.requested_urls()} == {file.as_uri()}


def settle(page: Browser) -> None:
    page.evaluate("new Promise(done => setTimeout(done, 50))")


def choose(page: Browser, name: str, value: str, event: str = "input") -> None:
    page.evaluate(
        f"(() => {{ const one = document.querySelector('[name={name}]'); one.value = {value!r};"
        f" one.dispatchEvent(new Event('{event}', {{bubbles: true}})); }})()"
    )


def search(page: Browser, text: str) -> list[str]:
    """The first cell of each row that is left after typing `text`."""
    choose(page, "text", text)
    cells: list[str] = page.evaluate(f"{SHOWN}.map(r => r.cells[0].querySelector('a').textContent)")
    return cells


def click(page: Browser, words: str, place: str = "tools") -> None:
    buttons = f"[...{OPEN}.querySelectorAll('.{place} button')]"
    page.evaluate(f"{buttons}.find(one => one.textContent.startsWith({words!r})).click()")


def opened(page: Browser, text: str = "") -> str:
    """Open the first row with `text`; its key."""
    page.evaluate(f"{SHOWN}.find(r => r.textContent.includes({text!r})).click()")
    settle(page)
    key: str = page.evaluate("location.hash.slice('#series='.length)")
    assert page.evaluate(f"{OPEN}.id") == f"series={key}"
    return key


def test_the_first_view_has_all_rows_and_no_series_open(page: Browser) -> None:
    assert page.evaluate(f"{SHOWN}.length") == 500
    assert page.evaluate(OPEN) is None


def test_search_and_filter_leave_what_matches(page: Browser) -> None:
    cells = search(page, "4 kib boost-s")
    assert cells
    assert {cell.partition(", ")[0] for cell in cells} == {"boost-serialized"}
    assert {cell.split(", ")[1] for cell in cells} == {"4\u00a0KiB"}
    found = page.evaluate("document.getElementById('found').textContent")
    assert found == f"{len(cells)} of 500 series"
    assert search(page, "nothing such") == []
    assert len(search(page, "")) == 500
    page.evaluate("document.querySelector('[value=unchanged]').click()")
    verdicts = page.evaluate(f"[...new Set({SHOWN}.map(r => r.dataset.verdict))]")
    assert verdicts == ["regressed", "drifting", "improved"]
    page.evaluate("document.querySelector('[value=unchanged]').click()")
    choose(page, "environ", "mpich40-boost181")
    environs = page.evaluate(f"[...new Set({SHOWN}.map(r => r.dataset.environ))]")
    assert environs == ["mpich40-boost181"]


def test_order_by_the_size_of_the_change(page: Browser) -> None:
    choose(page, "order", "ratio", "change")
    sizes = [float(text) for text in page.evaluate(f"{SHOWN}.map(r => r.dataset.ratio)")]
    assert sizes == sorted(sizes, reverse=True)


def test_a_link_to_a_series_of_a_superseded_revision_says_so(page: Browser) -> None:
    """A report keeps its links, and its correction may lack what it measured."""
    page.evaluate("location.hash = 'series=000000000000'")
    settle(page)
    absent = "document.getElementById('absent')"
    message = page.evaluate(f"{absent}.hidden || {absent}.innerText")
    assert message.startswith("This series has no nights here")
    assert "was superseded" in message
    page.evaluate("location.hash = 'series'")
    settle(page)
    assert page.evaluate(f"{absent}.hidden")


def test_a_series_shows_every_night_with_the_numbers_of_the_ledger(
    page: Browser, year: HistoryPage
) -> None:
    key = opened(page, "improved")
    page.evaluate(f"{OPEN}.querySelector('details:last-of-type summary').click()")
    settle(page)
    rows = f"[...{OPEN}.querySelectorAll('table tbody tr')]"
    table = page.evaluate(f"{rows}.map(r => [...r.cells].map(c => c.textContent))")
    points = next(series for series in split_series(year.nights) if series.key == key).points[::-1]
    assert len(table) == 365
    for cells, point in zip(table, points, strict=True):
        assert cells[0] == point.night[:10]
        numbers = [float(text.replace("\u202f", "")) for text in cells[2:5]]
        assert numbers == pytest.approx(
            [1e6 * getattr(point, name) for name in ("median", "low", "high")], rel=6e-4
        )
        assert cells[5:8] == [str(point.launches), str(point.disturbed), point.nodes]
        assert cells[8] == point.left_out


def drawn(page: Browser, name: str) -> int:
    """How many marks of a class the chart has: a path holds many."""
    count: int = page.evaluate(
        f"[...document.querySelectorAll('.nights-of.open .stage:not([hidden]) .marks {name}')]"
        ".reduce((n, e) => n + (e.getAttribute('d') ?? 'M').split('M').length - 1, 0)"
    )
    return count


def test_the_figure_has_points_intervals_steps_facts_and_notes(
    page: Browser, year: HistoryPage
) -> None:
    key = opened(page, "regressed")
    points = next(series for series in split_series(year.nights) if series.key == key).points
    left_out_count = sum(bool(point.left_out) for point in points)
    curve = '[data-curve="2"]'  # after those of two sets of nodes
    assert drawn(page, ".dots") + drawn(page, ".dot") == 365
    assert drawn(page, f"{curve} .dots") + drawn(page, f"{curve} .dot") == left_out_count
    assert drawn(page, ".bars") == 365
    assert drawn(page, ".step") == 1
    assert drawn(page, ".level") == 4  # two sets of nodes, before and after
    assert drawn(page, ".change") == 2
    assert drawn(page, ".note") == 1
    assert drawn(page, ".line") == 0


def test_a_drift_is_a_line_and_a_spike_is_seen_among_all_values(page: Browser) -> None:
    opened(page, "drifting")
    assert drawn(page, ".line") == 1
    assert drawn(page, ".level") == 0
    spike_key = page.evaluate("data.series.find(one => one.spikes.length).key")
    page.evaluate(f"location.hash = 'series={spike_key}'")
    settle(page)
    stage = f"{OPEN}.querySelector('.stage:not([hidden])')"
    is_inside = (
        f"(() => {{ const [one, all] = ['.curve:last-child .dot', '.frame'].map(name =>"
        f" {stage}.querySelector(name).getBoundingClientRect());"
        " return one.top >= all.top && one.bottom <= all.bottom; })()"
    )
    assert not page.evaluate(is_inside)
    click(page, "All values")
    assert page.evaluate(is_inside)


def test_keys_walk_through_nights_and_series(page: Browser) -> None:
    key = page.evaluate(f"{SHOWN}[0].dataset.key")
    page.evaluate(f"{SHOWN}[0].querySelector('a').focus()")
    page.evaluate("document.activeElement.click()")
    settle(page)
    assert page.evaluate("document.activeElement.tagName") == "H2"
    page.evaluate("document.querySelector('.nights-of.open .stage > .figure').focus()")
    readout = "document.querySelector('.nights-of.open output').textContent"
    page.press("ArrowRight")
    assert page.evaluate(readout).startswith("Night 365, 2026-12-31: ")
    page.press("ArrowLeft")
    assert page.evaluate(readout).startswith("Night 364, 2026-12-30: ")
    page.press("Home")
    assert page.evaluate(readout).startswith("Night 1, 2026-01-01: ")
    link = page.evaluate("document.querySelector('.nights-of.open output a').getAttribute('href')")
    assert link == "2026-01-01/r1/report.html"
    click(page, "Next", "bar")
    settle(page)
    next_key = page.evaluate(f"{SHOWN}[1].dataset.key")
    assert page.evaluate("location.hash") == f"#series={next_key}" != f"#series={key}"
    page.press("Escape")
    settle(page)
    assert page.evaluate(OPEN) is None


def test_escape_lets_go_of_a_night_and_then_closes_the_series(page: Browser) -> None:
    opened(page, "regressed")
    page.evaluate("document.querySelector('.nights-of.open .stage > .figure').focus()")
    page.press("Home")
    readout = "document.querySelector('.nights-of.open output')?.textContent"
    assert page.evaluate(readout).startswith("Night ")
    for text in ("", None):
        page.press("Escape")
        settle(page)
        assert page.evaluate(readout) == text


def test_a_change_of_one_figure_makes_no_other(page: Browser) -> None:
    opened(page, "regressed")
    click(page, "Reset")
    assert page.evaluate("live.size") == 1


def test_a_link_restores_the_series(page: Browser, file: Path) -> None:
    key = opened(page, "boost-datatype")
    page.open("about:blank")
    page.open(f"{file.as_uri()}#series={key}")
    title = page.evaluate("document.querySelector('.nights-of.open h2').textContent")
    assert title.startswith("boost-datatype")


@pytest.mark.parametrize("width", [1920, 1280, 400, 320])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_cut_off(page: Browser, width: int, dark: bool) -> None:
    page.set_window(width, dark=dark)
    opened(page, "drifting")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        "[...document.querySelectorAll('.nights-of.open *, .answers *, form *')].filter("
        f"e => e.getBoundingClientRect().right > {width} + 1).map(e => e.tagName)"
    )
    assert wide == []


def test_without_a_script_the_verdicts_are_all_there(running: Browser, file: Path) -> None:
    running.send_command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        running.open(file.as_uri())
        root = running.send_command("DOM.getDocument", depth=0)["root"]["nodeId"]
        rows, forms = (
            running.send_command("DOM.querySelectorAll", nodeId=root, selector=selector)["nodeIds"]
            for selector in ("#rows tbody tr", "form[hidden]")
        )
    finally:
        running.send_command("Emulation.setScriptExecutionDisabled", value=False)
    assert (len(rows), len(forms)) == (500, 1)


def test_it_prints(page: Browser) -> None:
    page.send_command("Emulation.setEmulatedMedia", media="print")
    styles: Any = page.evaluate(
        "['form', '#rows thead'].map(one => getComputedStyle(document.querySelector(one)).display)"
    )
    page.send_command("Emulation.setEmulatedMedia", media="")
    assert styles == ["none", "table-header-group"]
    assert 5 < page.count_sheets((8.27, 11.69)) < 60


def test_a_step_names_nodes_that_are_new_and_what_changed_on_them(
    running: Browser, tmp_path: Path
) -> None:
    """The view says what the rows say: of a kernel on two nodes, and of a node that is new."""
    full_history = years.make_history(10, 90)
    is_new = pl.col("night") >= start_time(73)
    nodes = pl.when(is_new).then(pl.lit("node-000000aa+node-000000cc"))
    rows = [
        (start_time(night), "0", node, "kernel", "6.2" if night >= 78 else "6.1")
        for night in range(90)
        for node in ("node-000000aa", "node-000000cc", "node-000000dd")
    ]
    nights = full_history.nights.with_columns(
        nodes=nodes.otherwise(pl.lit("node-000000aa+node-000000bb"))
    )
    facts = pl.DataFrame(rows, schema=PROVENANCE, orient="row")
    moved_history = replace(full_history, nights=nights, provenance=facts)
    page = tmp_path / "history.html"
    page.write_text(history.render_page(moved_history), encoding="utf-8")
    running.open(page.as_uri())
    for verdict, cause in (
        ("regressed", "kernel: 6.1 → 6.2 on 2 nodes"),
        ("improved", "node set: node-000000aa, node-000000bb → node-000000aa, node-000000cc"),
    ):
        first_row = f"{SHOWN}.find(r => r.dataset.verdict === '{verdict}')"
        assert running.evaluate(f"{first_row}.cells[5].innerText").endswith(cause)
        opened(running, verdict)
        story = running.evaluate("document.querySelector('.nights-of.open > p').textContent")
        assert f"Changed then: {cause}." in story
    assert running.console_errors() == []


@pytest.mark.parametrize("width", [390, 1280])
def test_what_is_read_out_covers_no_words_of_an_event_and_these_are_inside(
    page: Browser, width: int
) -> None:
    page.set_window(width)
    opened(page, "regressed")
    page.evaluate(
        "(() => { const open = document.querySelector('.nights-of.open'), svg ="
        " open.querySelector('.stage:not([hidden]) svg'); svg.focus(); window.words ="
        " [...svg.querySelectorAll('.events text')].map(one => one.getBoundingClientRect());"
        " window.tip = open.querySelector('.tip');"
        " window.area = svg.querySelector('clipPath rect').getBBox();"
        " window.corner = svg.getBoundingClientRect(); })()"
    )
    assert page.evaluate("words.length") >= 2, "a change point and what a person says"
    is_inside = (
        "corner.left + area.x - 1 <= one.left && one.right <= corner.left + area.x + area.width"
    )
    assert page.evaluate(f"words.every(one => {is_inside} + 1)")
    assert not page.evaluate(
        "words.some((a, i) => words.slice(i + 1).some(b => a.left < b.right && b.left < a.right"
        " && a.top < b.bottom && b.top < a.bottom))"
    )
    page.press("Home")
    for _ in range(60):
        assert not page.evaluate(
            "(() => { const box = tip.getBoundingClientRect(); return words.some(one =>"
            " one.left < box.right && box.left < one.right"
            " && one.top < box.bottom && box.top < one.bottom); })()"
        )
        for _ in range(6):
            page.press("ArrowRight")
