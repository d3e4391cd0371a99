"""What a rule finds of one subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from roundtrip.report.blocks import Tone

Result = Literal["pass", "fail", "not applicable"]
TONES: dict[Result, Tone] = {"pass": "good", "fail": "bad", "not applicable": "muted"}


@dataclass(frozen=True)
class Outcome:
    """The result and what it rests on, a clause."""

    result: Result
    evidence: str


def held(kept: bool, evidence: str) -> Outcome:
    """Facts are known, and by them the rule is kept or broken."""
    return Outcome("pass" if kept else "fail", evidence)


def missing(fact: str) -> Outcome:
    """Nobody supplied the fact by which the rule could be judged."""
    return Outcome("not applicable", f"missing fact: {fact}")


def no_case(why: str) -> Outcome:
    """The facts are known, and there is nothing that the rule is about."""
    return Outcome("not applicable", why)
