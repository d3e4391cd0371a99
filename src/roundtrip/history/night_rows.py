"""Models of the rows of a history's tables, which are derived from the bundles of many nights.

A series whose unit changed, as from s to ms, is put in its newest one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from roundtrip.measure import bundle_rows
from roundtrip.measure.bundle_rows import INTERVAL_RULE, NodeSet
from roundtrip.measure.columns import Row, Schema, table_columns
from roundtrip.measure.samples import MAX_VALUE
from roundtrip.model import (
    Count,
    Host,
    NonNegative,
    Sha256,
    Text,
    UtcTime,
    column,
    newer_column,
    optional_field,
)

_LongText = Annotated[Text, Field(max_length=2000)]
_OptionalText = Annotated[str, Field(max_length=2000)]
_OptionalHost = Annotated[str, Field(max_length=255)]
_GlobText = Annotated[Text, Field(max_length=500)]


class Night(Row):
    """A night, a series and a set of nodes.

    The median is over the medians of the launches that nothing disturbed, `launches` their number;
    if all were disturbed, it is over these.
    """

    extra_rules = (INTERVAL_RULE,)

    night: UtcTime = column("start of the run, UTC, ISO 8601")
    digest: Sha256 = column(
        "sha256 of the manifest of its bundle, or of the file that it was imported from"
    )
    case_id: _LongText = column("the case")
    study: _LongText = column("its study")
    case: _LongText = column("what was measured, as in the samples")
    variant: _LongText = column("the variant")
    size_bytes: Count = column("size of a message", "bytes")
    phase: _LongText = column("the part of the measurement")
    metric: _LongText = column("the quantity")
    unit: Annotated[str, Field(max_length=200)] = column("its unit")
    nodes: NodeSet = column(
        "pseudonyms of the hosts; empty if other bundles may use the same pseudonyms for "
        "other hosts"
    )
    launches: Count = column("launches that the median is over", "count")
    disturbed: Count = column("launches that something disturbed", "count")
    median: NonNegative = column(
        "median over the medians of the undisturbed launches; over all, if all were disturbed",
        "of the row",
    )
    low: NonNegative | None = optional_field(
        "lower end of its rank interval; none with fewer than 6 launches at 95 %", "of the row"
    )
    high: NonNegative | None = optional_field("its upper end", "of the row")
    lower_is_better: bool = column("whether lower is better")
    left_out: _OptionalText = column(
        "why detection leaves the night out, such as `disturbed`; else empty"
    )
    foreign: bool = column("whether it was imported from another tool, so without samples")


class Note(Row):
    """A remark of a person on a night, from the annotations of the site."""

    night: UtcTime = column("start of the run")
    text: _LongText = column("the annotation's kind and text")


class Acceptance(Row):
    """An annotation that accepts the level of some series as their baseline."""

    until: Annotated[Text, Field(max_length=40)] = column("last day or second of what is accepted")
    series: _GlobText = column("which series: a pattern (glob) of their names or cases")
    text: _LongText = column("the reason")


class LeftOut(Row):
    """An annotation that leaves series of the bundle's own night out of detection."""

    series: _GlobText = column("which series: a pattern (glob) of their cases")
    text: _LongText = column("the annotation's kind and text")


class Pair(Row):
    """A launch of a campaign over pairs of nodes, and a measure of it.

    Of measure "failure", which failed launches have as well, `excess` is 1 if the launch failed,
    else 0, and `level` the share that did.
    """

    night: UtcTime = column("start of the run")
    digest: Sha256 = column("that of its bundle")
    launch: _LongText = column("the launch")
    round: Count = column(
        "its round of the night; launches of one round were close in time", "count"
    )
    study: _LongText = column("its study")
    place: _LongText = column("system and partition")
    environ: _LongText = column("environment")
    host: Host = column("pseudonym of one node")
    other: _OptionalHost = column("that of the other; empty for a launch on one node")
    down: Host | None = newer_column(
        "of a launch that failed: the node that did, by the scheduler's word, if one alone did"
    )
    switch: _OptionalHost = column("pseudonym of the switch of `host`; empty where it is not known")
    other_switch: _OptionalHost = column("that of `other`")
    measure: Literal["latency", "tail", "bandwidth", "failure"] = column(
        "`latency` of short messages, their `tail` (mean over median), or `bandwidth` of long ones"
    )
    excess: Annotated[float, Field(ge=-100, le=100)] = column(
        "how much worse the launch was than the others of its night", "natural logarithm"
    )
    level: NonNegative = column("what these measured", "of the row")
    unit: _OptionalHost = column("its unit")


class Fact(Row):
    """A fact of a night: kernel, firmware, MPI library, UCX, Spack hash."""

    night: UtcTime = column("start of the run")
    digest: Sha256 = column("that of its bundle")
    subject: _OptionalText = column("the environment of the fact; empty: the site")
    name: _LongText = column("what it is: `kernel`, `MPI library`, `package libucx0`, `Spack hash`")
    value: _OptionalText = column("its value; a long one is cut and followed by its sha256")


NIGHTS, PAIRS, NOTES = table_columns(Night), table_columns(Pair), table_columns(Note)
ACCEPTANCES, LEFT_OUT, PROVENANCE = (
    table_columns(Acceptance),
    table_columns(LeftOut),
    table_columns(Fact),
)
#: Columns that identify a series of a campaign on a site.
SERIES: Schema = {
    name: NIGHTS[name] for name in ("case_id", "study", *bundle_rows.SERIES_COLUMNS, "unit")
}
#: Those that identify the series of a value of a launch: null if a column does not matter; all null
#: if the value is of no single series.
SERIES_COLUMNS: Schema = {name: SERIES[name] for name in ("case", "variant", "phase", "metric")}
#: The units of each quantity, with factors to a common one.
_UNIT_FACTORS = (
    {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    {"B/s": 1.0, "kB/s": 1e3, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12},
    {"B/s": 1.0, "KiB/s": 2.0**10, "MiB/s": 2.0**20, "GiB/s": 2.0**30, "TiB/s": 2.0**40},
)


def in_newest_unit(
    rows: pl.DataFrame, keys: Collection[str], moment: str, columns: Collection[str]
) -> pl.DataFrame:
    """`rows` with the numbers in `columns` in the newest `unit` of each group of equal `keys`.

    `moment` is the column of time.  A row whose number would exceed the limit of values stays.
    """
    for factors in _UNIT_FACTORS:
        is_known = pl.col("unit").is_in(list(factors))
        newest = pl.col("unit").filter(is_known).sort_by(pl.col(moment).filter(is_known)).last()
        unit = newest.over(keys)
        old, new = (each.replace_strict(factors, default=None) for each in (pl.col("unit"), unit))
        values = {name: pl.col(name) * old / new for name in columns}
        is_legal = pl.all_horizontal(
            (value <= MAX_VALUE).fill_null(True) for value in values.values()
        )
        is_other = (unit != pl.col("unit")) & old.is_not_null() & is_legal
        rows = rows.with_columns(
            **{n: pl.when(is_other).then(v).otherwise(n) for n, v in values.items()},
            unit=pl.when(is_other).then(unit).otherwise("unit"),
        )
    return rows
