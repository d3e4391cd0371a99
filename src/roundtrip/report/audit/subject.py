"""The subject of a rule: one section of the report with its facts, launches and claims."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import polars as pl

from roundtrip.measure.analysis import Analysis
from roundtrip.report.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Gallery,
    Part,
    Table,
    Text,
    Tone,
    Verbatim,
    all_blocks,
)
from roundtrip.report.data import Data
from roundtrip.report.pages.series import Origins
from roundtrip.report.units import Quantity
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies.derivation import Facts
from roundtrip.studies.study import Claim, Study

CLOCK_COLUMNS = ("clock_overhead_s", "clock_resolution_s")
#: By text of a file that a report prints: the title of the part that prints it.
PrintedFiles = Mapping[str, str]
Result = Literal["pass", "fail", "not applicable"]
TONES: dict[Result, Tone] = {"pass": "good", "fail": "bad", "not applicable": "muted"}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a rule for a subject: the result and its evidence, a clause."""

    result: Result
    evidence: str


def success(evidence: str) -> Outcome:
    """Return "pass", for a rule whose facts are known."""
    return Outcome("pass", evidence)


def failure(evidence: str) -> Outcome:
    """Return "fail", for a rule whose facts are known."""
    return Outcome("fail", evidence)


def pass_or_fail(passes: bool, evidence: str) -> Outcome:
    """Return "pass" or "fail", with the same evidence for both."""
    return Outcome("pass" if passes else "fail", evidence)


def missing_fact(fact: str) -> Outcome:
    """Return "not applicable", because a fact that the rule needs is missing."""
    return Outcome("not applicable", f"missing fact: {fact}")


def not_applicable(reason: str) -> Outcome:
    """Return "not applicable", because the subject has nothing that the rule applies to."""
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

    part: Part
    facts: Facts
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
    launches.  `verdicts`: verdicts on the chapter's claims.  `printed_files`: files that the
    report prints.
    """

    title: str
    chapter: Chapter | None
    launches: pl.DataFrame
    lost_launches: pl.DataFrame
    points: pl.DataFrame
    placed_launches: Collection[str]
    samples: pl.LazyFrame
    verdicts: Mapping[Claim, ClaimVerdict]
    analysis: Analysis
    environment: Mapping[str, Any]
    printed_files: PrintedFiles
    origins: Origins

    @property
    def is_simulated(self) -> bool:
        """Whether all its launches are simulated; a simulator repeats the same values."""
        simulated = self.launches["simulated"].fill_null(False)
        return not self.launches.is_empty() and bool(simulated.all())

    @property
    def facts(self) -> Facts:
        """The facts of the chapter; unknown without a chapter."""
        return self.chapter.facts if self.chapter else Facts()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks of its part, including those at the top of the report and in folds."""
        if self.chapter is None:
            return ()
        part = self.chapter.part
        picture = (part.picture,) if part.picture else ()
        return (*picture, *part.summary, *part.verdicts, *all_blocks(part.blocks))

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
    def figures(self) -> list[tuple[Figure, Text]]:
        """Each figure with the caption under it."""
        galleries = (block for block in self.blocks if isinstance(block, Gallery))
        return [(figure, gallery.caption) for gallery in galleries for figure in gallery.figures]


def find_printed_files(parts: Sequence[Part]) -> PrintedFiles:
    """Return the texts of files that `parts` print unchanged, with the titles of the parts."""
    return {
        block.text: f"“{part.title}”"
        for part in parts
        for block in all_blocks(part.blocks)
        if isinstance(block, Verbatim)
    }


def subjects(
    data: Data,
    verdicts: Mapping[Claim, ClaimVerdict],
    chapters: Sequence[Chapter],
    printed_files: PrintedFiles,
) -> list[Subject]:
    """Return a subject for each chapter, in order, then for each study without a chapter."""
    studies = data.launches["study"].fill_null("")
    all_subjects = []
    for chapter in chapters:
        claims = {claim: verdicts[claim] for claim in chapter.claims or ()}
        mask = studies == chapter.study.name if chapter.study else studies.is_null()
        all_subjects.append(
            _make_subject(data, chapter.title, chapter, mask, claims, printed_files)
        )
    names = sorted(set(studies) - {chapter.study.name for chapter in chapters if chapter.study})
    for name in names:
        title = name or "launches whose study is not known"
        all_subjects.append(_make_subject(data, title, None, studies == name, {}, printed_files))
    return all_subjects


def campaign(
    data: Data, verdicts: Mapping[Claim, ClaimVerdict], printed_files: PrintedFiles
) -> Subject:
    """Return the subject of all launches and all claims."""
    mask = data.launches["status"].is_not_null()
    return _make_subject(data, "The campaign", None, mask, verdicts, printed_files)


def _make_subject(
    data: Data,
    title: str,
    chapter: Chapter | None,
    mask: pl.Series,
    verdicts: Mapping[Claim, ClaimVerdict],
    printed_files: PrintedFiles,
) -> Subject:
    rows = data.launches.filter(mask)
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
        verdicts=verdicts,
        analysis=data.analysis,
        environment=data.environment,
        printed_files=printed_files,
        origins=data.origins,
    )
