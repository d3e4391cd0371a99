"""DDTBench: see `STUDY`."""

from __future__ import annotations

from roundtrip.studies.room import Room
from roundtrip.studies.yardsticks import Yardstick


class DDTBench(Room):
    """Do MPI datatypes cost more than packing by hand?"""

    name = "ddtbench"
    title = "DDTBench"
    question = "Do MPI datatypes cost more than packing by hand?"
    order = 20

    primary = (
        "MPI datatypes against packing by hand, each micro-app at its largest message, in memory "
        "as the study leaves it."
    )
    yardsticks = (
        Yardstick(
            "NAS_LU_x, 40800 B by datatype, µs",
            (("size_bytes", 40_800), ("variant", "mpi_ddt"), ("phase", "communication")),
            scale=1e6,
        ),
    )


STUDY = DDTBench()
