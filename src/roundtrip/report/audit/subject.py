"""A rule, and what it is applied to: a section of the report with its facts, launches, claims."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import Any, Literal

import polars as pl

from roundtrip.content.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Gallery,
    ReportSection,
    RichText,
    StatusColour,
    Table,
    flatten_blocks,
)
from roundtrip.content.series import SeriesMedians
from roundtrip.measure.analysis import AnalysisSettings
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies.derivation import AuditFacts
from roundtrip.study import Claim, Study
from roundtrip.units import Quantity

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

    `study`: None if it is not about a single one.  `claims`: None if its type makes none.
    """

    section: ReportSection
    audit_facts: AuditFacts
    study: Study | None = None
    claims: tuple[Claim, ...] | None = None

    @property
    def title(self) -> str:
        return self.study.title if self.study else self.section.title


@dataclass(frozen=True)
class AuditSubject:
    """A section with its data in the bundle; `section` is None for launches of a study without one.

    `launches` (completed) and `lost_launches` (the others) have the columns of cases.parquet.
    `points` are the measured points: columns status, batch, median_s, and `CLOCK_COLUMNS` of the
    launch.  `launches_with_placement` record where their ranks were.  `series_medians` has the
    medians of all launches, `verdicts` those on the section's claims.  `section_title_by_text` has
    the title of the section that prints a file, by the text of the file.
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
        galleries = (block for block in self.blocks if isinstance(block, Gallery))
        return [(figure, gallery.caption) for gallery in galleries for figure in gallery.figures]


class RuleScope(StrEnum):
    """What a rule applies to."""

    STUDY_LAUNCHES = "the launches of a study"
    CLAIMING_SECTION = "a section that claims"
    ANY_SECTION = "a section of the report"
    WHOLE_CAMPAIGN = "the campaign as a whole"

    def includes(self, subject: AuditSubject) -> bool:
        """Whether a rule of this scope applies to a section or study."""
        section = subject.section
        if self is RuleScope.STUDY_LAUNCHES:
            return section is None or section.study is not None
        if self is RuleScope.CLAIMING_SECTION:
            return section is not None and section.claims is not None
        return section is not None


@dataclass(frozen=True)
class AuditRule:
    """A rule, printed as C`number`, and the function that audits one subject."""

    number: int
    scope: RuleScope
    statement: str
    audit_subject: Callable[[AuditSubject], RuleOutcome]


def audit_rule(
    number: int, scope: RuleScope, statement: str
) -> Callable[[Callable[[AuditSubject], RuleOutcome]], AuditRule]:
    """Make a function rule C`number`, which `audit.section` finds in its module."""
    return partial(AuditRule, number, scope, statement)
