"""What the ring study claims: its primary question, and what tells one toolchain from another."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from roundtrip.collect.analysis import Analysis
from roundtrip.studies.planned import MPI, PlannedCase, PlannedClaims
from roundtrip.studies.ring import derived
from roundtrip.studies.ring.thresholds import Thresholds

_PAIR = ("mpi-shm", derived.REGION)
_IN_A_NODE = "Ring"  # the check
_LARGEST = 16 << 20  # the check's own `end`, bytes


def is_primary(variant: str, base: str) -> bool:
    """Of a ratio of `variant` to `base`."""
    return (variant, base) == _PAIR


def primary_claims(cases: Sequence[PlannedCase], settings: Analysis) -> list[PlannedClaims]:
    """One for each compared size of a ring in one node."""
    found = []
    for case in cases:
        if case.check == _IN_A_NODE:
            end = case.number("end", _LARGEST)
            sizes = [size for size in settings.of(Thresholds).compared_sizes if size <= end]
            what = "bandwidth of one copy over a region by reference, one a compared size"
            found.append(PlannedClaims(case.id, what, len(sizes)))
    return found


def speeds(samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
    """Time per pass of MPI's two-sided call at the compared sizes: columns SPEEDS.

    The same code passes a region whatever the MPI is, so regions are not compared.
    """
    wanted = samples.filter(
        (pl.col("variant") == "mpi")
        & pl.col("size_bytes").is_in(list(settings.of(Thresholds).compared_sizes))
    )
    return derived.launch_medians(wanted, ["launch"]).select(
        "launch",
        what=pl.concat_str(pl.lit("MPI two-sided, ring "), "case"),
        size_bytes="size_bytes",
        value=pl.col("seconds") * 1e6,
        unit=pl.lit("µs"),
        lower_is_better=pl.lit(True),
        depends_on=pl.lit(MPI),
        case="case",
        variant="variant",
        phase=pl.lit(None, pl.String),
        metric=pl.lit(derived.METRIC),
    )
