"""What our numbers say about the statements of a study, and the claims behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from roundtrip.report.blocks import Cell, Tone
from roundtrip.report.evidence import where_measured
from roundtrip.stats.verdicts import Family, Judged
from roundtrip.studies import cells
from roundtrip.studies.panel import P
from roundtrip.studies.study import Claim

#: What is open outranks what is settled, and what is bad outranks both.
_TONES: tuple[Tone, ...] = ("good", "plain", "warn", "bad")
Evidence = tuple[tuple[int, Judged], ...]


@dataclass(frozen=True)
class Comparison:
    """Speed of `variant` over that of `base` at one size: a claim of the report.

    `panel` is the panel's key; `case` distinguishes several cases of samples in one panel.
    """

    study: str
    panel: tuple[str, ...]
    variant: str
    base: str
    size_bytes: int
    case: str = ""
    family: Family = field(default=Family.SECONDARY, compare=False)


def of_study(judged: Mapping[Claim, Judged], study: str) -> dict[Comparison, Judged]:
    """The comparisons of one study."""
    return {
        key: one
        for key, one in judged.items()
        if isinstance(key, Comparison) and key.study == study
    }


S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class Finding(Generic[S, P]):
    """What one panel says of `statement`.

    `outcome` is a word or two, and `settled` its tone.  `everywhere` says that it is about all
    `compared` sizes, in bytes; `evidence` has the sizes that were measured.
    """

    statement: S
    panel: P
    outcome: str
    settled: Tone
    everywhere: bool
    evidence: Evidence
    compared: tuple[int, ...]

    @property
    def ratios(self) -> list[float]:
        """Median ratios at the sizes that were measured."""
        return [judged.interval.median for _, judged in self.evidence]

    @property
    def where(self) -> str:
        """Which compared sizes were measured, in words; "" if all were."""
        return where_measured(dict(self.evidence), self.compared)

    @property
    def not_measured(self) -> tuple[int, ...]:
        """The compared sizes that no launch reached."""
        there = dict(self.evidence)
        return tuple(size for size in self.compared if size not in there)

    @property
    def verdict(self) -> str:
        """The outcome, with what limits it."""
        return f"{self.outcome}{self.where}" if self.everywhere else self.outcome

    @property
    def tone(self) -> Tone:
        """The tone of the verdict; a finding that was not measured everywhere is never green."""
        return "warn" if self.everywhere and self.where else self.settled

    @property
    def cell(self) -> Cell:
        """The smallest and the largest ratio, and the verdict."""
        return cells.verdict(self.ratios, self.tone, self.verdict)


def evidence(judged: Mapping[Comparison, Judged], keys: Mapping[int, Comparison]) -> Evidence:
    """(size, judged) of the comparisons that were made."""
    return tuple((size, judged[key]) for size, key in keys.items() if key in judged)


def worst(tones: Iterable[Tone]) -> Tone:
    """The tone of several findings together; "warn" without any."""
    return max(tones, key=_TONES.index, default="warn")
