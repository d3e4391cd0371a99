"""docs/reference.md is what the models say, and they say something of every key and column."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import reference

PAGE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text()
UNITS = {"_s": "s", "_bytes": "bytes"}


def test_the_page_is_current() -> None:
    page = "\n".join(reference.lines()) + "\n"
    assert page == PAGE, "run: python -m tools.reference > docs/reference.md"


def test_every_row_says_something() -> None:
    rows = re.findall(r"^\| `.*$", PAGE, re.MULTILINE)
    assert len(rows) > 200
    assert [row for row in rows if row.endswith("|  |")] == []


@pytest.mark.parametrize("table", reference.TABLES)
def test_every_number_has_a_unit(table: str) -> None:
    section = re.split(r"\n###? ", PAGE.split(f"### `{table}.parquet`\n")[1])[0]
    for row in re.findall(r"^\| `(.*) \|$", section, re.MULTILINE):
        name, kind, unit, _ = (cell.strip(" `") for cell in row.split("|", 3))
        assert bool(unit) == kind.endswith(("integer", "number")), name
        ending = next((unit for end, unit in UNITS.items() if name.endswith(end)), unit)
        assert unit == ending, name
