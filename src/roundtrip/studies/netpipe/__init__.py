"""NetPIPE: see `STUDY`."""

from __future__ import annotations

from roundtrip.studies.netpipe.thresholds import Thresholds
from roundtrip.studies.room import Room
from roundtrip.studies.yardsticks import Yardstick

_RAW = (("variant", "mpi"), ("phase", "measure"))


class NetPIPE(Room):
    """What does Boost.MPI cost over raw MPI?"""

    name = "netpipe"
    title = "NetPIPE"
    question = "What does Boost.MPI cost over raw MPI?"
    order = 10
    thresholds = Thresholds

    primary = (
        "Boost.MPI against raw MPI, plain, in ping-pong, at each compared size: the study's "
        "question."
    )
    yardsticks = (
        Yardstick("raw MPI, time at 1 B, µs", (*_RAW, ("size_bytes", 1)), scale=1e6),
        Yardstick(
            "raw MPI, bandwidth at 1 MiB, MB/s", (*_RAW, ("size_bytes", 1 << 20)), bandwidth=True
        ),
    )


STUDY = NetPIPE()
