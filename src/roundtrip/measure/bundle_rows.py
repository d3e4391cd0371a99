"""Models of the rows of a bundle's tables: their columns, and the rules for their cells.

docs/reference.md is generated from them.

``details/<study>.parquet`` has a column for each entry of the `run_record` of the study.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, cast, get_args

import polars as pl
from pydantic import Field, create_model

from roundtrip.measure.columns import CellRule, Row, Schema, key_columns, table_columns
from roundtrip.measure.run_record import (
    RECORD_BY_STUDY,
    CacheState,
    ClockRanks,
    HostSpeed,
    NodeFacts,
    PointFacts,
    RankDisturbance,
    RankPlacement,
    SimulationRecord,
    Synchronisation,
    TimedRanks,
    TimingRecord,
)
from roundtrip.model import (
    Count,
    Host,
    NonNegative,
    Sha256,
    ShortText,
    Text,
    column,
    newer_column,
    optional_field,
)
from roundtrip.study import METRICS

Status = Literal["passed", "partial", "failed", "displaced", "missing", "skipped"]
STATUSES: tuple[str, ...] = get_args(Status)
_MAX_RANKS = 2**31
_PositiveCount = Annotated[int, Field(ge=1, le=_MAX_RANKS)]
_LaunchCount = Annotated[int, Field(ge=0, le=_MAX_RANKS)]
_SampleCount = Annotated[Count, Field(ge=1)]
_LoadAverages = list[NonNegative | None]
_BuildId = Annotated[str, Field(pattern=r"^(gnu:[0-9a-f]{1,128}|sha256:[0-9a-f]{64})$")]
_ParameterText = Annotated[str, Field(max_length=20_000)]
NodeSet = Annotated[str, Field(max_length=100_000)]

SIMULATION_FIELDS = {
    f"simulated_{name}": field for name, field in SimulationRecord.model_fields.items()
}
#: Displayed names of the columns about a launch's simulation.
SIMULATION_TITLES = {name: f"simulated: {field.title}" for name, field in SIMULATION_FIELDS.items()}
NODE_FACT_COLUMNS = tuple(
    name for name in NodeFacts.model_fields if name not in ("host", "adapters")
)
TIMING_COLUMNS = tuple(f"timing_{name}" for name in TimingRecord.model_fields)


def _simulation_rule(name: str, is_required: bool) -> CellRule:
    """Return the rule that only passed simulated launches have a value, all if it is required."""
    is_simulated = (pl.col("simulated") & (pl.col("status") == "passed")).fill_null(False)
    cell = pl.col(name)
    condition = cell.is_not_null() == is_simulated if is_required else cell.is_null() | is_simulated
    return CellRule(name, condition, "what `simulated` says")


class LaunchRow(Row):
    """A launch, even if it failed, is missing or was skipped."""

    extra_rules = tuple(
        _simulation_rule(name, field.is_required()) for name, field in SIMULATION_FIELDS.items()
    )

    launch: str = column("the launch; `missing/N` and `skipped/N` were never launched")
    case_id: str = column("the case")
    study: str = column("the study")
    check: str | None = optional_field("the ReFrame check")
    system: str | None = optional_field("the system of the site")
    partition: str | None = optional_field("its partition")
    environ: str | None = optional_field("the environment")
    toolchain: str | None = optional_field("its name for people")
    status: Status = column(
        "`passed`, `partial` (a size is missing), `failed`, `displaced` (preempted, kept away by a "
        "maintenance, or lost by the scheduler, and repeated), `missing` or `skipped`"
    )
    reason: str | None = optional_field("why it is not `passed`")
    round: str | None = optional_field("the session that launched it")
    campaign_round: _PositiveCount | None = optional_field(
        "the round of the campaign, from 1", "count"
    )
    wanted: _LaunchCount | None = optional_field(
        "launches that the campaign asks for of this case", "count"
    )
    started: str | None = optional_field("start, UTC, ISO 8601")
    elapsed_s: NonNegative | None = optional_field("how long the program ran", "s")
    ranks: _PositiveCount | None = optional_field("ranks", "count")
    hosts: list[Host] | None = optional_field("pseudonyms of its hosts")
    nodes_down: list[Host] | None = newer_column(
        "of a launch that failed: those that the scheduler took for down, or that had lost its step"
    )
    emulated: bool | None = optional_field(
        "whether something was emulated: `emulation.parquet` says what"
    )
    simulated: bool | None = optional_field("whether it was simulated")
    sealed: bool | None = optional_field("whether `run.json` has a seal of all samples")
    taken: Count | None = optional_field("samples that the program counted", "count")
    disturbed: bool | None = optional_field(
        "whether something disturbed it, by the thresholds of `analysis.toml`"
    )
    disturbed_why: str | None = optional_field("what did")
    steal_s: NonNegative | None = optional_field(
        "CPU time stolen by the hypervisor, over all hosts", "s"
    )
    load_average_start: _LoadAverages | None = optional_field(
        "load of the first rank's host over 1, 5 and 15 minutes, before", "processes"
    )
    load_average_end: _LoadAverages | None = optional_field("the same, after", "processes")
    warmup_discarded: Count | None = optional_field(
        "operations that were measured as warm-up and discarded", "count"
    )
    clock: str | None = optional_field("the clock")
    clock_resolution_s: NonNegative | None = optional_field("its step", "s")
    clock_overhead_s: NonNegative | None = optional_field("what a reading costs", "s")
    timing_clock: ClockRanks | None = newer_column("whose clock is read: `one rank`, `each rank`")
    timing_synchronisation: Synchronisation | None = newer_column(
        "what ranks wait for before a sample: `barrier`, `message`, `none`"
    )
    timing_over_ranks: TimedRanks | None = newer_column(
        "whose time is the sample: `one rank`, `maximum`"
    )
    timing_cache: CacheState | None = newer_column(
        "the caches before a sample: `warm`, `flushed`; `several`, here and above, if samples "
        "differ"
    )
    simulated_simgrid: ShortText | None = newer_column(
        "version of the SimGrid that simulated it; this and the next three are empty where "
        "nothing is simulated"
    )
    simulated_platform: ShortText | None = newer_column("the simulated platform")
    simulated_platform_sha256: Sha256 | None = newer_column("sha256 of the platform's file")
    simulated_host_flops: HostSpeed | None = newer_column("speed of one of its hosts", "flop/s")
    mpi_library: str | None = optional_field("the MPI library's own description")
    mpi_build: _BuildId | None = newer_column(
        "the loaded MPI library: `gnu:` and its build id, or `sha256:` and its digest"
    )
    boost: str | None = optional_field("version of Boost")
    compiler: str | None = optional_field("compiler and version")
    compiler_flags: str | None = optional_field("its flags")


class _LaunchColumns(Row):
    """The columns that rows of other tables repeat of their launch."""

    launch: str = column("the launch")
    case_id: str = column("its case")
    study: str = column("its study")


class PointRow(PointFacts, _LaunchColumns):
    """A point (variant at a size) of a launch that passed."""

    finding_call: str | None = optional_field("a legal call that the MPI library refused")
    finding_error: str | None = optional_field("its error")
    finding_consequence: str | None = optional_field("what was measured instead")


class SampleRow(Row):
    """A sample of a launch that passed."""

    launch: str = column("the launch: `<session>/<environment>/<folder of the job>`")
    case_id: str = column("the case: `<check>/<parameters>@<system>:<partition>+<environment>`")
    study: ShortText = column("the study")
    case: ShortText = column("what was measured, in the study's words", is_key=True)
    variant: ShortText = column("the arm that the study compares", is_key=True)
    size_bytes: Count = column("size of a message", "bytes", is_key=True)
    phase: ShortText = column("the part of the measurement", is_key=True)
    rep: Count = column("number of the sample in its series, from 0", "count")
    metric: ShortText = column("the quantity", is_key=True)
    value: NonNegative = column("the value", "of the row")
    unit: ShortText = column("its unit")


class _LaunchReference(Row):
    """The column that joins a table to cases.parquet."""

    launch: str = column("the launch")


class ParameterRow(_LaunchReference):
    """A parameter of a launch's check."""

    name: Text = column("the parameter")
    value: _ParameterText = column("its value")
    number: float | None = optional_field("its value, if it is a number", "of the parameter")


class EmulationRow(ParameterRow):
    """A property of what was emulated for a launch."""

    extra_rules = (
        CellRule(
            "number",
            ~pl.col("name").is_in(["wan_rtt_ms", "hub_mbit_s"])
            | pl.col("number").is_between(0, 1e15).fill_null(False),
            "from 0 to 1e+15 for what is emulated",
        ),
    )

    name: Text = column(
        "the fact: `wan_rtt_ms` is a round-trip time, `hub_mbit_s` the rate of a hub"
    )
    number: float | None = optional_field("its value, if it is a number", "of the fact")


class PlacementRow(RankPlacement, _LaunchReference):
    """Host and processors of a rank of a launch."""


class NodeRow(NodeFacts, _LaunchReference):
    """Facts of a node of a launch."""


class _RankReference(_LaunchReference):
    rank: Count = column("the rank, from 0", "count")


class DisturbanceRow(RankDisturbance, _RankReference):
    """Counters of what may disturb a rank of a launch."""


#: Rule for rows with columns median, low and high.
INTERVAL_RULE = CellRule(
    "low",
    (pl.col("low").is_null() & pl.col("high").is_null())
    | pl.col("median").is_between("low", "high"),
    "the lower end of an interval around the median",
)


class MedianRow(Row):
    """The median of a series of samples in a launch that passed.

    Its rank interval within the launch is null with fewer than 6 samples.
    """

    extra_rules = (
        INTERVAL_RULE,
        CellRule(
            "unit",
            pl.col("metric").replace_strict(
                {name: definition.unit for name, definition in METRICS.items()}, default=None
            )
            == pl.col("unit"),
            "the unit of the metric",
        ),
    )

    launch: str = column("the launch")
    campaign_round: _PositiveCount | None = optional_field(
        "the round of the campaign, from 1", "count"
    )
    case_id: str = column("its case")
    study: str = column("its study")
    case: ShortText = column("what was measured, as in the samples")
    variant: ShortText = column("the variant")
    size_bytes: Count = column("size of a message", "bytes")
    phase: ShortText = column("the part of the measurement")
    metric: str = column("the quantity")
    unit: str = column("its unit")
    nodes: NodeSet = column("pseudonyms of the launch's hosts, sorted and joined by `+`")
    samples: _SampleCount = column("samples; those of warm-up are no samples", "count")
    median: NonNegative = column("their median", "of the row")
    low: NonNegative | None = optional_field(
        "lower end of its rank interval within the launch; none with fewer than 6 samples at 95 %",
        "of the row",
    )
    high: NonNegative | None = optional_field("its upper end", "of the row")


#: Row of each table except samples, medians and details.
ROW_BY_TABLE: Mapping[str, type[Row]] = {
    "cases": LaunchRow,
    "points": PointRow,
    "parameters": ParameterRow,
    "emulation": EmulationRow,
    "placement": PlacementRow,
    "nodes": NodeRow,
    "disturbance": DisturbanceRow,
}
#: Tables that a bundle may lack.
OPTIONAL_TABLES = ("nodes",)
#: Row of ``details/<study>.parquet``, one per launch, if the study's workload records details.
DETAIL_ROW_BY_STUDY: Mapping[str, type[Row]] = {
    study: create_model(f"{study} row", __base__=(cast(type[Row], record), _LaunchReference))
    for study, record in RECORD_BY_STUDY.items()
}
SCHEMA_BY_TABLE: Mapping[str, Schema] = {
    name: table_columns(row) for name, row in ROW_BY_TABLE.items()
}
CASES_SCHEMA, POINTS_SCHEMA, PLACEMENT_SCHEMA, NODES_SCHEMA, DISTURBANCE_SCHEMA = (
    SCHEMA_BY_TABLE[name] for name in ("cases", "points", "placement", "nodes", "disturbance")
)
SAMPLES_SCHEMA, MEDIANS_SCHEMA = table_columns(SampleRow), table_columns(MedianRow)
#: Columns that identify a series of samples in a launch; the metric determines the unit.
SERIES_COLUMNS = key_columns(SampleRow)
#: Columns of a launch that rows of other tables repeat.
LAUNCH_COLUMNS: Schema = {name: CASES_SCHEMA[name] for name in _LaunchColumns.model_fields}


@dataclass(frozen=True)
class Tables:
    """All tables of a bundle except samples and medians; rows are in the order of `cases`.

    `frames` has the tables of `ROW_BY_TABLE` by name, `details` the bundle's ``details/`` by study.
    """

    frames: Mapping[str, pl.DataFrame]
    details: Mapping[str, pl.DataFrame]
