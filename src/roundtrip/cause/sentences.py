"""What a search found, in sentences: the answer first, then what is left open."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from roundtrip.cause.facts import Causes, Ending, Relation
from roundtrip.cause.journal import Plan, read_entries, read_plan, replay
from roundtrip.cause.order import Changes
from roundtrip.report.blocks import Code, Strong, Text
from roundtrip.stats.summaries import Interval


def describe(plan: Plan, found: Causes | Changes) -> Iterator[Text]:
    """What was found, a sentence each, the answer first."""
    if isinstance(found, Changes):
        yield from _describe_changes(plan, found)
    else:
        yield from _describe_causes(plan, found)


def sentence(bundle: Path) -> str:
    """What the search of a bundle found, in one sentence."""
    plan = read_plan(bundle)
    return plain_sentences(plan, replay(plan, read_entries(bundle))[0])[0]


def plain_sentences(plan: Plan, found: Causes | Changes) -> list[str]:
    """`describe` as plain lines."""
    return [
        "".join(getattr(part, "text", str(part)) for part in sentence)
        for sentence in describe(plan, found)
    ]


def times(step: Interval | None) -> str:
    """``1.22 [1.20, 1.24] times``."""
    if step is None:
        return "an unknown factor"
    ends = "" if step.low is None else f" [{step.low:.3f}, {step.high:.3f}]"
    return f"{step.median:.3f}{ends} times"


def _describe_causes(plan: Plan, found: Causes) -> Iterator[Text]:
    names: list[Code | str] = []
    for number, name in enumerate(found.named):
        names += [" and "] * bool(number) + [Code(name)]
    verb = "explains" if len(found.named) == 1 else "explain"
    if found.ending is Ending.ABSENT:
        yield (
            Strong("The step cannot be reproduced: "),
            f"all new takes {times(found.step)} the time of all old now.",
        )
    elif found.ending is Ending.FOUND and found.share:
        how = f", {found.relation}" if found.relation else ""
        yield (*names, f" {verb} {found.share} of the step ({times(found.step)}){how}.")
    elif found.named:
        perhaps = f"{verb} perhaps {found.share} of the step" if found.share else "is a cause"
        yield (Strong("Not proven to be all: "), *names, f" {perhaps} ({times(found.step)}).")
    else:
        lead = f" The most evident so far is {found.lead[0][0]}." if found.lead else ""
        yield (
            Strong("Cannot tell "),
            f"after {found.launches} launches: all new takes "
            f"{times(found.step)} the time of all old.{lead}",
        )
    if found.alone:
        each = "; ".join(f"{name}: {span}" for name, span in found.alone)
        yield (
            f"Alone they have of what both have together: {each}."
            if found.relation is not Relation.UNKNOWN
            else f"Each alone: {each}.",
        )
    if plan.others:
        yield (_left_over(plan, found),)


def _left_over(plan: Plan, found: Causes) -> str:
    """What is said of facts that cannot be switched."""
    names = ", ".join(row[0] for row in plan.others)
    low = found.step.low if found.step and plan.step > 0 else None
    if found.step and plan.step < 0 and found.step.high:
        low = 1 / found.step.high
    if not low or low <= 1 or found.ending is not Ending.FOUND:
        return f"Cannot be switched from here: {names}."
    most = max(0.0, 1 - math.log(low) / abs(plan.step))
    return f"Cannot be switched from here, and explain at most {100 * most:.0f} %: {names}."


def _describe_changes(plan: Plan, found: Changes) -> Iterator[Text]:
    first, last = plan.arms[0], plan.arms[-1]
    if found.differ is False:
        yield (
            Strong("No change: "),
            Code(last),
            f" takes {times(found.step)} the time of ",
            Code(first),
            ".",
        )
        return
    if found.differ is None:
        why = "; ".join(f"{plan.arms[at]} {why}" for at, why in found.skipped.items())
        yield (
            Strong("Cannot tell "),
            f"whether {last} differs from {first} after "
            f"{found.launches} launches: it takes {times(found.step)} its time. {why}".strip(),
        )
        return
    if len(found.changes) > 1:
        yield (Strong(f"{len(found.changes)} changes"), f" make up {times(found.step)}:")
    for one in found.changes:
        beside = one.after - one.before - 1
        step = one.step or found.step
        word = "slow" if step and step.median > 1 else "fast"
        yield (
            Strong(f"The first {word} version is "),
            Code(plan.arms[one.after]),
            f": it takes {times(one.step)} the time of " if one.step else ", after ",
            Code(plan.arms[one.before]),
            f", the last before it that can be built ({beside} between cannot)."
            if beside
            else ", the one before it.",
            "" if one.step else " Whether there is another change is open.",
        )
    for low, high in found.open:
        yield (
            Strong("Not found yet: "),
            "a change lies after ",
            Code(plan.arms[low]),
            " and not after ",
            Code(plan.arms[high]),
            f" ({high - low} versions).",
        )
