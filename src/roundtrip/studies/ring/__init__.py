"""The ring of communicating processes: see `STUDY`."""

from __future__ import annotations

from roundtrip.studies.ring.record import RECORD
from roundtrip.studies.ring.thresholds import Thresholds
from roundtrip.studies.room import Room
from roundtrip.studies.yardsticks import Yardstick

_PASS = (("size_bytes", 10_000), ("metric", "time_per_pass"))


class Ring(Room):
    """What does it cost to pass a region by reference, and by each kind of message?"""

    name = "ring"
    title = "The ring of communicating processes"
    question = "What does it cost to pass a region by reference, and by each kind of message?"
    order = 30
    thresholds = Thresholds
    record = RECORD
    primary = (
        "One copy through shared memory against a region by reference, in a node, at each compared "
        "size: what a pass costs that need not copy."
    )
    yardsticks = (
        Yardstick("region, pass at 10 kB, µs", (*_PASS, ("variant", "region")), scale=1e6),
        Yardstick("MPI, pass at 10 kB, µs", (*_PASS, ("variant", "mpi")), scale=1e6),
    )


STUDY = Ring()
