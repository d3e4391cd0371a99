"""Models of run.json, which a workload writes; some of its objects become rows of tables.

A model has only the fields that are used here.  Entries of only one study's workload are under the
study's name, and the study has their model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from roundtrip import model
from roundtrip.model import (
    MAX_AMOUNT,
    Count,
    Host,
    NonNegative,
    Record,
    Sha256,
    ShortText,
    SignedNumber,
    Text,
    column,
    newer_column,
    optional_field,
)
from roundtrip.study import load_studies

#: The words of ``workloads/core/timing_facts.cpp``: ranks whose clock is read; synchronisation
#: before a sample; ranks whose time is the sample; state of the caches before a sample.
#: "several": it differs between samples of the launch.
ClockRanks = Literal["one rank", "each rank", "several"]
Synchronisation = Literal["barrier", "message", "none", "several"]
TimedRanks = Literal["one rank", "maximum", "several"]
CacheState = Literal["warm", "flushed", "several"]
HostSpeed = Annotated[float, Field(gt=0, le=MAX_AMOUNT)]


class TimingRecord(Record):
    """How samples of a launch are timed: clock, synchronisation, ranks and caches."""

    clock: ClockRanks | None = None
    synchronisation: Synchronisation | None = None
    over_ranks: TimedRanks | None = None
    cache: CacheState | None = None


class SimulationRecord(Record):
    """The simulator and platform of a launch, from ``workloads/core/simulation.cpp``.

    `host_flops` is None if the launch simulates hosts of several speeds.
    """

    simgrid: ShortText = Field(title="version of SimGrid")
    platform: ShortText = Field(title="platform")
    platform_sha256: Sha256 = Field(title="sha256 of the platform")
    host_flops: HostSpeed | None = Field(default=None, title="host speed, flop/s")


class RankPlacement(Record):
    """Host of a rank, the processors that it may use, and the host's switch."""

    rank: Count = column("the rank, from 0", "count")
    host: Host = column("pseudonym of its host")
    cpus: list[int] | None = optional_field(
        "numbers of the processors that it may use; none: any", "count"
    )
    switch: Host | None = newer_column(
        "the switch of the host, if the site gives it; older bundles lack this column"
    )


#: Texts by name.
TextByName = Annotated[dict[str, Text], Field(max_length=10_000)]
_Adapters = Annotated[list[Text], Field(max_length=100)]


class NodeFacts(Record):
    """Facts of a node from its kernel, see `workloads/core/node.hpp`."""

    host: Host = column("pseudonym of the node")
    kernel: Text | None = optional_field("release of its kernel")
    processor: Text | None = optional_field("model of its first processor")
    microcode: Text | None = optional_field("revision of the microcode of its first processor")
    firmware: Text | None = optional_field("version of its BIOS")
    governor: Text | None = optional_field("frequency governor of its first processor")
    smt: Text | None = newer_column(
        "whether it runs several threads on a core: `on` or `off`; older bundles lack this "
        "column and the next two"
    )
    memory: Text | None = newer_column("its memory, to the GiB")
    clock_source: Text | None = newer_column("clock source of its kernel")
    adapters: _Adapters | None = optional_field(
        "its InfiniBand adapters (and the like): board, firmware, driver"
    )


#: Displayed names of the fields of `NodeFacts`, without the host.
NODE_FACT_TITLES = {
    **{name: name.replace("_", " ") for name in NodeFacts.model_fields if name != "host"},
    "smt": "SMT",
}


class NodeRecord(NodeFacts):
    """A node of a launch: its facts, and counters of its network interfaces."""

    boot: str | None = None
    logical: Count | None = None
    huge_pages: Text | None = None
    interfaces: TextByName | None = None
    sent_bytes: dict[str, Count] | None = None
    tcp_bytes: Count | None = None


class RankDisturbance(Record):
    """Counters of what may disturb a rank, see `workloads/core/disturbance.hpp`."""

    involuntary_context_switches: Count | None = optional_field(
        "times that the kernel took its processor away", "count"
    )
    core_migrations: Count | None = optional_field(
        "times that it moved to another processor", "count"
    )
    voluntary_context_switches: Count | None = newer_column(
        "times that it slept; this column and those below are missing in older bundles", "count"
    )
    continued: Count | None = newer_column(
        "times that it got SIGCONT, which continues a stopped process", "count"
    )
    duration_s: NonNegative | None = newer_column(
        "from the first to the last reading of these counters, by the kernel's monotonic clock", "s"
    )
    cpu_s: NonNegative | None = newer_column("time that its main thread had a processor", "s")
    waited_s: NonNegative | None = newer_column(
        "time that its main thread was ready and had none", "s"
    )
    throttled_s: NonNegative | None = newer_column(
        "time for which a CPU limit of its cgroup, or of an outer one, stopped it: the longest "
        "of these, summed over processors and all processes of the cgroup",
        "s",
    )
    longest_stop_s: NonNegative | None = newer_column(
        "the longest time that a process beside it, of the same cgroup, did not run though it was "
        "due and did not wait for a processor: both were frozen, or their machine paused; empty in "
        "older bundles of programs that are not measured in steps",
        "s",
    )
    suspended_s: NonNegative | None = newer_column("time that its machine was suspended", "s")
    clock_rate: NonNegative | None = newer_column(
        "rate of the measuring clock, relative to that of rank 0", "ratio"
    )
    clock_rate_error: NonNegative | None = newer_column("error bound of `clock_rate`", "ratio")
    clock_step_s: SignedNumber | None = newer_column(
        "deviation of the measuring clock from the kernel's monotonic clock", "s"
    )
    utc_ahead_s: SignedNumber | None = newer_column(
        "by how much its wall clock is ahead of that of rank 0", "s"
    )


class _HostDisturbance(Record):
    load_average_start: list[NonNegative | None] | None = None
    load_average_end: list[NonNegative | None] | None = None
    utc_step_s: list[SignedNumber | None] | None = None
    tracer: list[Count | None] | None = None
    steal_s: NonNegative | None = None


#: ``disturbance`` in run.json: for each field of `RankDisturbance` a list, one value per rank.
DisturbanceRecord: Any = model.extend_model(
    _HostDisturbance,
    {
        name: (list[field.annotation] | None, None)  # type: ignore[name-defined]
        for name, field in RankDisturbance.model_fields.items()
    },
)


class _HostSoftware(Record):
    """MPI library and program of the ranks of one host, see `workloads/core/identity.hpp`."""

    host: Host
    ranks: Annotated[list[Count], Field(min_length=1)]
    library: str | None = None
    standard: str | None = None
    device: str | None = None
    file: str | None = None
    build: str | None = None
    program_sha256: str | None = None
    preload: str | None = None
    libraries: TextByName | None = None
    slurm_node: Host | None = None


class PointFacts(Record):
    """A variant at a size, as a launch measured it."""

    case: ShortText = column("what was measured, as in the samples")
    variant: ShortText = column("the variant")
    size_bytes: Count = column("size of a message", "bytes")
    samples: Count = column("samples; 0: left out from this size on", "count")
    status: Text = column("how it ended: `converged`, `budget`, `bounded`, or a word of its own")
    batch: Count | None = optional_field("operations that were timed as one sample", "count")
    median_s: NonNegative | None = optional_field("median of the samples", "s")
    ci_relative_half_width: NonNegative | None = optional_field(
        "half the width of the median's interval, within this launch", "of the median"
    )
    verified: bool | None = optional_field("whether the received data equal the sent data")
    inner: Count | None = optional_field(
        "exchanges in one iteration of the study's outer loop, where it has two loops", "count"
    )
    discarded: Count | None = optional_field("exchanges of this point that were not kept", "count")
    parameters: str | None = optional_field("parameters of the point, for people")


class RefusedCall(Record):
    """A legal call that the MPI library refused, its error, and what was measured instead."""

    call: str
    error: str
    consequence: str


class PointRecord(PointFacts):
    """An entry of ``points`` in run.json."""

    finding: RefusedCall | None = None


class _SeriesCount(Record):
    case: ShortText
    variant: ShortText
    size_bytes: Count
    phase: ShortText
    metric: ShortText
    samples: Count


class Seal(Record):
    """Number, sha256 and counts by series of the rows of samples.csv that the workload wrote; older
    launches have only the number."""

    rows: Count
    sha256: Sha256 = ""
    counts: list[_SeriesCount] = Field(default_factory=list)


class _MpiLibrary(Record):
    library: str | None = None
    standard: str | None = None


class _Compiler(Record):
    id: str | None = None
    flags: str | None = None


class _ClockFacts(Record):
    name: str | None = None
    resolution_s: NonNegative | None = None
    overhead_s: NonNegative | None = None


class _SizeCoverage(Record):
    measured: Count
    wanted: Count


class _CommonRunRecord(Record):
    schema_: Literal[1] = Field(alias="schema")
    workload: ShortText
    ranks: Annotated[Count, Field(ge=1)]
    hosts: list[Host]
    start_time: Text
    points: list[PointRecord]
    samples: Seal
    complete: bool
    mpi: _MpiLibrary | None = None
    boost: str | None = None
    compiler: _Compiler | None = None
    clock: _ClockFacts | None = None
    command: list[str] | None = None
    timing: TimingRecord | None = None
    simulated: SimulationRecord | None = None
    placement: list[RankPlacement] | None = None
    identity: list[_HostSoftware] | None = None
    nodes: list[NodeRecord] | None = None
    warmup_discarded: Count | None = None
    elapsed_s: NonNegative | None = None
    coverage: _SizeCoverage | None = None


#: Models of the entries of only one study's workload, by study; ``details/`` of a bundle.
RECORD_BY_STUDY = {study.name: study.run_record for study in load_studies() if study.run_record}
RunRecord = model.extend_model(
    _CommonRunRecord,
    {
        "disturbance": (DisturbanceRecord | None, None),
        **{name: (record, None) for name, record in RECORD_BY_STUDY.items()},
    },
)
