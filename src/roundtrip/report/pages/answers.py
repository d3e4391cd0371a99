"""The first lines of a history page: what changed, since when, and what cannot be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Strong
from roundtrip.report.nights import Judged, Line
from roundtrip.report.pages import young
from roundtrip.report.pages.changes import NODE_SET as NODES
from roundtrip.report.pages.changes import merged
from roundtrip.report.pages.verdict import TONES
from roundtrip.stats.nights.verdicts import Verdict

_NAMED = 3


def answers(judged: Judged, again: str = "") -> list[Answer]:
    """The newest night, then one answer for each night and verdict of a step, then the rest.

    `again` is the sentence on what was launched again.
    """
    if young.is_young(judged):
        return [Answer((Strong("Too few nights: "), young.sentence(judged)))]
    return [*_worse(judged, again), *_stepped(judged), *_others(judged)]


def _worse(judged: Judged, again: str) -> Iterator[Answer]:
    if worse := judged.of(Verdict.WORSE_LAST_NIGHT):
        ratios = [line.judgement.newest.ratio for line in worse if line.judgement.newest]
        newest = judged.calendar.nights[-1]
        changed = "; ".join(map(str, judged.changed.get(newest, ()))) or "nothing that is recorded"
        predicted = "outside of what the nights before predict."
        yield Answer(
            (
                Strong(f"New: {len(worse)} series worse last night "),
                f"({judged.calendar.describe(newest)}): {units.spread(ratios)} times the level, "
                f"{predicted} What changed: {changed}. {again}".strip(),
            ),
            TONES[Verdict.WORSE_LAST_NIGHT],
        )


def _stepped(judged: Judged) -> Iterator[Answer]:
    """News first, then the newest night; what changed on the same night is named once."""
    groups: dict[tuple[str, Verdict], list[Line]] = {}
    for line in judged.lines:
        if line.night:
            groups.setdefault((line.near or line.night, line.judgement.verdict), []).append(line)
    news = {group: any(line.judgement.is_news for line in groups[group]) for group in groups}
    for group in sorted(groups, key=lambda one: (news[one], one[0]), reverse=True):
        (night, verdict), here = group, groups[group]
        ratios = [line.judgement.step.ratio for line in here if line.judgement.step]
        facts = _facts(here)
        yield Answer(
            (
                Strong(f"{'New: ' if news[group] else ''}{len(here)} series {verdict} "),
                f"since {judged.calendar.describe(night)}: ",
                f"{units.spread(ratios)} times the level before. ",
                f"What changed there: {'; '.join(facts) or 'nothing that is recorded'}.",
            ),
            TONES[verdict],
        )


def _facts(lines: Sequence[Line]) -> list[str]:
    """What changed at a step of these series: recorded facts first, then other nodes."""
    every = [[one for one in line.changes if one.name != NODES][:_NAMED] for line in lines]
    facts = [str(one) for one in merged(one for some in every for one in some)]
    moved = [one for line in lines for one in line.changes if one.name == NODES]
    if len(set(moved)) > 1:
        return [*facts, f"{NODES} of {len(moved)} series"]
    return [*facts, *dict.fromkeys(map(str, moved))]


def _others(judged: Judged) -> Iterator[Answer]:
    total = len(judged.lines)
    if flapping := judged.of(Verdict.FLAPPING):
        yield Answer(
            (
                Strong(f"{len(flapping)} of {total} series flap: "),
                "bad nights come and go, more often than before.",
            ),
            TONES[Verdict.FLAPPING],
        )
    if better := [line for line in judged.of(Verdict.IMPROVED) if line.comes_and_goes]:
        yield Answer(
            (
                Strong(f"{len(better)} of {total} series are in the worse of two modes less often"),
                f": {better[0].label}: {better[0].judgement.ratio}.",
            ),
            TONES[Verdict.IMPROVED],
        )
    if drifting := judged.of(Verdict.DRIFTING):
        yield Answer(
            (
                Strong(f"{len(drifting)} of {total} series drift: "),
                "they change slowly, so no step is claimed for them.",
            ),
            TONES[Verdict.DRIFTING],
        )
    if wandering := judged.of(Verdict.WANDERING):
        yield Answer(
            (
                Strong(f"{len(wandering)} of {total} series wander: "),
                "their level moves slowly to and fro, so no step is claimed for them.",
            ),
            TONES[Verdict.WANDERING],
        )
    if revised := [line for line in judged.lines if line.revised]:
        yield Answer(
            (
                Strong(f"Revised since the night before: {len(revised)} of {total} series: "),
                f"{revised[0].label}: {'; '.join(revised[0].revised)}"
                f"{'; and others' if len(revised) > 1 else ''}.",
            )
        )
    if accepted := [line for line in judged.lines if line.accepted]:
        yield Answer(
            (Strong(f"Of {len(accepted)} of {total} series the level is accepted"), " as baseline.")
        )
    if small := [line for line in judged.lines if line.is_small]:
        yield Answer(
            (
                Strong(f"{len(small)} of {total} series changed by less than the least effect"),
                " of their metric: that is no verdict.",
            )
        )
    if unchanged := judged.of(Verdict.UNCHANGED):
        seen = [line.judgement.would_see for line in unchanged if line.judgement.would_see]
        least = f"a step of {units.percent(median(seen))} within 10 nights." if seen else ""
        yield Answer(
            (
                Strong(f"{len(unchanged)} of {total} series are unchanged."),
                f" Half of them would have shown {least}" if seen else "",
            ),
        )
    if mute := judged.of(Verdict.TOO_FEW_NIGHTS):
        why = "; ".join(
            sorted({line.judgement.why for line in mute if line.judgement.why})[:_NAMED]
        )
        yield Answer(
            (
                Strong(f"{len(mute)} of {total} series have too few nights"),
                f": {why}." if why else ".",
            ),
            TONES[Verdict.TOO_FEW_NIGHTS],
        )
