"""The self-audit: what it checks follows from the facts, what it cannot check it says so of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from roundtrip.collect import analysis, bundle
from roundtrip.report import build, data
from roundtrip.report.blocks import Table
from roundtrip.report.sections import audit
from roundtrip.report.sections.audit_rules import RULES, UNCHECKED
from roundtrip.stats.verdicts import Judged, Verdict, judge
from roundtrip.studies.netpipe.findings import comparison

Maker = Callable[..., Any]
RATIOS = [1.3 + 0.01 * k for k in range(9)]
CLAIM = comparison(("case", "pingpong/same"), "boost", "mpi", 1)
OTHER = replace(CLAIM, size_bytes=1024)


def judged(**changes: Any) -> dict[Any, Judged]:
    """Two claims of one family, the first with `changes` that no honest judge would make."""
    levels = analysis.default().statistics
    told = judge({CLAIM: RATIOS, OTHER: [1 / ratio for ratio in RATIOS]}, levels)
    return {**told, CLAIM: replace(told[CLAIM], **changes)}


def results(of: data.Data, told: dict[Any, Judged]) -> dict[str, str]:
    part = audit.part(of, told)
    (table,) = [block for block in part.blocks if isinstance(block, Table)]
    return {row[0].text: row[2].text for row in table.rows}


@pytest.fixture
def good(make_tree: Maker) -> data.Data:
    tree = make_tree(launches=9, samples=12)
    for file in tree.path.rglob("run.json"):
        run = json.loads(file.read_text())
        for point in run["points"]:
            point["batch"] = 1 if point["samples"] else None
        run["clock"] = {"name": "MPI_Wtime", "resolution_s": 1e-12, "overhead_s": 1e-12}
        file.write_text(json.dumps(run))
    return in_rounds(data.read(bundle.build(tree.path)))


def in_rounds(of: data.Data, one_order: bool = False) -> data.Data:
    """Launches of a round a second apart, in turns first or always in one order."""
    number = pl.col("round").cast(pl.Int64)
    first = pl.col("environ").str.starts_with("openmpi")
    turned = first if one_order else first.xor(number % 2 == 0)
    started = pl.format(
        "2026-11-21T07:{}:0{}Z",
        number.cast(pl.String).str.zfill(2),
        pl.when(turned).then(1).otherwise(2),
    )
    return replace(of, launches=of.launches.with_columns(campaign_round=number, started=started))


def with_column(of: data.Data, **columns: Any) -> data.Data:
    return replace(of, launches=of.launches.with_columns(**columns))


def broken(of: data.Data) -> Iterator[tuple[str, data.Data, dict[Any, Judged]]]:
    """(rule, facts that break it), for every rule that can be checked."""
    sound = judged()
    silent = of.launches.head(1).with_columns(
        status=pl.lit("missing"), reason=pl.lit(""), launch=pl.lit("missing/1")
    )
    few = replace(sound[CLAIM].interval, low=None, high=None, n=3)
    strict = replace(of.analysis, statistics=replace(of.analysis.statistics, minimum_effect=0.0))
    yield "C2", replace(of, launches=pl.concat([of.launches, silent])), sound
    yield "C5", of, judged(interval=few)
    yield "C7", of, judged(q=0.5)
    yield "C7", of, judged(verdict=Verdict.SLOWER)
    yield "C8", replace(of, samples=of.samples.head(20)), sound
    yield "C9", with_column(of, compiler=pl.lit(None, pl.String)), sound
    yield "C9", replace(of, placement=of.placement.tail(1)), sound
    yield "C10", with_column(of, clock_resolution_s=1e-5, clock_overhead_s=1e-5), sound
    yield "C13", replace(of, launches=of.launches.filter(pl.col("campaign_round") <= 5)), sound
    yield "C14", with_column(of, warmup_discarded=pl.lit(None, pl.Int64)), sound
    yield "C17", in_rounds(of, one_order=True), sound
    yield "C18", replace(of, points=of.points.with_columns(batch=8)), sound
    yield "C19", of, judged(q=judged()[CLAIM].p / 2)
    yield "C20", replace(of, analysis=strict), sound


def test_every_rule_is_told(good: data.Data) -> None:
    found = results(good, judged())
    assert list(found) == [f"C{number}" for number in range(1, 22)]
    assert len(RULES) == 21
    assert {rule for rule, result in found.items() if result == "pass"} == {
        f"C{number}" for number in range(1, 22) if number not in UNCHECKED
    }


def test_facts_that_break_a_rule_change_its_result(good: data.Data) -> None:
    before = results(good, judged())
    for rule, facts, told in broken(good):
        assert (rule, before[rule]) == (rule, "pass")
        assert (rule, results(facts, told)[rule]) == (rule, "fail")


def test_what_no_facts_change_is_not_checked(good: data.Data) -> None:
    """A rule is not checked, if and only if its result is the same whatever the facts are."""
    seen = [results(good, judged()), results(good, {})]
    seen += [results(facts, told) for _, facts, told in broken(good)]
    constant = {rule for rule in seen[0] if len({one[rule] for one in seen}) == 1}
    unchecked = {rule for one in seen for rule in one if one[rule] == audit.NOT_CHECKED}
    assert constant == unchecked == {f"C{number}" for number in UNCHECKED}


def test_what_would_have_to_be_known_is_said(good: data.Data) -> None:
    (table,) = [b for b in audit.part(good, judged()).blocks if isinstance(b, Table)]
    for row in table.rows:
        if row[2].text == audit.NOT_CHECKED:
            assert row[2].tone == "muted"
            assert row[3].text.startswith("to be known: ")
        else:
            assert not row[3].text.startswith("to be known")


def test_without_claims_their_rules_do_not_apply(good: data.Data) -> None:
    found = results(good, {})
    assert {rule for rule, result in found.items() if result == "not applicable"} == {
        "C5",
        "C7",
        "C19",
    }


def test_a_bad_campaign_fails(make_tree: Maker) -> None:
    """Too few launches, nothing recorded, a clock too coarse, no word on warm-up."""
    tree = make_tree(launches=3, environs=("openmpi41-boost181",))
    for file in tree.path.rglob("run.json"):
        run = json.loads(file.read_text())
        run["compiler"] = run["placement"] = run["warmup_discarded"] = None
        run["clock"] = {"name": "gettimeofday", "resolution_s": 1e-5, "overhead_s": 1e-5}
        file.write_text(json.dumps(run))
    report = build.build(data.read(bundle.build(tree.path)))
    part = next(part for part in report.parts if part.anchor == "audit")
    (table,) = [block for block in part.blocks if isinstance(block, Table)]
    found = {row[0].text: row[2].text for row in table.rows}
    for rule in ("C5", "C8", "C9", "C10", "C13", "C14", "C18"):
        assert found[rule] == "fail", rule
