"""NAS Parallel Benchmarks: see `STUDY`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from roundtrip.model import Count, NonNegative, Record, ShortText, StrictRecord, Text, Threshold
from roundtrip.study import (
    BLUE,
    GREY,
    ORANGE,
    TEAL,
    Arm,
    Contrast,
    PlannedCase,
    PlannedPoints,
    SpreadMetric,
    Study,
)
from roundtrip.units import Unit

BENCHMARKS = ("BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP")
CLASSES = ("S", "W", "A", "B", "C")
#: Classes for trials: milliseconds of work, which say nothing about a real computation.
TRIAL_CLASSES = ("S", "W")
NATIVE, UPSTREAM = "native", "upstream"
TWO_CLUSTERS, ONE_CLUSTER, TRANSPORT = "two clusters", "one cluster", "transport"
#: Transports that stand for the study's libraries today; see `data.Series.transport_role`.
UDP, MIXED, TCP = "udp", "mixed", "tcp"
#: Arms whose rates are compared: programs, clusters and transports.
ARMS = {
    NATIVE: Arm("Ours", BLUE),
    UPSTREAM: Arm("NPB 3.4", ORANGE),
    TWO_CLUSTERS: Arm("Two clusters", BLUE),
    ONE_CLUSTER: Arm("One cluster", GREY),
    TRANSPORT: Arm("Another transport", GREY),
    UDP: Arm("UDP", BLUE),
    MIXED: Arm("Memory + TCP", TEAL),
    TCP: Arm("TCP", ORANGE),
}
#: Largest round-trip time of the study, ms, and its speed-ups there.  That of LU is inferred from
#: its words: LU scales linearly, on twice the hosts.
PUBLISHED_RTT_MS = 4.0
PUBLISHED_SPEEDUPS = {"CG": 1.13, "MG": 1.24, "LU": 2.0}
BENCHMARKS_WITH_INFERRED_SPEEDUP = frozenset({"LU"})
#: Placements in which the ranks of a cluster share memory.
SHARED_MEMORY_PLACEMENTS = ("shared-memory", "node-per-cluster")

#: Grid points in one direction, for benchmarks whose number of ranks they limit.
_GRID_POINTS = {
    "BT": {"S": 12, "W": 24, "A": 64, "B": 102, "C": 162},
    "SP": {"S": 12, "W": 36, "A": 64, "B": 102, "C": 162},
    "LU": {"S": 12, "W": 33, "A": 64, "B": 102, "C": 162},
    "FT": {"S": 64, "W": 32, "A": 128, "B": 256, "C": 512},
}
_MAX_RANKS = 256
#: Scale of one cluster by the scale of both: a cluster has half of the nodes.
_ONE_CLUSTER_SCALE_BY_SCALE = {
    "nodes_2": "node",
    **{f"nodes_{2 * count}": f"nodes_{count}" for count in (2, 4, 8)},
    "all": "all",
}


def is_legal_rank_count(benchmark: str, problem_class: str, ranks: int) -> bool:
    """Whether our program accepts this number of ranks for a benchmark and class."""
    points = _GRID_POINTS.get(benchmark, {}).get(problem_class, _MAX_RANKS)
    if ranks < 1:
        return False
    if benchmark in ("BT", "SP"):
        return any(side * side == ranks for side in range(1, points // 3 + 1))
    if benchmark == "LU":
        shorter = max(side for side in range(1, math.isqrt(ranks) + 1) if ranks % side == 0)
        return points // (ranks // shorter) >= 4
    if benchmark in ("CG", "FT", "IS", "MG"):
        return ranks <= points and ranks & (ranks - 1) == 0
    return True


def base_rank_count(benchmark: str, problem_class: str, ranks: int) -> int:
    """The ranks of one cluster as the base of `ranks` on two: half, or all if half is illegal."""
    half = ranks // 2
    return half if is_legal_rank_count(benchmark, problem_class, half) else ranks


def shares_memory(placement: str, ranks: int, clusters: int) -> bool:
    """Whether the ranks of a cluster share memory, which takes more ranks than `clusters`."""
    return placement in SHARED_MEMORY_PLACEMENTS and ranks > clusters


class Thresholds(StrictRecord):
    """Limits of the findings over the emulated WAN, as fractions.

    `published_within`: how far below the published speed-up one still holds;
    `critical_difference`: the difference of two transports from which it is critical.
    """

    published_within: Threshold
    critical_difference: Threshold


class ReferenceRate(Record):
    """Rate of one rank alone at a benchmark, Mop/s: median over `launches`."""

    benchmark: ShortText
    class_: ShortText = Field(alias="class")
    toolchain: ShortText
    launches: Count
    mops: NonNegative


class ReferenceSpeedup(ReferenceRate):
    """Speed-up over an emulated link, median and interval over `launches` rounds.

    `mops` is the rate of one rank in the same night.  `separated`: modelled from separate times of
    computing and communication, as ranks share processors.
    """

    ranks: Count
    rtt_ms: NonNegative
    speedup: NonNegative
    low: NonNegative | None = None
    high: NonNegative | None = None
    separated: bool = False

    @property
    def ranks_per_cluster(self) -> str:
        """``1 + 1``: the ranks of each cluster."""
        return f"{self.ranks // 2} + {self.ranks // 2}"


class ReferenceNight(Record):
    """Rates and speed-ups that a night of another campaign measured, drawn beside simulated ones.

    `alone` has the rates of one rank, `emulated` the speed-ups of two clusters over an emulated
    link.
    """

    campaign: ShortText
    site: ShortText
    started: ShortText
    digest: ShortText
    processor: ShortText
    alone: Annotated[list[ReferenceRate], Field(max_length=1000)]
    emulated: Annotated[list[ReferenceSpeedup], Field(max_length=1000)]

    @property
    def origin_text(self) -> str:
        """``wan-marks on virtual, 2026-11-22T14:11:20Z, bundle 5e5e5e5e``."""
        return f"{self.campaign} on {self.site}, {self.started}, bundle {self.digest[:8]}"

    def as_json(self) -> dict[str, Any]:
        """The night as a JSON object, for files of `--marks` and run.json."""
        return self.model_dump(by_alias=True, exclude_none=True)


class _ProgramChoice(Record):
    of: Text
    chosen: Text
    seconds: dict[str, NonNegative]


class _Verification(Record):
    specification: bool
    history: Text
    quantities: list[Text] = Field(default_factory=list)
    values: list[float | None] = Field(default_factory=list)


class _MemoryUse(Record):
    expected_bytes: float = 0.0
    most_bytes: float = 0.0


class NPBRecord(Record):
    """Entries of the NPB workload in run.json: chosen program variants, verification, memory.

    Of a sweep over host speeds, `declared` are the operations that the ranks of one cluster
    declared as their work, and `marks` the reference nights that it was given (`marks.py`).
    """

    benchmark: str | None = None
    class_: str | None = Field(None, alias="class")
    operations: float | None = None
    seconds: float | None = None
    mops: float | None = None
    verified: bool | None = None
    choices: list[_ProgramChoice] = Field(default_factory=list)
    verification: _Verification | None = None
    declared: float | None = None
    marks: Annotated[list[ReferenceNight], Field(max_length=100)] = Field(default_factory=list)
    memory: _MemoryUse | None = None


class RateSetting(NamedTuple):
    """Benchmark, class and link of a ratio of rates; `rtt_ms` is None in one cluster."""

    benchmark: str
    problem_class: str
    rtt_ms: float | None


def describe_published_speedup(benchmark: str) -> str:
    """``1.13``: the published speed-up, with a note if it is inferred."""
    note = ", inferred from its words" if benchmark in BENCHMARKS_WITH_INFERRED_SPEEDUP else ""
    return f"{PUBLISHED_SPEEDUPS[benchmark]:.2f}{note}"


def _has_published_speedup(setting: RateSetting) -> bool:
    """Whether a speed-up is published for the benchmark and RTT, and the class is no trial."""
    in_study = setting.benchmark in PUBLISHED_SPEEDUPS and setting.rtt_ms == PUBLISHED_RTT_MS
    return in_study and setting.problem_class not in TRIAL_CLASSES


def _is_in_one_cluster(setting: RateSetting) -> bool:
    return setting.rtt_ms is None and setting.problem_class not in TRIAL_CLASSES


#: Contrasts: two clusters over one, one transport over another, our program over NPB's own.
SPEEDUP_CONTRAST = Contrast(
    TWO_CLUSTERS, ONE_CLUSTER, "speed-up of two clusters over one", _has_published_speedup
)
TRANSPORT_CONTRAST = Contrast(TRANSPORT, TRANSPORT)
SOURCE_CONTRAST = Contrast(
    NATIVE, UPSTREAM, "rate of our program over NPB 3.4's", _is_in_one_cluster
)


class NPB(Study):
    """The declaration of the study NPB: real kernels in a cluster, and over a wide-area link."""

    name = "npb"
    title = "NAS Parallel Benchmarks"
    question = "How do real kernels run, in a cluster and over a wide-area link?"
    order = 50
    arms = ARMS
    metrics = ("rate", "time", "messages")
    thresholds = Thresholds
    run_record = NPBRecord
    contrasts = (SPEEDUP_CONTRAST, TRANSPORT_CONTRAST, SOURCE_CONTRAST)
    primary_description = (
        "Speed-up of two clusters over one at a round-trip time of 4 ms, of CG, MG and LU, as in "
        "the study; and our programs against those of NPB 3.4; both of class A and above."
    )
    uncompared_parameters = frozenset({"wan_rtt"})  # the section compares these transports itself
    spread_metrics = (SpreadMetric("rate", Unit.MOPS, (("phase", "total"), ("metric", "rate"))),)

    def planned_points(
        self, case: PlannedCase, cases: Sequence[PlannedCase], sizes: tuple[int, ...]
    ) -> Sequence[PlannedPoints]:
        """Return speed-ups with a base, and our program against NPB's own in one cluster."""
        cluster_cases = [other for other in cases if "wan_rtt" not in other.parameters]
        parameters = case.parameters
        rtt_ms = float(parameters["wan_rtt"]) if "wan_rtt" in parameters else None
        setting = RateSetting(
            parameters.get("benchmark", ""), parameters.get("problem_class", ""), rtt_ms
        )
        if rtt_ms is None:
            contrast, is_planned = SOURCE_CONTRAST, _has_upstream_case(case, cluster_cases)
        else:
            contrast, is_planned = SPEEDUP_CONTRAST, _has_base_case(case, cluster_cases)
        return [PlannedPoints((contrast.arm, contrast.base) if is_planned else (), setting)]


def _has_upstream_case(case: PlannedCase, cases: Sequence[PlannedCase]) -> bool:
    """Whether `case` runs our program, and a case with the same parameters NPB's own."""
    if case.parameters.get("source", NATIVE) != NATIVE:
        return False
    twin = case.system_partition, case.environ, {**case.parameters, "source": UPSTREAM}
    return any(
        (other.system_partition, other.environ, dict(other.parameters)) == twin for other in cases
    )


def _has_base_case(case: PlannedCase, cluster_cases: Sequence[PlannedCase]) -> bool:
    """Whether a case of one cluster runs the problem on `base_rank_count` ranks."""
    parameters = case.parameters
    candidates = [
        other.parameters for other in cluster_cases if _problem_key(other) == _problem_key(case)
    ]
    if "scale" in parameters:  # the partition determines the number of ranks
        half = (_ONE_CLUSTER_SCALE_BY_SCALE.get(parameters["scale"]), parameters.get("placement"))
        return any((other.get("scale"), other.get("placement")) == half for other in candidates)
    ranks = int(parameters["ranks"])
    base = base_rank_count(parameters["benchmark"], parameters["problem_class"], ranks)
    in_memory = shares_memory(parameters.get("placement", ""), ranks, 2)
    return any(
        other.get("ranks") == str(base)
        and (base == 1 or shares_memory(other.get("placement", ""), base, 1) == in_memory)
        for other in candidates
    )


def _problem_key(case: PlannedCase) -> tuple[str | None, ...]:
    """The properties that a case shares with its base: toolchain, benchmark, class, program."""
    names = ("benchmark", "problem_class", "source")
    return case.environ, *(case.parameters.get(name) for name in names)


STUDY = NPB()
