"""How the launches of NPB were verified: by the specification, and by their history."""

from __future__ import annotations

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Table
from roundtrip.studies.npb import derived
from roundtrip.studies.npb.data import Launches
from roundtrip.studies.npb.series import Series


def table(launches: Launches) -> Table:
    """A row for each benchmark, class and source, over all places."""
    rows = []
    groups: dict[tuple[str, str], list[Series]] = {}
    for series in launches.points:
        groups.setdefault((series.name, series.source), []).append(series)
    for (name, source), mine in groups.items():
        told = [text for series in mine for text in launches.histories(series)]
        of = "" if source == derived.NATIVE else ", NPB 3.4"
        rows.append((Cell(f"{name}{of}"), Cell(f"{len(told)} of {len(told)}"), _history(told)))
    return Table(
        "Launches counted here, by verification. The specification looks at the end of a run (FT "
        "and IS: at every iteration). The history: what each iteration computed, against verified "
        "runs that were recorded for the class; it finds one spoiled message that the end no "
        "longer shows. A launch that fails either is a failure, listed as such.",
        (Column("Benchmark"), Column("As NPB has it"), Column("By its history")),
        tuple(rows),
    )


def _history(told: list[str]) -> Cell:
    agree = sum(text == "agrees" for text in told)
    if agree == len(told):
        return Cell(f"{agree} of {len(told)}")
    why = ", ".join(dict.fromkeys(text for text in told if text != "agrees"))
    if not agree:
        return Cell(why, "muted")
    return Cell(f"{agree} of {units.plural(len(told), 'launch', 'launches')}; the others: {why}")
