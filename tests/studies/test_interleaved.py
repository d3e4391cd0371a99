"""What follows from the declaration alone of a study: its values are those of samples."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import polars as pl
import pytest
from support.measured import METRIC, STUDY, MeasuredCase, launch_samples, measured_bundle

from roundtrip.content.blocks import Cell, Paragraph, ReportSection
from roundtrip.content.data import BundleData
from roundtrip.measure import samples
from roundtrip.measure.columns import setting_rows
from roundtrip.model import Sizes, StrictRecord
from roundtrip.stats.summaries import ValueKind
from roundtrip.stats.verdicts import judge
from roundtrip.studies import derivation
from roundtrip.studies.derivation import SPEED_COLUMNS
from roundtrip.studies.section import find_section
from roundtrip.study import (
    BLUE,
    GREY,
    ORANGE,
    Arm,
    Claim,
    Contrast,
    PlannedCase,
    Study,
    always_primary,
)
from roundtrip.units import Unit, printable

SIZES, AT_SIZES = (8, 1 << 20), " at 8 B, 1 MiB"


class Declared(Study):
    """Two arms of one metric, without any module."""

    name, title, question = STUDY, "Exchange", "Is a put faster than a send?"
    arms = {"put": Arm("Put", BLUE), "send": Arm("Send", ORANGE)}
    metrics = (METRIC,)
    contrasts = (Contrast("put", "send", "put over send", is_primary=always_primary),)


class Thresholds(StrictRecord):
    compared_sizes: Sizes


class OverSize(Declared):
    """The same at two sizes."""

    thresholds = Thresholds


class Rates(Declared):
    """Of a metric of which more is better."""

    metrics = ("bandwidth",)


def shown(study: Study, data: BundleData) -> tuple[Mapping[Claim, Sequence[float]], ReportSection]:
    """The claims of the study's section, and its part with their verdicts."""
    section = find_section(study, data)
    assert section is not None
    claims = section.ratios_by_claim()
    return claims, section.report_section(judge(claims, data.analysis.statistics))


def test_figures_are_named_by_arm_size_and_unit() -> None:
    seconds = {("put", 8): [1e-6], ("put", 64): [2e-6], ("put", 1 << 20): [1e-4]}
    samples = launch_samples({**seconds, ("send", 8): [3e-6]})
    figures = derivation.perf_variables(Declared(), samples)
    assert figures == {
        "put_8B_us": (pytest.approx(1.0), "us"),
        "put_1MiB_us": (pytest.approx(100.0), "us"),
        "send_8B_us": (pytest.approx(3.0), "us"),
    }
    samples = launch_samples({("put", 0): [12.0]}, metric="bandwidth", unit="MB/s")
    rates = derivation.perf_variables(Rates(), samples)
    assert rates == {"put_MB_per_s": (12.0, "MB/s")}
    assert derivation.perf_variables(Declared(), launch_samples({})) == {}


def test_toolchains_are_compared_by_each_arm_at_each_compared_size() -> None:
    case = MeasuredCase("C", {"put": 10, "send": 20}, launches=2, sizes=(8, 64, 1 << 20))
    data = measured_bundle([case])
    speeds = derivation.speeds(OverSize(), data.samples, SIZES)
    assert dict(speeds.schema) == SPEED_COLUMNS
    points = set(speeds.select("what", "size_bytes").iter_rows())
    assert points == set(product(("Put", "Send"), (8, 1 << 20)))
    puts = speeds.filter(pl.col("what") == "Put", pl.col("size_bytes") == 8)
    assert puts["value"].to_list() == pytest.approx([80.0, 88.0])
    assert set(speeds["unit"]) == {"µs"} and speeds["lower_is_better"].all()


@pytest.mark.parametrize(
    ("study", "sizes", "values", "where"),
    [
        (Declared(), (0,), "Put 13.5 [10.0, 17.0], Send 43.5 [40.0, 47.0] µs. ", ""),
        (OverSize(), SIZES, "Put 108 [80.0, 136], Send 348 [320, 376] µs at 8 B. ", AT_SIZES),
    ],
)
def test_it_claims_in_the_report_what_it_plans(
    study: Study, sizes: tuple[int, ...], values: str, where: str
) -> None:
    data = measured_bundle([MeasuredCase("C", {"put": 10, "send": 40}, sizes=sizes)])
    thresholds = {Thresholds: Thresholds(compared_sizes=SIZES)}
    data = replace(data, analysis=replace(data.analysis, study_tables=thresholds))
    case = PlannedCase("C", STUDY, "Check", "local:smp", "openmpi")
    (plan,) = study.primary_claims([case], data.analysis.compared_sizes(study))
    claims, part = shown(study, data)
    assert plan.count == len(claims) == len(sizes)
    (answer,), (panel,) = part.answers, part.panel_answers
    assert printable(str(answer.text[0])) == f"Put is 3.2 times as fast as Send{where}."
    assert panel.status_colour == "plain"
    assert printable(str(panel.text[1])) == f": {values}Put is 3.2 times as fast as Send{where}."
    numbers, verdicts = part.tables
    assert len(numbers.rows) == len(sizes)
    ((name, *ratios),) = verdicts.rows
    assert str(name.text) == "Put against Send: Open MPI, 2 ranks in one node"
    assert len(ratios) == len(sizes)
    (figure,) = part.figures
    assert figure.alt_text == "Operation time: Open MPI, 2 ranks in one node"


def test_a_variant_that_is_no_arm_is_named() -> None:
    """As where the program spells an arm differently."""
    data = measured_bundle([MeasuredCase("C", {"putt": 10, "send": 40})])
    _, part = shown(Declared(), data)
    (warning,) = part.warnings
    assert warning.startswith(f"study {STUDY} declares no arm putt of {METRIC}, ")
    assert warning.endswith("; right: put, send")
    _, part = shown(Declared(), measured_bundle([MeasuredCase("C", {"put": 10, "send": 40})]))
    assert part.warnings == ()


def test_a_rate_is_better_where_it_is_higher() -> None:
    data = measured_bundle([MeasuredCase("C", {"put": 40, "send": 10})])
    rates = data.samples.with_columns(metric=pl.lit("bandwidth"), unit=pl.lit("MB/s"))
    data, study = replace(data, samples=rates), Rates()
    ((ratios),) = shown(study, data)[0].values()
    assert min(ratios) > 2.5
    assert not derivation.speeds(study, data.samples, (0,))["lower_is_better"].any()
    assert {summary.kind for summary in derivation.audit_facts(study).summaries} == {ValueKind.RATE}


def test_an_arm_without_a_launch_is_a_warning_and_no_number() -> None:
    claims, part = shown(Declared(), measured_bundle([MeasuredCase("C", {"put": 10})]))
    assert claims == {}
    assert [answer.status_colour for answer in part.panel_answers] == ["warn"]
    assert "was not compared with Send" in str(part.answers[0].text[0])
    verdicts = part.tables[1]
    assert verdicts.rows[0][1] == Cell("not measured", "muted")


class TwoMetrics(Declared):
    """With a second metric, which a third arm alone has besides, and with a claim on it."""

    arms = {**Declared.arms, "peak": Arm("Peak", GREY, metric="bandwidth")}
    metrics = (METRIC, "bandwidth")
    contrasts = (
        *Declared.contrasts,
        Contrast("put", "send", "bandwidth of put", is_primary=always_primary, metric="bandwidth"),
    )


def two_metrics(first: BundleData) -> BundleData:
    """The data, and the bandwidth of each arm: put has a half, send and peak have the same."""
    rates = first.samples.with_columns(
        metric=pl.lit("bandwidth"),
        unit=pl.lit("MB/s"),
        value=1e-6 / pl.col("value") * pl.when(pl.col("variant") == "put").then(0.5).otherwise(1),
    )
    peaks = rates.filter(pl.col("variant") == "send").with_columns(variant=pl.lit("peak"))
    return replace(first, samples=pl.concat([first.samples, rates, peaks]))


MEASURED = MeasuredCase("C", {"put": 10, "send": 40})


def test_a_second_metric_has_figures_and_speeds_beside_those_of_the_first() -> None:
    data, study = two_metrics(measured_bundle([MEASURED])), TwoMetrics()
    launch = data.samples.filter(pl.col("launch") == pl.col("launch").min()).collect()
    figures = derivation.perf_variables(study, launch.select(*samples.CSV_SCHEMA))
    assert figures == {
        "put_us": (pytest.approx(10.0), "us"),
        "send_us": (pytest.approx(40.0), "us"),
        "put_bandwidth_MB_per_s": (pytest.approx(0.05), "MB/s"),
        "send_bandwidth_MB_per_s": (pytest.approx(0.025), "MB/s"),
        "peak_bandwidth_MB_per_s": (pytest.approx(0.025), "MB/s"),
    }
    speeds = derivation.speeds(study, data.samples, (0,))
    first = derivation.speeds(Declared(), data.samples, (0,))
    assert speeds.filter(metric=METRIC).equals(first)
    rates = speeds.filter(metric="bandwidth")
    assert set(rates["what"]) == {"Put, bandwidth", "Send, bandwidth", "Peak, bandwidth"}
    assert set(rates["unit"]) == {"MB/s"} and not rates["lower_is_better"].any()


def test_a_second_metric_is_planned_claimed_and_shown_beside_the_first() -> None:
    data, study = two_metrics(measured_bundle([MEASURED])), TwoMetrics()
    case = PlannedCase("C", STUDY, "Check", "local:smp", "openmpi")
    plans = study.primary_claims([case], (0,))
    assert [plan.description for plan in plans] == ["put over send", "bandwidth of put"]
    claims, part = shown(study, data)
    assert len(claims) == sum(plan.count for plan in plans)
    medians = [sorted(ratios)[len(ratios) // 2] for ratios in claims.values()]
    assert medians[1] == pytest.approx(medians[0] / 2)
    assert [printable(str(answer.text[0])) for answer in part.answers] == [
        "Put is 3.2 times as fast as Send.",
        "Put (bandwidth) is 61 % faster than Send.",
    ]
    assert [table.caption.partition(".")[0] for table in part.tables] == [
        "Operation time in µs, median over launches",
        "Speed of one arm over that of the other, in the same launch: above 1, the first is faster",
        "Bandwidth in MB/s, median over launches",
        "Bandwidth: speed of one arm over that of the other, in the same launch: above 1, the "
        "first is faster",
    ]
    times, _, rates, _ = part.tables
    assert [column.name for column in times.columns[1:-1]] == ["Put", "Send"]
    assert [column.name for column in rates.columns[1:-1]] == ["Put", "Send", "Peak"]
    assert [figure.name for figure in part.figures] == ["barrier-1", "barrier-bandwidth-1"]
    first, second = (str(answer.text[0].text) for answer in part.panel_answers)
    assert second == f"{first}, bandwidth"
    facts = derivation.audit_facts(study)
    assert {summary.kind for summary in facts.summaries} == {ValueKind.COST, ValueKind.RATE}
    assert len(facts.ratios or ()) == 2


def test_a_metric_that_no_launch_has_takes_nothing_away() -> None:
    data = measured_bundle([MEASURED])
    (claims, part), (first_claims, first) = shown(TwoMetrics(), data), shown(Declared(), data)
    assert len(claims) == len(first_claims) == 1
    for name in ("answer_gallery", "summary_tables", "panel_answers"):
        assert getattr(part, name) == getattr(first, name)
    assert part.blocks[-1] == Paragraph(("Bandwidth: no launch has a value.",), is_note=True)
    assert part.answers[:1] == first.answers
    assert part.answers[1].text == ("Put (bandwidth) was not compared with Send.",)


class Counted(TwoMetrics):
    """Whose second metric is a number without a unit."""

    metrics = (METRIC, "messages")
    arms = Declared.arms
    contrasts = Declared.contrasts


def test_a_number_without_a_unit_is_shown_without_one() -> None:
    data = measured_bundle([MEASURED])
    counts = data.samples.with_columns(metric=pl.lit("messages"), unit=pl.lit("1"), value=7.0)
    data = replace(data, samples=pl.concat([data.samples, counts]))
    _, part = shown(Counted(), data)
    table = part.tables[-1]
    assert table.caption == "Messages, median over launches."
    assert table.rows[0][1].quantities[0].unit == Unit.PURE_NUMBER
    assert printable(str(part.panel_answers[1].text[1])).startswith(": Put 7.00 [7.00, 7.00], ")
    (launch, *_) = data.samples.collect().partition_by("launch")
    figures = derivation.perf_variables(Counted(), launch.select(*samples.CSV_SCHEMA))
    assert figures["send_messages_1"] == (7.0, "1")
    speeds = derivation.speeds(Counted(), data.samples, (0,)).filter(metric="messages")
    assert set(speeds["unit"]) == {Unit.PURE_NUMBER}


def test_each_setting_has_its_own_answer_and_names_it() -> None:
    """The launches of a setting are not pooled with those of another."""
    changes = {"ranks": 4, "parameters": setting_rows({"placement": "oversubscribed"})}
    slow = MeasuredCase("D", {"put": 40, "send": 10}, row_changes=changes)
    _, part = shown(Declared(), measured_bundle([MEASURED, slow]))
    assert [printable(str(answer.text[0])) for answer in part.answers] == [
        "2 ranks in one node: Put is 3.2 times as fast as Send.",
        "4 ranks on fewer processors: Put is 3.2 times slower than Send.",
    ]
    assert [str(answer.text[0].text) for answer in part.panel_answers] == [
        "Open MPI, 2 ranks in one node",
        "Open MPI, 4 ranks on fewer processors",
    ]


def test_many_settings_are_counted_and_no_size_is_pooled_without_its_name() -> None:
    cases = [
        replace(MEASURED, case_id=f"C{count}", row_changes={"ranks": count})
        for count in range(2, 9)
    ]
    _, part = shown(Declared(), measured_bundle(cases))
    (answer,) = part.answers
    assert str(answer.text[0]) == "7 settings: Put is 3.2 times as fast as Send."


def test_without_compared_sizes_the_largest_message_is_compared() -> None:
    data = measured_bundle([replace(MEASURED, sizes=SIZES)])
    claims, part = shown(Declared(), data)
    assert [claim.size_bytes for claim in claims] == [1 << 20]  # type: ignore[attr-defined]
    ((name, ratio),) = part.tables[1].rows
    assert printable(str(name.text)).endswith("2 ranks in one node, 1 MiB") and ratio.quantities
