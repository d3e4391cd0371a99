"""The report of a search: the sentences that answer it, the figure, the probes, and the method.

It is a pure function of its bundle, which holds the plan and all launches: the search is repeated
with these.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

from roundtrip.cause import facts, journal, order
from roundtrip.cause.facts import Causes, Ending, Relation
from roundtrip.cause.journal import Entry, Plan, arm_name
from roundtrip.cause.order import SLOW, Changes
from roundtrip.cause.questions import ERROR, Question
from roundtrip.content import blocks
from roundtrip.content.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    InlineCode,
    Paragraph,
    Report,
    ReportSection,
    RichText,
    StrongText,
    Table,
)
from roundtrip.content.plot import Axis, Curve, Plot, ReferenceLine, View
from roundtrip.measure import disclosure, manifest, signature, store
from roundtrip.stats.summaries import Interval
from roundtrip.study import BLUE
from roundtrip.units import Unit

_TOOLS = ("roundtrip", "numpy", "scipy", "jinja2")
#: Maximum number of rows of the figure, and of characters of their names.
_MAX_ROWS, _MAX_NAME_LENGTH = 24, 48
#: Ends of the axis in percent of the step: the default, and the limits for longer intervals.
_ENDS = (-25.0, 125.0)
_MAX_AXIS_RANGE = (-100.0, 200.0)


def make_bundle(folder: Path, target: Path, finished: str, commit: str | None) -> manifest.Manifest:
    """Write the bundle of the search in `folder` to the empty folder `target`, and sign it.

    The reasons of failures are left out, because the output of programs may name anything.
    """
    plan, entries = journal.read_plan(folder), journal.read_entries(folder)
    redact = disclosure.withhold_private
    fields = {
        "title": redact(plan.title),
        "measures": redact(plan.measures),
        "arms": [redact(arm) for arm in plan.arms],
        "others": [[redact(word) for word in row] for row in plan.others],
    }
    journal.write_plan(plan.model_copy(update=fields), target)
    lines = [
        entry.model_copy(
            update={"why": "", "unbuilt": dict.fromkeys(entry.unbuilt, "cannot be built")}
        )
        for entry in entries
    ]
    text = "".join(line.model_dump_json(exclude_defaults=True) + "\n" for line in lines)
    (target / journal.LAUNCHES).write_text(text, encoding="utf-8")
    header = {
        "campaign": plan.name,
        "site": plan.site,
        "started": plan.started,
        "finished": finished,
        "git": {"commit": commit, "dirty": None},
        "tools": {name: metadata.version(name) for name in _TOOLS},
    }
    return signature.sign(target, manifest.write_unsigned(target, header), lambda _: None)


def report(bundle: Path) -> Report:
    """The report of a bundle of a search."""
    plan, entries = journal.read_plan(bundle), journal.read_entries(bundle)
    result, questions = journal.replay(plan, entries)
    if isinstance(result, Changes):
        is_open = result.ends_differ is None or bool(result.open_intervals)
    else:
        is_open = result.ending is Ending.UNKNOWN
    tone: blocks.StatusColour = "warn" if is_open else "plain"
    cause_part = ReportSection(
        "cause",
        "What did it",
        tuple(_tables(plan, result)),
        answers=tuple(blocks.Answer(text, tone) for text in describe(plan, result)),
        question=f"Which {'change' if plan.kind == 'blame' else 'version'} did it?",
        answer_gallery=_picture(plan, result),
    )
    parts = (cause_part, _rounds(plan, entries, questions), _method(plan))
    completed_count = sum(entry.value is not None for entry in entries)
    failed = sum(entry.value is None and entry.at is not None for entry in entries)
    properties = (
        ("Campaign", plan.name),
        ("Site", plan.site),
        ("Started", f"{plan.started[:10]} {plan.started[11:16]} UTC"),
        *([("Measured", plan.measures)] if plan.measures not in plan.title else ()),
        ("Launches", f"{completed_count} of {completed_count + failed} launches completed"),
    )
    return Report(plan.title, properties, (), parts)


def _picture(plan: Plan, result: Causes | Changes) -> blocks.Gallery | None:
    """Each fact or version between the two that it is compared with; None without an interval."""
    strip, note = None, ""
    if isinstance(result, Changes):
        kind, title = "Versions", "Versions between two others"
        axis_note = "the older is 0 %, the newer is 100 %"
        subject = "Position of each version between the two that it was launched with"
        probes = sorted(result.probes, key=lambda probe: probe.place)
        rows = [(_short(plan.arms[probe.place]), probe.share) for probe in probes]
    else:
        kind, title = "Facts", "Old and new"
        axis_note = "all old is 0 %, all new is 100 %"
        subject = "Position of each between all old (0 %) and all new (100 %)"
        strip, note = _strip(result), " The strip is the interval of the step itself."
        rows = [(_short(name), span) for name, span in result.ranking]
        if result.share and result.causes:
            rows.insert(0, (_short(" and ".join(result.causes), ", confirmed"), result.share))
        rows += [(_short(name, ", alone"), span) for name, span in result.single_shares]
    intervals = [
        (name, _clip(span.middle), _clip(span.low), _clip(span.high))
        for name, span in rows
        if span.low is not None and span.high is not None
    ][:_MAX_ROWS]
    if not intervals:
        return None
    points = tuple((float(index), *row[1:], None) for index, row in enumerate(intervals))
    ends = [end for row in intervals for end in row[1:]]
    low, high = min(_ENDS[0], *ends), max(_ENDS[1], *ends)
    view = View(
        "Share",
        Axis("Share of the difference", Unit.PERCENT, low, high, is_log=False),
        None,
        (Curve(kind, BLUE, points, line_width=0, point_radius=4),),
        tuple(name for name, *_ in intervals),
        (ReferenceLine(0.0), ReferenceLine(100.0)),
        strip,
        has_interval_bars=True,
        width=420,
    )
    plot = Plot(title, axis_note, (view,))
    caption = (
        f"{subject}, with its {100 * (1 - ERROR):.0f} % interval, valid whenever the search "
        f"stops.{note}"
    )
    return blocks.Gallery((caption,), (Figure("arms", plot.describe_view(view), plot),))


def _short(name: str, suffix: str = "") -> str:
    """A name in the figure; a long one loses its middle, because the values are at its end."""
    room = _MAX_NAME_LENGTH - len(suffix)
    half = (room - 1) // 2
    return (name if len(name) <= room else f"{name[: room - 1 - half]}…{name[-half:]}") + suffix


def _clip(value: float) -> float:
    return min(max(100 * value, _MAX_AXIS_RANGE[0]), _MAX_AXIS_RANGE[1])


def _strip(result: Causes) -> tuple[float, float] | None:
    step = result.step
    if step is None or step.low is None or step.high is None or step.median in (0, 1):
        return None
    log_step = math.log(step.median)
    low, high = sorted(_clip(math.log(end) / log_step) for end in (step.low, step.high))
    return low, high


def _table(caption: str, columns: str, rows: Iterable[Sequence[object]]) -> Table:
    """A table; ``|`` separates the names in `columns`, ``>`` ends that of a column of numbers."""
    heads = tuple(
        Column(name.rstrip(">"), "right" if name.endswith(">") else "left")
        for name in columns.split("|")
    )
    return Table(caption, heads, tuple(tuple(Cell(str(value)) for value in row) for row in rows))


def _tables(plan: Plan, result: Causes | Changes) -> Iterator[Block]:
    if isinstance(result, Causes):
        ranking = [
            (name, "open" if span.low is None else span, "named" * (name in result.causes))
            for name, span in result.ranking
        ]
        if ranking:
            caption = (
                "Each fact by mixed arms, strongest evidence first; the intervals hold "
                "simultaneously. Open: these rounds do not bound its share."
            )
            yield _table(caption, "Fact|Share of the difference>|Verdict", ranking)
        if plan.others:
            columns = "Cannot be switched from here|What would test it"
            yield _table("Other facts that differ.", columns, plan.others)
        return
    probes = [
        (
            *(plan.arms[place] for place in (probe.place, probe.low, probe.high)),
            "slow already" if probe.verdict == SLOW else "not slow yet",
            probe.share,
            probe.rounds,
        )
        for probe in result.probes
    ]
    if probes:
        columns = "Version|After|Before|It is|Share of their gap>|Rounds>"
        yield _table("The probes in order: each halves the remaining versions.", columns, probes)
    if result.skip_reasons:
        skips = result.skip_reasons.items()
        yield blocks.BulletList(
            tuple((InlineCode(plan.arms[place]), f": {reason}") for place, reason in skips)
        )


def _rounds(plan: Plan, entries: Sequence[Entry], questions: Sequence[Question]) -> ReportSection:
    kinds = Counter(question.kind for question in questions)
    completions: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for entry in entries:
        if entry.at is not None and entry.round <= len(questions):
            name = _arm(plan, questions[entry.round - 1].arms[entry.at])
            (failures if entry.value is None else completions)[name] += 1
    names = dict.fromkeys([*completions, *failures])
    rows = [(name, completions[name], failures[name]) for name in names]
    every = f"Every launch is in {store.bundle_file_path(journal.LAUNCHES)}."
    tables = (
        _table("Purpose of the rounds.", "Question|Rounds>", kinds.items()),
        _table(f"Launches of each arm. {every}", "Arm|Completed>|Failed>", rows),
    )
    return ReportSection("rounds", "Rounds and launches", tables)


def _arm(plan: Plan, arm: Hashable) -> str:
    """The version or the new facts of an arm; if most facts are new, the old ones."""
    if not isinstance(arm, frozenset):
        return plan.arms[int(str(arm))]
    old = frozenset(plan.arms) - arm
    if 2 * len(arm) <= len(plan.arms):
        return arm_name(arm)
    return f"all new but {arm_name(old)}" if old else "all new"


def _method(plan: Plan) -> ReportSection:
    module = facts if plan.kind == "blame" else order
    text = " ".join((module.__doc__ or "").split())
    rule = (
        f"A statement is wrong with a probability of at most {100 * ERROR:.0f} % over the whole "
        "search, whenever it stops. Errors in simulations: python -m tools.bench blame."
    )
    setting = json.dumps({"seed": plan.seed, "step": round(plan.step, 6), "error": ERROR})
    settings = Paragraph(("Settings: ", InlineCode(setting)))
    paragraphs = (Paragraph((rule,)), Paragraph((text,)), settings)
    return ReportSection("method", "How it was decided", paragraphs)


def describe(plan: Plan, result: Causes | Changes) -> Iterator[RichText]:
    """The sentences about the result of a search, the answer first."""
    if isinstance(result, Changes):
        return _describe_changes(plan, result)
    return _describe_causes(plan, result)


def sentence(bundle: Path) -> str:
    """The answer of the search in a bundle, in one sentence."""
    plan = journal.read_plan(bundle)
    result, _ = journal.replay(plan, journal.read_entries(bundle))
    return plain_sentences(plan, result)[0]


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


def _describe_causes(plan: Plan, result: Causes) -> Iterator[RichText]:
    names: list[InlineCode | str] = []
    for number, name in enumerate(result.causes):
        names += [" and "] * bool(number) + [InlineCode(name)]
    verb = "explains" if len(result.causes) == 1 else "explain"
    now = f"all new takes {times(result.step)} the time of all old now"
    then = f"{math.exp(plan.step):.3f} times"
    if result.ending is Ending.ABSENT:
        yield StrongText("The step cannot be reproduced: "), f"{now}, not {then}."
    elif result.ending is Ending.FOUND and result.share:
        relation = f", {result.relation}" if result.relation else ""
        yield (*names, f" {verb} {result.share} of the step ({times(result.step)}){relation}.")
    elif result.causes and result.share:
        claim = f"{verb} perhaps {result.share} of the step"
        yield (StrongText("Not proven complete: "), *names, f" {claim} ({times(result.step)}).")
    elif result.causes:
        yield StrongText("Not proven to cause the step: "), *names, f" ({now}, {then} then)."
    else:
        leader = f" The strongest evidence is for {result.ranking[0][0]}." if result.ranking else ""
        words = f"after {result.launches} launches: all new takes {times(result.step)}"
        yield StrongText("Cannot tell "), f"{words} the time of all old.{leader}"
    if not result.share:
        for name, effect in result.effects:
            yield InlineCode(name), f" has an effect of {times(effect)} now."
    if result.single_shares:
        shares = "; ".join(f"{name}: {span}" for name, span in result.single_shares)
        is_known = result.relation is not Relation.UNKNOWN
        words = "Shares of their joint effect that each has alone" if is_known else "Each alone"
        yield (f"{words}: {shares}.",)
    if plan.others:
        others = ", ".join(row[0] for row in plan.others)
        low = result.step.low if result.step and plan.step > 0 else None
        if result.step and plan.step < 0 and result.step.high:
            low = 1 / result.step.high
        limit = ""
        if low and low > 1 and result.ending is Ending.FOUND:
            bound = max(0.0, 1 - math.log(low) / abs(plan.step))
            limit = f", and explain at most {100 * bound:.0f} %"
        yield (f"Cannot be switched from here{limit}: {others}.",)


def _describe_changes(plan: Plan, result: Changes) -> Iterator[RichText]:
    first, last = plan.arms[0], plan.arms[-1]
    if result.ends_differ is False:
        words = f" takes {times(result.step)} the time of "
        yield (StrongText("No change: "), InlineCode(last), words, InlineCode(first), ".")
        return
    if result.ends_differ is None:
        skips = [f"{plan.arms[place]} {reason}" for place, reason in result.skip_reasons.items()]
        words = f"whether {last} differs from {first} after {result.launches} launches: it takes "
        words += f"{times(result.step)} its time. {'; '.join(skips)}"
        yield (StrongText("Cannot tell "), words.strip())
        return
    if len(result.changes) > 1:
        yield (StrongText(f"{len(result.changes)} changes"), f" make up {times(result.step)}:")
    for change in result.changes:
        unbuilt_count = change.after - change.before - 1
        step = change.step or result.step
        word = "slow" if step and step.median > 1 else "fast"
        yield (
            StrongText(f"The first {word} version is "),
            InlineCode(plan.arms[change.after]),
            f": it takes {times(change.step)} the time of " if change.step else ", after ",
            InlineCode(plan.arms[change.before]),
            f", the last earlier one that can be measured ({unbuilt_count} between cannot)."
            if unbuilt_count
            else ", the one before it.",
            "" if change.step else " Another change is possible.",
        )
    for low, high in result.open_intervals:
        ends = (InlineCode(plan.arms[low]), " and not after ", InlineCode(plan.arms[high]))
        count = f" ({high - low} versions)."
        yield (StrongText("Not found yet: "), "a change lies after ", *ends, count)
