"""NAS Parallel Benchmarks: see `STUDY`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roundtrip.studies.npb.record import RECORD
from roundtrip.studies.npb.thresholds import Thresholds
from roundtrip.studies.planned import PlannedCase, PlannedClaims
from roundtrip.studies.study import Figure, Section, Study, with_units
from roundtrip.studies.yardsticks import Yardstick

if TYPE_CHECKING:
    import polars as pl

    from roundtrip.collect.analysis import Analysis
    from roundtrip.report.data import Data


class NPB(Study):
    """How do real kernels run, in a cluster and over a wide-area link?"""

    name = "npb"
    title = "NAS Parallel Benchmarks"
    question = "How do real kernels run, in a cluster and over a wide-area link?"
    order = 50
    thresholds = Thresholds
    record = RECORD
    primary = (
        "Speed-up of two clusters over one at a round-trip time of 4 ms, of CG, MG, LU, as the "
        "study has it; and our programs against those of NPB 3.4; both of class A and above."
    )
    elsewhere = frozenset({"wan_rtt"})  # transports against each other
    yardsticks = (Yardstick("rate, Mop/s", (("phase", "total"), ("metric", "rate"))),)

    def summarise(self, samples: pl.DataFrame) -> dict[str, Figure]:
        from roundtrip.studies.npb import derived

        return with_units(derived.summary(samples), derived.SUMMARY_UNITS)

    def primary_claims(
        self, cases: Sequence[PlannedCase], settings: Analysis
    ) -> list[PlannedClaims]:
        from roundtrip.studies.npb import planned

        return planned.primary_claims(cases, settings)

    def speeds(self, samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
        from roundtrip.studies.npb import planned

        return planned.speeds(samples, settings)

    def section(self, data: Data) -> Section | None:
        from roundtrip.studies.npb.section import section

        return section(data)


STUDY = NPB()
