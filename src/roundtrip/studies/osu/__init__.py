"""OSU Micro-Benchmarks: see `STUDY`."""

from __future__ import annotations

from roundtrip.model import Sizes, StrictRecord, Threshold
from roundtrip.study import BLUE, GREY, PURPLE, RUST, TEAL, Arm, SpreadMetric, Study
from roundtrip.units import Unit

#: Benchmarks whose values are drawn over the message size.
ARMS = {
    "latency": Arm("latency", BLUE),
    "put_latency": Arm("put_latency", RUST),
    "get_latency": Arm("get_latency", PURPLE),
    "bw": Arm("bw", BLUE),
    "bibw": Arm("bibw", TEAL),
    "put_bw": Arm("put_bw", RUST),
    "get_bw": Arm("get_bw", PURPLE),
    "mbw_mr": Arm("mbw_mr", GREY),
    "allreduce": Arm("allreduce", BLUE),
    "alltoall": Arm("alltoall", RUST),
    "bcast": Arm("bcast", TEAL),
}
_AVERAGE_FILTER = ("phase", "average")


class Thresholds(StrictRecord):
    """Sizes [bytes] to compare OSU and NetPIPE; relative difference from which they disagree."""

    compared_sizes: Sizes
    disagreement: Threshold


class OSU(Study):
    """The declaration of the study OSU: the well-known baseline.  Each program runs in its own
    launch, so no ratio is paired and nothing is claimed."""

    name = "osu"
    title = "OSU Micro-Benchmarks"
    question = "What does the well-known baseline measure?"
    order = 40
    arms = ARMS
    metrics = ("half_round_trip_time", "operation_time", "bandwidth", "message_rate")
    thresholds = Thresholds
    spread_metrics = (
        SpreadMetric(
            "latency at 8 B", Unit.US, (("case", "latency"), ("size_bytes", 8), _AVERAGE_FILTER)
        ),
        SpreadMetric(
            "bw at 1 MiB",
            Unit.MB_S,
            (("case", "bw"), ("size_bytes", 1 << 20), _AVERAGE_FILTER, ("metric", "bandwidth")),
        ),
    )


STUDY = OSU()
