"""What the report's audit has to know of the ring section."""

from __future__ import annotations

from roundtrip.stats.intervals import OVER_LAUNCHES
from roundtrip.stats.summaries import MEDIAN, PERCENTILES, Kind, Summary
from roundtrip.studies.facts import Facts, Pairing, Ratio, Tail
from roundtrip.studies.ring import derived

_PASS = Summary("time of a pass", Kind.COST, "launches", OVER_LAUNCHES)

FACTS = Facts(
    summaries=(
        derived.SECONDS,
        Summary("time of a pass", Kind.COST, "the sizes of a launch", MEDIAN),
        Summary("time of a lap", Kind.COST, "the laps of all launches", PERCENTILES),
        _PASS,
        Summary("effective bandwidth", Kind.RATE, "launches", OVER_LAUNCHES),
    ),
    ratios=(
        Ratio(
            "effective bandwidths of two transports", derived.SECONDS, Pairing.LAUNCH, OVER_LAUNCHES
        ),
        Ratio("efficiency over nodes", _PASS, Pairing.APART),
    ),
    tails=(Tail("the time of a lap", {"metric": "lap_time"}),),
    clock="rank 0 reads its own clock",
    synchronised="one token goes round, and laps before those that are timed bring all ranks along",
    over_ranks="a lap ends where it began, so that no clocks are compared",
    cache="as the lap before left them: what was passed is warm",
    made_with=("mpi_library", "compiler", "compiler_flags"),
)
