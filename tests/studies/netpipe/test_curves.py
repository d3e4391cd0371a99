"""Which launch medians the section of NetPIPE is about."""

from __future__ import annotations

import polars as pl

from roundtrip.studies.netpipe import BASE
from roundtrip.studies.netpipe.curves import Curves


def test_the_values_are_those_of_known_variants_at_sizes_above_zero() -> None:
    curves = Curves.__new__(Curves)
    rows = [(BASE, 0), (BASE, 1), (BASE, 8), ("smoke_signals", 8)]
    medians = pl.DataFrame(rows, schema=["variant", "size_bytes"], orient="row")
    vars(curves)["everything"] = medians
    assert curves.values.rows() == [(BASE, 1), (BASE, 8)]
    assert curves.unknown_variants == ["smoke_signals"]
