"""The values by which two toolchains are compared: the frame that `Study.speeds` returns."""

from __future__ import annotations

import polars as pl

#: One row for each launch and value; `depends_on` is MPI or BOOST of `roundtrip.studies.planned`.
SPEEDS = {
    "launch": pl.String,
    "what": pl.String,
    "size_bytes": pl.Int64,
    "value": pl.Float64,
    "unit": pl.String,
    "lower_is_better": pl.Boolean,
    "depends_on": pl.String,
}


def none() -> pl.DataFrame:
    """A frame without rows, with the columns SPEEDS: the study compares no toolchains."""
    return pl.DataFrame(schema=SPEEDS)
