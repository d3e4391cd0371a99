"""From the launch medians of many nights to one value a night, series and set of nodes."""

from __future__ import annotations

import polars as pl

from roundtrip.collect.night_rows import NIGHTS, SERIES
from roundtrip.collect.pseudonyms import STABLE
from roundtrip.stats.summaries import with_ends
from roundtrip.studies.derivation import METRICS

DISTURBED = "disturbed"
#: Night, study and unit follow from digest, case and metric.
_FOLLOW = ["night", "study", "unit"]
_KEYS = ["digest", *(name for name in SERIES if name not in _FOLLOW), "nodes"]
_BETTER = {name: metric.lower_is_better for name, metric in METRICS.items()}


def nights(medians: pl.DataFrame, level: float) -> pl.DataFrame:
    """Columns `NIGHTS`, in no order; `level` is that of the intervals over launches.

    `medians` has the columns `MEDIANS`, and night, digest and disturbed (of the launch).  Sets of
    nodes of bundles that counted their hosts are "": which machines they were is not known.
    """
    stable = pl.col("nodes").cast(pl.String).str.contains(rf"^{STABLE}(\+{STABLE})*$")
    rows = medians.with_columns(nodes=pl.when(stable).then("nodes").otherwise(pl.lit("")))
    # A night on which everything was disturbed keeps its median, over all its launches.
    calm = ~pl.col("disturbed")
    used = pl.col("median").filter(calm | ~calm.any())
    groups = (
        quick(rows)
        .group_by(_KEYS)
        .agg(
            pl.col(_FOLLOW).first(),
            n=used.len().cast(pl.Int64),
            ordered=used.sort(),
            disturbed=pl.col("disturbed").sum().cast(pl.Int64),
            all_disturbed=~calm.any(),
        )
    )
    better = pl.col("metric").replace_strict(_BETTER, return_dtype=pl.Boolean)
    left_out = pl.when("all_disturbed").then(pl.lit(DISTURBED)).otherwise(pl.lit(""))
    return (
        with_ends(texts(groups), level)
        .with_columns(
            median=pl.col("ordered").list.median(),
            lower_is_better=better,
            left_out=left_out,
            foreign=pl.lit(False),
        )
        .rename({"n": "launches"})
        .select(*NIGHTS)
    )


def quick(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows with their texts as categories: groups and joins by them take a third."""
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def texts(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows with texts for the categories of `quick`."""
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
