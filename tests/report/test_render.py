"""Both renderers draw the same blocks, what answers comes first, and data are no markup."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from support.bundles import read_tree
from support.json_files import content

from roundtrip.content import labels, series
from roundtrip.content.blocks import (
    Column,
    Figure,
    Gallery,
    Report,
    ReportSection,
    Table,
    plain_text,
    text_cells,
)
from roundtrip.content.plot import Axis, Curve, Plot, View
from roundtrip.measure.columns import setting_rows
from roundtrip.report import renderers
from roundtrip.report.build import build_report
from roundtrip.report.drawing import Drawing
from roundtrip.study import load_studies
from roundtrip.units import Unit

ENVIRON = "openmpi41-boost181"
HOSTILE = '<script>alert(1);"><img src=x onerror=alert(2)>{{7*7}}|`${x}`[a](javascript:b)'
Maker = Callable[..., Any]
#: The target of a cell.
_NIGHTS = r"\.\./\.\./history\.html#series=[0-9a-f]{12}"


@pytest.fixture
def hostile(make_tree: Maker) -> Any:
    """A report in which everything that data can name has a hostile name."""
    skipped_cases = [{"case": f"Ring/@local:smp+{HOSTILE}", "reason": HOSTILE}]
    tree = make_tree(launches=6, environs=(ENVIRON,), skipped=skipped_cases)
    tree.fail_launch(6, ENVIRON, fail_reason=HOSTILE)
    for folder in sorted(tree.path.glob(f"rounds/*/output/*/*/{ENVIRON}/*")):
        tree.write_case(folder, ENVIRON, extras={"toolchain": HOSTILE})
        run = folder / "run.json"
        escaped_name = HOSTILE.replace('"', '\\"')
        run.write_text(run.read_text().replace("Open MPI v4.1.4", escaped_name))
    (tree.path / "campaign.toml").write_text(f"title = '{HOSTILE}'\n")
    (tree.path / "env" / "host.json").write_text('{"cpu": {"<b>": "<img onerror=x>"}}')
    return build_report(read_tree(tree))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(page: str) -> _Tags:
    parser = _Tags()
    parser.feed(page)
    return parser


def test_hostile_names_are_text_in_html_and_identifiers_unique(hostile: Any) -> None:
    page = renderers.render_html(hostile)
    parser = parsed(page)
    names = {tag for tag, _ in parser.tags}
    assert not names & {"img", "iframe", "object", "b-", "embed", "base", "form"}
    for _, attributes in parser.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert not str(attributes.get("href", "")).startswith("javascript:")
    assert "{{7*7}}" in parser.text and "49" not in re.findall(r">(49)<", page)
    assert HOSTILE in parser.text
    identifiers = [attributes["id"] for _, attributes in parser.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_hostile_names_are_text_in_markdown(hostile: Any) -> None:
    text = renderers.render_markdown(hostile)
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert not re.search(r"(?<!\\)<(?!br)", prose)
    assert not re.search(rf"(?<!\\)\]\((?!figures/|{_NIGHTS}\))", prose)
    for table in re.split(r"\n\n", prose):
        counts = {
            len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines() if row[:1] == "|"
        }
        assert len(counts) <= 1


def test_the_page_asks_the_network_for_nothing(hostile: Any) -> None:
    page = renderers.render_html(hostile)
    parser = parsed(page)
    for tag, attributes in parser.tags:
        # A link that a reader may choose; nothing is asked for when the page opens.
        files = ("figures/", "tables/", *(file for file, _ in renderers.LISTED_FILES))
        prefixes = ("#", "data:,", *((series.INDEX, series.HISTORY, *files) if tag == "a" else ()))
        for name in ("src", "href", "xlink:href", "srcset", "action", "data"):
            value = attributes.get(name)
            assert value is None or value.startswith(prefixes), (tag, name, value)
    assert not re.search(r"url\((?!#)|@import", page)
    assert "default-src 'none'" in page


def test_every_cell_is_in_both_renderings(make_tree: Maker) -> None:
    report = build_report(read_tree(make_tree(launches=6)))
    page, twin = parsed(renderers.render_html(report)), renderers.render_markdown(report)
    cells = [
        cell for table in report.table_by_file_name.values() for row in table.rows for cell in row
    ]
    assert len(cells) > 200
    for cell in cells:
        assert cell.text in page.text
        assert renderers.escape_markdown(cell.text) in twin


@pytest.mark.parametrize(("expected", "is_missing"), [(2, False), (3, True)])
def test_only_a_launch_that_never_came_back_makes_a_report_incomplete(
    make_tree: Maker, expected: int, is_missing: bool
) -> None:
    tree = make_tree(launches=3, environs=(ENVIRON,))
    tree.fail_launch(3, ENVIRON, fail_reason="killed")
    with content(tree.path / "state.json") as state:
        state["expected"][0]["launches"] = expected
    text = renderers.render_markdown(build_report(read_tree(tree)))
    assert "1 attempt at a launch" in text
    assert f"2 of {expected} launches completed" in text
    assert ("No: 2 of 3 completed; none was disturbed." in text.replace("*", "")) == is_missing


@pytest.mark.parametrize(
    ("emulated", "label"),
    [
        (None, ""),
        ({"nodes": "namespaces"}, "EMULATED NODES"),
        ({"nodes": "namespaces", "wan_rtt_ms": 2.0}, "EMULATED WAN: RTT 2 ms"),
        ({"hub_mbit_s": 10, "nodes": "namespaces"}, "EMULATED HUB: 10 Mbit/s"),
        ({"nodes": "namespaces", "rack": "<b>"}, "EMULATED NODES; EMULATED: rack = <b>"),
    ],
)
def test_emulation_is_labelled(emulated: dict[str, Any] | None, label: str) -> None:
    facts = None if emulated is None else setting_rows(emulated)
    assert labels.launch_label(facts, False) == label
    assert labels.launch_label(facts, True) == (f"{label}; SIMULATED" if label else "SIMULATED")


def test_the_page_has_both_themes_paper_and_phones(hostile: Any) -> None:
    page = renderers.render_html(hostile)
    for query in ("prefers-color-scheme: dark", "@media print", "max-width: 700px"):
        assert query in page


def test_many_figures_and_rows_are_folded_and_none_is_left_out() -> None:
    axis = Axis("Time", Unit.US, 0, 2, False)
    curve = Curve("one", ("#000", "#fff"), ((0, 1.0, None, None, 9),))
    view = View("Time", axis, None, (curve,), ("a",))

    def page(figures: int, rows: int) -> _Tags:
        panels = tuple(
            Figure(f"f{n}", f"Figure {n}", Plot(f"{n}", "", (view,))) for n in range(figures)
        )
        cells = tuple(text_cells(f"row {n}") for n in range(rows))
        table = Table("Rows. More.", (Column("Name"),), cells)
        parts = (ReportSection("a", "A", (Gallery(("Figures.",), panels), table)),)
        return parsed(renderers.render_html(Report("Title", (), (), parts)))

    small_page, large_page = page(32, 200), page(33, 201)
    for parser, count, rows in ((small_page, 32, 200), (large_page, 33, 201)):
        names = [one.get("id") for _, one in parser.tags if one.get("class") == "panel"]
        assert names == [f"figure-f{n}" for n in range(count)]
        assert all(f"row {n}" in parser.text for n in range(rows))
    classes = [attributes.get("class") for tag, attributes in small_page.tags if tag == "details"]
    assert classes == ["part", "part"]
    assert "21 more figures; each is a file in figures/" in large_page.text
    assert "bundle/samples.parquet" in large_page.text and "201 rows: Rows" in large_page.text


def test_a_table_whose_row_lacks_a_cell_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="“Rows”: a row has not one cell for each column"):
        Table("Rows", (Column("Name"), Column("Value")), (text_cells("a"),))


def test_every_file_of_the_bundle_is_listed_with_its_digest(make_tree: Maker) -> None:
    night_data = read_tree(make_tree(launches=2, environs=(ENVIRON,)))
    text = renderers.render_markdown(build_report(night_data))
    for name, entry in night_data.manifest.data["files"].items():
        assert name.replace("_", r"\_") in text and entry["sha256"] in text


#: A sentence that fits two lines of the page.
_SHORT = 230


@pytest.fixture
def report(make_tree: Maker) -> Report:
    return build_report(read_tree(make_tree(launches=8, steady=True)))


def top_of(page: str) -> str:
    return page[page.index('id="answer"') : page.index("<nav")]


def test_questions_come_first_in_order_and_their_answers_are_short(report: Report) -> None:
    questions = [part.question for part in report.top_sections]
    study_questions = {study.name: study.question for study in load_studies()}
    toolchains = "Which MPI and which Boost is fastest here, and how fast?"
    rest = "What changed since last night?", "Did every launch complete?"
    assert questions == [study_questions["netpipe"], toolchains, *rest]
    for part in report.top_sections:
        for answer in part.answers:
            assert len(plain_text(answer.text)) <= _SHORT
    page, twin = renderers.render_html(report), renderers.render_markdown(report)
    for text in (page, twin):
        places = [text.index(question) for question in questions]
        assert places == sorted(places)
    assert twin.index("## The answer") < twin.index(questions[0]) < twin.index("\n## NetPIPE")


def test_every_section_is_folded_listed_and_reached_by_its_link(report: Report) -> None:
    page = renderers.render_html(report)
    for part in report.sections:
        pattern = (
            r'<details class="part">\s*<summary><h2>[^<]*</h2></summary>\s*'
            rf'<div class="body" id="{part.anchor}">'
        )
        assert len(re.findall(pattern, page)) == 1
        assert f'<li><a href="#{part.anchor}">' in page
    top = top_of(page)
    assert "<details" not in top
    targets = re.findall(r'href="#([^"]*)"', top)
    assert targets and all(f'id="{target}"' in page for target in targets)


def test_the_first_question_has_its_picture_at_the_top_and_once(report: Report) -> None:
    page, twin = renderers.render_html(report), renderers.render_markdown(report)
    top = top_of(page)
    picture = report.sections[0].answer_gallery
    assert picture and {figure.name for figure in picture.figures} <= {
        figure.name for figure in report.figures
    }
    for figure in picture.figures:
        mark = f'id="figure-{figure.name}"'
        assert top.count(mark) == page.count(mark) == 1
        assert twin.index(f"(figures/{figure.name}.svg)") < twin.index("\n## NetPIPE")
    # It has the ratios of the study beside its own figure.
    plots = [figure.plot for figure in picture.figures if figure.plot]
    own_plots = [plot for plot in plots if not plot.is_published]
    study_plots = [plot for plot in plots if plot.is_published]
    assert own_plots and len(study_plots) == 1
    for plot in (*own_plots, *study_plots):
        for view, study_view in zip(plot.views, study_plots[0].views, strict=True):
            assert view.shaded_range and view.shaded_range[0] < 1 < view.shaded_range[1]
            assert (view.x_axis, view.y_axis) == (study_view.x_axis, study_view.y_axis)
    curves = {curve.name: curve for curve in study_plots[0].views[0].curves}
    assert curves["MPI datatypes / bytes"].points[-1][1] == pytest.approx(160 / 4300)


def test_of_many_figures_the_first_four_stand_at_the_top(report: Report) -> None:
    part = report.sections[0]
    assert part.answer_gallery
    figures = tuple(replace(part.answer_gallery.figures[0], name=f"many-{n}") for n in range(6))
    changed_part = replace(part, answer_gallery=replace(part.answer_gallery, figures=figures))
    page = renderers.render_html(replace(report, sections=(changed_part, *report.sections[1:])))
    head, rest = top_of(page).split("<details>")
    assert "2 more figures; each is" in rest
    assert head.count('class="panel"') == 4 and rest.count('class="panel"') == 2


def test_of_curves_on_each_other_each_shows_marks_of_its_own() -> None:
    x, y = Axis("x", Unit.PURE_NUMBER, 0, 99, False), Axis("y", Unit.PURE_NUMBER, 0, 2, False)
    points = tuple((float(index), 1.0, None, None, None) for index in range(100))
    curves = tuple(Curve(f"{n}", ("#000001", "#000002"), points) for n in range(3))
    marks = "".join(Drawing("a", View("", x, y, curves)).marks())
    places = [float(x) for x in re.findall(r'cx="([\d.]+)"', marks)]
    assert 30 < len(places) == len(set(places)) <= 3 * 12


def test_what_is_fastest_stands_at_the_top_and_whole_in_its_section(report: Report) -> None:
    (part,) = [part for part in report.sections if part.anchor == "toolchains"]
    (short_table,), (full_table,) = part.summary_tables, part.verdict_tables
    assert short_table.rows == full_table.rows
    names = {cell.text for row in full_table.rows for cell in row[2:] if "faster" in cell.verdict}
    assert names == {"Open MPI 4.1", "MPICH 4.0"} or names == {"Open MPI 4.1"}
