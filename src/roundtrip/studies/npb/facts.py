"""What the report's audit has to know of the NPB section."""

from __future__ import annotations

from roundtrip.stats.intervals import OVER_LAUNCHES
from roundtrip.stats.summaries import Kind, Summary
from roundtrip.studies.facts import Facts, Pairing, Ratio
from roundtrip.studies.npb import derived, wan

_RATES = Summary("rate", Kind.RATE, "launches", OVER_LAUNCHES)

FACTS = Facts(
    summaries=(
        derived.RATE,
        derived.OF_RANKS,
        derived.PARTS,
        wan.WAITED,
        _RATES,
        Summary("time", Kind.COST, "launches", OVER_LAUNCHES),
    ),
    ratios=(
        Ratio("rates, or times on own processors", derived.RATE, Pairing.ROUND, OVER_LAUNCHES),
        Ratio("efficiency over nodes", _RATES, Pairing.APART),
    ),
    tails=(),
    no_tails="times whole computations, not latencies",
    clock="each rank reads its own clock",
    synchronised="a barrier before the timed section",
    over_ranks="the slowest rank's time; compute and communication are means over the ranks",
    cache="as an untimed first iteration left them, where the benchmark has one",
    made_with=("mpi_library", "compiler", "compiler_flags"),
    median_is_whole=True,
)
