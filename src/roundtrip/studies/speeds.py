"""What two toolchains are compared by: the frame that `Study.speeds` gives."""

from __future__ import annotations

import polars as pl

#: One row a launch and value; `depends_on` is MPI or BOOST of `roundtrip.studies.planned`.
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
    """No row: of a study by which toolchains are not compared."""
    return pl.DataFrame(schema=SPEEDS)
