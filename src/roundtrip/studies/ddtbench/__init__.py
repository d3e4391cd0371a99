"""DDTBench: see `STUDY`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roundtrip.studies.planned import PlannedCase, PlannedClaims
from roundtrip.studies.study import Figure, Section, Study, with_units
from roundtrip.studies.yardsticks import Yardstick

if TYPE_CHECKING:
    import polars as pl

    from roundtrip.collect.analysis import Analysis
    from roundtrip.report.data import Data


class DDTBench(Study):
    """Do MPI datatypes cost more than packing by hand?"""

    name = "ddtbench"
    title = "DDTBench"
    question = "Do MPI datatypes cost more than packing by hand?"
    order = 20

    primary = (
        "MPI datatypes against packing by hand, each micro-app at its largest message, in memory "
        "as the study leaves it."
    )
    yardsticks = (
        Yardstick(
            "NAS_LU_x, 40800 B by datatype, µs",
            (("size_bytes", 40_800), ("variant", "mpi_ddt"), ("phase", "communication")),
            scale=1e6,
        ),
    )

    def summarise(self, samples: pl.DataFrame) -> dict[str, Figure]:
        from roundtrip.studies.ddtbench import derived

        return with_units(derived.summary(samples), derived.SUMMARY_UNITS)

    def primary_claims(
        self, cases: Sequence[PlannedCase], settings: Analysis
    ) -> list[PlannedClaims]:
        from roundtrip.studies.ddtbench import planned

        return planned.primary_claims(cases, settings)

    def speeds(self, samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
        from roundtrip.studies.ddtbench import planned

        return planned.speeds(samples, settings)

    def section(self, data: Data) -> Section | None:
        from roundtrip.studies.ddtbench.section import section

        return section(data)


STUDY = DDTBench()
