"""What the report's audit has to know of the NetPIPE section."""

from __future__ import annotations

from roundtrip.stats.intervals import OVER_LAUNCHES
from roundtrip.stats.rates import TOTAL_RATE
from roundtrip.stats.summaries import PERCENTILES, Kind, Summary
from roundtrip.studies.facts import Facts, Pairing, Ratio, Tail
from roundtrip.studies.netpipe import derived

FACTS = Facts(
    summaries=(
        derived.SECONDS,
        derived.LEAST_SECONDS,
        Summary("latency", Kind.COST, "the samples of all launches", PERCENTILES),
        Summary("bandwidth of all sizes", Kind.RATE, "the sizes of a launch", TOTAL_RATE),
        Summary("bandwidth", Kind.RATE, "launches", OVER_LAUNCHES),
        Summary("time of a message", Kind.COST, "launches", OVER_LAUNCHES),
    ),
    ratios=(
        Ratio("bandwidths of two variants", derived.SECONDS, Pairing.LAUNCH, OVER_LAUNCHES),
        Ratio("NetPIPE 3.7.2 over ours", derived.LEAST_SECONDS, Pairing.APART),
    ),
    tails=(Tail("the time at 1 byte", {"size_bytes": 1, "phase": "measure"}),),
    clock="the sender reads its own clock, in a stream the receiver",
    synchronised="an empty message from the receiver before each batch",
    over_ranks="one rank times, so that no clocks are compared",
    cache="one warm buffer where the case says same, memory not touched lately where no-cache",
    made_with=("mpi_library", "boost", "compiler", "compiler_flags"),
)
