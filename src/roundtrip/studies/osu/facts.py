"""What the report's audit has to know of the OSU section."""

from __future__ import annotations

from roundtrip.stats.intervals import OVER_LAUNCHES
from roundtrip.stats.summaries import Kind, Summary
from roundtrip.studies.facts import Facts, Pairing, Ratio, Tail
from roundtrip.studies.osu import derived

_OVER_LAUNCHES = Summary("time of a benchmark", Kind.COST, "launches", OVER_LAUNCHES)

#: Of the clock and of the caches the programs tell nothing.
FACTS = Facts(
    summaries=(
        *derived.SUMMARIES.values(),
        derived.BANDWIDTH,
        _OVER_LAUNCHES,
        Summary("bandwidth", Kind.RATE, "launches", OVER_LAUNCHES),
    ),
    ratios=(
        Ratio("OSU over NetPIPE", _OVER_LAUNCHES, Pairing.APART),
        Ratio("efficiency over nodes", _OVER_LAUNCHES, Pairing.APART),
    ),
    tails=(Tail("latency", {"case": "latency", "phase": "average"}),),
    made_with=("mpi_library", "compiler", "compiler_flags"),
)
