"""Runs a campaign's matrix to completion: rounds of launches, resumable at any point."""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from roundtrip.campaign import scheduler, session
from roundtrip.campaign.matrix import Expected
from roundtrip.campaign.model import Campaign
from roundtrip.campaign.site import Site
from roundtrip.campaign.tree import RunTree
from roundtrip.collect.launches import scan

#: A case that failed so often in one invocation, and never passed, is given up.
GIVE_UP_AFTER = 2


class Progress(Protocol):
    """Told what happens; shows it to people."""

    def launching(self, cases: int, launches: int, limit_s: float) -> None: ...

    def expect(self, launches: int) -> None: ...

    def running(self, name: str) -> None: ...

    def result(self, verdict: str, name: str, counts: bool = True) -> None: ...


@dataclass
class Runner:
    """Launches what is missing, one performance job at a time, until nothing is.

    A round launches every case that still needs one, once, in random order: drift of the machine
    then hits all cases alike (a randomised block design).
    """

    campaign: Campaign
    site: Site
    tree: RunTree
    expected: Sequence[Expected]
    progress: Progress
    order: random.Random = field(default_factory=random.Random)
    _failures: Counter[str] = field(default_factory=Counter)

    def run(self) -> bool:
        """Run rounds until every case has its launches or is given up; False: time was over first.

        A round is the unit of pairing: one that would not be whole in time, going by the others,
        is not begun.  What it builds, all being built before, is no part of its length.
        """
        scheduler.cancel(self._label)
        limit_s = 60 * self.campaign.time_limit_minutes
        self.progress.launching(
            len(self.expected), self.campaign.launches * len(self.expected), limit_s
        )
        deadline = time.monotonic() + limit_s
        rounds_s: list[float] = []
        in_time = True
        while wanted := self._wanted():
            self.progress.expect(self._left(wanted))
            if rounds_s and time.monotonic() + statistics.median(rounds_s) > deadline:
                in_time = False
                break
            rounds_s.append(self._round(wanted))
        # One that Slurm took back into the queue would run for nobody.
        scheduler.cancel(self._label)
        return in_time

    @property
    def _label(self) -> str:
        return f"{self.campaign.name}/{self.site.name}/{self.tree.path.name}"

    def _round(self, wanted: Sequence[Expected]) -> float:
        """Launch each case once; the seconds that took."""
        todo = session.blocks(wanted)
        self.order.shuffle(todo)
        before, _ = self._passed()
        number = self.tree.next_round()
        seconds = 0.0
        for block in todo:
            seconds += session.run(
                self.site,
                block,
                self.tree.next_session(number),
                self._label,
                self.tree.lock_descriptor,
                self._on_event,
            )
        after, _ = self._passed()
        for item in wanted:
            if after[item.case.id] == before[item.case.id]:
                self._failures[item.case.id] += 1
        return seconds

    def _on_event(self, kind: str, name: str) -> None:
        words = session.in_words(name)
        if kind == "RUN":
            self.progress.running(words)
        else:
            self.progress.result(kind, words, counts=not session.is_fixture(name))

    def _passed(self) -> tuple[Counter[str], Counter[str]]:
        """Launches that passed, by case; and those of them that nothing disturbed."""
        launches = [launch for launch in scan(self.tree.path) if launch.status == "passed"]
        return (
            Counter(launch.case_id for launch in launches),
            Counter(launch.case_id for launch in launches if not launch.disturbed),
        )

    def _wanted(self) -> list[Expected]:
        """Cases that need another launch: first those short of launches, then disturbed ones."""
        passed, undisturbed = self._passed()
        alive = [item for item in self.expected if not self._given_up(item, passed)]
        short = [item for item in alive if passed[item.case.id] < self.campaign.launches]
        most = self.campaign.launches + self.campaign.extra_launches
        return short or [
            item
            for item in alive
            if undisturbed[item.case.id] < self.campaign.launches and passed[item.case.id] < most
        ]

    def _given_up(self, item: Expected, passed: Counter[str]) -> bool:
        limit = GIVE_UP_AFTER if not passed[item.case.id] else self.campaign.launches
        return self._failures[item.case.id] >= limit

    def _left(self, wanted: Iterable[Expected]) -> int:
        passed, _ = self._passed()
        return sum(max(1, self.campaign.launches - passed[item.case.id]) for item in wanted)
