"""What went wrong with launches: those that did not complete, and those that were disturbed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from roundtrip.collect import identity
from roundtrip.report import units
from roundtrip.report.blocks import Answer, Strong
from roundtrip.report.data import Data
from roundtrip.report.sections import clocks

#: Different mismatches that are shown in full; the section lists all.
_MOST = 3
_MISMATCH = re.compile(rf"{identity.MISMATCH}.*?(?=; last words: |$)")
QUESTION = "Did every launch complete?"


def answers(data: Data) -> tuple[Answer, ...]:
    """One line for each thing that is wrong; one that says so where nothing is."""
    found = tuple(_faults(data))
    return found or (Answer(("Every launch completed, and none was disturbed.",), "good"),)


def _faults(data: Data) -> Iterator[Answer]:
    counts = dict(data.launches.group_by("status").len().iter_rows())
    passed = counts.get("passed", 0)
    if missing := counts.get("missing", 0):
        told = units.plural(missing, "expected launch", "expected launches")
        yield Answer((Strong("Incomplete: "), f"{told} missing."), "bad")
    if partial := counts.get("partial", 0):
        told = units.plural(partial, "launch", "launches")
        yield Answer((Strong("Partial: "), f"{told} measured too few sizes; left out."), "bad")
    if failed := counts.get("failed", 0):
        attempts = units.plural(failed, "attempt", "attempts")
        yield Answer((Strong("Failed: "), f"{attempts} at a launch."), "bad")
    yield from _mismatches(data)
    disturbed = int(data.launches["disturbed"].fill_null(False).sum())
    if disturbed:
        told = f"{units.plural(disturbed, 'launch', 'launches')} of {passed}"
        yield Answer((Strong("Disturbed: "), told, "; kept and marked."), "warn")
    yield from clocks.answers(data)


def _mismatches(data: Data) -> Iterator[Answer]:
    """What was not that which the campaign began with, or not on its nodes."""
    reasons = data.launches["reason"].drop_nulls()
    matches = (_MISMATCH.search(reason) for reason in reasons)
    found = dict.fromkeys(match[0].removeprefix(identity.MISMATCH) for match in matches if match)
    for mismatch in list(found)[:_MOST]:
        yield Answer((Strong("Mismatch: "), f"{mismatch}."), "bad")
    if len(found) > _MOST:
        more = units.plural(len(found) - _MOST, "more mismatch", "more mismatches")
        yield Answer((Strong("Mismatch: "), f"{more}, with the launches."), "bad")
