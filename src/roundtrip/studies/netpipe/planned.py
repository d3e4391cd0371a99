"""What the NetPIPE study claims: its primary question, and what tells toolchains apart."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from roundtrip.collect.analysis import Analysis
from roundtrip.studies.netpipe import derived
from roundtrip.studies.netpipe.thresholds import Thresholds
from roundtrip.studies.planned import BOOST, MPI, PlannedCase, PlannedClaims

_VARIANT = "boost"
_LARGEST = 8 << 20  # the check's own `end`, bytes
_MODES = {"pingpong": "ping-pong", "stream": "stream", "bidirectional": "bidirectional"}
#: Between toolchains: what depends on the MPI, and what on Boost.
_COMPARED = {derived.BASE: MPI, "boost": BOOST, "boost-serialized": BOOST}


def is_primary(case: str, variant: str, base: str) -> bool:
    """Whether the ratio of `variant` to `base` in `case` (as in samples.csv) is a primary claim."""
    return case.startswith("pingpong/") and (variant, base) == (_VARIANT, derived.BASE)


def primary_claims(cases: Sequence[PlannedCase], settings: Analysis) -> list[PlannedClaims]:
    """A claim for each compared size that a ping-pong of all five variants reaches."""
    found = []
    for case in cases:
        if (case.parameters.get("variants"), case.parameters.get("mode")) == ("five", "pingpong"):
            end = case.number("end", _LARGEST)
            sizes = [size for size in settings.of(Thresholds).compared_sizes if size <= end]
            what = "bandwidth of Boost.MPI over raw MPI, one a compared size"
            found.append(PlannedClaims(case.id, what, len(sizes)))
    return found


def speeds(samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
    """Half round trip or time per message of each launch at the compared sizes: columns SPEEDS."""
    wanted = samples.filter(
        (pl.col("phase") == "measure")
        & pl.col("variant").is_in(list(_COMPARED))
        & pl.col("size_bytes").is_in(list(settings.of(Thresholds).compared_sizes))
    )
    mode = pl.col("case").str.split("/").list.first().replace(_MODES)
    name = pl.col("variant").replace_strict(derived.VARIANTS)
    return derived.launch_medians(wanted, ["launch"]).select(
        "launch",
        what=pl.concat_str(name, pl.lit(", "), mode),
        size_bytes="size_bytes",
        value=pl.col("seconds") * 1e6,
        unit=pl.lit("µs"),
        lower_is_better=pl.lit(True),
        depends_on=pl.col("variant").replace_strict(_COMPARED),
        case="case",
        variant="variant",
        phase=pl.lit("measure"),
        metric=pl.lit(None, pl.String),
    )
