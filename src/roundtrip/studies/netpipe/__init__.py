"""NetPIPE: see `STUDY`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roundtrip.studies.netpipe.thresholds import Thresholds
from roundtrip.studies.planned import PlannedCase, PlannedClaims
from roundtrip.studies.study import Figure, Section, Study, with_units
from roundtrip.studies.yardsticks import Yardstick

if TYPE_CHECKING:
    import polars as pl

    from roundtrip.collect.analysis import Analysis
    from roundtrip.report.data import Data

_RAW = (("variant", "mpi"), ("phase", "measure"))


class NetPIPE(Study):
    """What does Boost.MPI cost over raw MPI?"""

    name = "netpipe"
    title = "NetPIPE"
    question = "What does Boost.MPI cost over raw MPI?"
    order = 10
    thresholds = Thresholds

    primary = (
        "Boost.MPI against raw MPI, plain, in ping-pong, at each compared size: the study's "
        "question."
    )
    yardsticks = (
        Yardstick("raw MPI, time at 1 B, µs", (*_RAW, ("size_bytes", 1)), scale=1e6),
        Yardstick(
            "raw MPI, bandwidth at 1 MiB, MB/s", (*_RAW, ("size_bytes", 1 << 20)), bandwidth=True
        ),
    )

    def summarise(self, samples: pl.DataFrame) -> dict[str, Figure]:
        from roundtrip.studies.netpipe import derived

        return with_units(derived.summary(samples), derived.SUMMARY_UNITS)

    def primary_claims(
        self, cases: Sequence[PlannedCase], settings: Analysis
    ) -> list[PlannedClaims]:
        from roundtrip.studies.netpipe import planned

        return planned.primary_claims(cases, settings)

    def speeds(self, samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
        from roundtrip.studies.netpipe import planned

        return planned.speeds(samples, settings)

    def section(self, data: Data) -> Section | None:
        from roundtrip.studies.netpipe.section import section

        return section(data)


STUDY = NetPIPE()
