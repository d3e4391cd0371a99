"""The tables of the DDTBench section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Table, Tone, text_cells
from roundtrip.stats.intervals import Interval
from roundtrip.stats.verdicts import Family, Judged, Verdict
from roundtrip.studies.ddtbench import derived, planned
from roundtrip.studies.ddtbench.data import DdtData, Panel, Refused

#: What a reader should do, by the verdict on the gain of datatypes over packing by hand.
ADVICE: dict[Verdict, tuple[str, Tone]] = {
    Verdict.FASTER: ("use datatypes", "good"),
    Verdict.SLOWER: ("pack by hand", "warn"),
    Verdict.ON_PAR: ("no difference", "plain"),
    Verdict.CANNOT_TELL: ("cannot tell", "muted"),
}


@dataclass(frozen=True)
class DdtComparison:
    """Datatypes against packing by hand in one panel: a claim of the report."""

    panel: str
    buffers: str
    app: str
    size_bytes: int
    by_hand: str = derived.MANUAL

    @property
    def family(self) -> Family:
        """What it is corrected together with."""
        primary = planned.is_primary(self.buffers)
        return Family.PRIMARY if primary else Family.SECONDARY


def advice(judged: Judged | None) -> Cell:
    """The gain with its interval, and what follows from it."""
    if judged is None:
        return Cell("not measured", "muted")
    words, tone = ADVICE[judged.verdict]
    if judged.would_do is not None:
        words = judged.words
    return Cell(units.interval(judged.interval), tone, words)


def verdicts(
    panels: Sequence[Panel], judged: Mapping[DdtComparison, Judged], buffers: str
) -> Table:
    """One row a micro-app, one column a toolchain; at the largest message."""
    chosen = [panel for panel in panels if panel.buffers == buffers]
    of = {
        (key.panel, key.app): one
        for key, one in judged.items()
        if (key.buffers, key.by_hand) == (buffers, derived.MANUAL)
    }
    rows = []
    for app in derived.APPS:
        cells = [advice(of.get((panel.key, app))) for panel in chosen]
        if any(cell.verdict for cell in cells):
            rows.append((Cell(app), *cells))
    return Table(
        "Datatypes or packing by hand? Round trip packed by hand over round trip with MPI "
        f"datatypes, at each micro-app's largest message, {derived.BUFFERS[buffers]}; above 1 "
        "datatypes are faster.",
        (Column("Micro-app"), *(Column(panel.label) for panel in chosen)),
        tuple(rows),
    )


def overheads(data: DdtData, panel: Panel, judged: Mapping[DdtComparison, Judged]) -> Table:
    """Round trip by hand, overhead of each method, verdict; at the largest message."""
    rows = []
    trips = _by_variant(data.at_largest(data.round_trips, panel))
    costs = _by_variant(data.at_largest(data.overheads, panel))
    for (app, size), of_method in trips.items():
        cost = costs.get((app, size), {})
        key = DdtComparison(panel.key, panel.buffers, app, size)
        tuned = judged.get(replace(key, by_hand=derived.TUNED))
        rows.append(
            (
                Cell(app),
                Cell(str(size)),
                _interval(of_method.get(derived.REFERENCE), 1e6),
                _interval(of_method.get(derived.MANUAL), 1e6),
                *(_interval(cost.get(method), 100) for method in derived.PACKING),
                advice(judged.get(key)),
                advice(tuned) if tuned else Cell(units.NOTHING, "muted"),
            )
        )
    return Table(
        f"{panel.label}: {derived.BUFFERS[panel.buffers]}; median over launches, 95 % interval. "
        "The base of every ratio is the round trip packed by hand.",
        (
            Column("Micro-app"),
            Column("Bytes", "right"),
            Column("Contiguous, µs", "right"),
            Column("Packed by hand, µs", "right"),
            *(Column(f"{derived.METHODS[m]}, overhead %", "right") for m in derived.PACKING),
            Column("By hand / datatypes"),
            Column("By hand, tuned / datatypes"),
        ),
        tuple(rows),
    )


def all_sizes(data: DdtData, panel: Panel) -> Table:
    """Overhead of each method at every message."""
    rows = []
    costs = _by_variant(data.of(data.overheads, panel))
    order = {app: number for number, app in enumerate(derived.APPS)}
    for (app, size), cost in sorted(costs.items(), key=lambda item: (order[item[0][0]], item[0])):
        cells = [_interval(cost.get(method), 100) for method in derived.PACKING]
        rows.append((Cell(app), Cell(str(size)), *cells))
    return Table(
        f"{panel.label}: packing overhead in % of the round trip, "
        f"{derived.BUFFERS[panel.buffers]}.",
        (
            Column("Micro-app"),
            Column("Bytes", "right"),
            *(Column(derived.METHODS[m], "right") for m in derived.PACKING),
        ),
        tuple(rows),
    )


def creation(data: DdtData, panel: Panel) -> Table | None:
    """What it costs to make and to free datatypes, at the largest message; None if not measured."""
    found: dict[tuple[str, int], dict[str, Interval]] = {}
    mine = data.at_largest(data.creations, panel).filter(pl.col("variant") == derived.DDT)
    for row in mine.iter_rows(named=True):
        interval = Interval(row["median"], row["low"], row["high"], row["n"])
        found.setdefault((row["app"], row["size_bytes"]), {})[row["phase"]] = interval
    if not found:
        return None
    rows = tuple(
        (
            Cell(app),
            Cell(str(size)),
            *(_interval(of_phase.get(phase), 1e6) for phase in derived.CREATION),
        )
        for (app, size), of_phase in found.items()
    )
    return Table(
        f"{panel.label}: making and freeing the datatypes of one exchange, µs; median over "
        "launches, 95 % interval. In turn: after other methods had theirs, so that the library's "
        "code may be out of cache. At once: right after the same types were freed, as in the "
        "study's own loop; compare this one with DDTBench.",
        (
            Column("Micro-app"),
            Column("Bytes", "right"),
            Column("Make, in turn", "right"),
            Column("Make, at once", "right"),
            Column("Free, in turn", "right"),
            Column("Free, at once", "right"),
        ),
        rows,
    )


def refusals(found: Sequence[Refused]) -> Table:
    """Legal calls that an MPI library refused."""
    rows = tuple(
        text_cells(
            one.toolchain,
            one.library,
            one.call,
            one.error,
            ", ".join(one.concerned),
            one.consequence,
        )
        for one in found
    )
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
        rows,
    )


def nas_lu_x(
    data: DdtData, panels: Sequence[Panel], judged: Mapping[DdtComparison, Judged]
) -> Table:
    """The study's one number beside ours."""
    by_hand, with_types = (100 * part for part in derived.PUBLISHED_NAS_LU_X)
    rows = [
        (
            Cell("The study, 2012"),
            Cell("as published", "muted"),
            Cell(f"{by_hand:g}"),
            Cell(f"{with_types:g}"),
            Cell(units.NOTHING, "muted"),
        )
    ]
    for panel in panels:
        costs = _by_variant(data.at_largest(data.overheads, panel))
        for (app, size), cost in costs.items():
            if app == "NAS_LU_x":
                verdict = judged.get(DdtComparison(panel.key, panel.buffers, app, size))
                rows.append(
                    (
                        Cell(panel.label),
                        Cell(derived.BUFFERS[panel.buffers]),
                        _interval(cost.get(derived.MANUAL), 100),
                        _interval(cost.get(derived.DDT), 100),
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
    )


def _holds(judged: Judged | None) -> Cell:
    if judged is None:
        return Cell("not measured", "muted")
    outcomes: dict[Verdict, tuple[str, Tone]] = {
        Verdict.FASTER: ("holds", "good"),
        Verdict.SLOWER: ("does not hold", "bad"),
        Verdict.ON_PAR: ("does not hold", "bad"),
        Verdict.CANNOT_TELL: ("cannot tell", "muted"),
    }
    words, tone = outcomes[judged.verdict]
    return Cell("", tone, words)


def _by_variant(frame: pl.DataFrame) -> dict[tuple[str, int], dict[str, Interval]]:
    found: dict[tuple[str, int], dict[str, Interval]] = {}
    for row in frame.iter_rows(named=True):
        interval = Interval(row["median"], row["low"], row["high"], row["n"])
        found.setdefault((row["app"], row["size_bytes"]), {})[row["variant"]] = interval
    return found


def _interval(interval: Interval | None, scale: float) -> Cell:
    if interval is None:
        return Cell(units.NOTHING, "muted")
    return Cell(units.interval(interval, scale))
