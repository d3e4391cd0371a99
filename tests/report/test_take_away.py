"""What a reader takes away: figures as PDF, tables as CSV, a summary, a sheet of paper."""

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.browser import CHROMIUM, NO_CHROMIUM_REASON, open_browser

from roundtrip.content.blocks import (
    Answer,
    Cell,
    Column,
    Figure,
    Report,
    ReportSection,
    Table,
    make_answer,
)
from roundtrip.content.plot import Axis, Curve, Plot, View
from roundtrip.measure import store
from roundtrip.report import painter, pdf, renderers
from roundtrip.units import Quantity, Unit

SIZES = Axis("Message size", Unit.BYTES, 1, 1 << 20, True)
RATES = Axis("Bandwidth", Unit.MB_S, 0.1, 1000, True)
#: Width and height of paper in inches.
LETTER, A4 = (8.5, 11.0), (8.27, 11.69)
#: Words above figures of which a part is not shown.
CUT = (
    "[...document.querySelectorAll('.plot-title span')]"
    ".filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
)


def drawing(name: str, *names: str) -> str:
    curve = Curve(name, ("#0b4f94", "#a9d3fb"), ((1, 10.0, 9.0, 12.0, 9), (64, 1e5, None, None, 3)))
    view = View("Bandwidth", SIZES, RATES, (curve,), width=900.0)
    return next(painter.svg_files(Figure("one", "alt", Plot(f"Title {name}", "", (view,)))))


def root(svg_text: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg_text)  # noqa: S314  our own drawing


def test_a_figure_is_as_wide_as_a_column_and_embeds_its_font(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = pdf.pdf_from_svg(drawing("MPI"))
    assert content.startswith(b"%PDF") and content == pdf.pdf_from_svg(drawing("MPI"))
    _, _, width, height = map(float, root(drawing("MPI")).attrib["viewBox"].split())
    (box,) = re.findall(rb"/MediaBox \[ 0 0 252 ([\d.]+) \]", content)
    assert float(box) == pytest.approx(252 * height / width, abs=0.1)
    inches = [root(drawing("MPI")).attrib[side].removesuffix("in") for side in ("width", "height")]
    assert [72 * float(side) for side in inches] == pytest.approx([252, float(box)], abs=0.1)
    assert b"/FontFile2" in content and b"(Bandwidth \\(MB/s\\))" in content
    assert 13 * pdf.COLUMN_WIDTH_PT / width > 7, "letters are seven points high"
    assert re.search(rb" re W\*? n", content), "what leaves the frame is clipped"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")  # of builders, which dates no figure
    assert pdf.pdf_from_svg(drawing("MPI")) == content


def test_an_arrow_is_drawn_and_a_character_without_a_letter_is_replaced() -> None:
    svg_text = drawing("\N{SNOWMAN}")  # its last point lies above the axis
    assert "\N{SNOWMAN} ↑" in svg_text
    assert b"(? )" in pdf.pdf_from_svg(svg_text)


@pytest.mark.parametrize(("weight", "is_bold"), [("400", False), ("600", True)])
def test_bold_letters_have_an_outline(weight: str, is_bold: bool) -> None:
    text = f'<text x="1" y="9" font-size="9" font-weight="{weight}">A</text>'
    svg_text = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 20">{text}</svg>'
    assert (b" 2 Tr " in pdf.pdf_from_svg(svg_text)) is is_bold


def test_numbers_of_a_table_have_interval_unit_and_verdict_in_columns() -> None:
    quantity = Quantity(value=1 / 3, unit=Unit.US, low=0.25, high=0.5, n=9, prints_unit=True)
    rows = (
        (Cell("latency"), Cell(quantity, verdict="faster")),
        (Cell("size"), Cell(Quantity(value=65536, unit=Unit.BYTE_SIZE))),
        (Cell("=1+1"), Cell("none")),
    )
    text = renderers.render_csv(Table("A", (Column("What"), Column("MPI", "right")), rows))
    assert list(csv.reader(io.StringIO(text))) == [
        ["What", "MPI", "MPI: unit", "MPI: low", "MPI: high", "MPI: n", "MPI: verdict"],
        ["latency", "0.333333", "µs", "0.25", "0.5", "9", "faster"],
        ["size", "65536", "bytes", "", "", "", ""],
        ["'=1+1", "none", "", "", "", "", ""],
    ]
    assert renderers.render_csv(Table("A", (Column("What"), Column("n")), ())) == "What,n\n"


def report(answers: tuple[Answer, ...]) -> Report:
    rows = ((Cell("Latency"), Cell(Quantity(value=1.5, unit=Unit.US, prints_unit=True))),)
    table = Table("A", (Column("What"), Column("MPI")), rows)
    part = ReportSection("one", "One", (), answers, summary_tables=(table,))
    return Report("Title", (("Site", "local"),), (("<Note>",),), (part,))


def test_a_summary_says_what_to_know_and_the_answer_in_ten_lines_at_most() -> None:
    lines = renderers.render_summary(report((make_answer("Yes: ", "faster"),))).splitlines()
    assert lines == ["**Title**", "", "- Site: local", "- \\<Note\\>", "- **Yes:** faster"]
    answers = tuple(make_answer(f"{n}", "") for n in range(20))
    lines = renderers.render_summary(report(answers)).splitlines()
    assert len([line for line in lines if line]) == 10
    assert lines[-1] == "- 14 more lines in the report"


def test_every_link_to_a_file_leads_to_one(revision: Path) -> None:
    page = (revision / store.PAGE_FILE).read_text()
    links = {link for link in re.findall(r'href="([^#"]*)"', page) if not link.startswith("../")}
    links.discard("data:,")
    assert all((revision / link).is_file() for link in links)
    file_links = [f"{file.parent.name}/{file.name}" for file in revision.glob("[ft]*/*")]
    assert file_links and set(file_links) <= links


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM_REASON)
def test_every_figure_has_a_description_and_its_values_as_a_table(
    revision: Path, tmp_path: Path
) -> None:
    with open_browser(tmp_path / "profile") as page:
        page.open((revision / store.PAGE_FILE).as_uri())
        page.evaluate("document.querySelector('.unfold').click()")
        panels = page.evaluate(
            "[...document.querySelectorAll('[data-plot]')].map(panel => { alive(panel);"
            " const all = panel.querySelector('details'); all.open = true;"
            " return panel.getAttribute('aria-label'); })"
        )
        assert panels and all(panels)
        tables = page.evaluate(
            "new Promise(done => setTimeout(done, 100)).then(() => [...document.querySelectorAll("
            "'[data-plot] details')].map(one => [...one.querySelectorAll('tr')]"
            ".map(row => [...row.cells].map(cell => cell.textContent))))"
        )
        assert len(tables) == len(panels) and all(len(rows) > 1 for rows in tables)
        first_rows = [rows[1] for rows in tables if rows[0][0] == "Message size (bytes)"]
        assert all(row[0].endswith("B") for row in first_rows)
        assert any("MB/s [" in row[1] for row in first_rows)
        assert page.console_errors() == []


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM_REASON)
def test_a_front_page_is_printed_on_two_sheets_with_all_its_words_and_what_is_open_after_it(
    tmp_path: Path,
) -> None:
    samples = sorted((Path(__file__).parents[2] / "samples" / "reports").rglob(store.PAGE_FILE))
    assert len(samples) >= 5
    with open_browser(tmp_path / "profile") as page:
        for sample in samples:
            page.open(sample.as_uri())
            assert max(page.count_sheets(LETTER), page.count_sheets(A4)) <= 2, sample
            page.send_command("Emulation.setEmulatedMedia", media="print")
            assert page.evaluate(CUT) == [], sample
            page.send_command("Emulation.setEmulatedMedia", media="")
        page.evaluate("document.querySelector('.unfold').click()")
        assert page.count_sheets(A4) > 4
