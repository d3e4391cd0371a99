"""The ring of communicating processes: see `STUDY`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roundtrip.studies.planned import PlannedCase, PlannedClaims
from roundtrip.studies.ring.record import RECORD
from roundtrip.studies.ring.thresholds import Thresholds
from roundtrip.studies.study import Figure, Section, Study, with_units
from roundtrip.studies.yardsticks import Yardstick

if TYPE_CHECKING:
    import polars as pl

    from roundtrip.collect.analysis import Analysis
    from roundtrip.report.data import Data

_PASS = (("size_bytes", 10_000), ("metric", "time_per_pass"))


class Ring(Study):
    """What does it cost to pass a region by reference, and by each kind of message?"""

    name = "ring"
    title = "The ring of communicating processes"
    question = "What does it cost to pass a region by reference, and by each kind of message?"
    order = 30
    thresholds = Thresholds
    record = RECORD
    primary = (
        "One copy through shared memory against a region by reference, in a node, at each compared "
        "size: what a pass costs that need not copy."
    )
    yardsticks = (
        Yardstick("region, pass at 10 kB, µs", (*_PASS, ("variant", "region")), scale=1e6),
        Yardstick("MPI, pass at 10 kB, µs", (*_PASS, ("variant", "mpi")), scale=1e6),
    )

    def summarise(self, samples: pl.DataFrame) -> dict[str, Figure]:
        from roundtrip.studies.ring import derived

        return with_units(derived.summary(samples), derived.SUMMARY_UNITS)

    def primary_claims(
        self, cases: Sequence[PlannedCase], settings: Analysis
    ) -> list[PlannedClaims]:
        from roundtrip.studies.ring import planned

        return planned.primary_claims(cases, settings)

    def speeds(self, samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
        from roundtrip.studies.ring import planned

        return planned.speeds(samples, settings)

    def section(self, data: Data) -> Section | None:
        from roundtrip.studies.ring.section import section

        return section(data)


STUDY = Ring()
