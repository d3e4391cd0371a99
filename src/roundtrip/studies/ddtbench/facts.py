"""What the report's audit has to know of the DDTBench section."""

from __future__ import annotations

from roundtrip.stats.intervals import OVER_LAUNCHES
from roundtrip.stats.summaries import Kind, Summary
from roundtrip.studies.ddtbench import derived
from roundtrip.studies.facts import Facts, Pairing, Ratio

FACTS = Facts(
    summaries=(
        derived.ROUND_TRIP,
        derived.OF_LAUNCH,
        derived.CREATED,
        Summary("round trip", Kind.COST, "launches", OVER_LAUNCHES),
    ),
    ratios=(
        Ratio("round trips of two methods", derived.OF_LAUNCH, Pairing.LAUNCH, OVER_LAUNCHES),
        Ratio("overhead", derived.OF_LAUNCH, Pairing.LAUNCH, OVER_LAUNCHES),
    ),
    tails=(),
    no_tails="compares whole round trips of applications' messages, not latencies",
    clock="rank 0 reads its own clock",
    synchronised="a ping-pong waits for its partner; FFT's exchange is collective",
    over_ranks="all times are rank 0's",
    cache="as the method before left them, and a second series in which all find them alike",
    made_with=("mpi_library", "compiler", "compiler_flags"),
)
