"""What a rule is applied to: one section of the report with its facts, launches and claims."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import polars as pl

from roundtrip.measure.analysis import AnalysisSettings
from roundtrip.report.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Gallery,
    ReportSection,
    RichText,
    StatusColour,
    Table,
    Verbatim,
    flatten_blocks,
)
from roundtrip.report.data import BundleData
from roundtrip.report.pages.series import SeriesMedians
from roundtrip.report.units import Quantity
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies.derivation import AuditFacts
from roundtrip.studies.study import Claim, Study

CLOCK_COLUMNS = ("clock_overhead_s", "clock_resolution_s")
RuleResult = Literal["pass", "fail", "not applicable"]
COLOUR_BY_RESULT: dict[RuleResult, StatusColour] = {
    "pass": "good",
    "fail": "bad",
    "not applicable": "muted",
}


@dataclass(frozen=True)
class RuleOutcome:
    """The result of a rule for a subject, and the evidence for it, a clause."""

    result: RuleResult
    evidence: str


def rule_kept(evidence: str) -> RuleOutcome:
    """The rule is kept."""
    return RuleOutcome("pass", evidence)


def rule_broken(evidence: str) -> RuleOutcome:
    """The rule is broken."""
    return RuleOutcome("fail", evidence)


def rule_kept_or_broken(is_kept: bool, evidence: str) -> RuleOutcome:
    """The rule is kept or broken, by the same evidence."""
    return RuleOutcome("pass" if is_kept else "fail", evidence)


def unknown_without_fact(fact: str) -> RuleOutcome:
    """Whether the rule is kept is not known."""
    return RuleOutcome("not applicable", f"missing fact: {fact}")


def rule_not_applicable(reason: str) -> RuleOutcome:
    """The subject has nothing that the rule applies to."""
    return RuleOutcome("not applicable", reason)


@dataclass(frozen=True)
class TableNumber:
    """A quantity in a table, with its cell, column and row."""

    quantity: Quantity
    cell: Cell
    column: Column
    row: tuple[Cell, ...]
    table: Table


@dataclass(frozen=True)
class AuditedSection:
    """A section of the report with its claims and the facts by which it is audited.

    `study`: None if the section is not about a single study.  `claims`: None if it is of a type
    that makes no claims.
    """

    section: ReportSection
    audit_facts: AuditFacts
    study: Study | None = None
    claims: tuple[Claim, ...] | None = None

    @property
    def title(self) -> str:
        """The title of the study, or else of the section."""
        return self.study.title if self.study else self.section.title


@dataclass(frozen=True)
class AuditSubject:
    """A section with its data in the bundle; `section`: None for launches of a study without one.

    `launches` (completed) and `lost_launches` (the others) have the columns of cases.parquet.
    `points`: measured points, columns status, batch, median_s, and `CLOCK_COLUMNS` of the launch.
    `launches_with_placement`: launches that record where their ranks were.  `series_medians`: of
    all launches.  `verdicts`: on the section's claims.  `section_title_by_text`: the title of the
    section that prints a file, by the text of the file.
    """

    title: str
    section: AuditedSection | None
    launches: pl.DataFrame
    lost_launches: pl.DataFrame
    points: pl.DataFrame
    launches_with_placement: Collection[str]
    samples: pl.LazyFrame
    verdicts: Mapping[Claim, ClaimVerdict]
    analysis: AnalysisSettings
    env_records: Mapping[str, Any]
    section_title_by_text: Mapping[str, str]
    series_medians: SeriesMedians

    @property
    def is_simulated(self) -> bool:
        """Whether all its launches are simulated; a simulator repeats the same values."""
        simulated = self.launches["simulated"].fill_null(False)
        return not self.launches.is_empty() and bool(simulated.all())

    @property
    def audit_facts(self) -> AuditFacts:
        """The facts of the section; all unknown without a section."""
        return self.section.audit_facts if self.section else AuditFacts()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks of its section, including those at the top of the report and folded ones."""
        if self.section is None:
            return ()
        part = self.section.section
        picture = (part.answer_gallery,) if part.answer_gallery else ()
        return (*picture, *part.summary_tables, *part.verdict_tables, *flatten_blocks(part.blocks))

    @property
    def tables(self) -> list[Table]:
        """Its tables that have rows."""
        return [block for block in self.blocks if isinstance(block, Table) and block.rows]

    @cached_property
    def numbers(self) -> tuple[TableNumber, ...]:
        return tuple(
            TableNumber(quantity, cell, column, row, table)
            for table in self.tables
            for row in table.rows
            for cell, column in zip(row, table.columns, strict=True)
            for quantity in cell.quantities
        )

    @property
    def figures(self) -> list[tuple[Figure, RichText]]:
        """Each figure with the caption under it."""
        galleries = (block for block in self.blocks if isinstance(block, Gallery))
        return [(figure, gallery.caption) for gallery in galleries for figure in gallery.figures]


def audit_subjects(
    data: BundleData,
    verdicts: Mapping[Claim, ClaimVerdict],
    sections: Sequence[AuditedSection],
    all_sections: Sequence[ReportSection],
) -> tuple[list[AuditSubject], AuditSubject]:
    """A subject for each section and for each study without one; and one for all launches."""
    printed_files = {
        block.text: f"“{part.title}”"
        for part in all_sections
        for block in flatten_blocks(part.blocks)
        if isinstance(block, Verbatim)
    }

    def subject(
        title: str,
        chapter: AuditedSection | None,
        rows: pl.DataFrame,
        claims: Mapping[Claim, ClaimVerdict],
    ) -> AuditSubject:
        is_passed = pl.col("status") == "passed"
        launches = rows.filter(is_passed)
        clocks = launches.select("launch", *CLOCK_COLUMNS)
        points = data.points.filter(pl.col("samples") > 0).join(clocks, on="launch")
        return AuditSubject(
            title=title,
            section=chapter,
            launches=launches,
            lost_launches=rows.filter(~is_passed),
            points=points.select("status", "batch", "median_s", *CLOCK_COLUMNS),
            launches_with_placement=frozenset(data.placement["launch"]),
            samples=data.samples.filter(pl.col("launch").is_in(launches["launch"].to_list())),
            verdicts=claims,
            analysis=data.analysis,
            env_records=data.env_records,
            section_title_by_text=printed_files,
            series_medians=data.series_medians,
        )

    studies = data.launches["study"].fill_null("")
    all_subjects = []
    for chapter in sections:
        claims = {claim: verdicts[claim] for claim in chapter.claims or ()}
        mask = studies == chapter.study.name if chapter.study else studies.is_null()
        all_subjects.append(subject(chapter.title, chapter, data.launches.filter(mask), claims))
    names = sorted(set(studies) - {chapter.study.name for chapter in sections if chapter.study})
    for name in names:
        title = name or "launches whose study is not known"
        all_subjects.append(subject(title, None, data.launches.filter(studies == name), {}))
    return all_subjects, subject("The campaign", None, data.launches, verdicts)
