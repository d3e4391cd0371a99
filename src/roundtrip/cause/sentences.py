"""Sentences about the result of a search: the answer first, then the open questions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from roundtrip.cause.facts import Causes, Ending, Relation
from roundtrip.cause.journal import Plan, read_entries, read_plan, replay
from roundtrip.cause.order import Changes
from roundtrip.report.blocks import Code, Strong, Text
from roundtrip.stats.summaries import Interval


def describe(plan: Plan, result: Causes | Changes) -> Iterator[Text]:
    """The sentences about the result of a search, the answer first."""
    if isinstance(result, Changes):
        return _describe_changes(plan, result)
    return _describe_causes(plan, result)


def sentence(bundle: Path) -> str:
    """The answer of the search in a bundle, in one sentence."""
    plan = read_plan(bundle)
    return plain_sentences(plan, replay(plan, read_entries(bundle))[0])[0]


def plain_sentences(plan: Plan, result: Causes | Changes) -> list[str]:
    """The sentences of `describe` as plain text."""
    return [
        "".join(getattr(part, "text", str(part)) for part in sentence)
        for sentence in describe(plan, result)
    ]


def times(step: Interval | None) -> str:
    """``1.22 [1.20, 1.24] times``."""
    if step is None:
        return "an unknown factor"
    ends = "" if step.low is None else f" [{step.low:.3f}, {step.high:.3f}]"
    return f"{step.median:.3f}{ends} times"


def _describe_causes(plan: Plan, result: Causes) -> Iterator[Text]:
    names: list[Code | str] = []
    for number, name in enumerate(result.causes):
        names += [" and "] * bool(number) + [Code(name)]
    verb = "explains" if len(result.causes) == 1 else "explain"
    now = f"all new takes {times(result.step)} the time of all old now"
    then = f"{math.exp(plan.step):.3f} times"
    if result.ending is Ending.ABSENT:
        yield Strong("The step cannot be reproduced: "), f"{now}, not {then}."
    elif result.ending is Ending.FOUND and result.share:
        relation = f", {result.relation}" if result.relation else ""
        yield (*names, f" {verb} {result.share} of the step ({times(result.step)}){relation}.")
    elif result.causes and result.share:
        claim = f"{verb} perhaps {result.share} of the step"
        yield (Strong("Not proven to be all: "), *names, f" {claim} ({times(result.step)}).")
    elif result.causes:
        yield Strong("Not proven to make the step: "), *names, f" ({now}, {then} then)."
    else:
        leader = f" The most evident so far is {result.ranking[0][0]}." if result.ranking else ""
        words = f"after {result.launches} launches: all new takes {times(result.step)}"
        yield Strong("Cannot tell "), f"{words} the time of all old.{leader}"
    if not result.share:
        for name, effect in result.effects:
            yield Code(name), f" has an effect of {times(effect)} now."
    if result.single_shares:
        shares = "; ".join(f"{name}: {span}" for name, span in result.single_shares)
        is_known = result.relation is not Relation.UNKNOWN
        words = "Alone they have of what both have together" if is_known else "Each alone"
        yield (f"{words}: {shares}.",)
    if plan.others:
        yield (_describe_others(plan, result),)


def _describe_others(plan: Plan, result: Causes) -> str:
    """The sentence about facts that cannot be switched."""
    names = ", ".join(row[0] for row in plan.others)
    low = result.step.low if result.step and plan.step > 0 else None
    if result.step and plan.step < 0 and result.step.high:
        low = 1 / result.step.high
    if not low or low <= 1 or result.ending is not Ending.FOUND:
        return f"Cannot be switched from here: {names}."
    bound = max(0.0, 1 - math.log(low) / abs(plan.step))
    return f"Cannot be switched from here, and explain at most {100 * bound:.0f} %: {names}."


def _describe_changes(plan: Plan, result: Changes) -> Iterator[Text]:
    first, last = plan.arms[0], plan.arms[-1]
    if result.ends_differ is False:
        words = f" takes {times(result.step)} the time of "
        yield (Strong("No change: "), Code(last), words, Code(first), ".")
        return
    if result.ends_differ is None:
        skips = [f"{plan.arms[place]} {reason}" for place, reason in result.skip_reasons.items()]
        words = f"whether {last} differs from {first} after {result.launches} launches: it takes "
        words += f"{times(result.step)} its time. {'; '.join(skips)}"
        yield (Strong("Cannot tell "), words.strip())
        return
    if len(result.changes) > 1:
        yield (Strong(f"{len(result.changes)} changes"), f" make up {times(result.step)}:")
    for change in result.changes:
        unbuilt_count = change.after - change.before - 1
        step = change.step or result.step
        word = "slow" if step and step.median > 1 else "fast"
        yield (
            Strong(f"The first {word} version is "),
            Code(plan.arms[change.after]),
            f": it takes {times(change.step)} the time of " if change.step else ", after ",
            Code(plan.arms[change.before]),
            f", the last before it that can be built ({unbuilt_count} between cannot)."
            if unbuilt_count
            else ", the one before it.",
            "" if change.step else " Whether there is another change is open.",
        )
    for low, high in result.open_intervals:
        ends = (Code(plan.arms[low]), " and not after ", Code(plan.arms[high]))
        count = f" ({high - low} versions)."
        yield (Strong("Not found yet: "), "a change lies after ", *ends, count)
