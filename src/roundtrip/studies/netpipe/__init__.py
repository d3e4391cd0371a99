"""NetPIPE: see `STUDY`."""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.model import Count, Sizes, StrictRecord, Threshold
from roundtrip.study import (
    BLUE,
    PURPLE,
    RUST,
    Arm,
    Contrast,
    PlannedCase,
    PlannedPoints,
    SpreadMetric,
    Study,
)
from roundtrip.units import Unit

#: Metrics: half the round trip of a message, or the time of each message in a stream.
HALF_ROUND_TRIP, PER_MESSAGE = "half_round_trip_time", "time_per_message"
RAW_MPI = "mpi"
#: The metric of a mode, the first part of a case; by default half the round trip.
METRIC_BY_MODE = {"stream": PER_MESSAGE}
#: The variants in the study's order and with its names.  The hue shows the payload; wide pale lines
#: are raw MPI, thin dark lines Boost.MPI.
ARMS = {
    RAW_MPI: Arm("MPI", ("#8cc0ea", "#2f6fae"), line_width=4.5, point_radius=0),
    "boost": Arm("Boost.MPI", BLUE, line_width=1.6, point_radius=0),
    "mpi-datatype": Arm("MPI (Datatypes)", ("#f4b478", "#9a5a1c"), line_width=4.5, point_radius=0),
    "boost-datatype": Arm("Boost.MPI (Datatypes)", RUST, line_width=1.6, point_radius=0),
    "boost-serialized": Arm("Boost.MPI (Serialized)", PURPLE, line_width=1.6, point_radius=0),
}
#: The variants that are compared with raw MPI.
COMPARED_VARIANTS = tuple(variant for variant in ARMS if variant != RAW_MPI)
#: Sets of variants that a launch can measure; a campaign runs the first.
VARIANT_SETS = {"five": list(ARMS), "raw": [RAW_MPI]}
#: Default buffers and default largest message (bytes) of a launch.
DEFAULT_BUFFERS, DEFAULT_LARGEST_BYTES = "same", 8 << 20
_RAW_MPI_FILTER = (("variant", RAW_MPI), ("phase", "measure"))


class Thresholds(StrictRecord):
    """Sizes [bytes] at which variants are compared, and the ratio below which a loss is great.

    Published statements on datatypes and serializing are tested from size `many_bytes` on.
    """

    compared_sizes: Sizes
    great_loss: Threshold
    many_bytes: Count


def is_pingpong(case: str) -> bool:
    """Whether the case of samples.csv is a ping-pong, as the published measurements were."""
    return case.startswith("pingpong/")


class NetPIPE(Study):
    """The declaration of the study NetPIPE: what does Boost.MPI cost over raw MPI?"""

    name = "netpipe"
    title = "NetPIPE"
    question = "What does Boost.MPI cost over raw MPI?"
    order = 10
    arms = ARMS
    metrics = (HALF_ROUND_TRIP, PER_MESSAGE)
    thresholds = Thresholds
    contrasts = (
        Contrast(
            "boost",
            RAW_MPI,
            "bandwidth of Boost.MPI over raw MPI, one a compared size",
            is_primary=is_pingpong,
        ),
        *(Contrast(variant, RAW_MPI) for variant in COMPARED_VARIANTS if variant != "boost"),
        Contrast("boost-datatype", "mpi-datatype"),
    )
    primary_description = (
        "Boost.MPI against raw MPI, plain, in ping-pong, at each compared size: the study's "
        "question."
    )
    spread_metrics = (
        SpreadMetric("raw MPI, time at 1 B", Unit.US, (*_RAW_MPI_FILTER, ("size_bytes", 1))),
        SpreadMetric(
            "raw MPI, bandwidth at 1 MiB", Unit.MB_S, (*_RAW_MPI_FILTER, ("size_bytes", 1 << 20))
        ),
    )

    def planned_points(
        self, case: PlannedCase, cases: Sequence[PlannedCase], sizes: tuple[int, ...]
    ) -> Sequence[PlannedPoints]:
        """The variants and sizes that launches of `case` measure, up to its largest message."""
        arms = VARIANT_SETS.get(case.parameters.get("variants", ""), [])
        where = f"{case.parameters.get('mode')}/{case.variables.get('buffers', DEFAULT_BUFFERS)}"
        end = case.numeric_variable("end", DEFAULT_LARGEST_BYTES)
        return [PlannedPoints(arms, where, tuple(n for n in sizes if n <= end))]


STUDY = NetPIPE()
