"""The report of a search: its answer, its picture and its tables say what the launches show."""

from pathlib import Path

from support.searches import SimulatedLauncher, make_plan

from roundtrip.cause import journal, page
from roundtrip.cause.facts import Causes, Ending
from roundtrip.cause.journal import Entry, Journal, Plan
from roundtrip.cause.questions import Span
from roundtrip.content.blocks import Report, Table

OPTION = "OMPI_MCA_a_variable_with_a_name_that_fills_the_line not set → 4096"
FACTS = [OPTION, "MPI 1 → 2", "kernel 5 → 6", "compiler 12 → 14"]


def begun(search_plan: Plan, folder: Path) -> Journal:
    """A search without a launch."""
    search_journal = Journal(folder / "search")
    search_journal.begin(search_plan)
    return search_journal


def reported(folder: Path) -> Report:
    bundle = folder / "bundle"
    bundle.mkdir()
    page.make_bundle(folder / "search", bundle, "2026-11-25T13:00:00Z", None)
    return page.report(bundle)


def searched(folder: Path, search_plan: Plan, cause: str = "") -> Report:
    search_journal = begun(search_plan, folder)
    journal.run_search(search_plan, search_journal, SimulatedLauncher(cause), 5.0, lambda _: None)
    return reported(folder)


def texts(table: Table) -> list[list[str]]:
    return [[str(cell.text) for cell in row] for row in table.rows]


def test_a_cause_is_the_answer_the_picture_and_a_row(tmp_path: Path) -> None:
    report = searched(tmp_path, make_plan("blame", FACTS), OPTION)
    facts = dict(report.title_facts)
    assert facts["Started"] == "2026-11-25 12:34 UTC"
    assert "Measured" not in facts  # the title says it
    cause, rounds, _ = report.sections
    assert cause.question == "Which change did it?"
    (answer,) = cause.answers
    assert getattr(answer.text[0], "text", "") == OPTION
    (figure,) = cause.figures
    assert figure.plot is not None
    (view,) = figure.plot.views
    first, second, *_ = view.row_names
    assert first.startswith("OMPI_MCA_a") and first.endswith("set → 4096, confirmed")
    assert second.endswith("not set → 4096") and "…" in second
    assert max(map(len, view.row_names)) <= 48
    (points,) = (curve.points for curve in view.curves)
    assert all(point[2] is not None for point in points)
    (cause_row, *other_rows) = texts(cause.tables[0])
    assert cause_row[0] == OPTION and cause_row[2] == "named"
    assert {row[2] for row in other_rows} == {""}
    launch_counts = {row[0]: int(row[1]) for row in texts(rounds.tables[1])}
    assert launch_counts["all old"] == launch_counts["all new"] > 0
    assert any(name.startswith("all new but ") for name in launch_counts)
    assert facts["Launches"] == "{0} of {0} launches completed".format(sum(launch_counts.values()))


def test_of_too_few_rounds_no_share_is_printed_as_if_it_were_known() -> None:
    facts_plan = make_plan("blame", FACTS)
    ranking = ((OPTION, Span(0.9, 0.5, 1.4)), ("MPI 1 → 2", Span(-0.74, None, None)))
    result = Causes(Ending.UNKNOWN, (), None, None, None, (), ranking, 20)
    (table,) = page._tables(facts_plan, result)
    assert isinstance(table, Table)
    assert [row[1] for row in texts(table)] == ["90 % [50, 140]", "open"]
    picture = page._picture(facts_plan, result)
    assert picture is not None
    (figure,) = picture.figures
    assert figure.plot is not None and len(figure.plot.views[0].row_names) == 1


def test_a_bisection_has_a_row_for_each_probe(tmp_path: Path) -> None:
    report = searched(tmp_path, make_plan())
    cause = report.sections[0]
    assert cause.question == "Which version did it?"
    assert [getattr(part, "text", "") for part in cause.answers[0].text][1:4:2] == ["v5", "v4"]
    (figure,) = cause.figures
    assert figure.plot is not None
    assert set(figure.plot.views[0].row_names) == {row[0] for row in texts(cause.tables[0])}


def test_why_launches_failed_is_counted_and_stays_on_the_site(tmp_path: Path) -> None:
    reason = "mpirun: /home/someone/bin: not found"
    search_journal = begun(make_plan(), tmp_path)
    for at, value in enumerate((1.0, None)):
        search_journal.add(Entry(round=1, at=at, value=value, why="" if value else reason))
    assert "someone" in (search_journal.folder / journal.LAUNCHES).read_text()
    assert dict(reported(tmp_path).title_facts)["Launches"] == "1 of 2 launches completed"
    assert "someone" not in (tmp_path / "bundle" / journal.LAUNCHES).read_text()
