"""The ring of communicating processes: see `STUDY`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundtrip.collect.shapes import (
    COUNT_OR_NULL,
    FEW,
    TEXT,
    TEXT_OR_NULL,
    or_null,
    record,
)
from roundtrip.studies.arms import BLUE, GREY, ORANGE, PURPLE, TEAL, Arm
from roundtrip.studies.study import Contrast, PlannedCase, Points, Study, Yardstick

if TYPE_CHECKING:
    from roundtrip.collect.analysis import Analysis

METRIC = "time_per_pass"
REGION = "region"
REGION_UDP = "region-udp"
FLOOR = "cache-line"
#: Transports in the order to be shown, with their names in one node: see `derived.title`.  What
#: copies is paler than what does not.
ARMS = {
    REGION: Arm("Region by reference", BLUE),
    REGION_UDP: Arm("Region by UDP", ("#3d8fe0", "#5c9bd6")),
    "mpi-shm": Arm("MPI shared window, one copy", TEAL),
    "mpi-rma": Arm("MPI one-sided", PURPLE),
    "mpi": Arm("MPI two-sided", ORANGE),
    "mpi-typed": Arm("MPI two-sided, datatype", ("#e6a15c", "#a8692a")),
    "mpi-sync": Arm("MPI synchronous", ("#a84600", "#ffd3a8")),
    "pvm": Arm("PVM, raw", GREY),
    "pvm-xdr": Arm("PVM, XDR", ("#b0b0b0", "#8a8a8a")),
    FLOOR: Arm("Bare cache line", GREY),
}
#: Placements of all ranks in one node: the ranks, and what they are called.
IN_A_NODE = {
    "shared-memory": (2, "2 ranks in one node"),
    "oversubscribed": (3, "3 ranks on 2 processors"),
}
#: Largest region, bytes, if a campaign sets no other.
END = 16 << 20
_PASS = (("size_bytes", 10_000), ("metric", METRIC))
#: What a launch tells in run.json: the passes of a lap, how it waits, what it skipped.
RECORD = record(
    {},
    {
        "tokens": COUNT_OR_NULL,
        "ranks_on_nodes": TEXT_OR_NULL,
        "processors_per_node": COUNT_OR_NULL,
        "pretended_nodes": {"type": ["array", "null"], "items": COUNT_OR_NULL},
        "read": TEXT_OR_NULL,
        "passes_per_lap": or_null(record({"shared": FEW, "network": FEW})),
        "wait": or_null(
            record(
                {},
                {
                    "spins": COUNT_OR_NULL,
                    "yields": COUNT_OR_NULL,
                    "network_yields_ms": COUNT_OR_NULL,
                    "then": TEXT_OR_NULL,
                },
            )
        ),
        "skipped": {"type": "array", "items": record({"variant": TEXT, "reason": TEXT})},
    },
)


@dataclass(frozen=True)
class Thresholds:
    """Where transports are compared (bytes), and what a region's pass is expected to be like.

    `flat_within`: largest over smallest time over the sizes, less 1; `most_hand_overs`: its time
    in bare hand-overs of a cache line; `least_gain`: its bandwidth over the best two-sided MPI;
    `least_goodput`: its share of what a hub can carry.
    """

    compared_sizes: tuple[int, ...]
    flat_within: float
    most_hand_overs: float
    least_gain: float
    least_goodput: float = 0.95


def _is_in_one_node(ranks_on_nodes: str) -> bool:
    return "+" not in ranks_on_nodes


class Ring(Study):
    """What does it cost to pass a region by reference, and by each kind of message?"""

    name = "ring"
    title = "The ring of communicating processes"
    question = "What does it cost to pass a region by reference, and by each kind of message?"
    order = 30
    arms = ARMS
    thresholds = Thresholds
    record = RECORD
    contrasts = (
        Contrast(
            "mpi-shm",
            REGION,
            "bandwidth of one copy over a region by reference, one a compared size",
            is_primary=_is_in_one_node,
        ),
        Contrast("mpi-sync", "mpi"),
        Contrast("mpi-typed", "mpi"),
        Contrast("pvm-xdr", "pvm"),
    )
    primary = (
        "One copy through shared memory against a region by reference, in a node, at each compared "
        "size: what a pass costs that need not copy."
    )
    yardsticks = (
        Yardstick("region, pass at 10 kB, µs", (*_PASS, ("variant", REGION)), scale=1e6),
        Yardstick("MPI, pass at 10 kB, µs", (*_PASS, ("variant", "mpi")), scale=1e6),
    )

    def points(
        self, case: PlannedCase, cases: Sequence[PlannedCase], settings: Analysis
    ) -> Sequence[Points]:
        """All transports in one node; over a network none that is contrasted in the first place."""
        placement = case.parameters.get("placement", "")
        if placement not in IN_A_NODE:
            return []
        ranks, _ = IN_A_NODE[placement]
        sizes = tuple(n for n in self.sizes(settings) if n <= case.number("end", END))
        return [Points(tuple(ARMS), str(ranks), sizes)]


STUDY = Ring()
