"""Which launches did not complete or were disturbed, whose clocks disagree, and what it changed."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from roundtrip.collect import completion, identity, scheduler_log
from roundtrip.collect.bundle_rows import STATUSES
from roundtrip.collect.completion import Counts, count_launches
from roundtrip.report import labels, units
from roundtrip.report import nodes as words
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
    count_cells,
    number_columns,
    text_cells,
    text_columns,
)
from roundtrip.report.data import Data
from roundtrip.report.sections import nodes, spread
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.clocks import ClockComparison, OddClock, odd_clocks
from roundtrip.stats.summaries import MEDIAN, Kind, Summary
from roundtrip.studies.derivation import Facts, Pairing, Ratio

#: Wall clocks of nodes that differ by more are not set by NTP.
_UTC_LIMIT_S = 1.0
#: Of every part of ours.
_FACTS = Facts(
    summaries=(
        spread.OF_LAUNCH,
        Summary("a figure of a study", Kind.COST, "launches", MEDIAN),
    ),
    ratios=(Ratio("disturbed over undisturbed launches", spread.OF_LAUNCH, Pairing.APART),),
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


def odd_clock_answers(data: Data) -> Iterator[Answer]:
    """Nodes whose clocks run at another rate than those of others, or tell another time."""
    environs = labels.by_environ(data.launches)
    mark = words.marked(environs, environs)
    limit = data.analysis.disturbance.clock_rate
    for odd in odd_clocks(_rates(data), math.log1p(limit)):
        title, rest = _named_clock(odd, f"runs {math.exp(odd.excess):.4g} times as fast as")
        yield Answer((Strong(f"{title}{mark} "), f"{rest}: its times are wrong."), "bad")
    for odd in odd_clocks(_offsets(data), _UTC_LIMIT_S):
        side = "ahead of" if odd.excess > 0 else "behind"
        title, rest = _named_clock(odd, f"is {abs(odd.excess):.3g} s {side}", "wall clock")
        yield Answer((Strong(f"{title}{mark} "), f"{rest}: its logs are misdated."), "warn")


def _named_clock(odd: OddClock, differs: str, clock: str = "clock") -> tuple[str, str]:
    if odd.other:
        others = f"that of {odd.other}; of two alone nobody knows which is right"
    else:
        which = "those" if odd.partners > 1 else "that"
        others = f"{which} of {units.plural(odd.partners, 'other node')}"
    return f"The {clock} of {odd.node}", f"{differs} {others}"


def _rates(data: Data) -> Iterator[ClockComparison]:
    for one, other, (rate, error) in _against_root(data, "clock_rate", "clock_rate_error"):
        if rate > 0:
            yield ClockComparison(one, other, math.log(rate), error / rate)


def _offsets(data: Data) -> Iterator[ClockComparison]:
    for one, other, (ahead_s,) in _against_root(data, "utc_ahead_s"):
        yield ClockComparison(one, other, ahead_s, 0.0)


def _against_root(data: Data, *names: str) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """The host of rank 0, that of another rank of the launch, and what its clock was against it."""
    if data.placement.is_empty():
        return
    hosts = data.placement.select("launch", "rank", "host")
    root = hosts.filter(pl.col("rank") == 0).select("launch", root="host")
    known = data.disturbance.select("launch", "rank", *names).drop_nulls()
    rows = known.join(hosts, on=["launch", "rank"]).join(root, on="launch")
    for one, other, *values in rows.sort("launch", "rank").select("root", "host", *names).rows():
        yield one, other, tuple(values)


def part(data: Data) -> Part:
    """Counts, losses, disturbances."""
    found = _compared(data)
    blocks: list[Block] = [_counts(data), *_unsealed(data), *_lost(data)]
    blocks += [*_out_of_use(data), *_displaced(data), *_silences(data)]
    blocks += [*_disturbed(data, found), *spread.blocks(data, found)]
    title = "Launches: completed, failed and disturbed"
    return Part("launches", title, tuple(blocks), answers=answers(data), question=QUESTION)


def answers(data: Data) -> tuple[Answer, ...]:
    """One line for each thing that is wrong; one that says so where nothing is."""
    found = tuple(_faults(data))
    return found or (Answer(("Every launch completed, and none was disturbed.",), "good"),)


def _faults(data: Data) -> Iterator[Answer]:
    counts = Counter(data.launches["status"])
    if missing := counts["missing"]:
        launches = units.plural(missing, "expected launch", "expected launches")
        yield Answer((Strong("Incomplete: "), f"{launches} missing."), "bad")
    if partial := counts["partial"]:
        launches = units.plural(partial, "launch", "launches")
        yield Answer((Strong("Partial: "), f"{launches} measured too few sizes; left out."), "bad")
    if failed := counts["failed"]:
        attempts = units.plural(failed, "attempt", "attempts")
        yield Answer((Strong("Failed: "), f"{attempts} at a launch."), "bad")
    yield from _mismatches(data)
    disturbed = int(data.launches["disturbed"].fill_null(False).sum())
    if disturbed:
        launches = f"{units.plural(disturbed, 'launch', 'launches')} of {counts['passed']}"
        yield Answer((Strong("Disturbed: "), launches, "; kept and marked."), "warn")
    yield from odd_clock_answers(data)


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
    return count_launches(data.launches.select("case_id", "status", "wanted").iter_rows())


def _counts(data: Data) -> Table:
    rows = []
    cases = _cases(data)
    for (case_id,), group in data.launches.group_by(["case_id"], maintain_order=True):
        status = group["status"]
        counts = [int((status == name).sum()) for name in STATUSES]
        disturbed = group.filter(pl.col("disturbed").fill_null(False)).height
        rows.append((Cell(cases[str(case_id)]), *count_cells(*counts, disturbed)))
    names = ("Completed", "Partial", "Failed", "Displaced", "Missing", "Skipped", "Disturbed")
    columns = (Column("Case"), *number_columns(*names))
    return Table("Every case of the campaign.", columns, tuple(rows))


def _cases(data: Data) -> dict[str, str]:
    """The name of each case, with what is emulated or simulated in any of its launches."""
    rows = data.launches.select("case_id", "emulation", "simulated").iter_rows(named=True)
    found: dict[str, str] = {}
    for row in rows:
        case, marked = row["case_id"], labels.marked(row["case_id"], row)
        if marked != case or case not in found:  # a launch that is missing does not tell
            found[case] = marked
    return found


def _unsealed(data: Data) -> Iterator[Block]:
    """Says for how many launches nothing proves that their samples are as they were written."""
    if count := data.completed.filter(~pl.col("sealed").fill_null(False)).height:
        launches = f"{units.plural(count, 'launch', 'launches')} of {data.completed.height}"
        verb = "is" if count == 1 else "are"
        reason = "not sealed: run.json has no digest of samples.csv to hold the rows against."
        yield Paragraph((f"{launches} {verb} {reason}",))


def _silences(data: Data) -> Iterator[Block]:
    """When the scheduler did not answer; nothing for a bundle without such a record."""
    if silent := scheduler_log.describe_record(data.environment.get("scheduler.json")):
        why = "Launches that failed because of it were repeated and count against no case."
        yield Paragraph((f"{silent}. {why}",))


def _out_of_use(data: Data) -> Iterator[Block]:
    """Nodes that Slurm had taken out; where nodes are compared, their own part lists them."""
    caption = "Nodes that Slurm had taken out of use when the run began: nobody measured them."
    table = nodes.excluded_nodes(data, caption)
    if table and _PAIRS not in data.environment:
        yield table


def _displaced(data: Data) -> Iterator[Block]:
    """How many launches Slurm displaced, by reason; nothing if none."""
    shown = data.launches.filter(pl.col("status") == completion.DISPLACED)
    if reasons := completion.describe_displaced(shown["reason"].fill_null("")):
        yield Paragraph((f"{reasons}.",))


def _lost(data: Data) -> list[Block]:
    lost = data.launches.filter(~pl.col("status").is_in(["passed", completion.DISPLACED]))
    heading = Heading(3, "Partial, failed, missing and skipped")
    if lost.is_empty():
        return [heading, Paragraph(("Nothing: every expected launch completed.",))]
    rows = []
    cases = _cases(data)
    keys = ["status", "case_id", "reason"]
    grouped = lost.group_by(keys, maintain_order=True).agg(pl.col("launch"))
    for status, case_id, reason, launches in grouped.iter_rows():
        named = launches[0] if len(launches) == 1 else f"{launches[0]} and {len(launches) - 1} more"
        rows.append(
            (
                Cell(cases[case_id]),
                Cell(status, _TONES.get(status, "warn")),
                *text_cells(reason or "no reason given", named),
            )
        )
    caption = "Left out of every number above, each with its reason."
    return [
        heading,
        Table(caption, text_columns("Case", "Status", "Reason", "Launch"), tuple(rows)),
    ]


def _disturbed(data: Data, found: pl.DataFrame) -> list[Block]:
    disturbed = data.completed.filter(pl.col("disturbed"))
    heading = Heading(3, "Disturbed launches")
    if disturbed.is_empty():
        return [heading, Paragraph(("None, by the thresholds printed below.",))]
    rows = [
        text_cells(row["launch"], labels.marked(row["toolchain"], row), row["disturbed_why"])
        for row in disturbed.iter_rows(named=True)
    ]
    caption = "Something other than the benchmark used the machine during these launches."
    listed = Table(caption, text_columns("Launch", "Toolchain", "Why"), tuple(rows))
    kept = (
        f"{units.plural(disturbed.height, 'launch', 'launches')} of {data.completed.height} "
        "marked as disturbed. They are kept in every number of this report."
    )
    effect = _effect(data, found)
    tables: list[Block] = [effect] if effect.rows else []
    return [heading, Paragraph((kept,)), *tables, Fold("The disturbed launches", (listed,))]


def _effect(data: Data, found: pl.DataFrame) -> Table:
    """A few figures of each study over all launches, and over the undisturbed ones."""
    rows = []
    keys = ["number", *spread.SAME]
    for _, group in found.group_by(keys, maintain_order=True):
        if not group["disturbed"].any():
            continue
        first = group.row(0, named=True)
        calm = group.filter(~pl.col("disturbed"))
        shown = [_figure(frame, first["unit"]) for frame in (group, calm)]
        shown.append(_change(group.filter(pl.col("disturbed")), calm))
        series = spread.series_of_yardstick(data.origins, first)
        named = text_cells(labels.marked(first["toolchain"], first), str(first["case"]))
        figure = Cell(f"{first['name']}, {first['unit']}", unit=first["unit"])
        rows.append((*named, figure, *(Cell(one, series=series) for one in shown)))
    return Table(
        "What leaving the disturbed launches out would change: median over launches; and the "
        "median of the disturbed ones against that of the others.",
        (
            *text_columns("Toolchain", "Case", "Figure"),
            *number_columns("All launches", "Undisturbed only"),
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
    launches = data.completed.select(facts)
    return spread.yardsticks(data.samples).join(launches, on="launch", maintain_order="left")
