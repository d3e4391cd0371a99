"""The section on launches: failures, disturbances and their effect, clocks that disagree."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import (
    Answer,
    Block,
    Cell,
    CollapsibleBlocks,
    Column,
    Heading,
    InlineElement,
    Paragraph,
    ReportSection,
    RichText,
    StatusColour,
    Table,
    count_cells,
    make_answer,
    number_columns,
    text_cells,
    text_columns,
)
from roundtrip.content.data import BundleData
from roundtrip.measure import completion, identity, scheduler
from roundtrip.measure.bundle_rows import STATUSES
from roundtrip.measure.completion import LaunchCounts, count_launches
from roundtrip.measure.pseudonyms import PSEUDONYM_PATTERN
from roundtrip.report.sections import nodes, spread
from roundtrip.stats.summaries import MEDIAN, Summary, ValueKind
from roundtrip.studies.derivation import AuditedRatio, AuditFacts, PairingScope
from roundtrip.units import Quantity, Unit

#: Facts for the audit, whatever blocks the section has.
_AUDIT_FACTS = AuditFacts(
    summaries=(
        spread.LAUNCH_SUMMARY,
        Summary("a figure of a study", ValueKind.COST, "launches", MEDIAN),
    ),
    ratios=(
        AuditedRatio(
            "disturbed over undisturbed launches", spread.LAUNCH_SUMMARY, PairingScope.UNPAIRED
        ),
    ),
)
#: The plan of a campaign that compares nodes.
_PAIRS_FILE = "pairs.json"
#: Maximum different mismatches among the answers; the section lists all.
_MAX_MISMATCHES = 3
_NUMBER_PATTERN = re.compile(r"[+-]?\d+(\.\d+)?")
#: The part of a mismatch that differs between alike ones.
_RANK_OR_NODE_PATTERN = re.compile(rf"rank \d+|{PSEUDONYM_PATTERN}|,")
_MISMATCH_PATTERN = re.compile(rf"{identity.MISMATCH_PREFIX}.*?(?=; last words: |$)")
SECTION_QUESTION = "Did every launch complete?"
_COLOUR_BY_STATUS: dict[str, StatusColour] = {
    "partial": "bad",
    "failed": "bad",
    "missing": "bad",
    "skipped": "muted",
}


def build_section(data: BundleData) -> ReportSection:
    """The section: counts, lost launches, disturbances, noise."""
    spread_values = _spread_values(data)
    blocks: list[Block] = [_launch_counts_table(data)]
    if count := data.completed_launches.filter(~pl.col("sealed").fill_null(False)).height:
        unsealed = f"{units.plural(count, 'launch')} of {data.completed_launches.height}"
        verb = "is" if count == 1 else "are"
        reason = "not sealed: run.json has no digest of samples.csv to check the rows."
        blocks.append(Paragraph((f"{unsealed} {verb} {reason}",)))
    blocks += [*_lost_launch_blocks(data), *_scheduler_blocks(data)]
    blocks += [*_disturbance_blocks(data, spread_values), *spread.noise_blocks(data, spread_values)]
    title = "Launches: completed, failed and disturbed"
    answers = _completion_answers(data, spread_values)
    return ReportSection(
        "launches", title, tuple(blocks), answers=answers, question=SECTION_QUESTION
    )


def _completion_answers(data: BundleData, spread_values: pl.DataFrame) -> tuple[Answer, ...]:
    """Whether every launch completed, what disturbed launches, and an answer for each failure."""
    counts, lines = launch_counts(data), list(_failure_answers(data))
    if counts.disturbed_count:
        texts = _describe_disturbances(data, counts), _describe_median_changes(spread_values)
        lines.append(Answer((" ".join(texts).strip(),), "warn"))
    first, rest = f"Yes, all {counts.target_count}", " completed"
    if counts.missing_by_case:
        first, rest = "No: ", f"{counts.completed_count} of {counts.target_count} completed"
    if counts.surplus_count:
        attempts = units.plural(sum(counts.passed_by_case.values()), "attempt")
        rest += f" ({attempts}, {counts.surplus_count} repeated)"
    tone: StatusColour = "bad" if counts.missing_by_case else "warn" if lines else "good"
    calm = "" if counts.disturbed_count else "; none was disturbed"
    return make_answer(first, f"{rest}{calm}.", tone), *lines


def _describe_disturbances(data: BundleData, counts: LaunchCounts) -> str:
    reasons = [why.split("; ")[0] for why in data.completed_launches["disturbed_why"] if why]
    kinds = Counter(_NUMBER_PATTERN.sub("#", reason) for reason in reasons)
    example = next(r for r in reasons if _NUMBER_PATTERN.sub("#", r) == kinds.most_common(1)[0][0])
    launches = units.plural(sum(counts.passed_by_case.values()), "launch")
    verb = "was" if counts.disturbed_count == 1 else "were"
    return f"{counts.disturbed_count} of {launches} {verb} disturbed, most often: {example}."


def _describe_median_changes(spread_values: pl.DataFrame) -> str:
    """A clause on the change of medians over launches without the disturbed launches."""
    changes, lost_count = [], 0
    for _, group in spread_values.group_by(["number", *spread.SPREAD_KEY_COLUMNS]):
        calm_median = group.filter(~pl.col("disturbed"))["median"].median()
        median = group["median"].median()
        if not isinstance(calm_median, float):
            lost_count += 1
        elif isinstance(median, float) and median and group["disturbed"].any():
            changes.append(abs(calm_median / median - 1))
    clauses = []
    if lost_count:
        verb = "rests" if lost_count == 1 else "rest"
        clauses.append(f"{units.plural(lost_count, 'median')} {verb} on disturbed launches alone")
    if changes:
        most = units.percent_text(max(changes))
        clauses.append(f"without disturbed launches no median would change by more than {most}")
    text = "; ".join(clauses)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _failure_answers(data: BundleData) -> Iterator[Answer]:
    counts = Counter(data.launches["status"])
    if count := counts["partial"]:
        launches = units.plural(count, "launch")
        yield make_answer("Partial: ", f"{launches} measured too few sizes; left out.", "bad")
    if count := counts["failed"]:
        yield make_answer("Failed: ", f"{units.plural(count, 'attempt')} at a launch.", "bad")
    yield from _mismatch_answers(data)
    if data.node_pairs.is_empty():  # else the section on nodes names them
        yield from nodes.odd_clock_answers(data)


def _mismatch_answers(data: BundleData) -> Iterator[Answer]:
    """The mismatches (`identity`) among the reasons of launches; equal ones once."""
    reasons = data.launches.filter(pl.col("status") != "missing")["reason"].drop_nulls()
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for match in filter(None, map(_MISMATCH_PATTERN.search, reasons)):
        mismatch = match[0].removeprefix(identity.MISMATCH_PREFIX)
        groups[tuple(sorted(_RANK_OR_NODE_PATTERN.sub("", mismatch).split()))].append(mismatch)
    for first, *others in list(groups.values())[:_MAX_MISMATCHES]:
        nodes = [set(re.findall(PSEUDONYM_PATTERN, mismatch)) for mismatch in (first, *others)]
        common = ", ".join(sorted(set.intersection(*nodes)))
        where = f", all with {common}" if common else ""
        alike = f"; {units.plural(len(others), 'more attempt')} like this{where}" if others else ""
        yield make_answer("Mismatch: ", f"{first}{alike}.", "bad")
    if len(groups) > _MAX_MISMATCHES:
        rest = units.plural(len(groups) - _MAX_MISMATCHES, "more kind")
        yield make_answer("Mismatch: ", f"{rest}, with the launches.", "bad")


def audit_facts(launches_section: ReportSection) -> AuditFacts:
    """The facts about the section for the report's audit."""
    if not any(spread.is_noise_table(block) for block in launches_section.blocks):
        return _AUDIT_FACTS
    return replace(_AUDIT_FACTS, summaries=(*_AUDIT_FACTS.summaries, spread.LOG_DEVIATION_SUMMARY))


def launch_counts(data: BundleData) -> LaunchCounts:
    """Return the counts of requested and completed launches."""
    columns = ("case_id", "status", "wanted", "disturbed")
    return count_launches(data.launches.select(columns).iter_rows())


def _launch_counts_table(data: BundleData) -> Table:
    rows = []
    cases = _name_by_case_id(data)
    attempts = data.launches.filter((pl.col("status") != "skipped").any().over("case_id"))
    for (case_id,), group in attempts.group_by(["case_id"], maintain_order=True):
        status = group["status"]
        counts = [int((status == name).sum()) for name in STATUSES]
        disturbed_count = group.filter(pl.col("disturbed").fill_null(False)).height
        rows.append((Cell(cases[str(case_id)]), *count_cells(*counts, disturbed_count)))
    names = ("completed" if name == "passed" else name for name in STATUSES)
    headings = (name.capitalize() for name in (*names, "disturbed"))
    columns = (Column("Case"), *number_columns(*headings))
    skipped_count = len(cases) - len(rows)
    exception_clause = f" except {units.plural(skipped_count, 'skipped case')}, listed below"
    caption = f"Every case of the campaign{exception_clause if skipped_count else ''}."
    return Table(caption, columns, tuple(rows))


def _name_by_case_id(data: BundleData) -> dict[str, str]:
    """The name of each case by id, labelled if a launch of it was emulated or simulated."""
    rows = data.launches.select("case_id", "emulation", "simulated").iter_rows(named=True)
    cases: dict[str, str] = {}
    for row in rows:
        case, label = row["case_id"], labels.add_label(row["case_id"], row)
        if label != case or case not in cases:  # a missing launch has no mark
            cases[case] = label
    return cases


def _scheduler_blocks(data: BundleData) -> Iterator[Block]:
    """The nodes that the scheduler had taken out of use, launches that it displaced, outages."""
    why = f"{data.scheduler.title} had taken out of use before the run"
    caption = f"Nodes that {why}; they were not measured."
    table = nodes.excluded_nodes_table(data, caption)
    if table and _PAIRS_FILE not in data.env_records:  # else the section on nodes lists them
        yield table
    displaced_launches = data.launches.filter(status="displaced")
    if reasons := completion.describe_displacements(displaced_launches["reason"].fill_null("")):
        yield Paragraph((f"{reasons}.",))
    if silences := scheduler.describe_outage_record(data.env_records.get("scheduler.json")):
        note = "Launches that failed because of it were repeated and count against no case."
        yield Paragraph((f"{silences}. {note}",))


def _lost_launch_blocks(data: BundleData) -> list[Block]:
    lost_launches = data.launches.filter(~pl.col("status").is_in(["passed", "displaced"]))
    heading = Heading(3, "Partial, failed, missing and skipped")
    if lost_launches.is_empty():
        return [heading, Paragraph(("Nothing: every expected launch completed.",))]
    rows = []
    cases = _name_by_case_id(data)
    only_case = pl.when(pl.col("status") != "skipped").then("case_id").alias("only_case")
    groups = lost_launches.group_by("status", "reason", only_case, maintain_order=True).agg(
        pl.col("case_id").unique(maintain_order=True), "launch"
    )
    for status, reason, _, case_ids, launches in groups.iter_rows():
        names = launches[0] if len(launches) == 1 else f"{launches[0]} and {len(launches) - 1} more"
        status_cell = Cell(status, _COLOUR_BY_STATUS.get(status, "warn"))
        reason_cells = text_cells(reason or "no reason given", names)
        name = cases[case_ids[0]] if len(case_ids) == 1 else f"{len(case_ids)} cases"
        rows.append((Cell(name), status_cell, *reason_cells))
    caption = "Left out of every number above, with the reason."
    if any(len(case_ids) > 1 for case_ids in groups["case_id"]):
        caption += (
            " A row counts all cases skipped for one reason; cases.parquet of the bundle and "
            "“roundtrip run --dry-run” list them."
        )
    columns = text_columns("Case", "Status", "Reason", "Launch")
    return [heading, Table(caption, columns, tuple(rows))]


def _disturbance_blocks(data: BundleData, spread_values: pl.DataFrame) -> list[Block]:
    launches = data.completed_launches.filter(pl.col("disturbed"))
    heading = Heading(3, "Disturbed launches")
    if launches.is_empty():
        return [heading, Paragraph(("None, by the thresholds printed below.",))]
    rows = []
    for row in launches.iter_rows(named=True):
        toolchain = labels.add_label(row["toolchain"], row)
        rows.append(text_cells(row["launch"], toolchain, row["disturbed_why"]))
    caption = "Something other than the benchmark used the machine during these launches."
    table = Table(caption, text_columns("Launch", "Toolchain", "Why"), tuple(rows))
    count = f"{units.plural(launches.height, 'launch')} of {data.completed_launches.height}"
    note = f"Disturbed: {count}. Every number of this report includes them."
    effect = _disturbance_effect_table(data, spread_values)
    tables: list[Block] = [effect] if effect.rows else []
    fold = CollapsibleBlocks("The disturbed launches", (table,))
    return [heading, Paragraph((note,)), *tables, fold]


def _disturbance_effect_table(data: BundleData, spread_values: pl.DataFrame) -> Table:
    rows = []
    keys = ["number", *spread.SPREAD_KEY_COLUMNS]
    for _, group in spread_values.group_by(keys, maintain_order=True):
        if not group["disturbed"].any():
            continue
        first = group.row(0, named=True)
        calm_launches = group.filter(~pl.col("disturbed"))
        texts = [_median_text(frame, first["unit"]) for frame in (group, calm_launches)]
        disturbed = group.filter(pl.col("disturbed"))["median"].median()
        calm = calm_launches["median"].median()
        change: InlineElement = units.NO_VALUE
        if isinstance(disturbed, float) and isinstance(calm, float) and disturbed and calm:
            change = Quantity(value=disturbed / calm, unit=Unit.RATIO)
        texts.append((change,))
        series = data.series_key(first["case_id"], first)
        case_cells = text_cells(labels.add_label(first["toolchain"], first), str(first["case"]))
        figure = Cell(f"{first['name']}, {first['unit']}", unit=first["unit"])
        rows.append((*case_cells, figure, *(Cell(text, series_key=series) for text in texts)))
    return Table(
        "Median over all launches and over the undisturbed ones; then the median of the "
        "disturbed launches over that of the others.",
        (
            *text_columns("Toolchain", "Case", "Figure"),
            *number_columns("All launches", "Undisturbed only"),
            Column("Disturbed / undisturbed", "right", base_name="Undisturbed only"),
        ),
        tuple(rows),
    )


def _median_text(launches: pl.DataFrame, unit: str) -> RichText:
    value = launches["median"].median()
    if not isinstance(value, float):
        return ("none left",)
    return Quantity(value=value, unit=unit), f" (n = {launches.height})"


def _spread_values(data: BundleData) -> pl.DataFrame:
    facts = ("launch", "toolchain", "disturbed", "elapsed_s", "emulation", "simulated")
    launches = data.completed_launches.select(facts)
    values = spread.launch_spread_values(data.samples)
    return values.join(launches, on="launch", maintain_order="left")
