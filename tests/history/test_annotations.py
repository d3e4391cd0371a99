"""What people say of nights is found, or refused with its line."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from roundtrip.errors import UserError
from roundtrip.history import annotations as annotation_file
from roundtrip.history.annotations import Annotation

NIGHTS = ["2026-11-02T01:00:00Z", "2026-11-03T01:00:00Z", "2026-11-03T22:00:00Z"]
NIGHTS += ["2026-11-05T01:00:00Z"]


def load(folder: Path, text: str) -> tuple[Annotation, ...]:
    file = folder / annotation_file.FILE_NAME
    file.write_text(text)
    return annotation_file.load(file)


def left_out(
    annotations: tuple[Annotation, ...], case: str = "NetPIPE/mode=stream@x:y+z"
) -> list[str]:
    rows = {"night": NIGHTS, "case_id": [case] * 4, "left_out": ["", "", "disturbed", ""]}
    nights = annotation_file.mark(pl.DataFrame(rows), annotations)
    assert nights.columns == ["night", "case_id", "left_out"]
    return nights["left_out"].to_list()


def test_all_of_it(tmp_path: Path) -> None:
    text = """
- from: 2026-11-03
  text: a new kernel
  kind: change
- from: 2026-11-03T01:00:00Z
  to: 2026-11-05
  text: the cooling failed
  series: "NetPIPE/*@x:*"
  leave_out: true
"""
    annotations = load(tmp_path, text)
    assert annotation_file.notes(NIGHTS, annotations) == [
        ("2026-11-03T01:00:00Z", "change: a new kernel"),
        ("2026-11-03T01:00:00Z", "the cooling failed"),
    ]
    reason = "the cooling failed"
    assert left_out(annotations) == ["", reason, "disturbed", reason]
    assert left_out(annotations, "DDTBench/@x:y+z") == ["", "", "disturbed", ""]


def test_without_an_end_it_is_about_its_day(tmp_path: Path) -> None:
    annotations = load(tmp_path, "- {from: 2026-11-03, text: x, leave_out: true}")
    assert left_out(annotations) == ["", "x", "disturbed", ""]


def test_on_a_day_without_a_night_it_stands_at_the_next(tmp_path: Path) -> None:
    annotations = load(tmp_path, "- {from: 2026-11-04, text: x}")
    assert annotation_file.notes(NIGHTS, annotations) == [("2026-11-05T01:00:00Z", "x")]
    past_annotations = load(tmp_path, "- {from: 2026-11-04, to: 2026-11-04T12:00:00Z, text: x}")
    assert annotation_file.notes(NIGHTS, past_annotations) == []
    assert annotation_file.notes([], annotations) == []


def test_what_ended_before_all_nights_is_not_said(tmp_path: Path) -> None:
    text = "- {from: 2026-11-01, text: x}\n- {from: 2026-10-01, to: 2026-11-02, text: y}"
    annotations = load(tmp_path, text)
    assert annotation_file.notes(NIGHTS, annotations) == [(NIGHTS[0], "y")]


def test_the_annotations_of_the_guide_are_some(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "morning.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    change, incident = load(tmp_path, example)
    assert (change.kind, change.to, change.leave_out) == ("change", None, False)
    assert (incident.to, incident.leave_out) == ("2026-11-22", True)


def test_a_file_that_is_missing_or_empty_says_nothing(tmp_path: Path) -> None:
    assert annotation_file.load(tmp_path / "none.yaml") == ()
    assert load(tmp_path, "# nothing yet\n") == ()


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("- from: 2026-11-03\n  text: [", 2, "not YAML"),
        ("from: 2026-11-03", 1, "right is a list of annotations"),
        ("- text: x", 1, "'from' is missing"),
        ("- from: 2026-11-03", 1, "'text' is missing"),
        ("- from: yesterday\n  text: x", 1, "right is a date such as 2026-11-03"),
        ("- text: x\n  from: 2026-02-30", 2, "'2026-02-30' is no date: day is out of range"),
        ("- from: 2026-11-03\n  to: 2026-13-01", 2, "right is one such as 2026-11-03, or a time"),
        ("- from: 2026-11-03\n  text: !!int x", 2, "'x' is no whole number"),
        ("- from: 2026-11-03\n  text: x\n  until: 4", 3, "unknown key 'until'"),
        ("- from: 2026-11-03\n  to: 2026-11-02\n  text: x", 2, "'to' is before 'from'"),
        ("- from: 2026-11-03\n  text: x\n  leave_out: 1", 3, "boolean"),
        ("- from: 2026-11-03\n  text: x\n  kind: party", 3, "'change', 'maintenance'"),
        ('- from: 2026-11-03\n  text: "a\\nb"', 2, "annotations.0.text"),
        ("- from: 2026-11-03\n  text: x\n  text: y", 3, "'text' stands twice"),
        ("- &a [*a]", 1, "should be a table"),
        ("- !!python/object:os.system x", 1, "not YAML"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, text: str, line: int, why: str) -> None:
    with pytest.raises(UserError) as fault:
        load(tmp_path, text)
    assert Path(fault.value.file or "").name == annotation_file.FILE_NAME
    assert fault.value.line == line
    assert why in fault.value.message and "\n" not in fault.value.message
