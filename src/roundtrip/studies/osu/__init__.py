"""OSU Micro-Benchmarks: see `STUDY`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roundtrip.studies.osu.thresholds import Thresholds
from roundtrip.studies.planned import PlannedCase, PlannedClaims
from roundtrip.studies.study import Figure, Section, Study, with_units
from roundtrip.studies.yardsticks import Yardstick

if TYPE_CHECKING:
    import polars as pl

    from roundtrip.collect.analysis import Analysis
    from roundtrip.report.data import Data


class OSU(Study):
    """What does the baseline that everyone knows say?"""

    name = "osu"
    title = "OSU Micro-Benchmarks"
    question = "What does the baseline that everyone knows say?"
    order = 40
    thresholds = Thresholds

    yardsticks = (
        Yardstick(
            "latency at 8 B, µs",
            (("case", "latency"), ("size_bytes", 8), ("phase", "average")),
            scale=1e6,
        ),
        Yardstick(
            "bw at 1 MiB, MB/s",
            (
                ("case", "bw"),
                ("size_bytes", 1 << 20),
                ("phase", "average"),
                ("metric", "bandwidth"),
            ),
        ),
    )

    def summarise(self, samples: pl.DataFrame) -> dict[str, Figure]:
        from roundtrip.studies.osu import derived

        return with_units(derived.summary(samples), derived.SUMMARY_UNITS)

    def primary_claims(
        self, cases: Sequence[PlannedCase], settings: Analysis
    ) -> list[PlannedClaims]:
        from roundtrip.studies.osu import planned

        return planned.primary_claims(cases, settings)

    def speeds(self, samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
        from roundtrip.studies.osu import planned

        return planned.speeds(samples, settings)

    def section(self, data: Data) -> Section | None:
        from roundtrip.studies.osu.section import section

        return section(data)


STUDY = OSU()
