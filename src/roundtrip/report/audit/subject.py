"""What a rule is held against: one section of the report with its facts, launches and claims."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.collect.analysis import Analysis
from roundtrip.report.blocks import Block, Figure, Gallery, Part, Table, flat
from roundtrip.report.data import Data
from roundtrip.stats.verdicts import Judged
from roundtrip.studies.facts import Facts
from roundtrip.studies.study import Claim

_CLOCK = {"resolution_s": "clock_resolution_s", "overhead_s": "clock_overhead_s"}
#: Thresholds that a report prints: table and key -> value and where.
Printed = Mapping[tuple[str, str], tuple[Any, str]]


@dataclass(frozen=True)
class Chapter:
    """A part of the report before its audit: who tells it, what it claims, what it supplies.

    `study` is the name of its study as in case.json; "" if it is about several.  `claims` are those
    that it makes; None if it is not asked for any.
    """

    part: Part
    title: str
    facts: Facts = field(default_factory=Facts)
    study: str = ""
    claims: tuple[Claim, ...] | None = None
    thresholds: type | None = None


@dataclass(frozen=True)
class Subject:
    """A chapter with what the bundle has of it; `chapter` None: launches that no chapter tells of.

    `launches` and `lost` have the columns of cases.parquet: those that completed, and the others.
    `points` are its measured points, each with `clock`, what its launch says of the clock; `placed`
    are the launches that say where their ranks ran.
    `claims` are the verdicts on what it claims, `printed` the thresholds that the report prints.
    """

    title: str
    chapter: Chapter | None
    launches: pl.DataFrame
    lost: pl.DataFrame
    points: Sequence[Mapping[str, Any]]
    placed: Collection[str]
    samples: pl.LazyFrame
    claims: Mapping[Claim, Judged]
    analysis: Analysis
    environment: Mapping[str, Any]
    printed: Printed

    @property
    def is_simulated(self) -> bool:
        """Whether all its launches came from a simulator, which gives the same values each time."""
        told = self.launches["simulated"].fill_null(False)
        return not self.launches.is_empty() and bool(told.all())

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
        return (*part.verdicts, *flat(part.blocks))

    @property
    def tables(self) -> list[Table]:
        """With rows."""
        return [one for one in self.blocks if isinstance(one, Table) and one.rows]

    @property
    def figures(self) -> list[tuple[Figure, str]]:
        """Each figure with the caption under it."""
        return [
            (figure, "".join(p if isinstance(p, str) else p.text for p in one.caption))
            for one in self.blocks
            if isinstance(one, Gallery)
            for figure in one.figures
        ]


def subjects(
    data: Data,
    judged: Mapping[Claim, Judged],
    chapters: Sequence[Chapter],
    printed: Printed,
) -> list[Subject]:
    """One for each chapter, in their order, then one for each study that no chapter tells of."""
    studies = data.launches["study"].fill_null("")
    made = []
    for chapter in chapters:
        claims = {claim: judged[claim] for claim in chapter.claims or ()}
        mine = studies == chapter.study if chapter.study else studies.is_null()
        made.append(_subject(data, chapter.title, chapter, mine, claims, printed))
    untold = sorted(set(studies) - {chapter.study for chapter in chapters if chapter.study})
    for name in untold:
        title = name or "launches whose study is not known"
        made.append(_subject(data, title, None, studies == name, {}, printed))
    return made


def campaign(data: Data, judged: Mapping[Claim, Judged], printed: Printed) -> Subject:
    """All launches and all claims together."""
    everything = data.launches["status"].is_not_null()
    return _subject(data, "The campaign", None, everything, judged, printed)


def _subject(
    data: Data,
    title: str,
    chapter: Chapter | None,
    mine: pl.Series,
    claims: Mapping[Claim, Judged],
    printed: Printed,
) -> Subject:
    rows = data.launches.filter(mine)
    passed = pl.col("status") == "passed"
    launches = rows.filter(passed)
    return Subject(
        title=title,
        chapter=chapter,
        launches=launches,
        lost=rows.filter(~passed),
        points=_points(data, launches),
        placed=frozenset(data.placement["launch"]),
        samples=data.samples.filter(pl.col("launch").is_in(launches["launch"].to_list())),
        claims=claims,
        analysis=data.analysis,
        environment=data.environment,
        printed=printed,
    )


def _points(data: Data, launches: pl.DataFrame) -> list[Mapping[str, Any]]:
    """Those with samples, with the clock of their launch."""
    clocks = launches.select("launch", *_CLOCK.values())
    measured = data.points.filter(pl.col("samples") > 0).join(clocks, on="launch")
    return [
        {
            **{name: row[name] for name in ("status", "batch", "median_s")},
            "clock": {name: row[column] for name, column in _CLOCK.items()},
        }
        for row in measured.iter_rows(named=True)
    ]
