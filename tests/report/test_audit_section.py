"""The audit's part of a report: rows about each section by its own facts, and a bad campaign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support.audited import FACTS, TIME, chart, judged, limit, part, study_named, table
from support.bundles import RECORDED, read_tree

from roundtrip import studies
from roundtrip.report import build, data
from roundtrip.report.audit import section
from roundtrip.report.audit.section import RULES, Scope
from roundtrip.report.audit.subject import Chapter
from roundtrip.report.blocks import Part, Table
from roundtrip.report.plot import LINK, Plot, Scale
from roundtrip.report.units import Unit
from roundtrip.studies.derivation import Facts


def rows(part: Part) -> list[list[str]]:
    """The table of the audit, which comes last in its part."""
    rules = part.blocks[-1]
    assert isinstance(rules, Table)
    return [[cell.text for cell in row] for row in rules.rows]


def test_what_a_figure_draws_is_what_its_views_say() -> None:
    ratio = replace(limit(), y=Scale("Ratio to raw MPI", Unit.RATIO, 0, 2, False))
    plot = Plot("one", "", (chart(), ratio))
    size = "Message size (bytes)"
    axes = [axis.title for view in plot.views for axis in (view.x, view.y) if axis]
    assert axes == [size, "Time (µs)", size, "Ratio to raw MPI"]
    assert [view.joined_points for view in plot.views] == [("sizes",)] * 2
    assert (plot.has_intervals, plot.views[0].bounds, ratio.bounds) == (True, (), (LINK,))
    bound_curve = replace(plot.views[0].curves[0], bound="ideal")
    assert replace(ratio, curves=(bound_curve,)).joined_points == (), "nothing is measured on it"
    assert replace(ratio, curves=(bound_curve,)).bounds == (LINK, "ideal")


def test_each_sentence_is_about_one_section_and_rests_on_its_facts(
    make_tree: Callable[..., Any],
) -> None:
    bundle_data = read_tree(make_tree(launches=6, environs=("openmpi41-boost181",)))
    chapter = Chapter(part(table()), FACTS, study_named("thing", "A thing"), tuple(judged()))
    bare_chapter = Chapter(part(), Facts(), study_named("another", "Another"), ())
    texts = rows(section.part(bundle_data, judged(), [chapter, bare_chapter], []))
    assert {row[0] for row in texts} == {f"C{number}" for number in range(1, len(RULES) + 1)}
    outcomes = {(row[0], row[2]): (row[3], row[4]) for row in texts}
    assert outcomes["C3", "A thing"] == ("pass", str(TIME))
    assert outcomes["C3", "Another"] == (
        "not applicable",
        "missing fact: how each number is summarised",
    )
    # The bundle's launches are of a study that no chapter is about: it has rows of its own.
    other_studies = {row[2] for row in texts} - {"A thing", "Another", "The campaign"}
    assert other_studies == {bundle_data.launches["study"][0]}
    assert {row[0] for row in texts if row[2] in other_studies} == {
        f"C{number}" for number, rule in enumerate(RULES, 1) if rule.scope is Scope.LAUNCHES
    }


def test_what_older_bundles_lack_is_a_missing_fact() -> None:
    bundle_data = data.read(RECORDED / "ring")
    texts = rows(section.part(bundle_data, {}, [], []))
    outcomes = {row[2]: row[3:] for row in texts if row[0] == "C15"}
    missing_fact = ["not applicable", "missing fact: how many samples each launch took"]
    assert outcomes == dict.fromkeys(bundle_data.launches["study"], missing_fact)


def test_a_bad_campaign_fails(make_tree: Callable[..., Any]) -> None:
    """Too few launches, nothing recorded, a clock too coarse, no word on warm-up."""
    tree = make_tree(launches=3, environs=("openmpi41-boost181",))
    clock = {"name": "gettimeofday", "resolution_s": 1e-5, "overhead_s": 1e-5}
    tree.amend("run.json", compiler=None, placement=None, warmup_discarded=None, clock=clock)
    bundle_data = read_tree(tree)
    report = build.build(bundle_data)
    texts = rows(report.parts[-1])
    study = studies.get(bundle_data.launches["study"][0])
    results = {row[0]: row[3] for row in texts if row[2] == study.title}
    for rule in ("C5", "C8", "C9", "C10", "C12", "C13", "C18"):
        assert results[rule] == "fail", rule
    assert results["C14"] == "not applicable"
    # What can be seen in the report as it is laid out is in order all the same.
    for rule in ("C1", "C3", "C4", "C6", "C15", "C16", "C21", "C22"):
        assert results[rule] == "pass", rule
    titles = {row[2] for row in texts}
    assert titles <= {study.title, "The campaign", *(part.title for part in report.parts)}


def test_a_report_of_an_older_bundle_prints_the_thresholds_that_came_later() -> None:
    report = build.build(data.read(RECORDED / "ring"))
    outcomes = [row[3:] for row in rows(report.parts[-1]) if row[0] == "C21"]
    assert {result for result, _ in outcomes} == {"pass"}
    assert any("least_goodput" in evidence for _, evidence in outcomes)
