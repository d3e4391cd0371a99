"""What the OSU study claims: no ratio inside a launch; toolchains by its best-known numbers."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from roundtrip.collect.analysis import Analysis
from roundtrip.studies.osu import derived
from roundtrip.studies.planned import MPI, PlannedCase, PlannedClaims
from roundtrip.studies.speeds import none as no_speeds

#: What people quote: program and size in bytes.
_QUOTED = (
    ("latency", 8),
    ("bw", 1 << 20),
    ("bibw", 1 << 20),
    ("put_latency", 8),
    ("get_latency", 8),
    ("allreduce", 8),
    ("alltoall", 1 << 10),
    ("bcast", 1 << 10),
    ("barrier", 0),
)


def primary_claims(cases: Sequence[PlannedCase], settings: Analysis) -> list[PlannedClaims]:
    """None: each program runs in its own launch, so no ratio is paired inside a launch."""
    return []


def speeds(samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
    """The typical value of each launch at the sizes that people quote: columns SPEEDS."""
    quoted = pl.DataFrame(_QUOTED, schema={"case": pl.String, "size_bytes": pl.Int64}, orient="row")
    found = derived.typical(samples, ["launch"]).join(quoted, on=["case", "size_bytes"])
    if found.is_empty():
        return no_speeds()
    is_rate = pl.col("metric") == "bandwidth"
    main = pl.col("metric").is_in(["half_round_trip_time", "operation_time", "bandwidth"])
    return found.filter(main).select(
        "launch",
        what=pl.concat_str(pl.lit("OSU "), "case"),
        size_bytes="size_bytes",
        value=pl.when(is_rate).then("value").otherwise(pl.col("value") * 1e6),
        unit=pl.when(is_rate).then(pl.lit("MB/s")).otherwise(pl.lit("µs")),
        lower_is_better=~is_rate,
        depends_on=pl.lit(MPI),
        case="case",
        variant="variant",
        phase="phase",
        metric="metric",
    )
