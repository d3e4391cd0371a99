"""What a rule is held against: one section of the report with its facts, launches and claims."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import polars as pl

from roundtrip.collect.analysis import Analysis
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

CLOCK = ("clock_overhead_s", "clock_resolution_s")
#: Texts of files that a report prints, and where.
PrintedFiles = Mapping[str, str]
Result = Literal["pass", "fail", "not applicable"]
TONES: dict[Result, Tone] = {"pass": "good", "fail": "bad", "not applicable": "muted"}


@dataclass(frozen=True)
class Outcome:
    """What a rule finds of a subject: the result and what it rests on, a clause."""

    result: Result
    evidence: str


def pass_or_fail(passes: bool, evidence: str) -> Outcome:
    """Facts are known, and by them the rule is kept or broken."""
    return Outcome("pass" if passes else "fail", evidence)


def missing_fact(fact: str) -> Outcome:
    """Nobody supplied the fact by which the rule could be judged."""
    return Outcome("not applicable", f"missing fact: {fact}")


def not_applicable(reason: str) -> Outcome:
    """The facts are known, and there is nothing that the rule is about."""
    return Outcome("not applicable", reason)


@dataclass(frozen=True)
class Number:
    """A quantity of a table, with the cell, the column and the row in which it stands."""

    quantity: Quantity
    cell: Cell
    column: Column
    row: tuple[Cell, ...]
    table: Table


@dataclass(frozen=True)
class Chapter:
    """A part of the report before its audit: what it supplies of itself, and what it claims.

    `study`: None if it is about several.  `claims` are those that it makes; None if it is not asked
    for any.
    """

    part: Part
    facts: Facts
    study: Study | None = None
    claims: tuple[Claim, ...] | None = None

    @property
    def title(self) -> str:
        """What it is about."""
        return self.study.title if self.study else self.part.title


@dataclass(frozen=True)
class Subject:
    """A chapter with what the bundle has of it; `chapter` None: launches without a chapter.

    `launches` and `lost_launches` have the columns of cases.parquet: those that completed, and the
    others.  `points` are its measured points: status, batch, median_s, and `CLOCK` of the launch;
    `placed_launches` are the launches that say where their ranks ran, `origins` the series of all
    launches.  `verdicts` are those on what it claims, `printed_files` the files that the report
    prints.
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
        """Whether all its launches came from a simulator, which gives the same values each time."""
        simulated = self.launches["simulated"].fill_null(False)
        return not self.launches.is_empty() and bool(simulated.all())

    @property
    def facts(self) -> Facts:
        """Those that its chapter supplies; without one nothing is known."""
        return self.chapter.facts if self.chapter else Facts()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All of its part, what stands at the top of the report and in folds included."""
        if self.chapter is None:
            return ()
        part = self.chapter.part
        picture = (part.picture,) if part.picture else ()
        return (*picture, *part.summary, *part.verdicts, *all_blocks(part.blocks))

    @property
    def tables(self) -> list[Table]:
        """With rows."""
        return [block for block in self.blocks if isinstance(block, Table) and block.rows]

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        """Every quantity of its tables."""
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
    """The files that parts print unchanged, and the parts."""
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
    """One for each chapter, in their order, then one for each study without a chapter."""
    studies = data.launches["study"].fill_null("")
    all_subjects = []
    for chapter in chapters:
        chapter_verdicts = {claim: verdicts[claim] for claim in chapter.claims or ()}
        mask = studies == chapter.study.name if chapter.study else studies.is_null()
        all_subjects.append(
            _subject(data, chapter.title, chapter, mask, chapter_verdicts, printed_files)
        )
    names = sorted(set(studies) - {chapter.study.name for chapter in chapters if chapter.study})
    for name in names:
        title = name or "launches whose study is not known"
        all_subjects.append(_subject(data, title, None, studies == name, {}, printed_files))
    return all_subjects


def campaign(
    data: Data, verdicts: Mapping[Claim, ClaimVerdict], printed_files: PrintedFiles
) -> Subject:
    """All launches and all claims together."""
    mask = data.launches["status"].is_not_null()
    return _subject(data, "The campaign", None, mask, verdicts, printed_files)


def _subject(
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
    return Subject(
        title=title,
        chapter=chapter,
        launches=launches,
        lost_launches=rows.filter(~is_passed),
        points=_points(data, launches),
        placed_launches=frozenset(data.placement["launch"]),
        samples=data.samples.filter(pl.col("launch").is_in(launches["launch"].to_list())),
        verdicts=verdicts,
        analysis=data.analysis,
        environment=data.environment,
        printed_files=printed_files,
        origins=data.origins,
    )


def _points(data: Data, launches: pl.DataFrame) -> pl.DataFrame:
    """Those with samples, with the clock of their launch."""
    clocks = launches.select("launch", *CLOCK)
    points = data.points.filter(pl.col("samples") > 0).join(clocks, on="launch")
    return points.select("status", "batch", "median_s", *CLOCK)
