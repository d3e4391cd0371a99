"""NAS Parallel Benchmarks: see `STUDY`."""

from __future__ import annotations

from roundtrip.studies.npb.record import RECORD
from roundtrip.studies.npb.thresholds import Thresholds
from roundtrip.studies.room import Room
from roundtrip.studies.yardsticks import Yardstick


class NPB(Room):
    """How do real kernels run, in a cluster and over a wide-area link?"""

    name = "npb"
    title = "NAS Parallel Benchmarks"
    question = "How do real kernels run, in a cluster and over a wide-area link?"
    order = 50
    thresholds = Thresholds
    record = RECORD
    primary = (
        "Speed-up of two clusters over one at a round-trip time of 4 ms, of CG, MG, LU, as the "
        "study has it; and our programs against those of NPB 3.4; both of class A and above."
    )
    elsewhere = frozenset({"wan_rtt"})  # transports against each other
    yardsticks = (Yardstick("rate, Mop/s", (("phase", "total"), ("metric", "rate"))),)


STUDY = NPB()
