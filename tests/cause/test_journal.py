"""A search on disk: it goes on after a kill, refuses a budget, is replayed, and is reported."""

import time
from collections.abc import Hashable
from pathlib import Path

import pytest
from support.json_files import content
from support.searches import FIRST, VERSIONS, SimulatedLauncher, make_plan

from roundtrip.cause import facts, journal, page
from roundtrip.cause.facts import Causes, Ending
from roundtrip.cause.journal import Entry, Journal, Plan
from roundtrip.cause.order import Changes
from roundtrip.cause.questions import Span
from roundtrip.content.blocks import Report, Table
from roundtrip.errors import UserError
from roundtrip.sites.schedulers.interface import NoAnswerError


def begun(search_plan: Plan, folder: Path) -> Journal:
    """A search without a launch."""
    search_journal = Journal(folder / "search")
    search_journal.begin(search_plan)
    return search_journal


def run(folder: Path, launcher: SimulatedLauncher, minutes: float = 5.0) -> object:
    place = folder / "search"
    search = Journal(place) if place.exists() else begun(make_plan(), folder)
    return journal.run_search(search.read(), search, launcher, minutes, lambda _: None)


def test_a_killed_search_goes_on_with_the_next_launch(tmp_path: Path) -> None:
    folder = tmp_path / "search"
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, SimulatedLauncher(interrupted_launch=40))
    assert len(journal.read_entries(folder)) == 39
    with (folder / journal.LAUNCHES).open("a") as stream:
        stream.write('{"round":14,"at"')  # as a kill in the middle of a line leaves it
    launcher = SimulatedLauncher()
    result = run(tmp_path, launcher)
    assert isinstance(result, Changes)
    assert [(change.before, change.after) for change in result.changes] == [(FIRST - 1, FIRST)]
    entries = journal.read_entries(folder)
    assert len(entries) == 39 + launcher.launched == result.launches
    assert len({(entry.round, entry.at) for entry in entries}) == len(entries), "no launch twice"


def test_a_search_that_ended_is_found_again_from_its_launches(tmp_path: Path) -> None:
    result = run(tmp_path, SimulatedLauncher())
    copy, questions = journal.replay(make_plan(), journal.read_entries(tmp_path / "search"))
    assert copy == result and questions[0].arms == (0, 8)
    assert all(0 <= entry.seconds < 10 for entry in journal.read_entries(tmp_path / "search"))
    part, _ = journal.replay(make_plan(), journal.read_entries(tmp_path / "search")[:60])
    assert isinstance(part, Changes) and not part.changes and part.open_intervals


def test_a_version_that_cannot_be_built_is_skipped_with_a_printable_reason(tmp_path: Path) -> None:
    result = run(tmp_path, SimulatedLauncher(failing_builds=(4,)))
    assert isinstance(result, Changes)
    assert result.skip_reasons == {4: "make: error?"}
    assert [(change.before, change.after) for change in result.changes] == [(3, 5)]


def test_a_budget_that_cannot_suffice_is_refused_after_one_round(tmp_path: Path) -> None:
    launcher = SimulatedLauncher(sleep_s=0.02)
    with pytest.raises(UserError, match="cannot suffice: a round takes .* right is more than"):
        run(tmp_path, launcher, minutes=0.001)
    assert launcher.launched == 2


def test_time_that_is_over_leaves_the_answer_open(tmp_path: Path) -> None:
    result = run(tmp_path, SimulatedLauncher(sleep_s=0.05), minutes=0.05)
    assert isinstance(result, Changes) and not result.changes


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path))


@pytest.mark.usefixtures("runs")
def test_a_search_of_other_commands_is_not_resumed() -> None:
    old, new = (make_plan().model_copy(update={"digest": letter * 64}) for letter in "ab")
    journal.open_journal(old, resume=False)
    assert journal.open_journal(old, resume=True)[0] == old
    with pytest.raises(UserError, match="began with other arguments"):
        journal.open_journal(new, resume=True)


@pytest.mark.usefixtures("runs")
def test_a_night_goes_on_with_a_search_that_has_a_round_and_begins_others_anew() -> None:
    """Launches that fail at once end a search: to go on with it would end it again."""
    search_plan = make_plan("blame", VERSIONS[:3])
    assert not journal.is_begun(search_plan)
    _, search_journal = journal.open_journal(search_plan, resume=False)
    for at in range(facts.LAUNCHES_A_ROUND):
        search_journal.add(Entry(round=1, at=at, why="Slurm is down"))
    assert not journal.is_begun(search_plan)
    for at in range(facts.LAUNCHES_A_ROUND):
        search_journal.add(Entry(round=2, at=at, value=0.1))
    assert journal.is_begun(search_plan)
    assert not journal.is_begun(search_plan.model_copy(update={"title": "Another?"}))


@pytest.mark.usefixtures("runs")
def test_a_plan_without_a_digest_of_its_commands_is_resumed() -> None:
    """As the first release wrote it."""
    _, search_journal = journal.open_journal(make_plan(), resume=False)
    with content(search_journal.folder / journal.PLAN) as plan:
        del plan["digest"]
    new = make_plan().model_copy(update={"digest": "a" * 64})
    assert journal.open_journal(new, resume=True)[0] == make_plan()


def test_a_launch_may_take_what_is_left_of_the_budget_and_a_round(tmp_path: Path) -> None:
    launcher = SimulatedLauncher(sleep_s=0.01)
    run(tmp_path, launcher, minutes=0.05)
    assert 2.9 < launcher.limits_s[0] <= 3
    assert max(launcher.limits_s) < 3.5 and min(launcher.limits_s) < launcher.limits_s[0] - 0.2


def test_launches_end_with_the_round_in_which_one_hung(tmp_path: Path) -> None:
    """It has failed; the others have no result, so that a resumed search makes them."""

    class Hung(SimulatedLauncher):
        def launch(self, arm: Hashable, limit_s: float | None = None) -> float:
            super().launch(arm, limit_s)
            assert limit_s is not None
            time.sleep(limit_s)
            raise UserError("took too long")

    launcher = Hung()
    with pytest.raises(UserError, match="cannot suffice"):
        run(tmp_path, launcher, minutes=0.0001)
    (entry,) = journal.read_entries(tmp_path / "search")
    assert launcher.launched == 1 and entry.value is None and entry.why == "took too long"


@pytest.mark.parametrize("launches", [0, 7])
def test_a_scheduler_that_allows_no_launch_ends_the_time(tmp_path: Path, launches: int) -> None:
    """However long it was waited for in the first round, the budget was not too short."""

    class Refused(SimulatedLauncher):
        def launch(self, arm: Hashable, limit_s: float | None = None) -> float:
            if self.launched == launches:
                time.sleep(0.1)
                raise NoAnswerError("Slurm did not\x07 answer")
            return super().launch(arm, limit_s)

    lines = list[str]()
    search_plan = make_plan("blame", VERSIONS[:3])
    search_journal = begun(search_plan, tmp_path)
    minutes = 0.5 / 60 if not launches else 5.0
    result = journal.run_search(search_plan, search_journal, Refused(), minutes, lines.append)
    assert isinstance(result, Causes) and result.ending is Ending.UNKNOWN
    entries = journal.read_entries(tmp_path / "search")
    assert len(entries) == launches and all(entry.value is not None for entry in entries)
    assert lines == ["no launch is possible: Slurm did not? answer"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [('{"round": 0}', "round"), ("[1]", "an object"), ('{"round": 1, "value": "x"}', "value")],
)
def test_a_damaged_journal_is_one_line(tmp_path: Path, line: str, complaint: str) -> None:
    search_journal = begun(make_plan(), tmp_path)
    search_journal.add(Entry(round=1, at=0, value=0.1))
    with (search_journal.folder / journal.LAUNCHES).open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(UserError, match=complaint) as error:
        Journal(search_journal.folder).read()
    assert error.value.line == 2


OPTION = "OMPI_MCA_a_variable_with_a_name_that_fills_the_line not set → 4096"
FACTS = [OPTION, "MPI 1 → 2", "kernel 5 → 6", "compiler 12 → 14"]


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
