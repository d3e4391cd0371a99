"""Which recorded facts differ between a night and the one before it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

#: What stands where a fact was not recorded.
NONE = "not set"
_Facts = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Change:
    """A fact with its values of the night before and of this night."""

    subject: str
    name: str
    before: str
    after: str

    def __str__(self) -> str:
        about = f" ({self.subject})" if self.subject else ""
        return f"{self.name}{about}: {self.before} \N{RIGHTWARDS ARROW} {self.after}"


def by_night(provenance: pl.DataFrame, nights: Sequence[str]) -> dict[str, list[Change]]:
    """Of each of `nights`, which are in time order, what differs from the one before.

    A night without any fact (an imported one) is passed over: nothing is known of it, which is
    no change.
    """
    facts: dict[str, dict[tuple[str, str], str]] = {}
    rows = provenance.select("night", "subject", "name", "value").sort(pl.all())
    for night, subject, name, value in rows.iter_rows():
        here = facts.setdefault(night, {})
        at = (subject, name)
        here[at] = f"{here[at]}, {value}" if at in here and here[at] != value else value
    found: dict[str, list[Change]] = {}
    before: _Facts | None = None
    for night in nights:
        after = facts.get(night)
        if after is None:
            continue
        if before is not None and (changed := _differences(before, after)):
            found[night] = changed
        before = after
    return found


def of_series(changes: Sequence[Change], subjects: Collection[str]) -> list[Change]:
    """Those that concern a series: of the site, of its environment, of its nodes."""
    return [change for change in changes if not change.subject or change.subject in subjects]


def _differences(before: _Facts, after: _Facts) -> list[Change]:
    """A subject that only one night has (a node that was not used) is no change of facts."""
    subjects = {one for one, _ in before} & {one for one, _ in after}
    return [
        Change(subject, name, before.get((subject, name), NONE), after.get((subject, name), NONE))
        for subject, name in sorted({*before, *after})
        if subject in subjects and before.get((subject, name)) != after.get((subject, name))
    ]
