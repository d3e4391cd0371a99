"""The subject of a rule: one section of the report with its facts, launches and claims."""

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
Result = Literal["pass", "fail", "not applicable"]
TONES: dict[Result, StatusColour] = {"pass": "good", "fail": "bad", "not applicable": "muted"}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a rule for a subject: the result and its evidence, a clause."""

    result: Result
    evidence: str


def success(evidence: str) -> Outcome:
    """The rule is kept."""
    return Outcome("pass", evidence)


def failure(evidence: str) -> Outcome:
    """The rule is broken."""
    return Outcome("fail", evidence)


def pass_or_fail(passes: bool, evidence: str) -> Outcome:
    """The rule is kept or broken, by the same evidence."""
    return Outcome("pass" if passes else "fail", evidence)


def missing_fact(fact: str) -> Outcome:
    """Whether the rule is kept is not known."""
    return Outcome("not applicable", f"missing fact: {fact}")


def not_applicable(reason: str) -> Outcome:
    """The subject has nothing that the rule applies to."""
    return Outcome("not applicable", reason)


@dataclass(frozen=True)
class Number:
    """A quantity in a table, with its cell, column and row."""

    quantity: Quantity
    cell: Cell
    column: Column
    row: tuple[Cell, ...]
    table: Table


@dataclass(frozen=True)
class Chapter:
    """A part of the report before its audit, with its facts and claims.

    `study`: None if the part is not about a single study.  `claims`: None if the part is of a kind
    that makes no claims.
    """

    part: ReportSection
    facts: AuditFacts
    study: Study | None = None
    claims: tuple[Claim, ...] | None = None

    @property
    def title(self) -> str:
        """The title of the study, or else of the part."""
        return self.study.title if self.study else self.part.title


@dataclass(frozen=True)
class Subject:
    """A chapter with its data in the bundle; `chapter`: None for launches without a chapter.

    `launches` (completed) and `lost_launches` (the others) have the columns of cases.parquet.
    `points`: measured points, columns status, batch, median_s, and `CLOCK_COLUMNS` of the launch.
    `placed_launches`: launches that record the placement of their ranks.  `origins`: series of all
    launches.  `verdicts`: on the chapter's claims.  `printed_files`: by text of a file that the
    report prints, the title of the part that prints it.
    """

    title: str
    chapter: Chapter | None
    launches: pl.DataFrame
    lost_launches: pl.DataFrame
    points: pl.DataFrame
    placed_launches: Collection[str]
    samples: pl.LazyFrame
    verdicts: Mapping[Claim, ClaimVerdict]
    analysis: AnalysisSettings
    environment: Mapping[str, Any]
    printed_files: Mapping[str, str]
    origins: SeriesMedians

    @property
    def is_simulated(self) -> bool:
        """Whether all its launches are simulated; a simulator repeats the same values."""
        simulated = self.launches["simulated"].fill_null(False)
        return not self.launches.is_empty() and bool(simulated.all())

    @property
    def facts(self) -> AuditFacts:
        """The facts of the chapter; unknown without a chapter."""
        return self.chapter.facts if self.chapter else AuditFacts()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks of its part, including those at the top of the report and in folds."""
        if self.chapter is None:
            return ()
        part = self.chapter.part
        picture = (part.answer_gallery,) if part.answer_gallery else ()
        return (*picture, *part.summary_tables, *part.verdict_tables, *flatten_blocks(part.blocks))

    @property
    def tables(self) -> list[Table]:
        """Its tables that have rows."""
        return [block for block in self.blocks if isinstance(block, Table) and block.rows]

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(
            Number(quantity, cell, column, row, table)
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


def subjects(
    data: BundleData,
    verdicts: Mapping[Claim, ClaimVerdict],
    chapters: Sequence[Chapter],
    parts: Sequence[ReportSection],
) -> tuple[list[Subject], Subject]:
    """Subjects of each chapter and of each study without one, and the subject of all launches."""
    printed_files = {
        block.text: f"“{part.title}”"
        for part in parts
        for block in flatten_blocks(part.blocks)
        if isinstance(block, Verbatim)
    }

    def subject(
        title: str,
        chapter: Chapter | None,
        rows: pl.DataFrame,
        claims: Mapping[Claim, ClaimVerdict],
    ) -> Subject:
        is_passed = pl.col("status") == "passed"
        launches = rows.filter(is_passed)
        clocks = launches.select("launch", *CLOCK_COLUMNS)
        points = data.points.filter(pl.col("samples") > 0).join(clocks, on="launch")
        return Subject(
            title=title,
            chapter=chapter,
            launches=launches,
            lost_launches=rows.filter(~is_passed),
            points=points.select("status", "batch", "median_s", *CLOCK_COLUMNS),
            placed_launches=frozenset(data.placement["launch"]),
            samples=data.samples.filter(pl.col("launch").is_in(launches["launch"].to_list())),
            verdicts=claims,
            analysis=data.analysis,
            environment=data.env_records,
            printed_files=printed_files,
            origins=data.series_medians,
        )

    studies = data.launches["study"].fill_null("")
    all_subjects = []
    for chapter in chapters:
        claims = {claim: verdicts[claim] for claim in chapter.claims or ()}
        mask = studies == chapter.study.name if chapter.study else studies.is_null()
        all_subjects.append(subject(chapter.title, chapter, data.launches.filter(mask), claims))
    names = sorted(set(studies) - {chapter.study.name for chapter in chapters if chapter.study})
    for name in names:
        title = name or "launches whose study is not known"
        all_subjects.append(subject(title, None, data.launches.filter(studies == name), {}))
    return all_subjects, subject("The campaign", None, data.launches, verdicts)
