"""The top of a page: questions with short answers and a small figure; the rest is folded."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from roundtrip import studies
from roundtrip.collect import bundle
from roundtrip.report import data, drawing, painter, renderers
from roundtrip.report.blocks import Report
from roundtrip.report.build import build
from roundtrip.report.plot import Curve, Plot, Scale, View
from roundtrip.report.units import Unit

#: A line that a reader takes in at one glance.
_SHORT = 140


@pytest.fixture
def report(make_tree: Callable[..., Any]) -> Report:
    return build(data.read(bundle.build(make_tree(launches=8, steady=True).path)))


def test_questions_come_first_in_order_and_their_answers_are_short(report: Report) -> None:
    questions = [part.question for part in report.asked]
    asked = {study.name: study.question for study in studies.load()}
    assert questions == [
        asked["netpipe"],
        "Which MPI and which Boost is fastest here?",
        "Did every launch complete?",
    ]
    for part in report.asked:
        for answer in part.answers:
            assert len("".join(str(getattr(word, "text", word)) for word in answer.text)) <= _SHORT
    page, twin = renderers.html(report), renderers.markdown(report)
    for text in (page, twin):
        places = [text.index(question) for question in questions]
        assert places == sorted(places)
    assert twin.index("## The answer") < twin.index(questions[0]) < twin.index("\n## NetPIPE")


def test_every_section_is_folded_listed_and_reached_by_its_link(report: Report) -> None:
    page = renderers.html(report)
    for part in report.parts:
        folded = (
            r'<details class="part">\s*<summary><h2>[^<]*</h2></summary>\s*'
            rf'<div class="body" id="{part.anchor}">'
        )
        assert len(re.findall(folded, page)) == 1
        assert f'<li><a href="#{part.anchor}">' in page
    top = page[page.index('id="answer"') : page.index("<nav")]
    assert "<details" not in top
    targets = re.findall(r'href="#([^"]*)"', top)
    assert targets and all(f'id="{target}"' in page for target in targets)
    # The picture of the first question leads to its first figure.
    assert f'<a class="spark" href="#figure-{report.parts[0].figures[0].name}"><svg' in top


def test_what_is_fastest_stands_at_the_top_and_whole_in_its_section(report: Report) -> None:
    (part,) = [one for one in report.parts if one.anchor == "toolchains"]
    (small,), (whole,) = part.summary, part.verdicts
    assert small.rows == whole.rows
    names = {cell.text for row in whole.rows for cell in row[2:] if "faster" in cell.verdict}
    assert names == {"Open MPI 4.1", "MPICH 4.0"} or names == {"Open MPI 4.1"}


def test_a_small_figure_shows_every_curve_inside_its_frame() -> None:
    x, y = Scale("x", Unit.PURE, 1, 1000, True), Scale("y", Unit.PURE, 0.001, 1e6, True)
    curves = tuple(
        Curve(
            f"<{name}>",
            ("#000001", "#000002"),
            ((1, 3.0 + name, None, None, None), (5000, 80.0, 1, 2, 9)),
        )
        for name in range(3)
    )
    svg = painter.spark(Plot("", "", (View("", x, y, curves),)), '"<b>')
    assert svg.count('<path class="line"') == 3 and "<b>" not in svg
    numbers = [float(value) for pair in re.findall(r"[ML]([\d.]+),([\d.]+)", svg) for value in pair]
    assert min(numbers) >= 0 and max(numbers) <= drawing.SMALL[0]
    heights = [float(value) for value in re.findall(r"[ML][\d.]+,([\d.]+)", svg)]
    # What is drawn fills the frame.
    assert min(heights) < 10 and max(heights) > drawing.SMALL[1] - 10


def test_a_small_figure_of_rows_has_a_dot_for_each_value() -> None:
    scale = Scale("x", Unit.PURE, -5, 20, False)
    dots = Curve("a", ("#111111", "#222222"), ((0, 3, None, None, 1), (1, -5, -5, 20, 1)), width=0)
    svg = painter.spark(Plot("", "", (View("", scale, None, (dots,), ("one", "two")),)), "alt")
    assert svg.count("<circle") == 2 and svg.count('class="rule"') == 1
