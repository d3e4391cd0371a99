"""A study is one room: it is found, not listed, and shared rooms know none by its name."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from roundtrip import studies
from roundtrip.collect import analysis, schemas
from roundtrip.studies.room import Room

SRC = Path(studies.__file__).parents[1]
SHARED = ("collect", "report", "stats", "campaign")


def test_all_studies_are_found_in_their_order() -> None:
    found = [study.name for study in studies.found()]
    assert found == ["netpipe", "ddtbench", "ring", "osu", "npb"]
    assert [study.title for study in studies.found() if not study.question.endswith("?")] == []


def test_every_room_has_the_modules_that_its_class_speaks_of() -> None:
    rooms = [study for study in studies.found() if isinstance(study, Room)]
    assert rooms
    for study in rooms:
        modules = {
            "derived": ("summary", "SUMMARY_UNITS"),
            "planned": ("primary_claims", "speeds"),
            "section": ("section",),
        }
        for module, names in modules.items():
            found = importlib.import_module(f"roundtrip.studies.{study.name}.{module}")
            assert [name for name in names if not hasattr(found, name)] == []


@pytest.mark.parametrize("room", SHARED)
def test_no_shared_room_knows_a_study_by_its_name(room: str) -> None:
    names = "|".join(study.name for study in studies.found())
    known = re.compile(rf"(?<![A-Za-z])({names})(?![A-Za-z])", re.IGNORECASE)
    told = [
        f"{file.relative_to(SRC)}:{number}: {line.strip()}"
        for file in sorted((SRC / room).rglob("*"))
        if file.is_file() and file.suffix != ".pyc"
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if known.search(line)
    ]
    assert told == []


def test_every_study_has_its_thresholds_and_its_record_where_it_says_so() -> None:
    tables = analysis.default().studies
    assert set(tables) == {study.thresholds for study in studies.found() if study.thresholds}
    assert set(schemas.DETAILS) == {study.name for study in studies.found() if study.record}


def test_no_number_is_formed_by_a_mean_that_the_audit_does_not_know() -> None:
    """Means and deviations come of a `Summary`, which is what the audit is told of."""
    formed = re.compile(r"\.(mean|std|var)\(|[fgh]mean\(|stdev\(|harmonic_mean\(")
    told = [
        f"{file.relative_to(SRC)}:{number}: {line.strip()}"
        for room in ("report", "studies")
        for file in sorted((SRC / room).rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if formed.search(line)
    ]
    assert told == []


def test_every_study_supplies_facts_of_its_own() -> None:
    supplied = [study.facts() for study in studies.found()]
    assert all(facts.summaries and facts.made_with for facts in supplied)
    assert len({id(facts) for facts in supplied}) == len(supplied)
