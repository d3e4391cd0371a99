"""Tables from what the launches of a run told, one record a launch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import polars as pl

from roundtrip.collect.records import DETAILS, RankDisturbance
from roundtrip.collect.tables import settings
from roundtrip.collect.tables.columns import Schema, cells, columns
from roundtrip.collect.tables.rows import (
    ALL,
    CASES,
    DETAIL_ROWS,
    LABELS,
    POINTS,
    SIMULATED,
    TIMING,
    Tables,
)

Record = Mapping[str, Any]
_RANK = tuple(RankDisturbance.model_fields)


def tables(records: Iterable[Record]) -> Tables:
    """Of each launch what it told, as run.json and case.json have it, sorted by case and launch.

    A record has the plain columns of `CASES` that are known, and those known of `parameters`,
    `emulated`, `clock`, `timing`, `simulation` (`simulated` of run.json), `disturbance`,
    `placement`, `points` and `details`.  Raises whatever polars does of a value that fits no
    column.
    """
    told = sorted(records, key=lambda one: (one["case_id"], one["launch"]))
    rows = {
        "cases": [_case(one) for one in told],
        "points": _of_each(told, _points),
        "parameters": _of_each(told, lambda one: settings.rows(one.get("parameters") or {})),
        "emulation": _of_each(told, lambda one: settings.rows(one.get("emulated") or {})),
        "placement": _of_each(told, lambda one: one.get("placement") or ()),
        "nodes": _of_each(told, lambda one: one.get("nodes") or ()),
        "disturbance": _of_each(told, _ranks),
    }
    return Tables(
        {name: frame(rows[name], schema) for name, schema in ALL.items()},
        {study: frame(rows, columns(DETAIL_ROWS[study])) for study, rows in _details(told).items()},
    )


def frame(rows: Sequence[Record], schema: Schema) -> pl.DataFrame:
    """A table of rows that may lack columns, or have more."""
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def _of_each(told: Sequence[Record], rows: Any) -> list[dict[str, Any]]:
    return [{**row, **{n: one[n] for n in LABELS}} for one in told for row in rows(one)]


def _case(one: Record) -> dict[str, Any]:
    clock, disturbance = one.get("clock") or {}, one.get("disturbance") or {}
    simulated = one.get("simulation") or {}
    loads = ("load_average_start", "load_average_end")
    return {
        **{name: one.get(name) for name in CASES},
        "emulated": bool(one.get("emulated")),
        "clock": clock.get("name"),
        "clock_resolution_s": clock.get("resolution_s"),
        "clock_overhead_s": clock.get("overhead_s"),
        **{n: (one.get("timing") or {}).get(n.removeprefix("timing_")) for n in TIMING},
        **{n: simulated.get(n.removeprefix("simulated_")) for n in SIMULATED},
        "steal_s": disturbance.get("steal_s"),
        **{name: _floats(disturbance.get(name)) for name in loads},
    }


def _floats(values: Sequence[float | None] | None) -> list[float | None] | None:
    return None if values is None else [None if one is None else float(one) for one in values]


def _points(one: Record) -> Iterator[dict[str, Any]]:
    for point in (one.get("points") or ()) if one["status"] == "passed" else ():
        finding = point.get("finding") or {}
        found = {f"finding_{name}": told for name, told in finding.items()}
        yield {**{name: point.get(name) for name in POINTS}, **found}


def _ranks(one: Record) -> Iterator[dict[str, Any]]:
    disturbance = one.get("disturbance") or {}
    columns = [disturbance.get(name) or [] for name in _RANK]
    for rank, values in enumerate(zip_longest(*columns)):
        yield {"rank": rank, **dict(zip(_RANK, values, strict=True))}


def _details(told: Sequence[Record]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in told:
        if one["study"] in DETAILS and (details := one.get("details")):
            row = {**cells(DETAILS[one["study"]], details), "launch": one["launch"]}
            found.setdefault(one["study"], []).append(row)
    return found
