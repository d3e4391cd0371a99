"""The section on changes since earlier nights: verdicts, evidence, provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

import polars as pl

from roundtrip import units
from roundtrip.content import nights
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
    fold_if_long,
    number_columns,
    text_columns,
    text_items,
)
from roundtrip.content.data import BundleData
from roundtrip.content.nights import JudgedSeries, NightVerdicts
from roundtrip.history import published
from roundtrip.history.annotations import accepted_levels, left_out_annotations, set_left_out
from roundtrip.history.facts import bundle_facts
from roundtrip.history.night_rows import PROVENANCE, SERIES
from roundtrip.report import confirmation
from roundtrip.report.pages import answers
from roundtrip.stats.nights.verdicts import Verdict
from roundtrip.stats.summaries import MEDIAN, Summary, ValueKind
from roundtrip.studies.derivation import AuditedRatio, AuditFacts, PairingScope
from roundtrip.units import Quantity, Unit

SECTION_ANCHOR, SECTION_TITLE = "history", "Since last night"
SECTION_QUESTION = "What changed since last night?"
#: Maximum rows of a table before the rest is folded, and maximum items of a list.
_MAX_ROWS = 12
_NIGHT_SUMMARY = Summary(
    "a night's value of a series", ValueKind.COST, "the medians of its launches", MEDIAN
)
#: For the audit; the ratio's summary says how the levels since and before a step are formed.
AUDIT_FACTS = AuditFacts(
    summaries=(_NIGHT_SUMMARY,),
    ratios=(
        AuditedRatio(
            "the level since a step over the level before", _NIGHT_SUMMARY, PairingScope.UNPAIRED
        ),
    ),
    threshold_tables=("history",),
)
_FIRST_NIGHT_NOTE = (
    "Nothing to compare with yet: this is the first night of this campaign on this site."
)


def build_section(data: BundleData) -> ReportSection:
    """The section: changes against the nights in the bundle; one sentence if it has none."""
    if data.past_nights.nights.is_empty():
        blocks: list[Block] = [Paragraph((_FIRST_NIGHT_NOTE,))]
        answer = Answer((_FIRST_NIGHT_NOTE,))
        return ReportSection(
            SECTION_ANCHOR, SECTION_TITLE, tuple(blocks), (answer,), question=SECTION_QUESTION
        )
    verdicts = judge_bundle_nights(data)
    relaunches = confirmation.read_confirmation(data, verdicts)
    if answers.has_too_few_nights(verdicts):
        blocks = [*_last_two_nights_blocks(verdicts)]
    else:
        blocks = [*_last_night_blocks(verdicts), *confirmation.confirmation_blocks(relaunches)]
        blocks += [*_change_blocks(verdicts), *_other_change_blocks(verdicts)]
        blocks += _drift_blocks(verdicts)
    label = verdicts.calendar.date_text
    notes = [f"{label(night)}: {text}" for night, text in data.past_nights.notes.rows()]
    blocks += _acceptance_blocks(verdicts)
    blocks += _list_blocks("Annotations of these nights", notes)
    blocks += [*_omission_blocks(verdicts, data), _basis_paragraph(data)]
    return ReportSection(
        SECTION_ANCHOR,
        SECTION_TITLE,
        tuple(blocks),
        tuple(answers.report_answers(verdicts, relaunches.sentence)),
        question=SECTION_QUESTION,
    )


def audit_facts(data: BundleData) -> AuditFacts:
    """The facts about the section for the report's audit."""
    return AuditFacts(ratios=()) if data.past_nights.nights.is_empty() else AUDIT_FACTS


def judge_bundle_nights(data: BundleData) -> NightVerdicts:
    """Return the verdicts on all series, from the earlier nights and this one."""
    start = str(data.manifest.data["started"])
    digest = data.manifest.digest
    night_columns = {"night": pl.lit(start), "digest": pl.lit(digest)}
    disturbance = data.completed_launches.select("launch", "disturbed")
    rows = data.launch_medians.join(disturbance, on="launch").with_columns(**night_columns)
    level = data.analysis.statistics.confidence_level
    tonight = set_left_out(
        pl.concat([published.summarize_medians(rows, level), data.node_series]),
        left_out_annotations(data.past_nights.left_out, start),
    )
    placement = data.placement.select("launch", "rank", "cpus")
    facts = bundle_facts(data.folder, data.manifest, data.completed_launches, placement)
    rows_of_facts = [(start, digest, *fact) for fact in facts]
    provenance = pl.DataFrame(rows_of_facts, schema=PROVENANCE, orient="row")
    return nights.judge_all_series(
        pl.concat([data.past_nights.nights, tonight]),
        pl.concat([data.past_nights.provenance, provenance]),
        data.analysis.history,
        accepted_levels(data.past_nights.accepted),
    )


def _change_blocks(verdicts: NightVerdicts) -> Iterator[Block]:
    rows = [_step_row(series, verdicts) for series in verdicts.judged_series if series.step_night]
    if not rows:
        count = len(verdicts.judged_series) - len(verdicts.with_verdict(Verdict.TOO_FEW_NIGHTS))
        yield Paragraph((f"None of the {count} judged series has changed its level.",))
        return
    table = Table(
        "Series whose level changed, recent changes first. “Evidence”: the statistic of the "
        "step; “needed”: its threshold.",
        (
            *text_columns("Series", "Verdict"),
            Column("Level before", "right"),
            Column("Since / before", "right", base_name="Level before"),
            Column("Since"),
            *number_columns("Nights used since", "Evidence", "Needed"),
            Column("Changed then"),
        ),
        tuple(rows[:_MAX_ROWS]),
    )
    yield table
    if rest := tuple(rows[_MAX_ROWS:]):
        rest_table = Table("The rest, in the same order.", table.columns, rest)
        yield CollapsibleBlocks(units.plural(len(rest), "more series"), (rest_table,))


def _step_row(series: JudgedSeries, verdicts: NightVerdicts) -> tuple[Cell, ...]:
    judgement, step = series.judgement, series.judgement.step
    assert step is not None and series.step_night is not None  # noqa: S101  it has a night: of its step
    word = f"{judgement.verdict}{', new' if judgement.is_recent else ''}"
    ratio = units.ratio_to_level(step.ratio, step.low, step.high)
    return (
        _series_cell(series),
        Cell(word, judgement.verdict.colour),
        _series_cell(series, series.level_before),
        _series_cell(series, replace(ratio, n=step.nights)),
        Cell(verdicts.calendar.date_text(series.step_night)),
        Cell(units.count(step.nights)),
        Cell(units.pure_number(abs(step.evidence))),
        Cell(units.pure_number(step.threshold)),
        Cell(series.changes_text),
    )


def _series_cell(
    series: JudgedSeries,
    content: InlineElement | RichText = "",
    status_colour: StatusColour = "plain",
) -> Cell:
    """A cell with `content`, by default the title of the series, that links to its history."""
    return Cell(content or series.full_title, status_colour, series_key=series.data.key)


def _last_two_nights_blocks(verdicts: NightVerdicts) -> Iterator[Block]:
    yield Paragraph((answers.too_few_nights_sentence(verdicts),))
    rows = tuple(
        (
            _series_cell(pair.series),
            _series_cell(pair.series, pair.night_before_value),
            _series_cell(pair.series, pair.last_night_value),
            _series_cell(pair.series, pair.ratio),
            Cell(pair.distance),
        )
        for pair in answers.night_pairs(verdicts)
    )
    if not rows:
        return
    ratio = Column("Last night / night before", "right", base_name="Night before")
    values = number_columns("Night before", "Last night")
    columns = (Column("Series"), *values, ratio, Column("Distance", "right"))
    caption = f"The two newest nights; no verdict. {answers.DISTANCE_NOTE}"
    yield fold_if_long(f"{len(rows)} series", Table(caption, columns, rows))


def _list_blocks(title: str, items: Sequence[str], max_items: int | None = None) -> Iterator[Block]:
    """A heading and up to `max_items` items; nothing without items."""
    if not items:
        return
    rest_count = len(items) - len(items[:max_items])
    rest = [f"and {rest_count} more series"] if rest_count else []
    yield from (Heading(3, title), text_items(*items[:max_items], *rest))


def _other_change_blocks(verdicts: NightVerdicts) -> Iterator[Block]:
    """Shares of bad nights, revised findings of the night before, and steps that are no effect."""
    judged_series, calendar = verdicts.judged_series, verdicts.calendar
    intermittent = [series for series in judged_series if series.is_intermittent]
    items = [f"{series.full_title}: {series.judgement.ratio_text}." for series in intermittent]
    yield from _list_blocks("Recurring bad nights", items, _MAX_ROWS)
    revised = [series for series in judged_series if series.revision_sentences]
    items = [f"{each.full_title}: {'; '.join(each.revision_sentences)}." for each in revised]
    yield from _list_blocks("Revised since the night before", items)
    items = []
    for series in filter(attrgetter("has_negligible_step"), judged_series):
        step = series.history.steps[-1]
        least_effect = units.percent_text(series.history.min_effect)
        date = calendar.date_text(calendar.nights[step.night])
        change = units.ratio_to_level(step.ratio)
        items.append(f"{series.full_title}: {change} since {date}; minimum effect {least_effect}.")
    yield from _list_blocks("Smaller than the minimum effect", items, _MAX_ROWS)


def _drift_blocks(verdicts: NightVerdicts) -> Iterator[Block]:
    judged_series = verdicts.with_verdict(Verdict.DRIFTING)
    if not judged_series:
        return
    yield Heading(3, "Slow changes")
    yield Paragraph(("These series change a little every night: no single night is the cause.",))
    texts = [(series, f"times {series.judgement.ratio_text}") for series in judged_series]
    rows = tuple((_series_cell(one), _series_cell(one, text, "warn")) for one, text in texts)
    caption = "Level in a year over the level today."
    table = Table(caption, text_columns("Series", "Drift"), rows)
    yield fold_if_long(f"{len(rows)} series that drift", table)


def _last_night_blocks(verdicts: NightVerdicts) -> Iterator[Block]:
    newest_nights = [(series, series.history.newest_night) for series in verdicts.judged_series]
    judged_series = [series for series, night in newest_nights if night and night.is_outside]
    if not judged_series:
        return
    text = (
        "Outside the range that earlier nights predict for one night. If it lasts, it is a "
        "change of level; if the level returns, an incident."
    )
    yield from (Heading(3, "Last night"), Paragraph((text,)))
    caption = (
        "The value of this night over the level of its series, and the range expected for one "
        "night."
    )
    columns = *text_columns("Series", "Verdict"), *number_columns("This night", "To be expected")
    table = Table(caption, columns, tuple(map(_newest_row, judged_series)))
    yield fold_if_long(f"{len(judged_series)} series", table)


def _newest_row(series: JudgedSeries) -> tuple[Cell, ...]:
    newest, verdict = series.history.newest_night, series.judgement.verdict
    assert newest is not None  # noqa: S101  of those that have one
    ratio, low, high = (
        Quantity(value=value, unit=Unit.PURE_NUMBER, decimals=3)
        for value in (newest.ratio, newest.low, newest.high)
    )
    names = _series_cell(series), Cell(str(verdict), verdict.colour)
    expected = _series_cell(series, (low, " to ", high))
    return *names, _series_cell(series, ratio, "warn"), expected


def _acceptance_blocks(verdicts: NightVerdicts) -> Iterator[Block]:
    groups: dict[tuple[str, str], list[JudgedSeries]] = {}
    for series in verdicts.judged_series:
        if series.acceptance:
            groups.setdefault((series.acceptance.last, series.acceptance.text), []).append(series)
    items = []
    for (last, text), judged_series in sorted(groups.items()):
        names = _first_titles([series.full_title for series in judged_series])
        count = units.plural(len(judged_series), "series")
        items.append(f"{count} up to {last}, by the annotation “{text}”: {names}.")
    return _list_blocks("Accepted levels", items)


def _first_titles(titles: Sequence[str]) -> str:
    rest = f"; and {len(titles) - 3} more" if len(titles) > 3 else ""
    return "; ".join(titles[:3]) + rest


def _omission_blocks(verdicts: NightVerdicts, data: BundleData) -> Iterator[Block]:
    """Values that detection did not use, with reasons, and what this night lacks."""
    reasons: Counter[str] = Counter()
    labels = []
    tonight = verdicts.calendar.nights[-1]
    for series in verdicts.judged_series:
        points = series.data.points
        reasons.update(point.left_out for point in points if point.left_out)
        if points[-1].night != tonight:
            labels.append(series.full_title)
    items = [
        f"{units.plural(count, 'value')} of single nights: {reason}."
        for reason, count in sorted(reasons.items())
    ]
    if labels:
        share = f"{units.plural(len(labels), 'series')} of earlier nights"
        items.append(f"{share} were not measured this night: {_first_titles(labels)}.")
    night_rows = data.past_nights.nights.filter(nodes="", foreign=False)
    if night_rows.height:
        count = units.plural(night_rows["night"].n_unique(), "night")
        items.append(f"The nodes of {count} are not known.")
    unjudged_series = verdicts.with_verdict(Verdict.TOO_FEW_NIGHTS)
    verdict_reasons = Counter(series.judgement.reason for series in unjudged_series)
    items += [
        f"{units.plural(count, 'series')}: {reason}."
        for reason, count in sorted(verdict_reasons.items())
        if reason
    ]
    if items:
        return _list_blocks("Left out", items)
    return iter((Heading(3, "Left out"), Paragraph(("Nothing: every night counts.",))))


def _basis_paragraph(data: BundleData) -> Paragraph:
    nights = units.plural(data.past_nights.nights["night"].n_unique(), "night")
    series = data.past_nights.nights.select(*SERIES).n_unique()
    basis = f"Judged against {nights} before this night, {series} series: history/ in the bundle."
    return Paragraph((basis,), is_note=True)
