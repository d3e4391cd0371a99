"""DDTBench: see `STUDY`."""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.study import (
    BLUE,
    GREY,
    ORANGE,
    PURPLE,
    Arm,
    Contrast,
    PlannedCase,
    PlannedPoints,
    SpreadMetric,
    Study,
)
from roundtrip.units import Unit

MANUAL, DDT, PACK_DDT, REFERENCE = "manual", "mpi_ddt", "mpi_pack_ddt", "reference"
MANUAL_TUNED = "manual-tuned"
#: Methods in display order, with their titles.
ARMS = {
    MANUAL: Arm("Packed by hand", BLUE),
    MANUAL_TUNED: Arm("Packed by hand, tuned", ("#5b9bd5", "#5b9bd5")),
    DDT: Arm("MPI datatypes", ORANGE),
    PACK_DDT: Arm("MPI_Pack", PURPLE),
    REFERENCE: Arm("Contiguous, unpacked", GREY),
}
#: Methods that pack: all except the reference.
PACKING_METHODS = (MANUAL, MANUAL_TUNED, DDT, PACK_DDT)
#: Micro-apps in the published order.
MICRO_APPS = (
    "WRF_y_vec",
    "WRF_x_vec",
    "WRF_y_sa",
    "WRF_x_sa",
    "MILC_su3_zd",
    "NAS_LU_x",
    "NAS_LU_y",
    "NAS_MG_x",
    "NAS_MG_y",
    "NAS_MG_z",
    "LAMMPS_full",
    "LAMMPS_atomic",
    "SPECFEM3D_oc",
    "SPECFEM3D_cm",
    "SPECFEM3D_mt",
    "FFT",
)
#: The micro-app for which numbers are published.
PUBLISHED_APP = "NAS_LU_x"
#: Texts on the states of memory between exchanges; the first is that of the publication.
BUFFER_STATES = {
    "original": "memory state as in the study",
    "same": "the same memory state for every method",
    "cold": "out of cache",
}
ORIGINAL_BUFFER_STATE = next(iter(BUFFER_STATES))
#: The states that a launch measures by default, with commas.
DEFAULT_BUFFER_STATES = "original,same"


class DDTBench(Study):
    """The declaration of the study DDTBench: do MPI datatypes cost more than packing by hand?"""

    name = "ddtbench"
    title = "DDTBench"
    question = "Do MPI datatypes cost more than packing by hand?"
    order = 20
    arms = ARMS
    metrics = ("epoch_time",)
    #: Tuned loops are our addition and exist for some micro-apps only, so they are not primary.
    contrasts = (
        Contrast(
            DDT,
            MANUAL,
            "round trip by hand over that with datatypes",
            is_primary=lambda case: case.endswith(f"/{ORIGINAL_BUFFER_STATE}"),
        ),
        Contrast(DDT, MANUAL_TUNED),
    )
    primary_description = (
        "MPI datatypes against packing by hand, each micro-app at its largest message, with the "
        "memory state of the study."
    )
    spread_metrics = (
        SpreadMetric(
            "NAS_LU_x, 40800 B by datatype",
            Unit.US,
            (("size_bytes", 40_800), ("variant", DDT), ("phase", "communication")),
        ),
    )

    def planned_points(
        self, case: PlannedCase, cases: Sequence[PlannedCase], sizes: tuple[int, ...]
    ) -> Sequence[PlannedPoints]:
        """All methods of the case's micro-app at the largest message, in each state of memory."""
        app, placement = (case.parameters.get(name) for name in ("app", "placement"))
        panel = (case.system_partition, case.environ, app, placement)
        states = case.variables.get("buffers", DEFAULT_BUFFER_STATES).split(",") if app else ()
        return [
            PlannedPoints(tuple(ARMS), f"{app}/{state}", panel=(*panel, state)) for state in states
        ]


STUDY = DDTBench()
