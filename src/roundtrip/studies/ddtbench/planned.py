"""What the DDTBench study claims: its primary question, and what tells toolchains apart."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from roundtrip.collect.analysis import Analysis
from roundtrip.studies.ddtbench import derived
from roundtrip.studies.planned import MPI, PlannedCase, PlannedClaims

_ORIGINAL = "original"
_BUFFERS = "original,same"  # the check's own


def is_primary(buffers: str) -> bool:
    """Of a gain measured in this state of memory."""
    return buffers == _ORIGINAL


def primary_claims(cases: Sequence[PlannedCase], settings: Analysis) -> list[PlannedClaims]:
    """One for each micro-app in each place, with each toolchain."""
    found: dict[tuple[object, ...], PlannedClaims] = {}
    for case in cases:
        app, placement = (case.parameters.get(name) for name in ("app", "placement"))
        if app and _ORIGINAL in case.variables.get("buffers", _BUFFERS).split(","):
            key = (case.place, case.environ, app, placement)
            what = "round trip by hand over that with datatypes"
            found.setdefault(key, PlannedClaims(case.id, what, 1))
    return list(found.values())


def speeds(samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
    """Round trip with datatypes of each launch, each micro-app at its largest message: columns
    SPEEDS.
    """
    original = samples.filter(pl.col("case").str.ends_with(f"/{_ORIGINAL}"))
    figures = derived.launch_figures(original, ["launch"])
    figures = figures.filter(pl.col("variant") == derived.DDT)
    at_largest = derived.largest(figures, ["launch"])
    return at_largest.select(
        "launch",
        what=pl.concat_str("app", pl.lit(", datatypes")),
        size_bytes="size_bytes",
        value=pl.col("round_trip") * 1e6,
        unit=pl.lit("µs"),
        lower_is_better=pl.lit(True),
        depends_on=pl.lit(MPI),
        case="case",
        variant="variant",
        phase=pl.lit(derived.UNPACKED),
        metric=pl.lit(derived.METRIC),
    )
