"""The tables of the DDTBench section: overheads, verdicts, making datatypes.

Also published statements and numbers beside our findings, and the published table of micro-apps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import polars as pl

from roundtrip import units
from roundtrip.content.blocks import Cell, Column, Table, number_columns, text_cells, text_columns
from roundtrip.content.labels import label_suffix
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies.ddtbench import (
    ARMS,
    BUFFER_STATES,
    DDT,
    MANUAL,
    MANUAL_TUNED,
    MICRO_APPS,
    PACKING_METHODS,
    PUBLISHED_APP,
    REFERENCE,
    STUDY,
    derived,
)
from roundtrip.studies.ddtbench.data import DDTBenchData, Panel
from roundtrip.studies.findings import OPEN, ArmClaim, names_or_count
from roundtrip.studies.panel import interval_in_row
from roundtrip.units import Quantity, Unit

AppVerdicts = Mapping[ArmClaim, ClaimVerdict]
#: Advice by the verdict on the gain of datatypes over packing by hand.
ADVICE_BY_VERDICT: dict[Verdict, str] = {
    Verdict.FASTER: "use datatypes",
    Verdict.SLOWER: "pack by hand",
    Verdict.ON_PAR: "no difference",
    Verdict.CANNOT_TELL: OPEN,
}


def datatype_claim(panel: Panel, app: str, size: int, base: str = MANUAL) -> ArmClaim:
    """The claim on datatypes against packing by hand, for a micro-app at one size [bytes]."""
    return ArmClaim(STUDY.name, panel.key, STUDY.contrast(DDT, base), size, app)


def advice_cell(verdict: ClaimVerdict | None, series: str, says_slowdown: bool = False) -> Cell:
    """The gain, its interval and the advice, with a link to `series`; if `says_slowdown`, also how
    many times slower datatypes are."""
    words = ""
    if verdict and verdict.verdict is not Verdict.CANNOT_TELL:
        words, gain = ADVICE_BY_VERDICT[verdict.verdict], verdict.interval.median
        if says_slowdown and gain < display.MAX_RATIO_AS_FACTOR:
            words += f" (datatypes {units.speed_ratio_text(gain, gain)})"
    return display.verdict_cell(verdict, words, series_key=series)


def verdict_table(data: DDTBenchData, panels: Sequence[Panel], verdicts: AppVerdicts) -> Table:
    """Verdicts by micro-app and panel, at the largest message; `panels` share a state of memory."""
    panel_by_key = {panel.key: panel for panel in panels}
    rows: dict[str, dict[tuple[str, ...], Cell]] = {app: {} for app in MICRO_APPS}
    for key, verdict in verdicts.items():
        panel = panel_by_key.get(key.panel)
        if panel and key.contrast.base == MANUAL and key.case in rows:
            series = data.series_key(panel, key.case, key.size_bytes)
            rows[key.case][key.panel] = advice_cell(verdict, series, says_slowdown=True)
    return display.grid_table(
        "Datatypes or packing by hand? Round trip packed by hand over round trip with MPI "
        f"datatypes, at each micro-app's largest message, {BUFFER_STATES[panels[0].buffer_state]}; "
        "above 1 datatypes are faster.",
        ("Micro-app",),
        {panel.key: Column(panel.title, base_name="Packed by hand") for panel in panels},
        (((app,), key, cell) for app, row in rows.items() for key, cell in row.items()),
    )


def overhead_table(data: DDTBenchData, panel: Panel, verdicts: AppVerdicts) -> Table:
    """Round trips, overhead of each method and verdicts, at the largest message."""
    rows = []
    trips = _intervals_by_app(
        data.largest_message_rows(data.round_trip_intervals, panel), data.level
    )
    costs = _intervals_by_app(data.largest_message_rows(data.overhead_intervals, panel), data.level)
    for (app, size), trip in trips.items():
        origin = data.series_key(panel, app, size, REFERENCE)
        types = data.series_key(panel, app, size)
        tuned_verdict = verdicts.get(datatype_claim(panel, app, size, MANUAL_TUNED))
        rows.append(
            (
                *_app_cells(app, size),
                display.interval_cell(trip.get(REFERENCE), Unit.US, 1e6, series_key=origin),
                display.interval_cell(trip.get(MANUAL), Unit.US, 1e6),
                display.interval_cell(trip.get(MANUAL_TUNED), Unit.US, 1e6),
                *_overhead_cells(costs.get((app, size), {})),
                advice_cell(verdicts.get(datatype_claim(panel, app, size)), types),
                advice_cell(tuned_verdict, types) if tuned_verdict else display.NO_VALUE_CELL,
            )
        )
    return Table(
        data.level.fill_caption(
            f"{panel.title}: {BUFFER_STATES[panel.buffer_state]}; median over launches, {{level}} "
            "interval. The base of a ratio is the round trip packed by hand, or by hand and tuned."
        ),
        (
            *_APP_COLUMNS,
            Column("Contiguous", "right", Unit.US),
            Column("Packed by hand", "right", Unit.US),
            Column("Packed by hand and tuned", "right", Unit.US),
            *(
                Column(f"{ARMS[m].title}, overhead {{}}", "right", Unit.PERCENT)
                for m in PACKING_METHODS
            ),
            Column("By hand / datatypes", base_name="Packed by hand"),
            Column("By hand, tuned / datatypes", base_name="Packed by hand and tuned"),
        ),
        tuple(rows),
    )


#: Columns of `_app_cells`: micro-app and bytes of its message.
_APP_COLUMNS = (Column("Micro-app"), Column("Bytes", "right", Unit.BYTES))


def _app_cells(app: str, size: int) -> tuple[Cell, Cell]:
    return Cell(app), Cell(Quantity(value=size, unit=Unit.BYTES, decimals=0))


def _overhead_cells(
    cost: Mapping[str, Interval], methods: Sequence[str] = PACKING_METHODS
) -> tuple[Cell, ...]:
    return tuple(display.interval_cell(cost.get(method), Unit.PERCENT, 100) for method in methods)


def all_sizes_table(data: DDTBenchData, panel: Panel) -> Table:
    """Table of the overhead [%] of each method at every message size."""
    costs = _intervals_by_app(data.panel_rows(data.overhead_intervals, panel), data.level)
    points = sorted(costs, key=lambda point: (MICRO_APPS.index(point[0]), point[1]))
    return Table(
        f"{panel.title}: packing overhead in % of the round trip, "
        f"{BUFFER_STATES[panel.buffer_state]}.",
        (*_APP_COLUMNS, *number_columns(*(ARMS[method].title for method in PACKING_METHODS))),
        tuple((*_app_cells(*point), *_overhead_cells(costs[point])) for point in points),
        (Unit.PERCENT,),
    )


def creation_table(data: DDTBenchData, panel: Panel) -> Table | None:
    """The time to make and to free datatypes, at the largest message; None if not measured."""
    times = data.largest_message_rows(data.creation_intervals, panel).filter(variant=DDT)
    rows = []
    for (app, size), by_phase in _intervals_by_app(times, data.level, "phase").items():
        cells = [*_app_cells(app, size)]
        for phase in derived.CREATION_EPOCHS:
            key = data.series_key(panel, app, size, DDT, phase)
            cells.append(display.interval_cell(by_phase.get(phase), Unit.US, 1e6, series_key=key))
        rows.append(tuple(cells))
    if not rows:
        return None
    return Table(
        data.level.fill_caption(
            f"{panel.title}: making and freeing the datatypes of one exchange, {Unit.US}; median "
            "over launches, {level} interval. In turn: after the other methods, so that the "
            "library's code may be out of cache. At once: right after the same types were freed, "
            "as in the study's own loop; compare this time with DDTBench."
        ),
        (
            *_APP_COLUMNS,
            *number_columns("Make, in turn", "Make, at once", "Free, in turn", "Free, at once"),
        ),
        tuple(rows),
        (Unit.US,),
    )


def refused_call_table(refused_calls: pl.DataFrame) -> Table:
    """Table of the legal calls that an MPI library refused, `DDTBenchData.refused_calls`."""
    return Table(
        "Calls that the MPI standard allows and that a library refused.",
        text_columns("Toolchain", "Library", "Call", "What it said", "Concerned", "What was done"),
        tuple(text_cells(*row) for row in refused_calls.iter_rows()),
    )


#: Whether the published finding holds, by our verdict.
_OUTCOME_CELL_BY_VERDICT = {
    Verdict.FASTER: Cell("", "good", "holds"),
    Verdict.SLOWER: Cell("", "bad", "does not hold"),
    Verdict.ON_PAR: Cell("", "bad", "does not hold"),
    Verdict.CANNOT_TELL: Cell("", "muted", OPEN),
}


def nas_lu_x_table(data: DDTBenchData, panels: Sequence[Panel], verdicts: AppVerdicts) -> Table:
    """The published overheads of NAS_LU_x beside ours."""
    percentages = (100 * part for part in derived.PUBLISHED_NAS_LU_X_OVERHEADS)
    rows = [
        (
            Cell("The study, 2012"),
            Cell("as published", "muted"),
            *(Cell(Quantity(value=value, unit=Unit.PERCENT, decimals=0)) for value in percentages),
            display.NO_VALUE_CELL,
        )
    ]
    for panel in panels:
        for (app, size), cost in _intervals_by_app(data.example_rows(panel), data.level).items():
            verdict = verdicts.get(datatype_claim(panel, app, size))
            holds = display.NOT_MEASURED_CELL
            if verdict:
                holds = _OUTCOME_CELL_BY_VERDICT[verdict.verdict]
            names = text_cells(panel.title, BUFFER_STATES[panel.buffer_state])
            rows.append((*names, *_overhead_cells(cost, (MANUAL, DDT)), holds))
    return Table(
        "“MPI DDTs can reduce the overhead associated with data-packing (i.e., from 40% to 15% in "
        "the case of NAS_LU_x, where a contiguous array is needlessly copied by the original "
        "code)”: overhead in % of the round trip, at the largest message. Below 0 the method was "
        "faster than the network was for a buffer packed by hand.",
        (
            *text_columns("Toolchain and placement", "Memory"),
            *number_columns("Packed by hand", "MPI datatypes"),
            Column("The finding"),
        ),
        tuple(rows),
        (Unit.PERCENT,),
    )


def _intervals_by_app(
    frame: pl.DataFrame, level: float, by: str = "variant"
) -> dict[tuple[str, int], dict[str, Interval]]:
    """Intervals by (app, size in bytes), and by the value of column `by`."""
    intervals: dict[tuple[str, int], dict[str, Interval]] = {}
    for row in frame.iter_rows(named=True):
        point = intervals.setdefault((row["app"], row["size_bytes"]), {})
        point[row[by]] = interval_in_row(row, level)
    return intervals


#: The published table: class of applications, access pattern, micro-apps.
_PUBLISHED_APPLICATIONS = (
    (
        "Atmospheric science",
        "struct of 2D/3D/4D face exchanges, nested vectors (vec) or subarrays (sa)",
        ("WRF_x_vec", "WRF_y_vec", "WRF_x_sa", "WRF_y_sa"),
    ),
    ("Quantum chromodynamics", "4D face exchange, z direction, nested vectors", ("MILC_su3_zd",)),
    (
        "Fluid dynamics",
        "3D face exchange, vectors (y, z) and nested vectors (x)",
        ("NAS_MG_x", "NAS_MG_y", "NAS_MG_z"),
    ),
    ("Fluid dynamics", "2D face exchange, contiguous (x) and vector (y)", ("NAS_LU_x", "NAS_LU_y")),
    ("Matrix transpose", "2D FFT, different vectors on the two sides", ("FFT",)),
    ("Matrix transpose", "3D matrix transpose", ("SPECFEM3D_mt",)),
    (
        "Molecular dynamics",
        "unstructured exchange of particles, indexed datatypes",
        ("LAMMPS_full", "LAMMPS_atomic"),
    ),
    (
        "Geophysical science",
        "unstructured exchange of accelerations, indexed datatypes",
        ("SPECFEM3D_oc", "SPECFEM3D_cm"),
    ),
)
#: Micro-apps (prefixes) that the script in its archive omits from the figure.
_APP_PREFIXES_NOT_IN_FIGURE = ("FFT", "NAS_MG_", "WRF_x_vec", "WRF_y_vec", "LAMMPS_")


def application_table() -> Table:
    """The published table of micro-apps: class of applications and access pattern."""
    return Table(
        "The study's micro-apps: class of applications and access pattern. Its figure of packing "
        "costs shows those that the script in its archive draws; its text gives two of the "
        "values.",
        text_columns("Micro-app", "Class of applications", "Access pattern", "In its figure"),
        tuple(
            text_cells(
                app, field, pattern, "no" if app.startswith(_APP_PREFIXES_NOT_IN_FIGURE) else "yes"
            )
            for field, pattern, apps in _PUBLISHED_APPLICATIONS
            for app in apps
        ),
    )


def statement_table(data: DDTBenchData, panels: Sequence[Panel], verdicts: AppVerdicts) -> Table:
    """The published statements and numbers, beside our findings."""
    by_hand, types = (units.percent_text(part) for part in derived.PUBLISHED_NAS_LU_X_OVERHEADS)
    suffix = label_suffix(panel.emulation_label for panel in panels)
    return display.statement_table(
        (
            (
                "“MPI DDTs can reduce the overhead associated with data-packing”",
                f"from {by_hand} to {types} in {PUBLISHED_APP}",
                _reduction_cell(data, panels, verdicts, suffix),
            ),
            (
                "“The large difference between the performance delivered by Open MPIs DDT engine "
                "compared to that of MVAPICH”",
                "in its figure only",
                Cell(
                    "; ".join(_mpi_gap_clauses(data, panels)) or "one MPI only was measured",
                    "muted",
                ),
            ),
            (
                "its figure: the packing overhead “for some of the micro-apps”",
                "in its figure only",
                Cell(f"see our figure and the tables of overheads{suffix}", "muted"),
            ),
            (
                "its picture: “Measurement loop of DDTBench. Measurements are taken on process 0”",
                units.NO_VALUE,
                Cell(f"the same loop; all times are rank 0's{suffix}", "muted"),
            ),
        )
    )


def _reduction_cell(
    data: DDTBenchData, panels: Sequence[Panel], verdicts: AppVerdicts, suffix: str
) -> Cell:
    """Overheads of `PUBLISHED_APP` in each panel, and the micro-apps that gain from datatypes."""
    clauses = []
    for panel in panels:
        medians = dict(data.example_rows(panel).select("variant", "median").iter_rows())
        if {MANUAL, DDT} <= medians.keys():
            by_hand, types = (units.percent_text(medians[method]) for method in (MANUAL, DDT))
            clauses.append(f"from {by_hand} to {types} ({panel.toolchain})")
    example_words = f"{', '.join(clauses)} in {PUBLISHED_APP}; " if clauses else ""
    gains = {key: verdict for key, verdict in verdicts.items() if key.contrast.base == MANUAL}
    if not gains:
        return display.NOT_MEASURED_CELL
    apps = {key.case for key in gains}
    faster = {key.case for key, verdict in gains.items() if verdict.verdict is Verdict.FASTER}
    if not faster:
        words = f"{example_words}datatypes are faster than packing by hand nowhere"
        return Cell(words, "warn", "not shown")
    names = names_or_count([app for app in MICRO_APPS if app in faster], len(apps))
    return Cell(f"{example_words}datatypes are faster in {names}{suffix}", "good", "holds")


def _mpi_gap_clauses(data: DDTBenchData, panels: Sequence[Panel]) -> Iterator[str]:
    """Clauses on round trips with datatypes: other MPIs over Open MPI in the same placement."""
    times = {}
    for panel in panels:
        rows = data.largest_message_rows(data.round_trip_intervals, panel).filter(variant=DDT)
        times[panel] = dict(rows.select("app", "median").iter_rows())
    open_mpis = [panel for panel in panels if panel.toolchain.startswith("Open MPI")]
    others = [panel for panel in panels if panel not in open_mpis]
    for base, other in product(open_mpis, others):
        apps = times[base].keys() & times[other].keys()
        if apps and (base.placement_text, base.emulation_label) == (
            other.placement_text,
            other.emulation_label,
        ):
            ratios = [(times[other][app] / times[base][app], app) for app in apps]
            (least, first), (most, last) = min(ratios), max(ratios)
            yield (
                f"{other.toolchain} takes {units.number_text(least, 2)} ({first}) to "
                f"{units.number_text(most, 2)} times ({last}) as long with datatypes as "
                f"{base.toolchain}{label_suffix([base.emulation_label])}"
            )
    if panels and not any("MVAPICH" in panel.toolchain for panel in panels):
        yield "MVAPICH was not measured"
