"""The ring of communicating processes: see `STUDY`."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from roundtrip.model import Count, Record, Sizes, SmallCount, StrictRecord, Text, Threshold
from roundtrip.study import (
    BLUE,
    GREY,
    ORANGE,
    PURPLE,
    TEAL,
    Arm,
    Contrast,
    PlannedCase,
    PlannedPoints,
    SpreadMetric,
    Study,
)
from roundtrip.units import Unit

PASS_METRIC, LAP_METRIC = "time_per_pass", "lap_time"
REGION = "region"
REGION_UDP = "region-udp"
CACHE_LINE = "cache-line"
#: Transports in display order, with their titles in one node; see `curves.Panel.variant_title`.
#: Transports that copy are paler than those that do not.
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
    CACHE_LINE: Arm("Bare cache line", GREY),
}
#: The placement of more ranks than processors.
OVERSUBSCRIBED_PLACEMENT = "oversubscribed"
#: Placements with all ranks in one node: number of ranks, and title.
NODE_PLACEMENTS = {
    "shared-memory": (2, "2 ranks in one node"),
    OVERSUBSCRIBED_PLACEMENT: (3, "3 ranks on 2 processors"),
}
#: Default for the largest region size, bytes.
MAX_REGION_BYTES = 16 << 20
_PASS_FILTER = (("size_bytes", 10_000), ("metric", PASS_METRIC))


class _PassCounts(Record):
    shared: SmallCount
    network: SmallCount


class _WaitPolicy(Record):
    spins: Count | None = None
    yields: Count | None = None
    network_yields_ms: Count | None = None
    then: str | None = None


class _SkippedVariant(Record):
    variant: Text
    reason: Text


class RingRecord(Record):
    """Entries of the ring workload in run.json: passes of a lap, waiting, skipped transports."""

    tokens: Count | None = None
    ranks_on_nodes: str | None = None
    processors_per_node: Count | None = None
    pretended_nodes: list[Count | None] | None = None
    read: str | None = None
    passes_per_lap: _PassCounts | None = None
    wait: _WaitPolicy | None = None
    skipped: list[_SkippedVariant] = Field(default_factory=list)


class Thresholds(StrictRecord):
    """Sizes [bytes] at which transports are compared, and limits for the pass of a region.

    `flat_within`: largest over smallest time over the sizes, less 1; `most_hand_overs`: its time
    in bare hand-overs of a cache line; `least_gain`: its bandwidth over the best two-sided MPI;
    `least_goodput`: its share of what a hub can carry.
    """

    compared_sizes: Sizes
    flat_within: Threshold
    most_hand_overs: Threshold
    least_gain: Threshold
    least_goodput: Threshold


class Ring(Study):
    """The declaration of the study Ring: passing a region by reference, and by messages."""

    name = "ring"
    title = "The ring of communicating processes"
    question = "What does it cost to pass a region by reference, and by each kind of message?"
    order = 30
    arms = ARMS
    metrics = (PASS_METRIC, LAP_METRIC)
    thresholds = Thresholds
    run_record = RingRecord
    contrasts = (
        Contrast(
            "mpi-shm",
            REGION,
            "bandwidth of one copy over a region by reference, one a compared size",
            is_primary=lambda ranks_on_nodes: "+" not in ranks_on_nodes,  # in one node
        ),
        Contrast("mpi-sync", "mpi"),
        Contrast("mpi-typed", "mpi"),
        Contrast("pvm-xdr", "pvm"),
    )
    primary_description = (
        "One copy through shared memory against a region by reference, in a node, at each "
        "compared size: the cost of a copy that a pass does not need."
    )
    spread_metrics = (
        SpreadMetric("region, pass at 10 kB", Unit.US, (*_PASS_FILTER, ("variant", REGION))),
        SpreadMetric("MPI, pass at 10 kB", Unit.US, (*_PASS_FILTER, ("variant", "mpi"))),
    )

    def planned_points(
        self, case: PlannedCase, cases: Sequence[PlannedCase], sizes: tuple[int, ...]
    ) -> Sequence[PlannedPoints]:
        """All transports at `sizes` in one node; [] over a network, where no claim is primary."""
        placement = case.parameters.get("placement", "")
        if placement not in NODE_PLACEMENTS:
            return []
        ranks, _ = NODE_PLACEMENTS[placement]
        end = case.numeric_variable("end", MAX_REGION_BYTES)
        return [PlannedPoints(tuple(ARMS), str(ranks), tuple(n for n in sizes if n <= end))]


STUDY = Ring()
