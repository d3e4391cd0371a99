"""What a study is: everything that a room of `roundtrip.studies` tells the rest of Roundtrip.

A room is a package ``studies/<name>/`` whose ``__init__`` sets `STUDY` to an object of a class that
derives from `Study`; `roundtrip.studies.found` finds it.  Roundtrip imports every room whenever it
starts, so an ``__init__`` imports large modules only where it uses them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from roundtrip.studies.planned import PlannedCase, PlannedClaims
from roundtrip.studies.yardsticks import Yardstick

if TYPE_CHECKING:
    import polars as pl

    from roundtrip.collect.analysis import Analysis
    from roundtrip.report.blocks import Part
    from roundtrip.report.data import Data
    from roundtrip.stats.verdicts import Family, Judged
    from roundtrip.studies.facts import Facts


#: A finite number and its unit.
Figure = tuple[float, str]


def with_units(figures: Mapping[str, float], units: Mapping[str, str]) -> dict[str, Figure]:
    """The finite ones of `figures` with their units, in the order of `units`."""
    known = {name: figures[name] for name in units if name in figures}
    return {name: (one, units[name]) for name, one in known.items() if math.isfinite(one)}


class Claim(Hashable, Protocol):
    """Names one ratio of the report, and the family in which it is corrected."""

    @property
    def family(self) -> Family:
        """The family, which the study's definition fixes, never the data."""


class Section(Protocol):
    """What the report needs from a study, or from a comparison of several."""

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """The ratios to judge, for each claim one for each launch."""

    def part(self, judged: Mapping[Claim, Judged]) -> Part:
        """The study's part of the report, with the verdicts on its claims."""


class Study:
    """A study: what it asks, what it measures, what it claims, how it is reported."""

    #: As in case.json, samples.csv, and the folder of its checks.
    name: ClassVar[str]
    #: One line each, for lists and for the report.
    title: ClassVar[str]
    question: ClassVar[str]
    #: Place in the report and in analysis.toml; the least comes first.
    order: ClassVar[int] = 100
    #: A frozen dataclass of numbers and tuples of numbers: its table in analysis.toml, whose text
    #: with the values of the package is ``thresholds.toml`` of the room.
    thresholds: ClassVar[type | None] = None
    #: JSON schema of what only its workload writes to run.json, under the study's name.
    record: ClassVar[Mapping[str, Any] | None] = None
    #: A few figures that show how its launches differ from each other.
    yardsticks: ClassVar[tuple[Yardstick, ...]] = ()
    #: Which of its claims are primary, a sentence for the report; "" if none is.
    primary: ClassVar[str] = ""
    #: Parameters of cases whose toolchains its own section compares.
    elsewhere: ClassVar[frozenset[str]] = frozenset()

    def summarise(self, samples: pl.DataFrame) -> dict[str, Figure]:
        """The figures of one launch by name: ReFrame's performance variables.

        `samples` has the columns of samples.csv, of one case; what was not measured is absent.
        """
        return {}

    def primary_claims(
        self, cases: Sequence[PlannedCase], settings: Analysis
    ) -> list[PlannedClaims]:
        """The primary claims, which are few, that launches of `cases` of this study will support.

        They follow only from the declared cases and the thresholds, never from the data.  Launches
        are planned so that each of them can be told.
        """
        return []

    def speeds(self, samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
        """The values by which two toolchains are compared: columns `speeds.SPEEDS`.

        There is a row for each launch and value.  `samples` has the columns of samples.csv and
        launch, and holds only this study.
        """
        from roundtrip.studies import speeds

        return speeds.none()

    def section(self, data: Data) -> Section | None:
        """Its section of the report; None if no launch of the study in the bundle completed."""
        return None

    def facts(self) -> Facts:
        """What the report's audit has to know of its section; what is not supplied is unknown."""
        from roundtrip.studies.facts import Facts

        return Facts()
