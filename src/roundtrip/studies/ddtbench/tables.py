"""The tables of the DDTBench section: overheads, verdicts, making datatypes, and NAS_LU_x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from roundtrip.report.blocks import Cell, Column, Table, Tone, text_cells
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies.ddtbench import (
    APPS,
    ARMS,
    BUFFERS,
    DDT,
    EXAMPLE,
    MANUAL,
    PACKING_METHODS,
    REFERENCE,
    STUDY,
    TUNED,
    derived,
)
from roundtrip.studies.ddtbench.data import DdtData, Panel, Refusal
from roundtrip.studies.findings import Comparison
from roundtrip.studies.panel import interval_of

#: Advice and tone by the verdict on the gain of datatypes over packing by hand.
ADVICE: dict[Verdict, tuple[str, Tone]] = {
    Verdict.FASTER: ("use datatypes", "good"),
    Verdict.SLOWER: ("pack by hand", "warn"),
    Verdict.ON_PAR: ("no difference", "plain"),
    Verdict.CANNOT_TELL: ("open", "muted"),
}


def comparison(panel: Panel, app: str, size: int, base: str = MANUAL) -> Comparison:
    """Datatypes against packing by hand: a claim of the report."""
    return Comparison(STUDY.name, panel.key, STUDY.contrast(DDT, base), size, app)


def advice(verdict: ClaimVerdict | None, series: str = "") -> Cell:
    """The gain with its interval and the advice; `series` as in `Cell`."""
    if verdict is None:
        return display.NOT_MEASURED
    words, tone = ADVICE[verdict.verdict]
    text = verdict.words if verdict.verdict is Verdict.CANNOT_TELL else words
    return display.verdict(verdict, {verdict.verdict: tone}, text, series=series)


def verdict_table(
    data: DdtData,
    panels: Sequence[Panel],
    verdicts: Mapping[Comparison, ClaimVerdict],
    buffers: str,
) -> Table:
    """A row for each micro-app and a column for each toolchain, at the largest message."""
    by_hand = {key: verdict for key, verdict in verdicts.items() if key.contrast.base == MANUAL}
    panel_by_key = {panel.key: panel for panel in panels if panel.buffers == buffers}
    rows = [
        (
            app,
            {
                key.panel: advice(
                    verdict, data.datatype_series(panel_by_key[key.panel], app, key.size_bytes)
                )
                for key, verdict in by_hand.items()
                if key.case == app and key.panel in panel_by_key
            },
        )
        for app in APPS
    ]
    columns = {key: panel.label for key, panel in panel_by_key.items()}
    return display.grid(
        "Datatypes or packing by hand? Round trip packed by hand over round trip with MPI "
        f"datatypes, at each micro-app's largest message, {BUFFERS[buffers]}; above 1 "
        "datatypes are faster.",
        "Micro-app",
        columns,
        [(app, row) for app, row in rows if row],
        dict.fromkeys(columns, "Packed by hand"),
    )


def overheads(data: DdtData, panel: Panel, verdicts: Mapping[Comparison, ClaimVerdict]) -> Table:
    """Round trips, overhead of each method and verdicts, at the largest message."""
    rows = []
    trips = _intervals(data.largest_messages(data.round_trips, panel), data.level)
    costs = _intervals(data.largest_messages(data.overheads, panel), data.level)
    for (app, size), trip in trips.items():
        cost = costs.get((app, size), {})
        origin = data.series_key(panel, app, size, REFERENCE, derived.UNPACKED)
        types = data.datatype_series(panel, app, size)
        tuned_verdict = verdicts.get(comparison(panel, app, size, TUNED))
        rows.append(
            (
                *_app_cells(app, size),
                display.value(trip.get(REFERENCE), Unit.US, 1e6, series=origin),
                display.value(trip.get(MANUAL), Unit.US, 1e6),
                display.value(trip.get(TUNED), Unit.US, 1e6),
                *(display.value(cost.get(method), Unit.PERCENT, 100) for method in PACKING_METHODS),
                advice(verdicts.get(comparison(panel, app, size)), types),
                advice(tuned_verdict, types) if tuned_verdict else display.NONE,
            )
        )
    return Table(
        data.level.caption(
            f"{panel.label}: {BUFFERS[panel.buffers]}; median over launches, {{level}} interval. "
            "The base of a ratio is the round trip packed by hand, or by hand and tuned."
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
            Column("By hand / datatypes", base="Packed by hand"),
            Column("By hand, tuned / datatypes", base="Packed by hand and tuned"),
        ),
        tuple(rows),
    )


#: Columns of `_app_cells`: micro-app and bytes of its message.
_APP_COLUMNS = (Column("Micro-app"), Column("Bytes", "right", Unit.BYTES))


def _app_cells(app: str, size: int) -> tuple[Cell, Cell]:
    return Cell(app), Cell(Quantity(value=size, unit=Unit.BYTES, decimals=0))


def all_sizes(data: DdtData, panel: Panel) -> Table:
    """Overhead of each method at every message size."""
    rows = []
    costs = _intervals(data.rows(data.overheads, panel), data.level)
    order = {app: number for number, app in enumerate(APPS)}
    for (app, size), cost in sorted(costs.items(), key=lambda item: (order[item[0][0]], item[0])):
        values = [display.value(cost.get(method), Unit.PERCENT, 100) for method in PACKING_METHODS]
        rows.append((*_app_cells(app, size), *values))
    return Table(
        f"{panel.label}: packing overhead in % of the round trip, {BUFFERS[panel.buffers]}.",
        (*_APP_COLUMNS, *(Column(ARMS[m].title, "right") for m in PACKING_METHODS)),
        tuple(rows),
        (Unit.PERCENT,),
    )


def creation(data: DdtData, panel: Panel) -> Table | None:
    """The time to make and to free datatypes, at the largest message; None if not measured."""
    times = data.largest_messages(data.creations, panel).filter(variant=DDT)
    intervals = _intervals(times, data.level, "phase")
    if not intervals:
        return None
    rows = tuple(
        (
            *_app_cells(app, size),
            *(
                display.value(
                    by_phase.get(phase),
                    Unit.US,
                    1e6,
                    series=data.series_key(panel, app, size, DDT, phase),
                )
                for phase in derived.CREATION
            ),
        )
        for (app, size), by_phase in intervals.items()
    )
    return Table(
        data.level.caption(
            f"{panel.label}: making and freeing the datatypes of one exchange, {Unit.US}; median "
            "over launches, {level} interval. In turn: after the other methods, so that the "
            "library's code may be out of cache. At once: right after the same types were freed, "
            "as in the study's own loop; compare this time with DDTBench."
        ),
        (
            *_APP_COLUMNS,
            Column("Make, in turn", "right"),
            Column("Make, at once", "right"),
            Column("Free, in turn", "right"),
            Column("Free, at once", "right"),
        ),
        rows,
        (Unit.US,),
    )


def refusal_table(refusals: Sequence[Refusal]) -> Table:
    """Legal calls that an MPI library refused."""
    rows = [
        text_cells(
            *(refusal.toolchain, refusal.library, refusal.call, refusal.error),
            ", ".join(refusal.methods),
            refusal.consequence,
        )
        for refusal in refusals
    ]
    return Table(
        "Calls that the MPI standard allows and that a library refused.",
        (
            Column("Toolchain"),
            Column("Library"),
            Column("Call"),
            Column("What it said"),
            Column("Concerned"),
            Column("What was done"),
        ),
        tuple(rows),
    )


def nas_lu_x(
    data: DdtData, panels: Sequence[Panel], verdicts: Mapping[Comparison, ClaimVerdict]
) -> Table:
    """The study's overheads of NAS_LU_x beside ours."""
    percentages = (100 * part for part in derived.PUBLISHED_NAS_LU_X)
    rows = [
        (
            Cell("The study, 2012"),
            Cell("as published", "muted"),
            *(Cell(Quantity(value=value, unit=Unit.PERCENT, decimals=0)) for value in percentages),
            display.NONE,
        )
    ]
    for panel in panels:
        costs = _intervals(data.largest_messages(data.overheads, panel), data.level)
        for (app, size), cost in costs.items():
            if app == EXAMPLE:
                verdict = verdicts.get(comparison(panel, app, size))
                rows.append(
                    (
                        Cell(panel.label),
                        Cell(BUFFERS[panel.buffers]),
                        display.value(cost.get(MANUAL), Unit.PERCENT, 100),
                        display.value(cost.get(DDT), Unit.PERCENT, 100),
                        _holds(verdict),
                    )
                )
    return Table(
        "“MPI DDTs can reduce the overhead associated with data-packing (i.e., from 40% to 15% in "
        "the case of NAS_LU_x, where a contiguous array is needlessly copied by the original "
        "code)”: overhead in % of the round trip, at the largest message.",
        (
            Column("Toolchain and placement"),
            Column("Memory"),
            Column("Packed by hand", "right"),
            Column("MPI datatypes", "right"),
            Column("The finding"),
        ),
        tuple(rows),
        (Unit.PERCENT,),
    )


def _holds(verdict: ClaimVerdict | None) -> Cell:
    if verdict is None:
        return display.NOT_MEASURED
    if verdict.verdict is Verdict.CANNOT_TELL:
        return Cell("", "muted", "open")
    holds = verdict.verdict is Verdict.FASTER
    return Cell("", "good" if holds else "bad", "holds" if holds else "does not hold")


def _intervals(
    frame: pl.DataFrame, level: float, by: str = "variant"
) -> dict[tuple[str, int], dict[str, Interval]]:
    """Intervals by (app, size in bytes), and by the value of column `by`."""
    intervals: dict[tuple[str, int], dict[str, Interval]] = {}
    for row in frame.iter_rows(named=True):
        point = intervals.setdefault((row["app"], row["size_bytes"]), {})
        point[row[by]] = interval_of(row, level)
    return intervals
