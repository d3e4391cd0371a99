"""Each rule of the self-audit passes, fails and is not applicable by the facts it is given."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from support.audited import (
    ANALYSIS,
    AUDIT_FACTS,
    CLOCK_COLUMNS,
    CONFIDENCE,
    HEAT_MAP_FIGURE,
    SERIES_NAMES,
    SOUND,
    STATISTICS,
    TIME_SUMMARY,
    Claim,
    gallery,
    judged_claims,
    launch_frame,
    line_chart,
    make_figure,
    measured_cell,
    point_frame,
    ratio_cell,
    report_section,
    sample_frame,
    study_named,
    table_of,
    time_cell,
    with_blocks,
    with_facts,
    with_figure,
    with_launches,
    with_points,
    with_table,
    with_thresholds,
    with_verdicts,
)
from support.bundles import RECORDED_BUNDLES, read_tree

from roundtrip.content import data
from roundtrip.content.blocks import Cell, Column, ReportSection, Table
from roundtrip.content.series import SeriesMedians
from roundtrip.report import build
from roundtrip.report.audit import section
from roundtrip.report.audit.section import RULES, RuleScope
from roundtrip.report.audit.subject import AuditedSection, AuditSubject, RuleOutcome
from roundtrip.stats import summaries
from roundtrip.stats.summaries import Summary, ValueKind, median_interval
from roundtrip.stats.verdicts import Verdict, judge
from roundtrip.studies.derivation import AuditFacts
from roundtrip.study import get_study
from roundtrip.units import ConfidenceLevel, Quantity, Unit, pure_number

Maker = Callable[..., Any]


def held(number: int, subject: AuditSubject) -> RuleOutcome:
    return RULES[number - 1].audit_subject(subject)


WITHOUT_LEVEL = {"rich_caption": "Times in µs."}
OTHER_LEVEL = ("At ", ConfidenceLevel(0.9), ".")
NO_LAUNCHES = launch_frame().clear()
FIRST_CLAIM = judged_claims()[Claim(1)]
HALF_WARMED_UP = launch_frame().with_columns(
    warmup_discarded=pl.when(pl.col("case_id") == "one").then("warmup_discarded")
)
EMULATION = [{"name": "hub_mbit_s", "value": "10", "number": 10.0}]
EDITED_TEXT = ANALYSIS.toml_text.replace("minimum_effect = ", "minimum_effect = 0.1  #")
SPREAD = Summary("time", ValueKind.COST, "launches", summaries.STANDARD_DEVIATION)
MEAN_OF_RATES = Summary("bandwidth", ValueKind.RATE, "launches", summaries.MEAN)
(RATIO,) = AUDIT_FACTS.ratios or ()

#: Subjects that break a rule.
BROKEN = {
    1: [
        with_table(ratio_cell(), columns=(Column("Arm"), Column("Ring / tree"))),  # no base
        with_table(ratio_cell("Tree")),  # whose value is nowhere
        with_table(ratio_cell("Ring"), ratio_cell("Ring")),  # a ratio is no value of the base
    ],
    2: [replace(SOUND, lost_launches=launch_frame().head(1))],
    3: [with_facts(summaries=(TIME_SUMMARY, MEAN_OF_RATES))],
    4: [
        with_facts(ratios=(replace(RATIO, statistic=summaries.MEAN),)),
        with_facts(ratios=(replace(RATIO, statistic=summaries.GEOMETRIC_MEAN),)),
        with_facts(ratios=()),  # and yet it claims some
        with_verdicts(interval=replace(FIRST_CLAIM.interval, n=1000)),  # more than launches
    ],
    5: [
        with_verdicts(interval=replace(FIRST_CLAIM.interval, low=None, high=None, n=3)),
        with_table(measured_cell(level=0.9), **WITHOUT_LEVEL),  # not the requested level
        with_table(measured_cell(), **WITHOUT_LEVEL),  # and which level is not said
        with_blocks(table_of(), gallery(make_figure(line_chart()), caption=OTHER_LEVEL)),
    ],
    6: [with_facts(summaries=(SPREAD,))],
    7: [with_verdicts(q=0.5), with_verdicts(verdict=Verdict.SLOWER)],
    8: [
        replace(SOUND, samples=sample_frame(launch_frame(), 1)),
        with_table(measured_cell(), time_cell(3.0)),
    ],
    9: [
        with_launches(compiler=None),
        replace(SOUND, env_records={}),
        replace(SOUND, launches_with_placement=["one/1"]),
    ],
    10: [
        with_points({"clock_resolution_s": 1e-6}),
        with_points({"clock_overhead_s": 1e-6}),
        with_points({}, dict.fromkeys(CLOCK_COLUMNS)),
        with_launches(timing_over_ranks="maximum", timing_synchronisation="none"),
    ],
    11: [replace(with_figure(line_chart()), launches=launch_frame(emulation=EMULATION))],
    12: [
        with_figure(line_chart(low=None)),
        with_figure(line_chart(), caption=("95 % rank intervals.",)),
    ],
    13: [with_launches(count=5)],
    14: [with_launches(warmup_discarded=0), replace(SOUND, launches=HALF_WARMED_UP)],
    15: [with_launches(taken=21)],
    16: [
        with_table(measured_cell(), rich_caption="Times.", caption_units=()),
        with_table(Cell(Quantity(value=2.0, unit="Mbps"))),
        with_table(time_cell(2.0), columns=(Column("Arm"), Column("Ring", "right", Unit.NS))),
        with_table(Cell("2.00 [1.90, 2.10]")),  # printed by hand
        with_figure(line_chart(unit="")),
    ],
    17: [with_launches(started="2026-11-21T07:00:00Z")],
    18: [with_points({}, {"batch": 8})],
    19: [with_verdicts(q=FIRST_CLAIM.p / 2)],
    20: [with_thresholds(minimum_effect=0.0), replace(SOUND, section_title_by_text={})],
    21: [
        replace(SOUND, section_title_by_text={}),
        replace(SOUND, section_title_by_text={EDITED_TEXT: "“Provenance”"}),
        with_thresholds(minimum_effect=0.2),
    ],
    22: [
        with_table(measured_cell(value=2.1)),
        with_table(measured_cell(low=1.9)),
        with_table(measured_cell(n=8)),
        with_table(measured_cell(unit=Unit.NS)),
        with_table(measured_cell(unit=Unit.MOPS)),  # which no time is
        with_table(ratio_cell("Tree", value=1.5)),
        with_table(ratio_cell("Tree", high=None)),
    ],
}

#: Subjects without the facts for a rule, and what it says is missing.
UNKNOWN = {
    2: [(replace(SOUND, launches=NO_LAUNCHES, lost_launches=NO_LAUNCHES), "launches")],
    3: [(with_facts(summaries=()), "how each number is summarised")],
    4: [(with_facts(ratios=None), "how each ratio is formed")],
    6: [(with_facts(summaries=()), "which statistic stands behind each number")],
    8: [(with_facts(latencies=None), "for which values the slowest matter")],
    9: [(with_facts(build_columns=()), "what its programs are built with")],
    10: [
        (with_facts(clock=""), "whose clock is read"),
        (with_facts(synchronisation=""), "how ranks are synchronised"),
        (with_facts(over_ranks=""), "how the times of ranks become one"),
        (with_points(dict.fromkeys(CLOCK_COLUMNS)), "what a reading of the clock takes"),
    ],
    11: [(with_figure(line_chart()), "the rate of the link or of a memory copy")],
    12: [
        (with_figure(line_chart(line_meaning="")), "between what 1 figure draws lines"),
        (with_figure(HEAT_MAP_FIGURE), "what 1 figure draws"),
    ],
    14: [
        (with_launches(warmup_discarded=None), "how much warm-up its launches discarded"),
        (with_facts(cache=""), "the state of the caches before a sample"),
    ],
    15: [(with_launches(taken=None), "how many samples each launch took")],
    17: [(with_launches(campaign_round=None), "the campaign's round of each launch")],
    18: [(with_points({"batch": None}), "how many events a sample times")],
}


#: Rules about claims, launches and numbers: what they say if there is none.
NOTHING = {
    1: with_table(time_cell(2.0)),
    4: with_facts(ratios=()),
    5: SOUND,
    7: SOUND,
    8: with_facts(latencies=(), no_latencies_reason="times whole computations"),
    13: replace(SOUND, launches=NO_LAUNCHES),
    16: with_blocks(),
    19: SOUND,
    20: SOUND,
    22: with_table(time_cell(2.0)),
}


@pytest.mark.parametrize("number", range(1, len(RULES) + 1))
def test_a_rule_is_kept_by_sound_facts_and_broken_by_others(number: int) -> None:
    assert held(number, SOUND).result == "pass", held(number, SOUND)
    for subject in BROKEN[number]:
        assert held(number, subject).result == "fail", held(number, subject)


@pytest.mark.parametrize("number", range(1, len(RULES) + 1))
def test_a_rule_without_facts_names_the_fact_or_says_that_there_is_no_case(number: int) -> None:
    cases = UNKNOWN.get(number, [])
    assert cases or number in NOTHING or number == 21  # thresholds are never unknown
    for subject, fact in cases:
        outcome = held(number, subject)
        assert outcome.result == "not applicable", outcome
        assert outcome.evidence.startswith("missing fact: ")
        assert fact in outcome.evidence
    if number in NOTHING:
        outcome = held(number, replace(NOTHING[number], verdicts={}))
        assert outcome.result == "not applicable", outcome
        assert not outcome.evidence.startswith("missing fact: ")


def test_no_rule_passes_on_no_facts() -> None:
    """Launches that no section names, and that say nothing but that they completed."""
    bare_launches = launch_frame().with_columns(
        *(pl.lit(None, pl.String).alias(n) for n in ("mpi_library", "compiler")),
        *(pl.lit(None, pl.Int64).alias(n) for n in ("warmup_discarded", "taken", "campaign_round")),
    )
    facts: dict[str, Any] = {"verdicts": {}, "env_records": {}, "section_title_by_text": {}}
    points = point_frame().clear()
    bare_subject = replace(SOUND, section=None, launches=bare_launches, points=points, **facts)
    # That launches completed, and how many, is a fact.
    results = {number: held(number, bare_subject).result for number in range(1, len(RULES) + 1)}
    assert {number for number, result in results.items() if result == "pass"} == {2, 13}


def test_a_diagnostic_lets_normal_theory_pass() -> None:
    summary = replace(SPREAD, diagnostic="Normal, p")
    assert held(6, with_facts(summaries=(summary,))).result == "fail", "it is not shown"
    columns = (Column("Arm"), Column("Spread", "right", Unit.US), Column("Normal, p", "right"))
    spread_table = table_of(time_cell(0.1), Cell(pure_number(0.4)), columns=columns)
    facts = replace(AUDIT_FACTS, summaries=(summary,))
    chapter = replace(with_blocks(spread_table).section, audit_facts=facts)  # type: ignore[type-var]
    assert held(6, replace(SOUND, section=chapter)).result == "pass"


def test_published_values_need_no_spread() -> None:
    published_figure = make_figure(line_chart(low=None), is_published=True, name="two")
    outcome = held(12, with_blocks(gallery(make_figure(line_chart()), published_figure)))
    assert outcome.result == "pass"
    assert "1 of published values" in outcome.evidence


def test_what_launches_say_of_their_timing_goes_before_what_the_section_declares() -> None:
    assert "a barrier before each sample" in held(10, SOUND).evidence  # as FACTS declares
    timing = {"timing_clock": "one rank", "timing_synchronisation": "none"}
    timing |= {"timing_over_ranks": "one rank", "timing_cache": "flushed"}
    timed_subject = with_launches(**timing)
    evidence = held(10, timed_subject).evidence
    assert "ranks are not synchronised; the time of one rank is the sample" in evidence
    assert "barrier" not in evidence
    assert held(14, timed_subject).evidence.endswith("caches: flushed")
    bare_subject = with_facts(clock="", synchronisation="", over_ranks="", cache="")
    assert held(10, replace(bare_subject, launches=timed_subject.launches)).result == "pass"
    half_launches = timed_subject.launches.with_columns(
        timing_cache=pl.when(pl.col("case_id") == "one").then("timing_cache")
    )
    outcome = held(14, replace(SOUND, launches=half_launches))
    assert outcome.evidence.endswith("caches: flushed, 9 launches not saying")


def test_the_time_of_a_whole_batch_is_not_taken_for_that_of_one_event() -> None:
    batch_subject = replace(SOUND, points=point_frame({"batch": 1000, "clock_overhead_s": 1e-7}))
    assert held(10, batch_subject).result == "pass"
    assert SOUND.section
    chapter = replace(SOUND.section, audit_facts=replace(AUDIT_FACTS, median_is_of_batch=True))
    assert held(10, replace(batch_subject, section=chapter)).result == "fail"


def test_a_name_that_looks_like_a_number_is_none() -> None:
    """A study may call its cases 2 and 4: they have no unit, and are the base of no ratio."""
    columns = Column("Case"), Column("Ring", "right")
    cases = ((Cell("2"), measured_cell()), (Cell("4"), measured_cell()))
    case_table = table_of(columns=columns, rows=cases)
    assert {held(rule, with_blocks(case_table)).result for rule in (16, 22)} == {"pass"}
    assert held(1, with_blocks(case_table)).evidence == "no table has a ratio"


def test_a_section_is_simulated_if_all_its_launches_are() -> None:
    assert with_launches(simulated=True).is_simulated
    assert not with_launches(simulated=False).is_simulated
    assert not with_launches(simulated=None).is_simulated
    mixed_launches = launch_frame().with_columns(simulated=launch_frame()["case_id"] == "one")
    assert not replace(SOUND, launches=mixed_launches).is_simulated
    assert not replace(SOUND, launches=launch_frame(simulated=True).head(0)).is_simulated


def test_a_verdict_is_derived_again_with_the_margin_of_its_study() -> None:
    levels = STATISTICS.model_copy(update={"equivalence_margins": (("thing", 0.5),)})
    ratios = {Claim(1): [0.9, 1.1, 0.95, 1.06, 0.97, 1.02]}
    verdicts = judge(ratios, levels, study=lambda claim: claim.study)
    assert verdicts[Claim(1)].verdict is Verdict.ON_PAR
    subject = replace(SOUND, verdicts=verdicts, analysis=replace(ANALYSIS, statistics=levels))
    assert held(7, subject).result == "not applicable"
    assert held(7, replace(subject, analysis=ANALYSIS)).result == "fail"


@pytest.mark.parametrize("unit", [Unit.COUNT, Unit.PURE_NUMBER, "1"])
def test_a_number_without_a_unit_is_held_against_its_launches(unit: str) -> None:
    counts = [10.0 + number for number in range(9)]
    names = {**SERIES_NAMES, "metric": "messages", "unit": "1"}
    origins = SeriesMedians(pl.DataFrame([{**names, "median": count} for count in counts]))
    (key,) = origins.keys
    quantity = Quantity.from_interval(median_interval(counts, CONFIDENCE), unit, series_key=key)
    assert held(22, with_blocks(table_of(Cell(quantity)), series_medians=origins)).result == "pass"
    wrong = Cell(replace(quantity, value=15.0))
    assert held(22, with_blocks(table_of(wrong), series_medians=origins)).result == "fail"
    case = ratio_cell("Ring"), Column("Ring"), Column("Ring / tree", "right")
    sides = table_of(Cell(quantity), case[0], columns=(Column("Arm"), *case[1:]))
    assert held(1, with_blocks(sides)).result == "pass"
    timed = Cell(replace(quantity, unit=Unit.US))
    assert held(22, with_blocks(table_of(timed), series_medians=origins)).result == "fail"


def rows(part: ReportSection) -> list[list[str]]:
    """The table of the audit, which comes last in its part."""
    rules = part.blocks[-1]
    assert isinstance(rules, Table)
    return [[cell.text for cell in row] for row in rules.rows]


def test_each_sentence_is_about_one_section_and_rests_on_its_facts(make_tree: Maker) -> None:
    bundle_data = read_tree(make_tree(launches=6, environs=("openmpi41-boost181",)))
    assert SOUND.section
    chapter = replace(SOUND.section, claims=tuple(judged_claims()))
    other_study = study_named("another", "Another")
    bare_chapter = AuditedSection(report_section(), AuditFacts(), other_study, ())
    texts = rows(section.build_section(bundle_data, judged_claims(), [chapter, bare_chapter], []))
    assert {row[0] for row in texts} == {f"C{number}" for number in range(1, len(RULES) + 1)}
    outcomes = {(row[0], row[2]): (row[3], row[4]) for row in texts}
    assert outcomes["C3", "A thing"] == ("pass", str(TIME_SUMMARY))
    missing = "missing fact: how each number is summarised"
    assert outcomes["C3", "Another"] == ("not applicable", missing)
    # The bundle's launches are of a study that no chapter is about: it has rows of its own.
    other_studies = {row[2] for row in texts} - {"A thing", "Another", "The campaign"}
    assert other_studies == {bundle_data.launches["study"][0]}
    rules = [rule for rule in RULES if rule.scope is RuleScope.STUDY_LAUNCHES]
    names = {row[0] for row in texts if row[2] in other_studies}
    assert names == {f"C{rule.number}" for rule in rules}


def test_a_bad_campaign_fails(make_tree: Maker) -> None:
    """Too few launches, nothing recorded, a clock too coarse, no word on warm-up."""
    tree = make_tree(launches=3, environs=("openmpi41-boost181",))
    clock = {"name": "gettimeofday", "resolution_s": 1e-5, "overhead_s": 1e-5}
    tree.amend_json("run.json", compiler=None, placement=None, warmup_discarded=None, clock=clock)
    bundle_data = read_tree(tree)
    report = build.build_report(bundle_data)
    texts = rows(report.sections[-1])
    study = get_study(bundle_data.launches["study"][0])
    results = {row[0]: row[3] for row in texts if row[2] == study.title}
    for rule in ("C5", "C8", "C9", "C10", "C12", "C13", "C18"):
        assert results[rule] == "fail", rule
    assert results["C14"] == "not applicable"
    # What can be seen in the report as it is laid out is in order all the same.
    for rule in ("C1", "C3", "C4", "C6", "C15", "C16", "C21", "C22"):
        assert results[rule] == "pass", rule
    titles = {row[2] for row in texts}
    assert titles <= {study.title, "The campaign", *(part.title for part in report.sections)}


def test_what_older_bundles_lack_is_a_missing_fact() -> None:
    bundle_data = data.read_bundle(RECORDED_BUNDLES / "ring")
    texts = rows(section.build_section(bundle_data, {}, [], []))
    missing_fact = "not applicable", "missing fact: how many samples each launch took"
    assert {(row[3], row[4]) for row in texts if row[0] == "C15"} == {missing_fact}
    assert "nothing to check it against: " in {row[0]: row[4] for row in texts}["C1"]


def test_a_report_of_an_older_bundle_prints_the_thresholds_that_came_later() -> None:
    report = build.build_report(data.read_bundle(RECORDED_BUNDLES / "ring"))
    outcomes = [row[3:] for row in rows(report.sections[-1]) if row[0] == "C21"]
    assert {result for result, _ in outcomes} == {"pass"}
    assert any("least_goodput" in evidence for _, evidence in outcomes)
