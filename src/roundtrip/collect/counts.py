"""How many launches completed: counted once, for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Counts:
    """Launches asked for and launches that passed, by case.

    A case gets more launches than asked for when some of its launches were disturbed.
    """

    asked: Mapping[str, int]
    passed: Mapping[str, int]
    #: Launches that measured only a part of their sizes; none of these has passed.
    partial: int = 0

    @property
    def wanted(self) -> int:
        """Launches asked for, of all cases."""
        return sum(self.asked.values())

    @property
    def came(self) -> int:
        """Launches asked for that completed; an extra launch of one case replaces no other case."""
        return sum(min(self.passed.get(case, 0), count) for case, count in self.asked.items())

    @property
    def more(self) -> int:
        """Launches that passed beyond those asked for."""
        return sum(self.passed.values()) - self.came

    @property
    def missing(self) -> dict[str, int]:
        """How many launches each case lacks; cases that lack none are left out."""
        short = {case: count - self.passed.get(case, 0) for case, count in self.asked.items()}
        return {case: count for case, count in short.items() if count > 0}

    def told(self) -> str:
        """For people: ``16 of 16 launches completed; 2 more repeat disturbed ones``."""
        more = ""
        if self.more:
            more = f"; {self.more} more {'repeats' if self.more == 1 else 'repeat'} disturbed ones"
        partial = f"; {self.partial} more only partial" if self.partial else ""
        return f"{self.came} of {self.wanted} launches completed{more}{partial}"


def of_rows(rows: Iterable[tuple[str, str, int | None]]) -> Counts:
    """Counts of (case, status, launches asked for), one for each row of cases.parquet.

    An older bundle does not say how many were asked for: then it is what completed and is missing.
    """
    asked: dict[str, int] = {}
    passed: dict[str, int] = {}
    missing: dict[str, int] = {}
    partial = 0
    for case, status, wanted in rows:
        if wanted is not None:
            asked[case] = wanted
        if status == "passed":
            passed[case] = passed.get(case, 0) + 1
        partial += status == "partial"
        if status == "missing":
            missing[case] = missing.get(case, 0) + 1
    for case in passed.keys() | missing.keys():
        asked.setdefault(case, passed.get(case, 0) + missing.get(case, 0))
    return Counts(asked, passed, partial)
