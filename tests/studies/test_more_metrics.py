"""A further metric of a study with a section of its own takes its declaration alone."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from studies.test_packages import UNMEASURED, planned_cases, read_sample

from roundtrip.content.data import BundleData
from roundtrip.measure import bundle_tables, samples
from roundtrip.stats.verdicts import judge
from roundtrip.studies import derivation
from roundtrip.studies.findings import ArmClaim
from roundtrip.studies.section import find_section
from roundtrip.study import Contrast, Study, always_primary, metrics_by_study

#: A contrast of two arms that launches of a sample interleave, by campaign; NPB interleaves none.
PAIRS = {
    "smoke": ("boost", "mpi"),
    "ring": ("mpi-shm", "region"),
    "ddtbench": ("mpi_ddt", "manual"),
}
METRIC = "bandwidth"


def with_more_metrics(study: Study, campaign: str) -> Study:
    """The study, whose declaration has one more metric, and a contrast of it."""
    contrasts = [
        Contrast(*pair, "bandwidth of two arms", always_primary, METRIC)
        for name, pair in PAIRS.items()
        if name == campaign
    ]
    kind = type(study)
    declaration = {
        "__module__": kind.__module__,
        "more_metrics": (METRIC,),
        "contrasts": (*study.contrasts, *contrasts),
    }
    declared: Study = type(kind.__name__, (kind,), declaration)()
    return declared


def with_bandwidths(study: Study, measured: BundleData) -> BundleData:
    """The data, with a bandwidth beside each first value of a launch and point."""
    keys = ["launch", "case_id", "study", "case", "variant", "size_bytes"]
    first = measured.samples.filter(metric=study.metrics[0]).group_by(keys, maintain_order=True)
    rows = first.agg(pl.col("rep", "value").first()).select(
        *keys,
        phase=pl.lit("measure"),
        rep="rep",
        metric=pl.lit(METRIC),
        value=1e-6 / pl.col("value"),
        unit=pl.lit("MB/s"),
    )
    columns = measured.samples.collect_schema().names()
    all_rows = pl.concat([measured.samples, rows.select(columns)]).collect().lazy()
    level = measured.analysis.statistics.confidence_level
    medians = bundle_tables.launch_medians(all_rows, measured.launches, level)
    return replace(measured, samples=all_rows, launch_medians=medians)


@pytest.mark.parametrize("campaign", ["smoke", "ring", "ddtbench", "wan"])
def test_a_further_metric_is_declared_and_the_rest_follows(
    campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, measured = read_sample(campaign)
    if campaign == "ddtbench":  # two of sixteen micro-apps, to save time
        some = pl.col("case_id").str.contains("NAS_LU")
        launches, rows = measured.launches.filter(some), measured.samples.filter(some)
        measured = replace(measured, launches=launches, samples=rows)
    study, more = with_more_metrics(first, campaign), with_bandwidths(first, measured)

    monkeypatch.setattr("roundtrip.study.load_studies", lambda: (study,))
    monkeypatch.setattr(samples, "metrics_by_study", metrics_by_study.__wrapped__)
    launch = more.samples.collect().partition_by("launch")[0].select(*samples.CSV_SCHEMA)
    assert not samples.parse(launch.write_csv().encode(), Path("samples.csv")).faults

    figures, others = (derivation.perf_variables(one, launch) for one in (study, first))
    added = {name: value for name, value in figures.items() if name not in others}
    assert {name: figures[name] for name in others} == others
    assert added and all(METRIC in name and unit == "MB/s" for name, (_, unit) in added.items())

    own, section = (find_section(one, more) for one in (first, study))
    assert own is not None and section is not None
    sizes = more.analysis.compared_sizes(study)
    plans = [
        plan
        for plan in study.primary_claims(planned_cases(more), sizes)
        if plan.description == "bandwidth of two arms"
    ]
    ratios = section.ratios_by_claim()
    own_ratios = own.ratios_by_claim()
    assert {claim: ratios[claim] for claim in own_ratios} == own_ratios
    claims = [
        claim for claim in ratios if isinstance(claim, ArmClaim) and claim.contrast.metric == METRIC
    ]
    assert len(claims) == len(ratios) - len(own_ratios)
    assert len(claims) + UNMEASURED.get(campaign, 0) == sum(plan.count for plan in plans)
    assert bool(claims) is (campaign in PAIRS)

    verdicts = judge(ratios, more.analysis.statistics)
    own_part, part = (one.report_section(verdicts) for one in (own, section))
    assert part.blocks[: len(own_part.blocks)] == own_part.blocks
    assert part.answers[: len(own_part.answers)] == own_part.answers
    new_tables = [table for table in part.tables if table not in own_part.tables]
    assert [table.caption.partition(" ")[0] for table in new_tables] == [
        "Bandwidth",
        "Bandwidth:",
    ][: 1 + bool(claims)]
    keys = {cell.linked_series_key for row in new_tables[0].rows for cell in row} - {""}
    assert keys and keys <= more.series_medians.keys - measured.series_medians.keys
    assert {figure.name for figure in part.figures} - {one.name for one in own_part.figures} == {
        f"{study.name}-bandwidth-{number}"
        for number in range(1, 1 + len({row[0].text for row in new_tables[0].rows}))
    }

    facts, own_facts = (derivation.audit_facts(one) for one in (study, first))
    assert facts.summaries[: len(own_facts.summaries)] == own_facts.summaries
    assert {METRIC, "value of an arm"} <= {one.quantity for one in facts.summaries}
    assert len(facts.ratios or ()) == len(own_facts.ratios or ()) + bool(claims)
    speeds, own_speeds = (derivation.speeds(one, more.samples, sizes) for one in (study, first))
    assert speeds.head(own_speeds.height).equals(own_speeds)
    assert set(speeds.tail(-own_speeds.height)["metric"]) == {METRIC}
