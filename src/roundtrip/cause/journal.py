"""A search on disk, its plan (search.json) and its launches (launches.jsonl), and how it runs.

A launch is written as soon as it ends, in the order that the seed draws for its round, so that a
killed search resumes with the next launch.
"""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Annotated, Literal, Protocol

import numpy as np
from pydantic import Field

from roundtrip import files, model, paths
from roundtrip.cause import facts, order, questions
from roundtrip.cause.facts import Causes
from roundtrip.cause.order import Changes
from roundtrip.cause.questions import Answer, Question, Search
from roundtrip.errors import UserError, printable, report_write_errors
from roundtrip.measure import store
from roundtrip.model import Name, Record, StrictRecord, Text, UtcTime
from roundtrip.sites.schedulers.interface import NoAnswerError

PLAN, LAUNCHES = store.SEARCH_FILE, "launches.jsonl"
#: Minimum number of rounds of a search that decides anything.
MIN_SEARCH_ROUNDS = 10
#: Minimum time that a round may take, s.
_MIN_ROUND_S = 1.0
#: Maximum length of a reason, in characters.
_MAX_REASON_LENGTH = 300
#: Number of simulated searches for a forecast, and maximum number of launches of each.
_SIMULATIONS, _MOST = 3, 3000
Tell = Callable[[str], None]


def now() -> str:
    """The current UTC time, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Plan(StrictRecord):
    """What a search asks: `arms` are the facts, or the versions in their order.

    `step` is the log ratio of the step to explain; among versions, the least one that counts.
    `others` are facts that differ but cannot be switched from here, each with what would test it.
    `digest` is the digest of the commands that measure the versions, "" for facts: a plan is
    published without its commands.
    """

    schema_: Literal[1] = Field(alias="schema", default=1)
    kind: Literal["blame", "bisect"]
    title: Text
    measures: Text
    name: Name
    site: Name
    started: UtcTime
    seed: Annotated[int, Field(ge=0)]
    arms: Annotated[list[Text], Field(min_length=1, max_length=100_000)]
    step: Annotated[float, Field(ge=-10, le=10)]
    others: list[list[Text]] = Field(default_factory=list)
    digest: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""

    def search(self) -> Search[Causes | Changes]:
        """A new search with this plan."""
        if self.kind == "blame":
            return facts.find_causes(self.arms, self.step, self.seed)
        return order.find_changes(len(self.arms), abs(self.step))


class Entry(Record):
    """A line of launches.jsonl: a launch, or, without `at`, why arms of a round cannot be built."""

    round: Annotated[int, Field(ge=1)]
    at: Annotated[int, Field(ge=0)] | None = None
    value: Annotated[float, Field(ge=-200, le=200)] | None = None
    seconds: Annotated[float, Field(ge=0)] = 0.0
    why: Annotated[str, Field(max_length=_MAX_REASON_LENGTH)] = ""
    unbuilt: dict[str, Annotated[str, Field(max_length=_MAX_REASON_LENGTH)]] = Field(
        default_factory=dict
    )


class Launcher(Protocol):
    """Builds and launches the arms of a search."""

    def build(self, arm: Hashable) -> str:
        """Build an arm unless it is built already; return why that failed, else ""."""

    def launch(self, arm: Hashable, limit_s: float | None = None) -> float:
        """The result of a launch, above 0; lower is better.  UserError if the launch failed.

        `limit_s`: how long it may take; None for no limit.  NoAnswerError if no launch was possible
        until then.
        """


@dataclass
class Journal:
    """The folder of a search."""

    folder: Path
    entries: list[Entry] = field(default_factory=list)

    def read(self) -> Plan:
        """Read the entries, drop an incomplete last line, return the plan; UserError if invalid."""
        self.entries = read_entries(self.folder)
        file = self.folder / LAUNCHES
        if file.exists() and not (content := file.read_bytes()).endswith(b"\n"):
            os.truncate(file, content.rfind(b"\n") + 1)
        return read_plan(self.folder)

    def begin(self, plan: Plan) -> None:
        """Make the folder of a new search."""
        self.folder.mkdir(parents=True)
        write_plan(plan, self.folder)

    def add(self, entry: Entry) -> None:
        """Append an entry, and sync it to the disk."""
        with (self.folder / LAUNCHES).open("a", encoding="utf-8") as stream:
            stream.write(entry.model_dump_json(exclude_defaults=True) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        self.entries.append(entry)


def write_plan(plan: Plan, folder: Path) -> None:
    """Write search.json."""
    text = json.dumps(plan.model_dump(by_alias=True), indent=1, ensure_ascii=False)
    (folder / PLAN).write_text(text + "\n", encoding="utf-8")


def read_plan(folder: Path) -> Plan:
    """Read search.json; UserError for invalid content."""
    data = files.read_json(folder / PLAN)
    if fault := model.find_fault(Plan, data):
        raise UserError(str(fault), folder / PLAN)
    return Plan.model_validate(data)


def read_entries(folder: Path) -> list[Entry]:
    """Read launches.jsonl without an incomplete last line.  UserError for an invalid line."""
    file = folder / LAUNCHES
    if not file.exists():
        return []
    entries = []
    for number, line in enumerate(files.read_text(file).split("\n")[:-1], 1):
        data = files.parse_json(line, file, number)
        if fault := model.find_fault(Entry, data):
            raise UserError(str(fault), file, number)
        entries.append(Entry.model_validate(data))
    return entries


def has_round(entries: Sequence[Entry]) -> bool:
    """Whether all launches of a round of facts completed: a search without one knows nothing."""
    counts = Counter(entry.round for entry in entries if entry.value is not None)
    return max(counts.values(), default=0) >= facts.LAUNCHES_A_ROUND


def answers(entries: Sequence[Entry], question: Question, number: int) -> Answer | None:
    """The answer of round `number` to `question`; None if launches are missing."""
    round_entries = [entry for entry in entries if entry.round == number]
    if faults := {key: reason for entry in round_entries for key, reason in entry.unbuilt.items()}:
        arms = {arm_name(arm): arm for arm in question.arms}
        reasons = {arms[key]: reason for key, reason in faults.items() if key in arms}
        return Answer([None] * len(question.arms), reasons)
    values = {entry.at: entry.value for entry in round_entries if entry.at is not None}
    places = range(len(question.arms))
    return Answer([values[at] for at in places]) if values.keys() >= {*places} else None


def arm_name(arm: Hashable) -> str:
    """The name of an arm in a journal: the index of a version, or the facts that are new."""
    return " + ".join(sorted(arm)) or "all old" if isinstance(arm, frozenset) else str(arm)


def replay(plan: Plan, entries: Sequence[Entry]) -> tuple[Causes | Changes, list[Question]]:
    """Repeat a search until its entries end; return its result and its questions."""
    asked: list[Question] = []

    def answer(question: Question) -> Answer | None:
        asked.append(question)
        return answers(entries, question, len(asked))

    return questions.run(plan.search(), answer), asked


def is_begun(plan: Plan) -> bool:
    """Whether the newest search has the title and arms of `plan`, and a round; an ended one has a
    report.

    Launches that failed at once may have ended a search without a round: it is begun anew.
    """
    newest = _newest_journal(plan)
    if newest is None:
        return False
    saved_plan = newest.read()
    is_same = (saved_plan.title, saved_plan.arms) == (plan.title, plan.arms)
    return is_same and has_round(newest.entries)


def _newest_journal(plan: Plan) -> Journal | None:
    plan_files = sorted((paths.runs() / plan.name / plan.site).glob(f"*/{PLAN}"))
    return Journal(plan_files[-1].parent) if plan_files else None


def open_journal(plan: Plan, resume: bool) -> tuple[Plan, Journal]:
    """The plan and journal of a new search or, with `resume`, of the newest search of that name.

    UserError if there is none to resume, or if its plan differs from `plan`.
    """
    place = paths.runs() / plan.name / plan.site
    if not resume:
        new_journal = Journal(place / plan.started.replace("-", "").replace(":", ""))
        with report_write_errors(place):
            new_journal.begin(plan)
        return plan, new_journal
    newest = _newest_journal(plan)
    if newest is None:
        raise UserError(f"no search '{plan.name}' on site '{plan.site}' to resume", place)
    saved_plan = newest.read()
    # A later night estimates the same step anew; an older plan has no digest.
    free_fields = [
        *("seed", "started"),
        *(("step", "others") if plan.kind == "blame" else ()),
        *(() if saved_plan.digest else ("digest",)),
    ]
    overrides = {name: getattr(saved_plan, name) for name in free_fields}
    if plan.model_copy(update=overrides) != saved_plan:
        why = "this search began with other arguments; start a new one"
        raise UserError(why, newest.folder / PLAN)
    return saved_plan, newest


def forecast(plan: Plan, noise: float, log_ratio: float) -> str:
    """A sentence with the expected number of launches of a search: the median of simulated searches
    with normal noise of standard deviation `noise` and a step of `log_ratio`, both in logarithms.
    """
    rng = np.random.default_rng(plan.seed)

    def effect(arm: Hashable) -> float:
        if isinstance(arm, int):
            return log_ratio * (arm >= len(plan.arms) // 2)
        return log_ratio * (isinstance(arm, frozenset) and plan.arms[0] in arm)

    counts = [
        questions.simulate(plan.search(), effect, questions.normal(noise), rng, _MOST).launches
        for _ in range(_SIMULATIONS)
    ]
    median = int(np.median(counts))
    count = f"about {median}" if median < _MOST else f"more than {_MOST}"
    halvings = math.ceil(math.log2(max(2, len(plan.arms) - 1)))
    builds = f" and {2 + halvings} versions" if plan.kind == "bisect" else ""
    size = 100 * math.expm1(abs(log_ratio))
    return (
        f"expected: {count} launches{builds}, if the step is {size:.3g} % and launches scatter by "
        f"{100 * noise:.3g} %"
    )


def require_budget(minutes: float, launch_s: float, launches_a_round: int) -> None:
    """UserError if `minutes` are too few to decide anything by launches of `launch_s` seconds."""
    count = MIN_SEARCH_ROUNDS * launches_a_round
    _require_minutes(minutes, count, launch_s, f"a launch takes {launch_s:.3g} s")


def _require_minutes(minutes: float, count: int, seconds: float, words: str) -> None:
    """UserError if `minutes` are too few for `count` launches or rounds of `seconds` each."""
    min_minutes = count * seconds / 60
    if min_minutes > minutes:
        raise UserError(
            f"the budget of {minutes:g} min cannot suffice: {words}, and at least {count} are "
            f"needed; right is more than {math.ceil(min_minutes)} min"
        )


def run_search(
    plan: Plan, journal: Journal, launcher: Launcher, minutes: float, tell: Tell
) -> Causes | Changes:
    """Run a search from the end of its journal by at most `minutes` of launches; return its result.

    Build time does not count.  The time is over, too, when the scheduler allows no launch.
    UserError for a budget that is too short, or if another process runs the search.
    """
    left_s, lengths, numbers = 60 * minutes, list[float](), count(1)

    def answer(question: Question) -> Answer | None:
        nonlocal left_s
        number = next(numbers)
        known = answers(journal.entries, question, number)
        if known or (lengths and statistics.median(lengths) > left_s):
            return known
        if faults := _build_arms(question, launcher, tell):
            journal.add(Entry(round=number, unbuilt=faults))
            return answers(journal.entries, question, number)
        start = time.monotonic()
        # A round that took as long as the others may end; a launch that hangs may not.
        limit_s = max(left_s, _MIN_ROUND_S) + statistics.median(lengths or [0.0])
        is_over = not _launch(plan, journal, launcher, question, number, start + limit_s, tell)
        lengths.append(time.monotonic() - start)
        left_s -= lengths[-1]
        if number == 1 and not is_over:
            words = f"a round takes {lengths[0]:.0f} s"
            _require_minutes(minutes, MIN_SEARCH_ROUNDS, lengths[0], words)
        return answers(journal.entries, question, number)

    folder = journal.folder
    with (folder / "lock").open("w") as lock, report_write_errors(folder):
        if not files.try_lock(lock):
            raise UserError("this search is running already", folder)
        return questions.run(plan.search(), answer)


def _build_arms(question: Question, launcher: Launcher, tell: Tell) -> dict[str, str]:
    """Build the arms of a question; return the reasons of those that cannot be built, by name."""
    faults: dict[str, str] = {}
    for arm in dict.fromkeys(question.arms):
        if reason := launcher.build(arm):
            faults[arm_name(arm)] = printable(reason)[:_MAX_REASON_LENGTH]
            tell(f"cannot be built: {arm_name(arm)}: {faults[arm_name(arm)]}")
    return faults


def _launch(
    plan: Plan,
    journal: Journal,
    launcher: Launcher,
    question: Question,
    number: int,
    end: float,
    tell: Tell,
) -> bool:
    """Make the missing launches of a round, until `end` of the monotonic clock.

    False if the scheduler allowed none of them any more: what it prevented has no entry.
    """
    places = list(range(len(question.arms)))
    random.Random(f"{plan.seed} order {number}").shuffle(places)  # noqa: S311  no secret
    entry_places = {entry.at for entry in journal.entries if entry.round == number}
    for at in places:
        if at in entry_places:
            continue
        start, value, reason = time.monotonic(), None, ""
        if start >= end:
            break
        try:
            value = math.log(launcher.launch(question.arms[at], end - start))
        except NoAnswerError as error:
            tell(f"no launch is possible: {printable(str(error))}")
            return False
        except UserError as error:
            reason = printable(error.message)[:_MAX_REASON_LENGTH]
        journal.add(
            Entry(round=number, at=at, value=value, seconds=time.monotonic() - start, why=reason)
        )
    return True
