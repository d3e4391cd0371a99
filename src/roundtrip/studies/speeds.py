"""The values by which two toolchains are compared: the frame that `Study.speeds` returns."""

from __future__ import annotations

import polars as pl

#: Which series of the history a value is, in whatever unit: columns of `history.schema.SERIES` as
#: the samples have them; null where any will do, all of them null for a value of no single series.
ORIGIN = {"case": pl.String, "variant": pl.String, "phase": pl.String, "metric": pl.String}
#: One row for each launch and value; `depends_on` is MPI or BOOST of `roundtrip.studies.planned`.
SPEEDS = {
    "launch": pl.String,
    "what": pl.String,
    "size_bytes": pl.Int64,
    "value": pl.Float64,
    "unit": pl.String,
    "lower_is_better": pl.Boolean,
    "depends_on": pl.String,
    **ORIGIN,
}


def none() -> pl.DataFrame:
    """A frame without rows, with the columns SPEEDS: the study compares no toolchains."""
    return pl.DataFrame(schema=SPEEDS)
