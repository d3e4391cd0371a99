"""Statements of the DDTBench page beside our findings, and its table of micro-apps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Table, text_cells, text_columns
from roundtrip.report.labels import mark
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies.ddtbench import APPS, DDT, EXAMPLE, MANUAL, derived
from roundtrip.studies.ddtbench.data import DdtData, Panel
from roundtrip.studies.findings import Comparison, names_or_count


class _Application(NamedTuple):
    """Micro-apps with the same class of applications and the same access pattern."""

    field: str
    pattern: str
    names: tuple[str, ...]


#: The study's own table.
_APPLICATIONS = (
    _Application(
        "Atmospheric science",
        "struct of 2D/3D/4D face exchanges, nested vectors (vec) or subarrays (sa)",
        ("WRF_x_vec", "WRF_y_vec", "WRF_x_sa", "WRF_y_sa"),
    ),
    _Application(
        "Quantum chromodynamics", "4D face exchange, z direction, nested vectors", ("MILC_su3_zd",)
    ),
    _Application(
        "Fluid dynamics",
        "3D face exchange, vectors (y, z) and nested vectors (x)",
        ("NAS_MG_x", "NAS_MG_y", "NAS_MG_z"),
    ),
    _Application(
        "Fluid dynamics",
        "2D face exchange, contiguous (x) and vector (y)",
        ("NAS_LU_x", "NAS_LU_y"),
    ),
    _Application("Matrix transpose", "2D FFT, different vectors on the two sides", ("FFT",)),
    _Application("Matrix transpose", "3D matrix transpose", ("SPECFEM3D_mt",)),
    _Application(
        "Molecular dynamics",
        "unstructured exchange of particles, indexed datatypes",
        ("LAMMPS_full", "LAMMPS_atomic"),
    ),
    _Application(
        "Geophysical science",
        "unstructured exchange of accelerations, indexed datatypes",
        ("SPECFEM3D_oc", "SPECFEM3D_cm"),
    ),
)
#: Micro-apps (prefixes) that the script in its archive omits from the figure.
_NOT_DRAWN = ("FFT", "NAS_MG_", "WRF_x_vec", "WRF_y_vec", "LAMMPS_")


def application_table() -> Table:
    """The study's table of micro-apps."""
    rows = [
        text_cells(
            app,
            application.field,
            application.pattern,
            "no" if app.startswith(_NOT_DRAWN) else "yes",
        )
        for application in _APPLICATIONS
        for app in application.names
    ]
    return Table(
        "The study's micro-apps: class of applications and access pattern. Its figure of packing "
        "costs has those that the script in its archive draws; its text names two of the values.",
        text_columns("Micro-app", "Class of applications", "Access pattern", "In its figure"),
        tuple(rows),
    )


def study_table(
    data: DdtData, panels: Sequence[Panel], verdicts: Mapping[Comparison, ClaimVerdict]
) -> Table:
    """The study's two claims, beside our findings."""
    by_hand, types = (units.percent(part) for part in derived.PUBLISHED_NAS_LU_X)
    return display.study_table(
        (
            (
                "“MPI DDTs can reduce the overhead associated with data-packing”",
                f"from {by_hand} to {types} in {EXAMPLE}",
                _reduction_cell(verdicts, mark(panel.kind for panel in panels)),
            ),
            (
                "“The large difference between the performance delivered by Open MPIs DDT engine "
                "compared to that of MVAPICH”",
                "in its figure only",
                Cell("; ".join(_gaps(data, panels)) or "one MPI only was measured", "muted"),
            ),
        )
    )


def _reduction_cell(verdicts: Mapping[Comparison, ClaimVerdict], suffix: str) -> Cell:
    app_verdicts = [
        (key.case, verdict) for key, verdict in verdicts.items() if key.contrast.base == MANUAL
    ]
    if not app_verdicts:
        return display.NOT_MEASURED
    faster_apps = dict.fromkeys(
        app for app, verdict in app_verdicts if verdict.verdict is Verdict.FASTER
    )
    if not faster_apps:
        return Cell("datatypes are faster than packing by hand nowhere", "warn", "not shown")
    names = names_or_count(
        [app for app in APPS if app in faster_apps], len({app for app, _ in app_verdicts})
    )
    return Cell(f"datatypes are faster in {names}{suffix}", "good", "holds")


def _gaps(data: DdtData, panels: Sequence[Panel]) -> Iterator[str]:
    """Clauses on round trips with datatypes: other MPIs over Open MPI in the same place."""
    for open_mpi in (panel for panel in panels if panel.toolchain.startswith("Open MPI")):
        base = _datatype_times(data, open_mpi)
        for other in panels:
            if _place(other) != _place(open_mpi) or other.toolchain.startswith("Open MPI"):
                continue
            times = _datatype_times(data, other).items()
            ratios = sorted((time / base[app], app) for app, time in times if app in base)
            if ratios:
                (least, first), *_, (most, last) = (*ratios, ratios[-1])
                yield (
                    f"{other.toolchain} takes {units.number(least, 2)} ({first}) to "
                    f"{units.number(most, 2)} times ({last}) as long with datatypes as "
                    f"{open_mpi.toolchain}{mark([open_mpi.kind])}"
                )
    if panels and not any("MVAPICH" in panel.toolchain for panel in panels):
        yield "MVAPICH was not measured"


def _place(panel: Panel) -> tuple[str, ...]:
    return panel.where, panel.kind, panel.buffers


def _datatype_times(data: DdtData, panel: Panel) -> dict[str, float]:
    """Seconds of a round trip with datatypes by micro-app, at its largest message."""
    rows = data.largest_messages(data.round_trips, panel).filter(variant=DDT)
    return dict(rows.select("app", "median").iter_rows())
