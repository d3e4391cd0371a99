"""A bundle of the ring study whose truth is known."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from roundtrip.content.blocks import ReportSection, plain_text
from roundtrip.content.data import BundleData
from roundtrip.measure import bundle_tables
from roundtrip.measure.bundle_rows import DETAIL_ROW_BY_STUDY, POINTS_SCHEMA
from roundtrip.measure.columns import encode_row, setting_rows, table_columns
from roundtrip.measure.run_record import RECORD_BY_STUDY
from support.measured import bundle_data, launch_row

SIZES = (10, 1_000, 10_000, 1_000_000)
#: Seconds per pass: fixed, and per byte.  MPI_Ssend costs up to 10 kB; datatypes are free.
TRANSPORT_COSTS = {
    "cache-line": (0.1e-6, 0.0),
    "region": (0.18e-6, 0.0),
    "mpi-shm": (0.25e-6, 1e-10),
    "mpi": (0.3e-6, 2e-10),
    "mpi-typed": (0.3e-6, 2e-10),
    "mpi-sync": (0.9e-6, 2e-10),
}
#: Of (launch, transport, size).
TimeFactor = Callable[[int, str, int], float | None]


def ring_data(
    truth: dict[str, tuple[float, float]],
    launches: int = 10,
    case: str = "2",
    emulated: dict[str, Any] | None = None,
    details: dict[str, Any] | None = None,
    points: tuple[dict[str, Any], ...] = (),
    change: TimeFactor = lambda launch, variant, size: 1,
    hosts: Sequence[str] = ("node-0", "node-0"),
    placement: str = "shared-memory",
) -> BundleData:
    """A bundle of one toolchain; noise of 1 %, all transports of a launch slowed alike.

    `change` is a further factor on the times of a launch; None: not measured.  `hosts` are those of
    the ranks.
    """
    random = np.random.default_rng(7)
    rows = []
    for launch in range(launches):
        slowdown = 1 + 0.1 * random.random()
        for variant, (latency, per_byte) in truth.items():
            for size in SIZES:
                factor = change(launch, variant, size)
                if factor is None:
                    continue
                time = factor * slowdown * (latency + size * per_byte)
                times = time * (1 + 0.01 * random.random(6))
                key = (f"{launch:03d}", "Ring@x", "ring", case, variant, size)
                rows += [(*key, "measure", i, "time_per_pass", t, "s") for i, t in enumerate(times)]
                rows.append((*key, "laps", 0, "lap_time", 2 * times[0], "s"))
    cases = [
        launch_row(
            f"{launch:03d}",
            "Ring@x",
            "ring",
            system="virtual",
            partition="clusterA",
            ranks=len(hosts),
            hosts=list(dict.fromkeys(hosts)),
            parameters=setting_rows({"placement": placement}),
            emulation=setting_rows(emulated or {}),
        )
        for launch in range(launches)
    ]
    row = encode_row(RECORD_BY_STUDY["ring"], details or {})
    detail_rows = [{**row, "launch": case["launch"]} for case in cases] if details else []
    point_rows = [
        {"launch": case["launch"], "case_id": "Ring@x", "study": "ring", **point}
        for case in cases
        for point in points
    ]
    return bundle_data(
        cases,
        rows,
        points=pl.DataFrame(point_rows, schema=POINTS_SCHEMA),
        details={
            "ring": bundle_tables.make_frame(
                detail_rows, table_columns(DETAIL_ROW_BY_STUDY["ring"])
            )
        },
    )


def triple_time_at_10_kb(_: int, __: str, size: int) -> float:
    return 3 if size == 10_000 else 1


def panel_answer_text(section: ReportSection) -> str:
    (panel_answer,) = section.panel_answers
    return plain_text(panel_answer.text)


def answer_texts(section: ReportSection) -> list[str]:
    return [plain_text(line.text) for line in section.answers]
