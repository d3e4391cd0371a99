"""The top of a page: questions with short answers and a picture; the rest is folded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from roundtrip import studies
from roundtrip.measure import bundle
from roundtrip.report import data, renderers
from roundtrip.report.blocks import Report, plain_text
from roundtrip.report.build import build
from roundtrip.report.drawing import Drawing
from roundtrip.report.plot import Curve, Scale, View
from roundtrip.report.units import Unit

#: A sentence that fits two lines of the page.
_SHORT = 220


@pytest.fixture
def report(make_tree: Callable[..., Any]) -> Report:
    return build(data.read(bundle.build(make_tree(launches=8, steady=True).path)))


def test_questions_come_first_in_order_and_their_answers_are_short(report: Report) -> None:
    questions = [part.question for part in report.top_parts]
    study_questions = {study.name: study.question for study in studies.load()}
    assert questions == [
        study_questions["netpipe"],
        "Which MPI and which Boost is fastest here, and how fast?",
        "What changed since last night?",
        "Did every launch complete?",
    ]
    for part in report.top_parts:
        for answer in part.answers:
            assert len(plain_text(answer.text)) <= _SHORT
    page, twin = renderers.html(report), renderers.markdown(report)
    for text in (page, twin):
        places = [text.index(question) for question in questions]
        assert places == sorted(places)
    assert twin.index("## The answer") < twin.index(questions[0]) < twin.index("\n## NetPIPE")


def test_every_section_is_folded_listed_and_reached_by_its_link(report: Report) -> None:
    page = renderers.html(report)
    for part in report.parts:
        pattern = (
            r'<details class="part">\s*<summary><h2>[^<]*</h2></summary>\s*'
            rf'<div class="body" id="{part.anchor}">'
        )
        assert len(re.findall(pattern, page)) == 1
        assert f'<li><a href="#{part.anchor}">' in page
    top = page[page.index('id="answer"') : page.index("<nav")]
    assert "<details" not in top
    targets = re.findall(r'href="#([^"]*)"', top)
    assert targets and all(f'id="{target}"' in page for target in targets)


def test_the_first_question_has_its_picture_at_the_top_and_once(report: Report) -> None:
    page, twin = renderers.html(report), renderers.markdown(report)
    top = page[page.index('id="answer"') : page.index("<nav")]
    picture = report.parts[0].picture
    assert picture and {figure.name for figure in picture.figures} <= {
        figure.name for figure in report.figures
    }
    for figure in picture.figures:
        mark = f'id="figure-{figure.name}"'
        assert top.count(mark) == page.count(mark) == 1
        assert twin.index(f"(figures/{figure.name}.svg)") < twin.index("\n## NetPIPE")


def test_the_picture_has_the_ratios_of_the_study_beside_its_own_figure(report: Report) -> None:
    picture = report.parts[0].picture
    assert picture
    plots = [figure.plot for figure in picture.figures if figure.plot]
    own_plots = [plot for plot in plots if not plot.is_published]
    study_plots = [plot for plot in plots if plot.is_published]
    assert own_plots and len(study_plots) == 1
    for plot in (*own_plots, *study_plots):
        for view, study_view in zip(plot.views, study_plots[0].views, strict=True):
            assert view.strip and view.strip[0] < 1 < view.strip[1]
            assert (view.x, view.y) == (study_view.x, study_view.y)
    curves = {curve.name: curve for curve in study_plots[0].views[0].curves}
    assert curves["MPI datatypes / bytes"].points[-1][1] == pytest.approx(160 / 4300)


def test_of_many_figures_the_first_four_stand_at_the_top(report: Report) -> None:
    part = report.parts[0]
    assert part.picture
    figures = tuple(replace(part.picture.figures[0], name=f"many-{n}") for n in range(6))
    changed_part = replace(part, picture=replace(part.picture, figures=figures))
    page = renderers.html(replace(report, parts=(changed_part, *report.parts[1:])))
    top = page[page.index('id="answer"') : page.index("<nav")]
    head, rest = top.split("<details>")
    assert "2 more figures; each is" in rest
    assert head.count('class="panel"') == 4 and rest.count('class="panel"') == 2


def test_of_curves_on_each_other_each_shows_marks_of_its_own() -> None:
    x, y = Scale("x", Unit.PURE, 0, 99, False), Scale("y", Unit.PURE, 0, 2, False)
    points = tuple((float(index), 1.0, None, None, None) for index in range(100))
    curves = tuple(Curve(f"{n}", ("#000001", "#000002"), points) for n in range(3))
    marks = "".join(Drawing("a", View("", x, y, curves)).marks())
    places = [float(x) for x in re.findall(r'cx="([\d.]+)"', marks)]
    assert 30 < len(places) == len(set(places)) <= 3 * 12


def test_what_is_fastest_stands_at_the_top_and_whole_in_its_section(report: Report) -> None:
    (part,) = [part for part in report.parts if part.anchor == "toolchains"]
    (short_table,), (full_table,) = part.summary, part.verdicts
    assert short_table.rows == full_table.rows
    names = {cell.text for row in full_table.rows for cell in row[2:] if "faster" in cell.verdict}
    assert names == {"Open MPI 4.1", "MPICH 4.0"} or names == {"Open MPI 4.1"}
