"""A search on disk: it goes on after a kill, says when a budget cannot suffice, and is replayed."""

from __future__ import annotations

import time
from collections.abc import Hashable
from pathlib import Path

import numpy as np
import pytest

from roundtrip.cause import journal
from roundtrip.cause.facts import Causes, Ending
from roundtrip.cause.journal import Entry, Journal, Plan
from roundtrip.cause.order import Changes
from roundtrip.errors import UserError

STEP, FIRST = 0.2, 5


def plan(kind: str = "bisect", arms: int = 9) -> Plan:
    return Plan(
        kind=kind,  # type: ignore[arg-type]
        title="Which?",
        measures="time",
        name="bisect-git",
        site="local",
        started="2026-11-25T12:00:00Z",
        seed=3,
        arms=[f"v{number}" for number in range(arms)],
        step=STEP if kind == "blame" else 0.05,
    )


class Played:
    """Launches of known speed; the `dies`-th raises what a kill looks like from inside."""

    def __init__(self, dies: int = 0, unbuilt: tuple[int, ...] = (), sleep_s: float = 0.0) -> None:
        self.rng = np.random.default_rng(1)
        self.dies, self.unbuilt, self.sleep_s = dies, unbuilt, sleep_s
        self.launched = 0

    def build(self, arm: Hashable) -> str:
        return "make: error\x07" if arm in self.unbuilt else ""

    def launch(self, arm: Hashable) -> float:
        self.launched += 1
        if self.launched == self.dies:
            raise KeyboardInterrupt
        time.sleep(self.sleep_s)
        if isinstance(arm, frozenset):
            slow = "v1" in arm
        else:
            assert isinstance(arm, int)
            slow = arm >= FIRST
        return float(np.exp(STEP * slow + 0.01 * self.rng.standard_normal()))


def run(folder: Path, played: Played, planned: Plan | None = None, minutes: float = 5.0) -> object:
    opened = Journal(folder)
    if (folder / journal.PLAN).exists():
        planned = opened.read()
    else:
        planned = planned or plan()
        opened.begin(planned)
    return journal.run_search(planned, opened, played, minutes, lambda _: None)


def test_a_killed_search_goes_on_with_the_next_launch(tmp_path: Path) -> None:
    folder = tmp_path / "search"
    with pytest.raises(KeyboardInterrupt):
        run(folder, Played(dies=40))
    assert len(journal.read_entries(folder)) == 39
    with (folder / journal.LAUNCHES).open("a") as stream:
        stream.write('{"round":14,"at"')  # as a kill in the middle of a line leaves it
    played = Played()
    found = run(folder, played)
    assert isinstance(found, Changes)
    assert [(one.before, one.after) for one in found.changes] == [(FIRST - 1, FIRST)]
    entries = journal.read_entries(folder)
    assert len(entries) == 39 + played.launched == found.launches
    assert len({(one.round, one.at) for one in entries}) == len(entries), "no launch twice"


def test_a_search_that_ended_is_found_again_from_its_launches(tmp_path: Path) -> None:
    found = run(tmp_path / "search", Played())
    again, questions = journal.replay(plan(), journal.read_entries(tmp_path / "search"))
    assert again == found and questions[0].arms == (0, 8)
    assert all(0 <= one.seconds < 10 for one in journal.read_entries(tmp_path / "search"))
    part, _ = journal.replay(plan(), journal.read_entries(tmp_path / "search")[:60])
    assert isinstance(part, Changes) and not part.changes and part.open_intervals


def test_facts_are_searched_likewise(tmp_path: Path) -> None:
    found = run(tmp_path / "search", Played(), plan("blame", 3))
    assert isinstance(found, Causes)
    assert (found.ending, found.causes) == (Ending.FOUND, ("v1",))


def test_a_version_that_cannot_be_built_is_skipped_with_a_printable_reason(tmp_path: Path) -> None:
    found = run(tmp_path / "search", Played(unbuilt=(4,)))
    assert isinstance(found, Changes)
    assert found.skip_reasons == {4: "make: error?"}
    assert [(one.before, one.after) for one in found.changes] == [(3, 5)]


def test_a_budget_that_cannot_suffice_is_refused_after_one_round(tmp_path: Path) -> None:
    played = Played(sleep_s=0.02)
    with pytest.raises(UserError, match="cannot suffice: a round takes .* right is more than"):
        run(tmp_path / "search", played, minutes=0.001)
    assert played.launched == 2


def test_time_that_is_over_leaves_the_answer_open(tmp_path: Path) -> None:
    found = run(tmp_path / "search", Played(sleep_s=0.003), minutes=0.0035)
    assert isinstance(found, Changes) and not found.changes


@pytest.mark.parametrize(
    ("line", "why"),
    [('{"round": 0}', "round"), ("[1]", "an object"), ('{"round": 1, "value": "x"}', "value")],
)
def test_a_damaged_journal_is_one_line_with_its_place(tmp_path: Path, line: str, why: str) -> None:
    opened = Journal(tmp_path / "search")
    opened.begin(plan())
    opened.add(Entry(round=1, at=0, value=0.1))
    with (opened.folder / journal.LAUNCHES).open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(UserError, match=why) as error:
        Journal(opened.folder).read()
    assert error.value.line == 2
