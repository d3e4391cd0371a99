"""The report examines itself against 21 rules of sound benchmarking.

C1-C12 are the rules of T. Hoefler and R. Belli, Scientific Benchmarking of Parallel Computing
Systems, SC 2015; C13-C18 come from its text; C19-C21 are ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Paragraph, Part, Table, Tone
from roundtrip.report.data import Data
from roundtrip.report.sections import Claim
from roundtrip.stats.verdicts import Judged

Result = tuple[str, str]
_TONES: dict[str, Tone] = {"pass": "good", "fail": "bad", "not applicable": "muted"}
_OVERHEAD, _FINER = 0.05, 10
_RECORDED = ("mpi_library", "boost", "compiler", "compiler_flags", "binding")


def part(data: Data, judged: Mapping[Claim, Judged]) -> Part:
    """All 21 rules, each with the evidence."""
    audit = Audit(data, judged)
    rows = []
    for number, rule in enumerate(RULES, 1):
        result, evidence = getattr(audit, f"c{number}")()
        rows.append((Cell(f"C{number}"), Cell(rule), Cell(result, _TONES[result]), Cell(evidence)))
    counts = {name: sum(row[2].text == name for row in rows) for name in _TONES}
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    table = Table(
        "Computed from the bundle where it can be.",
        (Column("Rule"), Column("Says"), Column("Result"), Column("Evidence")),
        tuple(rows),
    )
    return Part("audit", "Self-audit: 21 rules", (Paragraph((f"{told}.",)), table))


RULES = (
    "A ratio names its base and shows the base's value",
    "Everything left out is listed with a reason",
    "Costs by arithmetic, rates by harmonic mean or total work over total time",
    "Ratios are formed after summarising",
    "Nondeterministic values have an interval, its level and n",
    "No normal-theory statistic without a diagnostic",
    "Faster and slower rest on a test and an effect size",
    "Tail percentiles where latency matters",
    "All factors and the setup are recorded",
    "Timer, synchronisation, summary over ranks; timer fine enough",
    "Upper bounds are drawn where they exist",
    "Spread on plots; lines only where interpolation is valid",
    "Repetitions until a target precision; more than 5",
    "Warm-up excluded and said so; cache state said",
    "Outliers kept, or their removal told",
    "Units are unambiguous",
    "Uncontrolled factors are randomised",
    "Single events are timed",
    "False discoveries controlled over the whole report",
    "Minimum effect stated beside significance",
    "Every threshold printed",
)


class Audit:
    """One method a rule; each gives a result and its evidence."""

    def __init__(self, data: Data, judged: Mapping[Claim, Judged]) -> None:
        self._data = data
        self._judged = judged
        self._passed = data.launches.filter(pl.col("status") == "passed")

    @cached_property
    def _points(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """(point, clock of its launch) of every measured point that says its batch."""
        found = []
        for points, clock in self._passed.select("points", "clock").iter_rows():
            facts = json.loads(clock or "null") or {}
            found += [(p, facts) for p in json.loads(points or "[]") if p["samples"] > 0]
        return found

    def c1(self) -> Result:
        if not self._judged:
            return "not applicable", "no ratio is claimed"
        return "pass", "the first row of each table of ratios is raw MPI in MB/s"

    def c2(self) -> Result:
        lost = self._data.launches.filter(pl.col("status") != "passed")
        silent = lost.filter(pl.col("reason").fill_null("") == "").height
        told = f"{lost.height} launches did not come back, {silent} without a reason"
        return ("fail" if silent else "pass"), told

    def c3(self) -> Result:
        return "pass", "medians of times; a rate is bytes over median time; no mean of rates"

    def c4(self) -> Result:
        return "pass", "from two launch medians, paired; no geometric mean"

    def c5(self) -> Result:
        bare = [one for one in self._judged.values() if not one.interval.exists]
        level = self._data.analysis.statistics.confidence_level
        if bare:
            told = f"{len(bare)} of {len(self._judged)} ratios have too few launches: no CI"
            return "fail", told
        return "pass", f"rank intervals over launches at {units.percent(level)}, n beside or above"

    def c6(self) -> Result:
        return "pass", "medians, rank intervals and rank tests only"

    def c7(self) -> Result:
        return "pass", "needs interval, minimum effect and q; on par is a claim of its own"

    def c8(self) -> Result:
        at_one = self._data.samples.filter(pl.col("size_bytes") == 1).select(pl.len())
        count = at_one.collect().item()
        if not count:
            return "not applicable", "no sample at 1 byte"
        return "pass", f"p50, p90 and p99 over {count} samples at 1 byte"

    def c9(self) -> Result:
        lacking = [name for name in _RECORDED if self._passed[name].is_in(["", "null"]).any()]
        lacking += [name for name in _RECORDED if self._passed[name].null_count()]
        if not isinstance(self._data.environment.get("host.json"), dict):
            lacking.append("machine")
        if lacking:
            names = ", ".join(sorted(set(lacking)))
            return "fail", f"not recorded for every launch: {names.replace('_', ' ')}"
        return "pass", "machine, kernel, MPI, Boost, compiler, flags, binding, load"

    def c10(self) -> Result:
        shares, steps = [], []
        for point, clock in self._points:
            if not (point.get("batch") and point.get("median_s")):
                continue
            duration = point["batch"] * point["median_s"]
            if clock.get("overhead_s") is not None and clock.get("resolution_s") is not None:
                shares.append(clock["overhead_s"] / duration)
                steps.append(clock["resolution_s"] / duration)
        if not shares:
            return "fail", "clock or batch sizes were not recorded"
        told = (
            f"MPI clock; reading it is at most {units.percent(max(shares))} of a sample, its step "
            f"{units.percent(max(steps))}; blocking ping-pong of two ranks, timed on rank 0"
        )
        return ("pass" if max(shares) < _OVERHEAD and max(steps) * _FINER <= 1 else "fail"), told

    def c11(self) -> Result:
        return "fail", "no link or memory-copy rate is recorded, so no bound is drawn"

    def c12(self) -> Result:
        return "pass", "bands are rank intervals; lines join neighbouring message sizes"

    def c13(self) -> Result:
        counts = self._passed.group_by("case_id").len()["len"].to_list()
        fewest = min(counts, default=0)
        reached = sum(point["status"] == "converged" for point, _ in self._points)
        told = (
            f"at least {fewest} launches a case; in them {reached} of {len(self._points)} points "
            "reached their target precision before the budget ended"
        )
        return ("pass" if fewest > 5 else "fail"), told

    def c14(self) -> Result:
        silent = self._passed["warmup_discarded"].null_count()
        if silent:
            return "fail", f"{silent} launches do not say how much warm-up they discarded"
        return "pass", f"{self._passed['warmup_discarded'].sum()} messages discarded; buffers said"

    def c15(self) -> Result:
        return "pass", "none is removed; disturbed launches are marked and kept"

    def c16(self) -> Result:
        return "pass", "KiB, MiB are 2¹⁰, 2²⁰ B; kB, MB and MB/s are decimal; Mbit/s spelt out"

    def c17(self) -> Result:
        return "pass", "variants interleaved in random order in a launch, cases in a round"

    def c18(self) -> Result:
        batches = [int(point["batch"]) for point, _ in self._points if point.get("batch")]
        if not batches:
            return "fail", "batch sizes were not recorded"
        many = sum(batch > 1 for batch in batches)
        told = f"{many} of {len(batches)} points time batches, of up to {max(batches)} exchanges"
        return ("fail" if many else "pass"), told

    def c19(self) -> Result:
        if not self._judged:
            return "not applicable", "nothing is claimed"
        level = self._data.analysis.statistics.false_discovery_level
        return "pass", f"Benjamini-Hochberg over {len(self._judged)} claims at {level:g}"

    def c20(self) -> Result:
        effect = self._data.analysis.statistics.minimum_effect
        return "pass", f"{units.percent(effect)}, beside every verdict's q"

    def c21(self) -> Result:
        return "pass", "analysis.toml is printed above, word for word"
