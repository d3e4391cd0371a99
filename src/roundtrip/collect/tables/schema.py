"""The columns of each table of a bundle, by the name of its file; docs/bundle.md says their units.

``details/<study>.parquet`` has a column for each entry of what the workload of that study tells in
run.json, as the study's room has it in `record`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from roundtrip.collect import schemas, simulation, timing
from roundtrip.collect.shapes import COUNTS
from roundtrip.collect.tables import typed

Schema = dict[str, Any]

#: One row a launch, those that failed, are missing or were skipped included.
CASES: Schema = {
    "launch": pl.String,
    "case_id": pl.String,
    "study": pl.String,
    "check": pl.String,
    "system": pl.String,
    "partition": pl.String,
    "environ": pl.String,
    "toolchain": pl.String,
    "status": pl.String,
    "reason": pl.String,
    "round": pl.String,
    "campaign_round": pl.Int64,
    "wanted": pl.Int64,
    "started": pl.String,
    "elapsed_s": pl.Float64,
    "ranks": pl.Int64,
    "hosts": pl.List(pl.String),
    "emulated": pl.Boolean,
    "simulated": pl.Boolean,
    "sealed": pl.Boolean,
    "taken": pl.Int64,
    "disturbed": pl.Boolean,
    "disturbed_why": pl.String,
    "steal_s": pl.Float64,
    "load_average_start": pl.List(pl.Float64),
    "load_average_end": pl.List(pl.Float64),
    "warmup_discarded": pl.Int64,
    "clock": pl.String,
    "clock_resolution_s": pl.Float64,
    "clock_overhead_s": pl.Float64,
    **dict.fromkeys(timing.COLUMNS, pl.String),
    **{f"simulated_{name}": kind for name, kind in typed.columns(simulation.SCHEMA).items()},
    "mpi_library": pl.String,
    "mpi_build": pl.String,
    "boost": pl.String,
    "compiler": pl.String,
    "compiler_flags": pl.String,
}
#: What is said of a launch that a row elsewhere belongs to.
LABELS: Schema = {name: CASES[name] for name in ("launch", "case_id", "study")}
#: One row a point, of launches that passed: a variant at a size.
POINTS: Schema = {
    **LABELS,
    "case": pl.String,
    "variant": pl.String,
    "size_bytes": pl.Int64,
    "samples": pl.Int64,
    "status": pl.String,
    "batch": pl.Int64,
    "median_s": pl.Float64,
    "ci_relative_half_width": pl.Float64,
    "verified": pl.Boolean,
    "inner": pl.Int64,
    "discarded": pl.Int64,
    "parameters": pl.String,
    "finding_call": pl.String,
    "finding_error": pl.String,
    "finding_consequence": pl.String,
}
#: One row a parameter of a launch's check, or a fact of what was emulated.
SETTINGS: Schema = {
    "launch": pl.String,
    "name": pl.String,
    "value": pl.String,
    "number": pl.Float64,
}
#: One row a rank.
PLACEMENT: Schema = {
    "launch": pl.String,
    "rank": pl.Int64,
    "host": pl.String,
    "cpus": pl.List(pl.Int64),
    "switch": pl.String,
}
#: One row a node of a launch, by the pseudonym of its host: what its kernel told.
NODES: Schema = {
    "launch": pl.String,
    "host": pl.String,
    **dict.fromkeys(schemas.NODE_FACTS, pl.String),
    "adapters": pl.List(pl.String),
}
DISTURBANCE: Schema = {
    "launch": pl.String,
    "rank": pl.Int64,
    **{
        name: pl.Int64 if kind is COUNTS else pl.Float64
        for name, kind in schemas.RANK_DISTURBANCE.items()
    },
}
#: Columns that bundles of schema 2 may lack, by table.
ADDED: Mapping[str, tuple[str, ...]] = {
    "cases": (*timing.COLUMNS, *simulation.COLUMNS, "mpi_build"),
    "placement": ("switch",),
    "nodes": ("smt", "memory", "clock_source"),
    "disturbance": tuple(
        name
        for name in schemas.RANK_DISTURBANCE
        if name not in ("involuntary_context_switches", "core_migrations")
    ),
}
#: Tables that bundles of schema 2 may lack.
LATER = ("nodes",)
#: All but the samples and the details, by name.
ALL: Mapping[str, Schema] = {
    "cases": CASES,
    "points": POINTS,
    "parameters": SETTINGS,
    "emulation": SETTINGS,
    "placement": PLACEMENT,
    "nodes": NODES,
    "disturbance": DISTURBANCE,
}
#: Of the studies whose workload tells something of its own: one row a launch.
DETAILS: Mapping[str, Schema] = {
    study: {"launch": pl.String, **typed.columns(record)}
    for study, record in schemas.DETAILS.items()
}


@dataclass(frozen=True)
class Tables:
    """All tables of a bundle but its samples; rows are in the order of `cases`.

    `frames` has those of `ALL`, `details` those that the bundle has of `DETAILS`.
    """

    frames: Mapping[str, pl.DataFrame]
    details: Mapping[str, pl.DataFrame]
