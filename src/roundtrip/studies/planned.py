"""What a module ``<study>_claims`` tells: its primary claims, and what tells toolchains apart.

A study's primary claims are its own question, and few: launches are planned so that each of them
can be told.  They follow from the declared cases and the thresholds alone, never from the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from roundtrip.collect.analysis import Analysis

#: What a value depends on beside the machine: of what does not depend on Boost, two toolchains
#: that differ in nothing else are not compared.
MPI, BOOST = "mpi", "boost"
#: Columns of `Study.speeds`: one row a launch and value.
SPEEDS = {
    "launch": pl.String,
    "what": pl.String,
    "size_bytes": pl.Int64,
    "value": pl.Float64,
    "unit": pl.String,
    "lower_is_better": pl.Boolean,
    "depends_on": pl.String,
}


@dataclass(frozen=True)
class PlannedCase:
    """A case that a campaign will launch; `variables` are those that the campaign sets."""

    id: str
    study: str
    check: str
    place: str  # system and partition
    environ: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def number(self, variable: str, default: float) -> float:
        """A variable as a number; `default` if it is not set, or is none."""
        try:
            return float(self.variables.get(variable, default))
        except ValueError:
            return default


@dataclass(frozen=True)
class PlannedClaims:
    """`count` primary claims of one case: `what` is compared."""

    case: str
    what: str
    count: int


class Study(Protocol):
    """A module ``<study>_claims``."""

    #: Its name, as in case.json.
    STUDY: str
    #: Which claims are primary, a sentence for the report; "" if none is.
    PRIMARY: str
    #: Parameters of cases whose toolchains its own section compares.
    ELSEWHERE: frozenset[str]

    def primary_claims(
        self, cases: Sequence[PlannedCase], settings: Analysis
    ) -> list[PlannedClaims]:
        """Those that launches of `cases`, all of this study, will support."""

    def speeds(self, samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
        """What two toolchains are compared by: columns SPEEDS, of `samples` of this study.

        `samples` has the columns of samples.csv and `launch`.
        """
