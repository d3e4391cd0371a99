"""The report examines itself against 21 rules of sound benchmarking.

A rule that this report's bundle cannot break or keep is "not checked", with what would have to be
known: a verdict that no data could change is none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Cell, Column, Paragraph, Part, Table, Tone
from roundtrip.report.data import Data
from roundtrip.report.sections.audit_rules import RULES, UNCHECKED
from roundtrip.stats.significance import q_values
from roundtrip.stats.verdicts import Family, Judged, Verdict, decide
from roundtrip.studies.study import Claim

Result = tuple[str, str]
NOT_CHECKED, NOT_APPLICABLE = "not checked", "not applicable"
_TONES: dict[str, Tone] = {
    "pass": "good",
    "fail": "bad",
    NOT_CHECKED: "muted",
    NOT_APPLICABLE: "muted",
}
_OVERHEAD, _FINER, _ROUNDING = 0.05, 10, 1e-12
_FOR_A_TAIL = 100  # samples, of which one is beyond the 99th percentile
_ROUNDS_FOR_ORDER = 8  # of two cases in random order, all alike once in 128
_DIRECTED = (Verdict.FASTER, Verdict.SLOWER)
_RECORDED = ("mpi_library", "boost", "compiler", "compiler_flags")


def part(data: Data, judged: Mapping[Claim, Judged]) -> Part:
    """All 21 rules, each with the evidence."""
    audit = Audit(data, judged)
    rows = []
    for number, rule in enumerate(RULES, 1):
        result, evidence = audit.result(number)
        rows.append((Cell(f"C{number}"), Cell(rule), Cell(result, _TONES[result]), Cell(evidence)))
    counts = {name: sum(row[2].text == name for row in rows) for name in _TONES}
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    table = Table(
        "Computed from the bundle, or not checked: then the evidence says what would have to be "
        "known.",
        (Column("Rule"), Column("Says"), Column("Result"), Column("Evidence")),
        tuple(rows),
    )
    return Part("audit", "Self-audit: 21 rules", (Paragraph((f"{told}.",)), table))


class Audit:
    """One method a rule that can be checked; each gives a result and its evidence."""

    def __init__(self, data: Data, judged: Mapping[Claim, Judged]) -> None:
        self._data = data
        self._judged = judged
        self._passed = data.launches.filter(pl.col("status") == "passed")

    def result(self, number: int) -> Result:
        """Of rule `number`, from 1."""
        if number in UNCHECKED:
            return NOT_CHECKED, f"to be known: {UNCHECKED[number]}"
        found: Result = getattr(self, f"c{number}")()
        return found

    @cached_property
    def _points(self) -> pl.DataFrame:
        """Every measured point, with the clock of its launch."""
        clocks = self._passed.select("launch", "clock_resolution_s", "clock_overhead_s")
        return self._data.points.filter(pl.col("samples") > 0).join(clocks, on="launch")

    def c2(self) -> Result:
        lost = self._data.launches.filter(pl.col("status") != "passed")
        silent = lost.filter(pl.col("reason").fill_null("") == "").height
        told = f"{lost.height} launches did not come back, {silent} without a reason"
        return ("fail" if silent else "pass"), told

    def c5(self) -> Result:
        if not self._judged:
            return NOT_APPLICABLE, "no ratio is claimed"
        bare = [one for one in self._judged.values() if not one.interval.exists]
        level = self._data.analysis.statistics.confidence_level
        if bare:
            told = f"{len(bare)} of {len(self._judged)} ratios have too few launches: no CI"
            return "fail", told
        fewest = min(one.interval.n for one in self._judged.values())
        told = f"{len(self._judged)} ratios have a rank interval at {units.percent(level)}"
        return "pass", f"{told}, over {fewest} launches or more"

    def c7(self) -> Result:
        """Each verdict is taken again, from the interval and q that are printed beside it."""
        told = [one for one in self._judged.values() if one.verdict in _DIRECTED]
        if not told:
            return NOT_APPLICABLE, "nothing is called faster or slower"
        levels = self._data.analysis.statistics
        bare = sum(decide(one.interval, one.q, levels) is not one.verdict for one in told)
        if bare:
            return "fail", f"{bare} of {len(told)} verdicts do not follow from interval and q"
        return "pass", f"{len(told)} verdicts follow from interval, minimum effect and q"

    def c8(self) -> Result:
        at_one = self._data.samples.filter(pl.col("size_bytes") == 1).select(pl.len())
        count = at_one.collect().item()
        if not count:
            return NOT_APPLICABLE, "no sample at 1 byte"
        few = count < _FOR_A_TAIL
        told = f"{count} samples at 1 byte; p99 needs {_FOR_A_TAIL}"
        return ("fail" if few else "pass"), told

    def c9(self) -> Result:
        lacking = [name for name in _RECORDED if self._passed[name].eq("").any()]
        lacking += [name for name in _RECORDED if self._passed[name].null_count()]
        if self._passed.join(self._data.placement, on="launch", how="anti").height:
            lacking.append("binding")
        if not isinstance(self._data.environment.get("host.json"), dict):
            lacking.append("machine")
        if lacking:
            names = ", ".join(sorted(set(lacking)))
            return "fail", f"not recorded for every launch: {names.replace('_', ' ')}"
        return "pass", "machine, kernel, MPI, Boost, compiler, flags, binding, load"

    def c10(self) -> Result:
        duration = pl.col("batch") * pl.col("median_s")
        timed = self._points.filter(duration > 0).drop_nulls(
            ["clock_resolution_s", "clock_overhead_s"]
        )
        shares = timed.select(pl.col("clock_overhead_s") / duration).to_series().to_list()
        steps = timed.select(pl.col("clock_resolution_s") / duration).to_series().to_list()
        if not shares:
            return "fail", "clock or batch sizes were not recorded"
        told = (
            f"reading the clock is at most {units.percent(max(shares))} of a sample, its step "
            f"{units.percent(max(steps))}"
        )
        return ("pass" if max(shares) < _OVERHEAD and max(steps) * _FINER <= 1 else "fail"), told

    def c13(self) -> Result:
        counts = self._passed.group_by("case_id").len()["len"].to_list()
        fewest = min(counts, default=0)
        reached = self._points.filter(status="converged").height
        told = (
            f"at least {fewest} launches a case; in them {reached} of {self._points.height} points "
            "reached their target precision before the budget ended"
        )
        return ("pass" if fewest > 5 else "fail"), told

    def c14(self) -> Result:
        silent = self._passed["warmup_discarded"].null_count()
        if silent:
            return "fail", f"{silent} launches do not say how much warm-up they discarded"
        return "pass", f"{self._passed['warmup_discarded'].sum()} messages discarded"

    def c17(self) -> Result:
        """The order of cases in the rounds of the campaign, from the times they started."""
        orders = [tuple(cases) for cases in self._orders() if len(cases) > 1]
        if len(orders) < _ROUNDS_FOR_ORDER:
            return NOT_APPLICABLE, "no rounds of several cases whose order could be looked at"
        different = len(set(orders))
        told = f"{different} different orders of cases in {len(orders)} rounds"
        return ("pass" if different > 1 else "fail"), told

    def _orders(self) -> list[list[str]]:
        """Cases of each round, by start."""
        rows = self._passed.drop_nulls(["campaign_round", "started"]).sort("started", "launch")
        return (
            rows.group_by("campaign_round")
            .agg("case_id")
            .sort("campaign_round")["case_id"]
            .to_list()
        )

    def c18(self) -> Result:
        batches = self._points.filter(pl.col("batch") > 0)["batch"].to_list()
        if not batches:
            return "fail", "batch sizes were not recorded"
        many = sum(batch > 1 for batch in batches)
        told = f"{many} of {len(batches)} points time batches, of up to {max(batches)} exchanges"
        return ("fail" if many else "pass"), told

    def c19(self) -> Result:
        """Each family's q-values are computed again from its p-values."""
        if not self._judged:
            return NOT_APPLICABLE, "nothing is claimed"
        families: dict[Family, list[Judged]] = defaultdict(list)
        for claim, one in self._judged.items():
            if one.interval.exists:
                families[claim.family].append(one)
        off = sum(
            abs(one.q - q) > _ROUNDING
            for judged in families.values()
            for one, q in zip(judged, q_values([one.p for one in judged]), strict=True)
        )
        told = ", ".join(f"{len(judged)} {family}" for family, judged in families.items())
        if off:
            return "fail", f"{off} q-values are not those of Benjamini-Hochberg ({told})"
        level = self._data.analysis.statistics.false_discovery_level
        return "pass", f"Benjamini-Hochberg at {level:g}: {told or 'no claim with an interval'}"

    def c20(self) -> Result:
        effect = self._data.analysis.statistics.minimum_effect
        return ("pass" if effect > 0 else "fail"), f"minimum effect {units.percent(effect)}"
