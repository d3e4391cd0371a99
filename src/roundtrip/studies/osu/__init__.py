"""OSU Micro-Benchmarks: see `STUDY`."""

from __future__ import annotations

from roundtrip.studies.osu.thresholds import Thresholds
from roundtrip.studies.room import Room
from roundtrip.studies.yardsticks import Yardstick


class OSU(Room):
    """What does the baseline that everyone knows say?"""

    name = "osu"
    title = "OSU Micro-Benchmarks"
    question = "What does the baseline that everyone knows say?"
    order = 40
    thresholds = Thresholds

    yardsticks = (
        Yardstick(
            "latency at 8 B, µs",
            (("case", "latency"), ("size_bytes", 8), ("phase", "average")),
            scale=1e6,
        ),
        Yardstick(
            "bw at 1 MiB, MB/s",
            (
                ("case", "bw"),
                ("size_bytes", 1 << 20),
                ("phase", "average"),
                ("metric", "bandwidth"),
            ),
        ),
    )


STUDY = OSU()
