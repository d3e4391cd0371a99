"""A study is one package: it is found, not listed, and shared packages know none by its name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from roundtrip import studies
from roundtrip.measure import analysis, samples
from roundtrip.measure.run_record import DETAILS
from roundtrip.stats.verdicts import Family
from roundtrip.studies import derivation
from roundtrip.studies.derivation import Facts
from roundtrip.studies.findings import Comparison
from roundtrip.studies.study import BLUE, ORANGE, Arm, Contrast, PlannedCase, Points, Study

SRC = Path(studies.__file__).parents[1]
SHARED = ("cause", "compare", "history", "measure", "report", "stats")
#: The studies that the design names.  The name of a new one, as barrier, may be a word of MPI.
NAMED = re.findall(r"^\| `(\w+)` \|", (SRC.parents[1] / "docs/design.md").read_text(), re.MULTILINE)


def test_all_studies_are_found_in_their_order() -> None:
    packages = {file.parent.name for file in (SRC / "studies").glob("*/__init__.py")}
    all_studies = studies.load()
    assert {study.name for study in all_studies} == packages
    assert [study.order for study in all_studies] == sorted(study.order for study in all_studies)
    assert [study.title for study in all_studies if not study.question.endswith("?")] == []


def test_every_study_interleaves_arms_or_has_the_modules_that_its_class_names() -> None:
    modules = {"derived": ("summary", "SUMMARY_UNITS", "speeds", "FACTS"), "section": ("Section",)}
    for study in studies.load():
        for module_name, names in modules.items():
            path = f"roundtrip.studies.{study.name}.{module_name}"
            if find_spec(path) or not (
                study.arms and study.metrics
            ):  # else it follows from the arms
                module = importlib.import_module(path)
                assert [name for name in names if not hasattr(module, name)] == []


class Undeclared(Study):
    """Nothing but what has no default, and no module beside it."""

    name, title, question = "undeclared", "Undeclared", "Is anything to answer?"


def test_all_but_name_title_and_question_has_a_default() -> None:
    study, empty_frame = Undeclared(), pl.DataFrame(schema=samples.SCHEMA)
    case = PlannedCase("a case", study.name, "Check", "local:smp", "any")
    assert derivation.summarise(study, empty_frame) == {}
    assert derivation.speeds(study, empty_frame.lazy(), (0,)).is_empty()
    assert study.primary_claims([case], (0,)) == []
    assert derivation.facts(study) == Facts()


class Declared(Study):
    """Two arms that are contrasted, one of them in half of the cases as a primary claim."""

    name, title, question = "declared", "Declared", "Which is faster?"
    arms = {"a": Arm("A", BLUE), "b": Arm("B", ORANGE)}
    contrasts = (
        Contrast("a", "b", "a over b", is_primary=lambda case: case == "first"),
        Contrast("b", "a"),
    )

    def points(
        self, case: PlannedCase, cases: Sequence[PlannedCase], sizes: tuple[int, ...]
    ) -> Sequence[Points]:
        return [Points("ab", case.parameters["case"], panel=case.parameters.get("panel"))]


def test_what_is_planned_and_what_is_tested_follow_from_one_declaration() -> None:
    """A panel's claims are primary in the report exactly where the plan counts them."""
    study = Declared()
    for case_name, count in (("first", 1), ("second", 0)):
        case = PlannedCase("c", study.name, "Check", "local:smp", "any", {"case": case_name})
        plan = study.primary_claims([case], (0,))
        assert [(claim.description, claim.count) for claim in plan] == [("a over b", 1)] * count
        comparisons = [
            Comparison(study.name, ("c", case_name), contrast, 0) for contrast in study.contrasts
        ]
        assert sum(claim.family is Family.PRIMARY for claim in comparisons) == count


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
        type("Wrong", (Declared,), {"contrasts": somewhere, "points": Study.points})


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
    names = "|".join(study.name for study in studies.load() if study.name in NAMED)
    assert matches(rf"(?i)(?<![A-Za-z])({names})(?![A-Za-z])", [package], "*") == []


def test_every_study_has_its_thresholds_and_its_record_where_it_says_so() -> None:
    tables = analysis.default().studies
    assert set(tables) == {study.thresholds for study in studies.load() if study.thresholds}
    assert set(DETAILS) == {study.name for study in studies.load() if study.record}


def test_no_number_is_formed_by_a_mean_that_the_audit_does_not_know() -> None:
    """Means and deviations come of a `Summary`, of which the audit knows."""
    pattern = r"\.(mean|std|var)\(|[fgh]mean\(|stdev\(|harmonic_mean\("
    assert matches(pattern, ["report", "studies"]) == []


def test_every_study_supplies_facts_of_its_own() -> None:
    study_facts = [derivation.facts(study) for study in studies.load()]
    assert all(facts.summaries and facts.build_columns for facts in study_facts)
    assert len({id(facts) for facts in study_facts}) == len(study_facts)


def test_no_text_says_a_level_of_intervals_by_hand() -> None:
    """The level is that of the settings by which the intervals were computed: `panel.Level`."""
    pattern = r"\d\d\s%\s(rank |confidence )?interval"
    assert matches(pattern, ["report", "studies"]) == []
