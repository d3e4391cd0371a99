"""Speed-up of two simulated clusters over one against the speed of a host.

Speed-up
    time on one cluster / time on two, with round trips longer by so much, at one host speed.
Round trips waited for
    growth of the time on two clusters with the round-trip time, s/s, from the shortest to the
    longest, at one host speed.
Computing for each
    time that one rank of one cluster computes, its declared operations over the host speed, over
    the time of the round trips waited for: the ratio of computing to latency.
Where a speed-up is found
    between two host speeds, by a straight line over the logarithm of the speed.

NPB's formula counts the operations that one rank declares, so that Mop/s of a rank on any machine
are Mflop/s of a simulated host.  Of several ranks it counts work once that all of them repeat.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import polars as pl

from roundtrip.report.data import Data
from roundtrip.studies.npb import marks
from roundtrip.studies.npb.derived import CLASSES, STUDY
from roundtrip.studies.npb.marks import Marks
from roundtrip.studies.npb.sweep import ONE, RANKS

CHECK = "NPBHostSpeeds"
_MFLOP = 1e6
#: Of a row of samples.csv: benchmark, class, Mflop/s; and the round-trip time of two clusters, ms.
_CASE = r"^(?<benchmark>\w+)/(?<problem_class>\w)/(?<mflops>[\d.e+]+)$"
_LONGER = r"\+(?<rtt>[\d.]+) ms$"


@dataclass(frozen=True)
class Curves:
    """A benchmark: seconds by Mflop/s of a host, on `one` cluster and by ms on `two`.

    `operations` are those that the ranks of one cluster declared in the timed section, in bundles
    without them those of NPB's formula; 0 if neither is told.  `marks` were measured elsewhere.
    """

    benchmark: str
    problem_class: str
    one: Mapping[float, float]
    two: Mapping[float, Mapping[float, float]]
    operations: float = 0.0
    marks: Marks = field(default_factory=Marks)
    case_id: str = ""

    @property
    def name(self) -> str:
        """``CG A``."""
        return f"{self.benchmark} {self.problem_class}"

    @property
    def order(self) -> tuple[str, int]:
        """Its place among others: the classes of a benchmark are neighbours, the smallest first."""
        return self.benchmark, CLASSES.index(self.problem_class)

    @property
    def rtts(self) -> list[float]:
        """Round-trip times, ms, ascending."""
        return sorted(self.two)

    def speedups(self, rtt: float) -> dict[float, float]:
        """By host speed, Mflop/s, ascending: the speed-up at a round-trip time."""
        both = self.two[rtt]
        return {speed: self.one[speed] / both[speed] for speed in sorted(self.one) if speed in both}

    def speed_at(self, rtt: float, wanted: float) -> float | None:
        """The host speed, Mflop/s, up to which the speed-up is at least `wanted`; None if it is
        not reached, or is never left."""
        for (speed, high), (faster, low) in pairwise(self.speedups(rtt).items()):
            if high >= wanted > low:
                part = (high - wanted) / (high - low)
                return speed * math.exp(part * math.log(faster / speed))
        return None

    def waited(self, speed: float) -> float | None:
        """Round trips waited for at a host speed; None with one round-trip time only."""
        near, far = self.rtts[0], self.rtts[-1]
        if near == far:
            return None
        return (self.two[far][speed] - self.two[near][speed]) / (far - near) * 1e3

    def computing(self, speed: float) -> float | None:
        """Ratio of computing to latency at the longest round trip and any host speed, Mflop/s.

        The round trips waited for are those of the fastest host swept, which computes least.
        """
        waited = self.waited(max(self.one))
        if not waited or waited <= 0 or not self.operations:
            return None
        return self.operations / RANKS[0] / (speed * _MFLOP) / (waited * self.rtts[-1] / 1e3)


class Sweeps:
    """The launches of `CHECK` in a bundle; two of a case are equal, or one of them has failed."""

    def __init__(self, data: Data) -> None:
        passed = data.passed(STUDY)
        self._launches = passed.filter(pl.col("check") == CHECK).unique("case_id", keep="first")
        self._told = data.told(STUDY)
        self._samples = data.samples

    @cached_property
    def curves(self) -> tuple[Curves, ...]:
        """A benchmark and class each, in their order."""
        names = self._launches["launch"].to_list()
        wanted = self._samples.filter(pl.col("launch").is_in(names)).select(
            "launch",
            "case_id",
            "value",
            pl.col("case").str.extract_groups(_CASE).alias("case"),
            one=pl.col("variant") == ONE,
            rtt=pl.col("variant").str.extract_groups(_LONGER).struct.field("rtt"),
        )
        rows = wanted.unnest("case").collect()
        found = []
        for (launch, case_id, benchmark, problem_class), mine in rows.group_by(
            "launch", "case_id", "benchmark", "problem_class"
        ):
            one: dict[float, float] = {}
            two: dict[float, dict[float, float]] = {}
            for row in mine.iter_rows(named=True):
                speed = float(row["mflops"])
                times = one if row["one"] else two.setdefault(float(row["rtt"]), {})
                times[speed] = row["value"]
            told = self._told.get(str(launch)) or {}
            if one and two:
                of = str(benchmark), str(problem_class)
                operations = float(told.get("declared") or told.get("operations") or 0.0)
                marked = marks.of(told.get("marks"))
                found.append(Curves(*of, one, two, operations, marked, str(case_id)))
        return tuple(sorted(found, key=lambda one: one.order))
