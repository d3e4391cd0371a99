"""Rules on the quantities and plots of the report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from roundtrip import units
from roundtrip.content.blocks import Column, Table
from roundtrip.content.plot import LINK_BOUND_NAME
from roundtrip.measure import analysis
from roundtrip.measure.columns import setting_texts
from roundtrip.report.audit.subject import (
    AuditSubject,
    RuleOutcome,
    RuleScope,
    TableNumber,
    audit_rule,
    rule_broken,
    rule_kept,
    rule_not_applicable,
    unknown_without_fact,
)
from roundtrip.stats.summaries import median_interval
from roundtrip.study import METRICS
from roundtrip.units import UNPRINTED_UNITS, ConfidenceLevel, Quantity, Unit

_MAX_LISTED_VIOLATIONS = 3  # maximum faults listed; the others are counted
#: Facts of an emulated link that bound every rate, with the name of the bound in figures.
BOUND_NAME_BY_FACT = {"hub_mbit_s": LINK_BOUND_NAME}
_UNAMBIGUOUS_UNITS = frozenset({*Unit, *(metric.unit for metric in METRICS.values())})
#: Relative tolerance of printed against recomputed values, for the order of operations.
_RELATIVE_TOLERANCE = 1e-9


@audit_rule(1, RuleScope.ANY_SECTION, "A ratio names its base and shows the base's value")
def audit_ratio_bases(subject: AuditSubject) -> RuleOutcome:
    """Each ratio in a table names its base, and a table has the value of the base."""
    # Columns and rows that hold absolute values, or pure numbers of a series.
    amounts = [
        number
        for number in subject.numbers
        if number.quantity.unit not in (Unit.RATIO, Unit.PURE_NUMBER)
        or (number.quantity.unit == Unit.PURE_NUMBER and number.quantity.series_key)
    ]
    names = {
        str(cell.content_tuple[0])
        for number in amounts
        for cell in number.row
        if not cell.quantities
    }
    names |= {number.column.name for number in amounts}
    columns: dict[tuple[int, str], str] = {}
    for number in subject.numbers:
        if number.quantity.unit == Unit.RATIO:
            key = id(number.table), number.column.name
            base = number.quantity.base_name or number.column.base_name
            problem = f"the value of {base} is in no table" if base else "names no base"
            violation = f"{_describe_column(number.column, number.table)}: {problem}"
            columns[key] = columns.get(key) or ("" if base in names else violation)
    if not columns:
        return rule_not_applicable("no table has a ratio")
    if violations := [violation for violation in columns.values() if violation]:
        return rule_broken(_join_violations(violations, f"of {len(columns)} columns of ratios"))
    count = units.plural(len(columns), "column")
    return rule_kept(f"{count} of ratios: each base has its own value in a table")


@audit_rule(16, RuleScope.ANY_SECTION, "Units are unambiguous")
def audit_units(subject: AuditSubject) -> RuleOutcome:
    """Each number and each axis has an unambiguous unit, or needs none."""
    scales = [
        (figure.alt_text, scale)
        for figure, _ in subject.figures
        for view in (figure.plot.views if figure.plot else ())
        for scale in (view.x_axis, view.y_axis)
        if scale
    ]
    violations = [
        *filter(None, map(_unit_violation, subject.numbers)),
        *_plain_text_numbers(subject.tables),
        *(f"axis “{scale.title}” of “{alt}”: no unit" for alt, scale in scales if not scale.unit),
    ]
    columns = {(id(number.table), number.column.name) for number in subject.numbers}
    if violations:
        count = f"of {len(columns)} columns of numbers and {len(scales)} axes"
        return rule_broken(_join_violations(list(dict.fromkeys(violations)), count))
    if not columns and not scales:
        return rule_not_applicable("shows no number")
    detail = f"{units.plural(len(columns), 'column')} of numbers"
    detail += f", {units.plural(len(scales), 'axis', 'axes')}" if scales else ""
    return rule_kept(f"{detail}: each with its unit, or without one because it needs none")


def _unit_violation(number: TableNumber) -> str:
    """Why the unit of a number is unclear to a reader; "" if it is clear."""
    quantity, column, table = number.quantity, number.column, number.table
    printed_units = {column.unit, *table.caption_units, *(cell.unit for cell in number.row)}
    if quantity.unit in UNPRINTED_UNITS or quantity.prints_unit:
        return ""
    if not quantity.unit:
        problem = "no unit"
    elif quantity.unit not in _UNAMBIGUOUS_UNITS:
        problem = f"{quantity.unit!r} is an ambiguous unit"
    elif column.unit and quantity.unit != column.unit:
        problem = f"{column.unit} over a value in {quantity.unit}"
    elif quantity.unit not in printed_units:
        problem = f"{quantity.unit} is not printed"
    else:
        return ""
    return f"{_describe_column(column, table)}: {problem}"


def _plain_text_numbers(tables: Sequence[Table]) -> Iterator[str]:
    """A violation for each number that is plain text, so that its unit is unknown."""
    for table in tables:
        for row in table.rows:
            for cell, column in zip(row, table.columns, strict=True):
                if not cell.quantities and column.align == "right" and _is_number(cell.text):
                    yield f"{_describe_column(column, table)}: {cell.text} is no quantity"


def _is_number(text: str) -> bool:
    try:
        float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        return False
    return True


@audit_rule(11, RuleScope.ANY_SECTION, "Upper bounds are drawn where they exist")
def audit_upper_bounds(subject: AuditSubject) -> RuleOutcome:
    """Bounds that launches record must be drawn; others may be."""
    if not subject.figures:
        return rule_not_applicable("draws no figure")
    figure_counts: Counter[str] = Counter()
    for figure, _ in subject.figures:
        views = figure.plot.views if figure.plot else ()
        figure_counts.update({name: 1 for view in views for name in view.bound_names})
    launch_counts: Counter[str] = Counter()
    for emulation in subject.launches["emulation"].drop_nulls().to_list():
        facts = setting_texts(emulation)
        launch_counts.update(name for fact, name in BOUND_NAME_BY_FACT.items() if fact in facts)
    if absent_bounds := [name for name in launch_counts if name not in figure_counts]:
        detail = ", ".join(f"{name} of {launch_counts[name]} launches" for name in absent_bounds)
        return rule_broken(f"known and not drawn: {detail}")
    if not figure_counts:
        return unknown_without_fact("the rate of the link or of a memory copy, or another bound")
    detail = ", ".join(f"{name} in {count}" for name, count in figure_counts.items())
    return rule_kept(f"drawn, of {units.plural(len(subject.figures), 'figure')}: {detail}")


@audit_rule(12, RuleScope.ANY_SECTION, "Spread on plots; lines only where interpolation is valid")
def audit_figure_spreads(subject: AuditSubject) -> RuleOutcome:
    """Figures show intervals, captions name their level, and lines say what they join."""
    if not subject.figures:
        return rule_not_applicable("draws no figure")
    if subject.is_simulated:
        return rule_not_applicable("simulated: there is no spread")
    if unknown_count := sum(figure.plot is None for figure, _ in subject.figures):
        count = units.plural(unknown_count, "figure draws", "figures draw")
        return unknown_without_fact(f"what {count}")
    panels = [(f.alt_text, caption, f.plot) for f, caption in subject.figures if f.plot]
    bare_alts = [alt for alt, _, p in panels if not p.is_published and not p.has_intervals]
    undefined_alts = [
        alt
        for alt, caption, plot in panels
        if plot.has_intervals and not any(isinstance(word, ConfidenceLevel) for word in caption)
    ]
    violations = [
        f"{len(alts)} of {len(panels)} figures {problem}: {alts[0]}"
        for problem, alts in (
            ("show no spread", bare_alts),
            ("do not say what their spread is", undefined_alts),
        )
        if alts
    ]
    if violations:
        return rule_broken("; ".join(violations))
    plots = [plot for _, _, plot in panels]
    if unnamed_count := sum(any("" in v.line_meanings for v in plot.views) for plot in plots):
        count = units.plural(unnamed_count, "figure draws", "figures draw")
        return unknown_without_fact(f"between what {count} lines")
    lines = dict.fromkeys(n for plot in plots for view in plot.views for n in view.line_meanings)
    spread = "rank intervals" if any(plot.has_intervals for plot in plots) else ""
    detail = f"{units.plural(len(plots), 'figure')}: {spread}"
    detail += f"; lines between {', '.join(lines)}" if lines else "; no lines"
    if published_count := sum(plot.is_published for plot in plots):
        detail += f"; {published_count} of published values, whose spread is not known"
    return rule_kept(detail)


@audit_rule(21, RuleScope.ANY_SECTION, "Every threshold printed")
def audit_thresholds(subject: AuditSubject) -> RuleOutcome:
    """The report prints the thresholds of all studies and of the section's study."""
    tables = _subject_thresholds(subject, subject.analysis)
    texts = [text for text in (subject.analysis.toml_text, subject.analysis.default_toml) if text]
    if all(text in subject.section_title_by_text for text in texts):
        printed_analysis = analysis.parse(subject.analysis.toml_text, Path(analysis.ANALYSIS_FILE))
        printed_tables = _subject_thresholds(subject, printed_analysis)
        absences = [
            f"{table} {key}"
            for table, keys in tables.items()
            for key, value in keys.items()
            if printed_tables[table].get(key) != value
        ]
    else:
        absences = list(tables)
    if absences:
        return rule_broken(f"not printed with the value that is used: {', '.join(absences)}")
    places = ", ".join(dict.fromkeys(subject.section_title_by_text[text] for text in texts))
    detail = "; ".join(f"{table}: {', '.join(keys)}" for table, keys in tables.items())
    return rule_kept(f"printed in {places}: {detail}")


def _subject_thresholds(
    subject: AuditSubject, analysis_settings: analysis.AnalysisSettings
) -> dict[str, dict[str, Any]]:
    names = ("statistics", "disturbance", *subject.audit_facts.threshold_tables)
    tables = {name: dict(getattr(analysis_settings, name)) for name in names}
    study = subject.section.study if subject.section else None
    if study and study.thresholds:
        tables[study.name] = dict(analysis_settings.study_thresholds(study.thresholds))
    return {
        name: {key: value for key, value in table.items() if value != ()}
        for name, table in tables.items()
    }


@audit_rule(22, RuleScope.ANY_SECTION, "Printed values are those of the launches")
def audit_printed_values(subject: AuditSubject) -> RuleOutcome:
    """Printed values are medians of their series, printed ratios those of claims."""
    series = [number for number in subject.numbers if number.quantity.series_key]
    claims = [number for number in subject.numbers if number.quantity.is_claim]
    claim_ends = {
        _value_and_interval(Quantity.from_claim(verdict.interval))
        for verdict in subject.verdicts.values()
    }
    wrong_values = [n for n in series if not _equals_series_median(subject, n)]
    wrong_ratios = [n for n in claims if _value_and_interval(n.quantity) not in claim_ends]
    references = {"what its launches measured": wrong_values, "the ratio of a claim": wrong_ratios}
    violations = [
        f"{_describe_column(number.column, number.table)}: {number.cell.text} is not {reference}"
        for reference, numbers in references.items()
        for number in numbers
    ]
    if violations:
        return rule_broken(_join_violations(violations, f"of {len(series) + len(claims)} values"))
    if not series and not claims:
        return rule_not_applicable("prints no value of a single series, and no claim")
    detail = f"{units.plural(len(series), 'value')} computed again from the medians of launches"
    return rule_kept(f"{detail}, {units.plural(len(claims), 'ratio')} of claims")


def _value_and_interval(quantity: Quantity) -> tuple[float | int | None, ...]:
    return quantity.value, quantity.low, quantity.high, quantity.n


def _equals_series_median(subject: AuditSubject, number: TableNumber) -> bool:
    """Whether a value and its interval are those of the median over its series' launches."""
    quantity = number.quantity
    if quantity.series_key not in subject.series_medians.medians_by_key:
        return False
    names, medians = subject.series_medians.medians_by_key[quantity.series_key]
    raw_unit, size = names["unit"], names["size_bytes"]
    try:
        values = [units.convert(median, raw_unit, quantity.unit, size) for median in medians]
    except ValueError:
        return False
    interval = median_interval(values, subject.analysis.statistics.confidence_level)
    expected = (interval.median, interval.low, interval.high, interval.n)
    ends = _value_and_interval(quantity) if quantity.n is not None else (quantity.value,)
    return all(
        one is other
        if one is None or other is None
        else math.isclose(one, other, rel_tol=_RELATIVE_TOLERANCE)
        for one, other in zip(ends, expected, strict=False)
    )


def _describe_column(column: Column, table: Table) -> str:
    caption = table.caption.partition(": ")[0].partition(". ")[0].partition("? ")[0]
    return f"“{column.name}” of “{units.printable(caption).rstrip('.')}”"


def _join_violations(violations: Sequence[str], scope: str) -> str:
    rest_count = len(violations) - _MAX_LISTED_VIOLATIONS
    rest = f"; and {rest_count} more" if rest_count > 0 else ""
    return f"{len(violations)} {scope}: {'; '.join(violations[:_MAX_LISTED_VIOLATIONS])}{rest}"
