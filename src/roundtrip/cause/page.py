"""The report of a search: the sentence that answers it, the picture, the probes, and the method.

It is a pure function of its bundle, which holds what was asked and every launch: the search is run
again on these.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

from roundtrip.cause import facts, order
from roundtrip.cause.facts import Causes, Ending, Relation
from roundtrip.cause.journal import (
    LAUNCHES,
    Entry,
    Plan,
    arm_name,
    read_entries,
    read_plan,
    replay,
    write_plan,
)
from roundtrip.cause.order import SLOW, Changes
from roundtrip.cause.questions import ERROR, Question, Span
from roundtrip.collect import disclosure, manifest, signature
from roundtrip.report.blocks import (
    Answer,
    Block,
    Cell,
    Code,
    Column,
    Figure,
    Gallery,
    Items,
    Paragraph,
    Part,
    Report,
    Strong,
    Table,
    Text,
    Tone,
)
from roundtrip.report.plot import Curve, Plot, Rule, Scale, View
from roundtrip.report.units import Unit
from roundtrip.stats.summaries import Interval
from roundtrip.studies.study import BLUE

_TOOLS = ("roundtrip", "numpy", "scipy", "jinja2")
#: Rows of the picture at most, and characters of their names.
_MOST_ROWS, _LONGEST = 24, 48
#: Both ends of the picture, in percent of the step, if no interval reaches farther.
_ENDS = (-25.0, 125.0)
_FARTHEST = (-100.0, 200.0)


def make_bundle(folder: Path, target: Path, finished: str, commit: str | None) -> manifest.Manifest:
    """Write the bundle of the search in `folder` to the empty folder `target`, and sign it.

    Why launches failed stays on the site: what programs print may name anything.
    """
    plan, entries = read_plan(folder), read_entries(folder)
    plain = disclosure.for_everybody
    others = [[plain(word) for word in row] for row in plan.others]
    public = {
        "title": plain(plan.title),
        "measures": plain(plan.measures),
        "arms": [plain(arm) for arm in plan.arms],
        "others": others,
    }
    write_plan(plan.model_copy(update=public), target)
    lines = [
        one.model_copy(update={"why": "", "unbuilt": dict.fromkeys(one.unbuilt, "cannot be built")})
        for one in entries
    ]
    text = "".join(line.model_dump_json(exclude_defaults=True) + "\n" for line in lines)
    (target / LAUNCHES).write_text(text, encoding="utf-8")
    about = {
        "campaign": plan.name,
        "site": plan.site,
        "started": plan.started,
        "finished": finished,
        "git": {"commit": commit, "dirty": None},
        "tools": {name: metadata.version(name) for name in _TOOLS},
    }
    return signature.sign(target, manifest.write(target, about), lambda _: None)


def report(bundle: Path) -> Report:
    """The report of a bundle of a search."""
    plan, entries = read_plan(bundle), read_entries(bundle)
    found, asked = replay(plan, entries)
    sentences = list(describe(plan, found))
    figures = tuple(_figures(plan, found))
    first = Part(
        "cause",
        "What did it",
        tuple(_tables(plan, found)),
        answers=tuple(Answer(one, _tone(found)) for one in sentences),
        question=plan.title,
        picture=Gallery((_caption(found),), figures) if figures else None,
    )
    parts = (first, _rounds(plan, entries, asked), _method(plan))
    values = [one for one in entries if one.value is not None]
    listed = (
        ("Campaign", plan.name),
        ("Site", plan.site),
        ("Started", plan.started),
        ("Measured", plan.measures),
        ("Launches", f"{len(values)}, and {len(_failed(entries))} that failed"),
    )
    return Report(plan.title, listed, (), parts)


def _caption(found: Causes | Changes) -> str:
    interval = (
        f"with the interval that holds its true place at {100 * (1 - ERROR):.0f} % whenever the "
        "search stops"
    )
    if isinstance(found, Changes):
        return f"Where each version lies between the two that it was launched beside, {interval}."
    return (
        f"Where each lies between all old (0 %) and all new (100 %), {interval}. "
        "The strip is the interval of the step itself."
    )


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


def _tone(found: Causes | Changes) -> Tone:
    if isinstance(found, Changes):
        return "warn" if found.differ is None or found.open else "plain"
    return "warn" if found.ending is Ending.UNKNOWN else "plain"


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


def _figures(plan: Plan, found: Causes | Changes) -> Iterator[Figure]:
    title, ends_are = "Old and new", "all old is 0 %, all new is 100 %"
    if isinstance(found, Changes):
        title, ends_are = "Versions between two others", "the older is 0 %, the newer is 100 %"
        rows = [(plan.arms[one.at], one.share) for one in sorted(found.probes, key=_place)]
    else:
        rows = list(found.lead)
        if found.share and found.named:
            rows.insert(0, (" and ".join(found.named) + ", confirmed", found.share))
        rows += [(f"{name}, alone", span) for name, span in found.alone]
    rows = [(name, span) for name, span in rows if math.isfinite(span.middle)][:_MOST_ROWS]
    if not rows:
        return
    points = tuple(
        (float(at), _clip(span.middle), *_interval(span), None) for at, (_, span) in enumerate(rows)
    )
    ends = [end for point in points for end in point[1:4] if end is not None]
    scale = Scale(
        "Share of the difference",
        Unit.PERCENT,
        min(_ENDS[0], *ends),
        max(_ENDS[1], *ends),
        is_log=False,
    )
    curve = Curve(
        "Versions" if isinstance(found, Changes) else "Facts", BLUE, points, width=0, size=4
    )
    names = tuple(name[:_LONGEST] for name, _ in rows)
    view = View(
        "Share",
        scale,
        None,
        (curve,),
        names,
        (Rule(0.0), Rule(100.0)),
        None if isinstance(found, Changes) else _strip(found),
        has_bars=True,
        width=420,
    )
    plot = Plot(title, ends_are, (view,))
    yield Figure("arms", plot.about(view), plot)


def _place(probe: order.Probe) -> int:
    return probe.at


def _clip(value: float) -> float:
    return min(max(100 * value, _FARTHEST[0]), _FARTHEST[1])


def _interval(span: Span) -> tuple[float | None, float | None]:
    if span.low is None or span.high is None:
        return None, None
    return _clip(span.low), _clip(span.high)


def _strip(found: Causes | Changes) -> tuple[float, float] | None:
    step = found.step
    if step is None or step.low is None or step.high is None or step.median in (0, 1):
        return None
    whole = math.log(step.median)
    low, high = sorted(_clip(math.log(end) / whole) for end in (step.low, step.high))
    return low, high


def _table(caption: str, columns: str, rows: Iterable[Sequence[object]]) -> Table:
    """A table of texts; a column whose name ends with ``>`` has numbers."""
    heads = tuple(
        Column(name.rstrip(">"), "right" if name.endswith(">") else "left")
        for name in columns.split("|")
    )
    return Table(caption, heads, tuple(tuple(Cell(str(one)) for one in row) for row in rows))


def _tables(plan: Plan, found: Causes | Changes) -> Iterator[Block]:
    if isinstance(found, Causes):
        lead = [(name, span, "named" * (name in found.named)) for name, span in found.lead]
        if lead:
            caption = "Each fact by mixed arms, most evident first; the intervals hold at once."
            yield _table(caption, "Fact|Share of the step>|Verdict", lead)
        if plan.others:
            columns = "Cannot be switched from here|What would test it"
            yield _table("Facts that differ as well.", columns, plan.others)
        return
    probes = [
        (
            *(plan.arms[at] for at in (one.at, one.low, one.high)),
            "slow already" if one.turn == SLOW else "not slow yet",
            one.share,
            one.rounds,
        )
        for one in found.probes
    ]
    if probes:
        columns = "Version|After|Before|It is|Share of their gap>|Rounds>"
        yield _table("The probes in their order: each halves what is left.", columns, probes)
    if found.skipped:
        yield Items(tuple((Code(plan.arms[at]), f": {why}") for at, why in found.skipped.items()))


def _failed(entries: Sequence[Entry]) -> list[Entry]:
    return [one for one in entries if one.at is not None and one.value is None]


def _rounds(plan: Plan, entries: Sequence[Entry], asked: Sequence[Question]) -> Part:
    """How many rounds and launches each question took, and each arm has."""
    kinds = Counter(one.kind for one in asked)
    made: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for one in entries:
        if one.at is not None and one.round <= len(asked):
            name = arm_name(asked[one.round - 1].arms[one.at])
            name = plan.arms[int(name)] if plan.kind == "bisect" else name
            (lost if one.value is None else made)[name] += 1
    rows = [(name, made[name], lost[name]) for name in dict.fromkeys([*made, *lost])]
    caption = "Launches of each arm. Every launch is in bundle/launches.jsonl."
    blocks = (
        _table("What rounds were to show.", "Question|Rounds>", kinds.items()),
        _table(caption, "Arm|Completed>|Failed>", rows),
    )
    return Part("rounds", "Rounds and launches", blocks)


def _method(plan: Plan) -> Part:
    module = facts if plan.kind == "blame" else order
    text = " ".join((module.__doc__ or "").split())
    rule = (
        f"A statement is wrong with a probability of at most {100 * ERROR:.0f} % over the whole "
        "search, whenever it stops. How often it was in simulations: python -m tools.bench blame."
    )
    setting = json.dumps({"seed": plan.seed, "step": round(plan.step, 6), "error": ERROR})
    return Part(
        "method",
        "How it was decided",
        (Paragraph((rule,)), Paragraph((text,)), Paragraph(("Settings: ", Code(setting)))),
    )
