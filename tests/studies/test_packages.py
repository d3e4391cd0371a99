"""A study is one package: it is found, not listed, and shared packages know none by its name."""

import importlib
import re
import tomllib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
from support.measured import sample_frame

from roundtrip import studies
from roundtrip.content import data
from roundtrip.measure import analysis, samples
from roundtrip.measure.columns import setting_texts
from roundtrip.measure.run_record import RECORD_BY_STUDY
from roundtrip.report.sections.spread import launch_spread_values
from roundtrip.stats.verdicts import Family
from roundtrip.studies import derivation
from roundtrip.studies.derivation import AuditFacts
from roundtrip.studies.findings import ArmClaim
from roundtrip.studies.section import find_section
from roundtrip.study import (
    BLUE,
    METRICS,
    ORANGE,
    Arm,
    Contrast,
    PlannedCase,
    PlannedPoints,
    Study,
    get_study,
    load_studies,
    metrics_by_study,
)

SRC = Path(studies.__file__).parents[1]
SHARED = ("cause", "content", "history", "measure", "report", "stats")
SAMPLES = Path(__file__).parents[2] / "samples/reports"
#: Planned claims of a sample for which no launch had the time.
UNMEASURED = {"ring": 1}
#: The studies that the design names.  The name of a new one, as barrier, may be a word of MPI.
NAMED = re.findall(r"^\| `(\w+)` \|", (SRC.parents[1] / "docs/design.md").read_text(), re.MULTILINE)


def test_all_studies_are_found_in_their_order() -> None:
    packages = {file.parent.name for file in (SRC / "studies").glob("*/__init__.py")}
    all_studies = load_studies()
    assert {study.name for study in all_studies} == packages
    assert [study.order for study in all_studies] == sorted(study.order for study in all_studies)
    assert [study.title for study in all_studies if not study.question.endswith("?")] == []


def test_every_study_interleaves_arms_or_has_the_modules_that_its_class_names() -> None:
    modules = {
        "derived": ("perf_variables", "PERF_VARIABLE_UNITS", "speeds", "AUDIT_FACTS"),
        "section": ("Section",),
    }
    for study in load_studies():
        for module_name, names in modules.items():
            path = f"roundtrip.studies.{study.name}.{module_name}"
            if find_spec(path) or not (study.arms and study.metrics):
                module = importlib.import_module(path)
                assert [name for name in names if not hasattr(module, name)] == []


class Undeclared(Study):
    """Nothing but what has no default, and no module beside it."""

    name, title, question = "undeclared", "Undeclared", "Is anything to answer?"


def test_all_but_name_title_and_question_has_a_default() -> None:
    study, empty_frame = Undeclared(), pl.DataFrame(schema=samples.CSV_SCHEMA)
    case = PlannedCase("a case", study.name, "Check", "local:smp", "any")
    assert derivation.perf_variables(study, empty_frame) == {}
    assert derivation.speeds(study, empty_frame.lazy(), (0,)).is_empty()
    assert study.primary_claims([case], (0,)) == []
    assert derivation.audit_facts(study) == AuditFacts()


class Declared(Study):
    """Two arms that are contrasted, one of them in half of the cases as a primary claim."""

    name, title, question = "declared", "Declared", "Which is faster?"
    arms = {"a": Arm("A", BLUE), "b": Arm("B", ORANGE)}
    contrasts = (
        Contrast("a", "b", "a over b", is_primary=lambda case: case == "first"),
        Contrast("b", "a"),
    )

    def planned_points(
        self, case: PlannedCase, cases: Sequence[PlannedCase], sizes: tuple[int, ...]
    ) -> Sequence[PlannedPoints]:
        return [PlannedPoints("ab", case.parameters["case"], panel=case.parameters.get("panel"))]


def test_what_is_planned_and_what_is_tested_follow_from_one_declaration() -> None:
    """A panel's claims are primary in the report exactly where the plan counts them."""
    study = Declared()
    for case_name, count in (("first", 1), ("second", 0)):
        case = PlannedCase("c", study.name, "Check", "local:smp", "any", {"case": case_name})
        plan = study.primary_claims([case], (0,))
        assert [(claim.description, claim.count) for claim in plan] == [("a over b", 1)] * count
        comparisons = [
            ArmClaim(study.name, ("c", case_name), contrast, 0) for contrast in study.contrasts
        ]
        assert sum(claim.family is Family.PRIMARY for claim in comparisons) == count


def read_sample(campaign: str) -> tuple[Study, data.BundleData]:
    """The bundle of a sample, and its study."""
    (bundle,) = (SAMPLES / campaign).glob("*/*/r1/bundle")
    bundle_data = data.read_bundle(bundle)
    (name,) = bundle_data.completed_launches["study"].unique()
    return get_study(name), bundle_data


def planned_cases(bundle_data: data.BundleData) -> list[PlannedCase]:
    """The cases as they were planned."""
    checks = tomllib.loads(bundle_data.campaign_text)["check"]
    variables = {check["name"]: check.get("variables", {}) for check in checks}
    return [
        PlannedCase(
            row["case_id"],
            row["study"],
            row["check"],
            f"{row['system']}:{row['partition']}",
            row["environ"],
            setting_texts(row["parameters"]),
            {name: str(value) for name, value in variables[row["check"]].items()},
        )
        for row in bundle_data.completed_launches.unique("case_id").iter_rows(named=True)
    ]


@pytest.mark.parametrize("campaign", ["smoke", "ring", "ddtbench", "wan"])
def test_the_primary_claims_of_a_sample_are_those_that_are_planned(campaign: str) -> None:
    """The plan knows places from parameters and variables, the report from what was recorded."""
    study, bundle_data = read_sample(campaign)
    cases = planned_cases(bundle_data)
    section = find_section(study, bundle_data)
    assert section is not None
    plans = study.primary_claims(cases, bundle_data.analysis.compared_sizes(study))
    primary = [claim for claim in section.ratios_by_claim() if claim.family is Family.PRIMARY]
    planned = sum(plan.count for plan in plans)
    assert len(primary) + UNMEASURED.get(campaign, 0) == planned > 1


def test_cases_that_are_shown_together_claim_once() -> None:
    cases = [
        PlannedCase(name, "declared", "Check", "p", "e", {"case": "first", "panel": "one"})
        for name in ("small", "large")
    ]
    (claim,) = Declared().primary_claims(cases, (0,))
    assert claim.case == "small"


def test_nothing_is_compared_that_is_not_declared() -> None:
    with pytest.raises(KeyError):
        Declared().contrast("a", "c")
    with pytest.raises(ValueError, match="Wrong contrasts what is no arm of it: 'c'"):
        type("Wrong", (Declared,), {"contrasts": (Contrast("a", "c"),)})
    metrics = {"metrics": ("time", "rate")}
    with pytest.raises(ValueError, match="Wrong has no metric 'tine': right is one of `metrics`"):
        type("Wrong", (Declared,), {**metrics, "contrasts": (Contrast("a", "b", metric="tine"),)})
    arms = {**Declared.arms, "b": Arm("B", ORANGE, metric="rate")}
    with pytest.raises(ValueError, match="Wrong contrasts 'b', which has no 'time'"):
        type("Wrong", (Declared,), {**metrics, "arms": arms, "contrasts": (Contrast("a", "b"),)})


def test_where_a_claim_is_primary_is_not_said_without_points() -> None:
    """The plan would know other places than the report."""
    somewhere = (Contrast("a", "b", is_primary=lambda case: case == "first"),)
    with pytest.raises(ValueError, match="Wrong has no points of its own: right for `is_primary`"):
        type("Wrong", (Declared,), {"contrasts": somewhere, "planned_points": Study.planned_points})


def matches(pattern: str, packages: Sequence[str], files: str = "*.py") -> list[str]:
    """What matches a pattern in source files, also across lines, with its place."""
    texts = {
        file: file.read_text(encoding="utf-8")
        for package in packages
        for file in sorted((SRC / package).rglob(files))
        if file.is_file() and file.suffix != ".pyc"
    }
    assert {file.relative_to(SRC).parts[0] for file in texts} == set(packages)
    return [
        f"{file.relative_to(SRC)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for file, text in texts.items()
        for match in re.finditer(pattern, text)
    ]


@pytest.mark.parametrize("package", SHARED)
def test_no_shared_code_knows_a_study_by_its_name(package: str) -> None:
    names = "|".join(study.name for study in load_studies() if study.name in NAMED)
    assert matches(rf"(?i)(?<![A-Za-z])({names})(?![A-Za-z])", [package], "*") == []


def test_every_study_has_its_thresholds_and_its_record_where_it_says_so() -> None:
    tables = analysis.default_settings().study_tables
    assert set(tables) == {study.thresholds for study in load_studies() if study.thresholds}
    assert set(RECORD_BY_STUDY) == {study.name for study in load_studies() if study.run_record}


def test_no_number_is_formed_by_a_mean_that_the_audit_does_not_know() -> None:
    """Means and deviations come of a `Summary`, of which the audit knows."""
    pattern = r"\.(mean|std|var)\(|[fgh]mean\(|stdev\(|harmonic_mean\("
    assert matches(pattern, ["report", "studies"]) == []


def test_every_study_supplies_facts_figures_and_known_metrics_of_its_own() -> None:
    study_facts = [derivation.audit_facts(study) for study in load_studies()]
    assert all(facts.summaries and facts.build_columns for facts in study_facts)
    assert len({id(facts) for facts in study_facts}) == len(study_facts)
    assert [study.name for study in load_studies() if not study.spread_metrics] == []
    for name, metrics in metrics_by_study().items():
        assert metrics and set(metrics) <= set(METRICS), name


def test_no_text_says_a_level_of_intervals_by_hand() -> None:
    """The level is that of the settings by which the intervals were computed: `panel.Level`."""
    pattern = r"\d\d\s%\s(rank |confidence )?interval"
    assert matches(pattern, ["report", "studies"]) == []


def test_the_figure_of_a_launch_is_the_median_of_its_own_rows_in_their_order() -> None:
    key = ("1", "c", "ring", "2")
    rows = [
        (*key, "mpi", 10_000, "measure", rep, "time_per_pass", value, "s")
        for rep, value in ((1, 2e-6), (0, 1e-6), (2, 4e-6))
    ]
    rows += [
        (*key, "mpi", 10_000, "laps", 0, "lap_time", 9e-6, "s"),
        (*key, "mpi", 10_000, "measure", 0, "time", 7e-6, "s"),
        (*key, "mpi-read", 10_000, "measure", 0, "time_per_pass", 9e-6, "s"),
        ("1", "c", "netpipe", "p", "mpi", 1 << 20, "measure", 0, "half_round_trip_time", 1e-4, "s"),
    ]
    figures = launch_spread_values(sample_frame(rows).lazy())
    rows_by_name = {f"{row['name']}, {row['unit']}": row for row in figures.to_dicts()}
    assert rows_by_name["MPI, pass at 10 kB, µs"]["median"] == 2.0
    assert rows_by_name["MPI, pass at 10 kB, µs"]["samples"] == [1.0, 2.0, 4.0]
    assert round(rows_by_name["raw MPI, bandwidth at 1 MiB, MB/s"]["median"]) == 10486
    assert len(rows_by_name) == 2


@pytest.mark.parametrize(
    ("second", "metrics"),
    [
        (("time_per_message", 5e-6, "s"), {"half_round_trip_time": 1.0, "time_per_message": 5.0}),
        (("bandwidth", 5.0, "MB/s"), {"half_round_trip_time": 1.0}),  # never has the unit
    ],
)
def test_two_metrics_of_the_unit_are_two_figures(
    second: tuple[str, float, str], metrics: dict[str, float]
) -> None:
    key = ("1", "c", "netpipe", "pingpong/same", "mpi", 1, "measure", 0)
    rows = [(*key, "half_round_trip_time", 1e-6, "s"), (*key, *second)]
    figures = launch_spread_values(sample_frame(rows).lazy())
    assert dict(figures.select("metric", "median").iter_rows()) == metrics
