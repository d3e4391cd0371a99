"""Which launches did not complete, which were disturbed, and what that changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from roundtrip.collect import displaced, identity, silences
from roundtrip.collect.bundle_rows import STATUSES
from roundtrip.collect.counts import Counts, of_rows
from roundtrip.report import labels, units, yardsticks
from roundtrip.report.blocks import (
    Answer,
    Block,
    Cell,
    Column,
    Fold,
    Heading,
    Paragraph,
    Part,
    Strong,
    Table,
    Text,
    Tone,
    text_cells,
)
from roundtrip.report.data import Data
from roundtrip.report.sections import clocks, spread
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.summaries import MEDIAN, Kind, Summary
from roundtrip.studies.derivation import Facts, Pairing, Ratio

#: Of every part of ours.
_FACTS = Facts(
    summaries=(
        yardsticks.OF_LAUNCH,
        Summary("a figure of a study", Kind.COST, "launches", MEDIAN),
    ),
    ratios=(Ratio("disturbed over undisturbed launches", yardsticks.OF_LAUNCH, Pairing.APART),),
)
#: The plan of a campaign that compares nodes.
_PAIRS = "pairs.json"
#: Different mismatches that are shown in full; the section lists all.
_MOST = 3
_MISMATCH = re.compile(rf"{identity.MISMATCH}.*?(?=; last words: |$)")
QUESTION = "Did every launch complete?"
_TONES: dict[str, Tone] = {
    "partial": "bad",
    "failed": "bad",
    "missing": "bad",
    "skipped": "muted",
}


def part(data: Data) -> Part:
    """Counts, losses, disturbances."""
    found = _compared(data)
    blocks: list[Block] = [_counts(data), *_unsealed(data), *_lost(data)]
    blocks += [*_out_of_use(data), *_displaced(data), *_silences(data)]
    blocks += [*_disturbed(data, found), *spread.blocks(data, found)]
    return Part(
        "launches",
        "Launches: completed, failed and disturbed",
        tuple(blocks),
        answers=answers(data),
        question=QUESTION,
    )


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


def facts(shown: Part) -> Facts:
    """What stands behind the figures of a part of ours, for the report's audit."""
    if not any(spread.is_shown(block) for block in shown.blocks):
        return _FACTS
    return replace(_FACTS, summaries=(*_FACTS.summaries, spread.DEVIATED))


def completed(data: Data) -> Counts:
    """Launches asked for and launches that completed."""
    return of_rows(data.launches.select("case_id", "status", "wanted").iter_rows())


def _counts(data: Data) -> Table:
    rows = []
    kinds = _kinds(data)
    for (case_id,), group in data.launches.group_by(["case_id"], maintain_order=True):
        status = group["status"]
        counts = [int((status == name).sum()) for name in STATUSES]
        disturbed = group.filter(pl.col("disturbed").fill_null(False)).height
        case = Cell(f"{case_id} {kinds.get(str(case_id), '')}".strip())
        rows.append((case, *(Cell(units.count(one)) for one in (*counts, disturbed))))
    names = ("Completed", "Partial", "Failed", "Displaced", "Missing", "Skipped", "Disturbed")
    return Table(
        "Every case of the campaign.",
        (Column("Case"), *(Column(name, "right") for name in names)),
        tuple(rows),
    )


def _kinds(data: Data) -> dict[str, str]:
    """By case, what is emulated or simulated in it; a launch that is missing does not tell."""
    rows = data.launches.select("case_id", "emulation", "simulated").iter_rows()
    marks = ((case_id, labels.kind(emulation, simulated)) for case_id, emulation, simulated in rows)
    return {case_id: mark for case_id, mark in marks if mark}


def _unsealed(data: Data) -> list[Block]:
    """Says for how many launches nothing proves that their samples are as they were written."""
    passed = data.launches.filter(pl.col("status") == "passed")
    count = passed.filter(~pl.col("sealed").fill_null(False)).height
    if not count:
        return []
    told = f"{units.plural(count, 'launch', 'launches')} of {passed.height}"
    verb = "is" if count == 1 else "are"
    reason = " not sealed: run.json has no digest of samples.csv to hold the rows against."
    return [Paragraph((f"{told} {verb}{reason}",))]


def _silences(data: Data) -> list[Block]:
    """When the scheduler did not answer; nothing for a bundle without such a record."""
    record = data.environment.get("scheduler.json")
    told = silences.recorded(record)
    if not told:
        return []
    why = "Launches that failed because of it were repeated and count against no case."
    return [Paragraph((f"{told}. {why}",))]


def _out_of_use(data: Data) -> list[Block]:
    """Nodes that Slurm had taken out; where nodes are compared, their own part lists them."""
    nodes = data.manifest.data.get("nodes_not_measured") or []
    if not nodes or _PAIRS in data.environment:
        return []
    rows = tuple(text_cells(one["node"], one["state"], one["reason"]) for one in nodes)
    caption = "Nodes that Slurm had taken out of use when the run began: nobody measured them."
    return [Table(caption, (Column("Node"), Column("State"), Column("Reason")), rows)]


def _displaced(data: Data) -> list[Block]:
    """How many launches Slurm displaced, by reason; nothing if none."""
    shown = data.launches.filter(pl.col("status") == displaced.STATUS)
    told = displaced.told(shown["reason"].fill_null(""))
    return [Paragraph((f"{told}.",))] if told else []


def _lost(data: Data) -> list[Block]:
    lost = data.launches.filter(~pl.col("status").is_in(["passed", displaced.STATUS]))
    heading = Heading(3, "Partial, failed, missing and skipped")
    if lost.is_empty():
        return [heading, Paragraph(("Nothing: every expected launch completed.",))]
    rows = []
    kinds = _kinds(data)
    keys = ["status", "case_id", "reason"]
    grouped = lost.group_by(keys, maintain_order=True).agg(pl.col("launch"))
    for status, case_id, reason, launches in grouped.iter_rows():
        named = launches[0] if len(launches) == 1 else f"{launches[0]} and {len(launches) - 1} more"
        rows.append(
            (
                Cell(f"{case_id} {kinds.get(case_id, '')}".strip()),
                Cell(status, _TONES.get(status, "warn")),
                *text_cells(reason or "no reason given", named),
            )
        )
    return [
        heading,
        Table(
            "Left out of every number above, each with its reason.",
            (Column("Case"), Column("Status"), Column("Reason"), Column("Launch")),
            tuple(rows),
        ),
    ]


def _disturbed(data: Data, found: pl.DataFrame) -> list[Block]:
    passed = data.launches.filter(pl.col("status") == "passed")
    disturbed = passed.filter(pl.col("disturbed"))
    heading = Heading(3, "Disturbed launches")
    if disturbed.is_empty():
        return [heading, Paragraph(("None, by the thresholds printed below.",))]
    rows = tuple(
        text_cells(launch, f"{toolchain} {labels.kind(emulation, simulated)}".strip(), why)
        for launch, toolchain, emulation, simulated, why in disturbed.select(
            "launch", "toolchain", "emulation", "simulated", "disturbed_why"
        ).iter_rows()
    )
    listed = Table(
        "Something other than the benchmark used the machine during these launches.",
        (Column("Launch"), Column("Toolchain"), Column("Why")),
        rows,
    )
    told = (
        f"{units.plural(disturbed.height, 'launch', 'launches')} of {passed.height} marked as "
        "disturbed. They are kept in every number of this report."
    )
    effect = _effect(data, found)
    tables: list[Block] = [effect] if effect.rows else []
    return [heading, Paragraph((told,)), *tables, Fold("The disturbed launches", (listed,))]


def _effect(data: Data, found: pl.DataFrame) -> Table:
    """A few figures of each study over all launches, and over the undisturbed ones."""
    rows = []
    keys = ["number", *yardsticks.SAME]
    for _, group in found.group_by(keys, maintain_order=True):
        if not group["disturbed"].any():
            continue
        first = group.row(0, named=True)
        kind = labels.kind(first["emulation"], first["simulated"])
        calm = group.filter(~pl.col("disturbed"))
        shown = [_figure(frame, first["unit"]) for frame in (group, calm)]
        shown.append(_change(group.filter(pl.col("disturbed")), calm))
        series = yardsticks.traced(data.origins, first)
        named = text_cells(f"{first['toolchain']} {kind}".strip(), str(first["case"]))
        figure = Cell(f"{first['name']}, {first['unit']}", unit=first["unit"])
        rows.append((*named, figure, *(Cell(one, series=series) for one in shown)))
    return Table(
        "What leaving the disturbed launches out would change: median over launches; and the "
        "median of the disturbed ones against that of the others.",
        (
            Column("Toolchain"),
            Column("Case"),
            Column("Figure"),
            Column("All launches", "right"),
            Column("Undisturbed only", "right"),
            Column("Disturbed / undisturbed", "right", base="Undisturbed only"),
        ),
        tuple(rows),
    )


def _figure(launches: pl.DataFrame, unit: str) -> Text:
    value = launches["median"].median()
    if not isinstance(value, float):
        return ("none left",)
    return Quantity(value=value, unit=unit), f" (n = {launches.height})"


def _change(disturbed: pl.DataFrame, calm: pl.DataFrame) -> Text:
    values = disturbed["median"].median(), calm["median"].median()
    ours, theirs = (value if isinstance(value, float) else 0.0 for value in values)
    shown = Quantity(value=ours / theirs, unit=Unit.RATIO) if ours and theirs else units.NOTHING
    return (shown,)


def _compared(data: Data) -> pl.DataFrame:
    """The yardsticks of all studies, with the facts of their launches."""
    facts = ("launch", "toolchain", "disturbed", "elapsed_s", "emulation", "simulated")
    passed = data.launches.filter(pl.col("status") == "passed").select(facts)
    return yardsticks.by_launch(data.samples).join(passed, on="launch", maintain_order="left")
