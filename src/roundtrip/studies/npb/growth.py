"""How the benchmarks grow with the nodes: the work that a rank does in a second."""

from __future__ import annotations

import polars as pl

from roundtrip.report.data import Data
from roundtrip.sites.scales import ALL_CORES
from roundtrip.studies import growth
from roundtrip.studies.growth import Growth
from roundtrip.studies.npb import derived
from roundtrip.studies.npb.data import Launches


def of(data: Data, launches: Launches) -> Growth:
    """Efficiency of each benchmark and class inside a machine or cluster, by numbers of nodes."""
    rates = [
        (launch, f"{series.name}{_BY[series.source]}", series.ranks / figures["rate"])
        for series in launches.inside
        if series.placement == ALL_CORES
        for launch, figures in launches.points[series].get(None, {}).items()
    ]
    schema = {"launch": pl.String, "thing": pl.String, "value": pl.Float64}
    times = pl.DataFrame(rates, schema=schema, orient="row")
    placed = growth.on_nodes(times, data.passed(derived.STUDY))
    return Growth.of(placed, growth.constant, launches.level)


_BY = {derived.NATIVE: "", derived.UPSTREAM: ", NPB 3.4"}
