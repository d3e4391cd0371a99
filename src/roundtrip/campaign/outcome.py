"""How a run ended: what completed, compared with what was expected."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from roundtrip.campaign.tree import RunTree
from roundtrip.collect import completion, scheduler_log
from roundtrip.collect.completion import Counts
from roundtrip.collect.launches import Launch, scan


@dataclass(frozen=True)
class Outcome:
    """How many launches were asked for and passed, and why others failed or are partial.

    `silence` says how long Slurm did not answer, `displaced` how many launches it displaced; each
    is "" if there is nothing to say.  `disturbed` says of each launch that was by what, a tuple.
    """

    counts: Counts
    failures: tuple[str, ...]
    skipped: int
    partial: tuple[str, ...] = ()
    silence: str = ""
    displaced: str = ""
    disturbed: tuple[tuple[str, ...], ...] = ()

    @staticmethod
    def of(tree: RunTree) -> Outcome:
        """Count the launches of `tree`."""
        state = tree.state
        launches = scan(tree.path)
        return Outcome(
            counts=Counts(
                asked={item["case"]: item["launches"] for item in state["expected"]},
                passed=Counter(item.case_id for item in launches if item.status == "passed"),
                partial=sum(item.status == "partial" for item in launches),
            ),
            failures=_reasons(launches, "failed"),
            partial=_reasons(launches, "partial"),
            skipped=len(state["skipped"]),
            silence=scheduler_log.describe_run(tree.path),
            displaced=completion.describe_displaced(
                i.reason for i in launches if i.status == completion.DISPLACED
            ),
            disturbed=tuple(i.disturbed for i in launches if i.disturbed),
        )

    @property
    def passed(self) -> Mapping[str, int]:
        """Launches that passed, by case."""
        return self.counts.passed

    @property
    def missing(self) -> dict[str, int]:
        """How many launches each case lacks."""
        return self.counts.missing

    @property
    def whole(self) -> bool:
        """Whether every case has its launches; False without cases: nothing is no success."""
        return bool(self.counts.asked) and not self.missing

    def lines(self) -> Iterator[str]:
        """The outcome in lines for people, the worst last."""
        cases = len(self.counts.asked)
        yield f"{cases} case{'s' if cases != 1 else ''}: {self.counts.describe()}"
        if self.skipped:
            yield f"{self.skipped} cases cannot run on this site (listed in the report)"
        if self.silence:
            yield self.silence
        if self.displaced:
            yield self.displaced
        for why, count in _kinds(self.disturbed):
            yield f"disturbed {count} x: {why}"
        for reason, count in Counter(self.partial).items():
            yield f"partial {count} x {reason}"
        for reason, count in Counter(self.failures).items():
            yield f"failed {count} x {reason}"
        for case, count in self.missing.items():
            yield f"missing {count} x {case}"


def _kinds(disturbed: Iterable[tuple[str, ...]]) -> list[tuple[str, int]]:
    """The first reason of each kind, whatever its numbers, and how many launches it disturbed."""
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for reasons in disturbed:
        kinds = {re.sub(r"[+-]?\d+(\.\d+)?", "#", reason): reason for reason in reasons}
        counts.update(kinds.keys())
        first = kinds | first
    return [(first[kind], count) for kind, count in counts.items()]


def _reasons(launches: Iterable[Launch], status: str) -> tuple[str, ...]:
    return tuple(f"{item.case_id}: {item.reason}" for item in launches if item.status == status)
