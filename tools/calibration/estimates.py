"""What a table counted, beside what it prints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """Of `trials`, which do not depend on each other, `events` had what `row` names."""

    row: str
    events: int
    trials: int


#: A line to print, or a number that a demand may be made of.
Told = str | Estimate
