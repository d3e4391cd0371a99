"""How a run ended: what came back, against what was expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from roundtrip.campaign.tree import RunTree
from roundtrip.collect import silences
from roundtrip.collect.counts import Counts
from roundtrip.collect.launches import scan


@dataclass(frozen=True)
class Outcome:
    """Launches asked for and passed; reasons of those that failed."""

    counts: Counts
    failures: tuple[str, ...]
    skipped: int
    silence: str = ""

    @staticmethod
    def of(tree: RunTree) -> Outcome:
        """Count what lies in the tree."""
        state = tree.state
        launches = scan(tree.path)
        return Outcome(
            counts=Counts(
                asked={item["case"]: item["launches"] for item in state["expected"]},
                passed=Counter(item.case_id for item in launches if item.status == "passed"),
            ),
            failures=tuple(
                f"{item.case_id}: {item.reason}" for item in launches if item.status == "failed"
            ),
            skipped=len(state["skipped"]),
            silence=silences.told(silences.spells(silences.read(tree.path))),
        )

    @property
    def passed(self) -> Mapping[str, int]:
        """Launches that passed, by case."""
        return self.counts.passed

    @property
    def missing(self) -> dict[str, int]:
        """Launches short, by case."""
        return self.counts.missing

    @property
    def whole(self) -> bool:
        """Every case has its launches, and there are cases: nothing is never a success."""
        return bool(self.counts.asked) and not self.missing

    def lines(self) -> Iterator[str]:
        """The outcome for people, worst last."""
        cases = len(self.counts.asked)
        yield f"{cases} case{'s' if cases != 1 else ''}: {self.counts.told()}"
        if self.skipped:
            yield f"{self.skipped} cases cannot run on this site (listed in the report)"
        if self.silence:
            yield self.silence
        for reason, count in Counter(self.failures).items():
            yield f"failed {count} x {reason}"
        for case, count in self.missing.items():
            yield f"missing {count} x {case}"
