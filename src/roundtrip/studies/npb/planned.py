"""What the NPB study claims: its primary questions, and what distinguishes toolchains."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from roundtrip.collect.analysis import Analysis
from roundtrip.studies.npb import derived, wan
from roundtrip.studies.planned import MPI, PlannedCase, PlannedClaims

#: By scale of both clusters, that of one of them: a cluster has half of the nodes.
_HALF = {
    "nodes_2": "node",
    **{f"nodes_{2 * count}": f"nodes_{count}" for count in (2, 4, 8)},
    "all": "all",
}


def is_primary_speedup(benchmark: str, problem_class: str, rtt: float) -> bool:
    """Whether a speed-up over one cluster is a primary claim; `rtt` in ms."""
    in_study = benchmark in wan.PUBLISHED and rtt == wan.STUDY_RTT_MS
    return in_study and problem_class not in derived.TRIAL_CLASSES


def is_primary_source(problem_class: str) -> bool:
    """Whether our program's rate over that of NPB 3.4 is a primary claim."""
    return problem_class not in derived.TRIAL_CLASSES


def primary_claims(cases: Sequence[PlannedCase], settings: Analysis) -> list[PlannedClaims]:
    """Speed-ups that have a base, and pairs of our program with NPB's own."""
    inside = [case for case in cases if "wan_rtt" not in case.parameters]
    found = []
    for case in cases:
        told = case.parameters
        rtt = told.get("wan_rtt")
        if rtt is None:
            if _problem_class(case) not in derived.TRIAL_CLASSES and _upstream_of(case, inside):
                found.append(PlannedClaims(case.id, "rate of our program over NPB 3.4's", 1))
        elif is_primary_speedup(
            told.get("benchmark", ""), _problem_class(case), float(rtt)
        ) and _has_base(case, inside):
            found.append(PlannedClaims(case.id, "speed-up of two clusters over one", 1))
    return found


def speeds(samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
    """Mop/s of each launch: columns SPEEDS.  Of classes for trying too; `what` names the class."""
    rates = samples.filter((pl.col("metric") == "rate") & (pl.col("phase") == "total")).collect()
    return rates.select(
        "launch",
        what="case",
        size_bytes=pl.lit(None, pl.Int64),
        value="value",
        unit=pl.lit("Mop/s"),
        lower_is_better=pl.lit(False),
        depends_on=pl.lit(MPI),
        case="case",
        variant="variant",
        phase="phase",
        metric="metric",
    )


def _problem_class(case: PlannedCase) -> str:
    return case.parameters.get("problem_class", "")


def _upstream_of(case: PlannedCase, inside: Sequence[PlannedCase]) -> bool:
    """Whether `case` is of our program, and NPB's own runs in the same place."""
    if case.parameters.get("source", derived.NATIVE) != derived.NATIVE:
        return False
    wanted = {**case.parameters, "source": derived.UPSTREAM}
    return any(
        (other.place, other.environ, dict(other.parameters)) == (case.place, case.environ, wanted)
        for other in inside
    )


def _has_base(case: PlannedCase, inside: Sequence[PlannedCase]) -> bool:
    """Whether one cluster runs the same with half the ranks, or where it cannot, with as many."""
    told = case.parameters
    if "scale" in told:  # how many ranks it is follows from the partition
        return _has_half(case, inside)
    ranks = int(told["ranks"])
    legal = derived.legal_ranks(told["benchmark"], told["problem_class"], ranks // 2)
    wanted = str(ranks // 2 if legal else ranks)
    return any(
        _is_same(other, case)
        and other.parameters.get("ranks") == wanted
        and (wanted == "1" or _in_memory(other, 1) == _in_memory(case, 2))
        for other in inside
    )


def _has_half(case: PlannedCase, inside: Sequence[PlannedCase]) -> bool:
    """Whether one cluster runs the same on half of the nodes, each filled alike."""
    wanted = (_HALF.get(case.parameters["scale"]), case.parameters.get("placement"))
    return any(
        _is_same(other, case)
        and (other.parameters.get("scale"), other.parameters.get("placement")) == wanted
        for other in inside
    )


def _is_same(one: PlannedCase, other: PlannedCase) -> bool:
    """Whether they compute the same with the same toolchain."""
    same = ("benchmark", "problem_class", "source")
    return one.environ == other.environ and all(
        one.parameters.get(name) == other.parameters.get(name) for name in same
    )


def _in_memory(case: PlannedCase, alone: int) -> bool:
    """Whether the ranks of a cluster share memory; `alone` ranks share with none."""
    in_memory = case.parameters.get("placement") in wan.IN_MEMORY
    return in_memory and int(case.parameters.get("ranks", "1")) > alone
