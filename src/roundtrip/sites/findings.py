"""What a check of a site found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "fault", "not checked"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at.  `detail` says what was found, what is wrong, or why it was not done."""

    verdict: Verdict
    subject: str
    detail: str


def last_line(text: str) -> str:
    """The last line of the output of a command, for a message."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def summarise(subject: str, faults: list[str], fine: str) -> list[Finding]:
    """A finding for each fault; without faults, one that says what is `fine`."""
    if not faults:
        return [Finding("ok", subject, fine)]
    return [Finding("fault", subject, fault) for fault in faults]
