"""The forms of a comparison: each is legal, and none lets a name of a case into its markup."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from report.compare.conftest import MPICH, OPENMPI, THIRD, sides
from rich.console import Console
from support.command import parse_answer

from roundtrip import units
from roundtrip.report.compare import forms, model
from roundtrip.report.compare.model import Comparison, Series
from roundtrip.report.compare.side import Fact
from roundtrip.stats.verdicts import Verdict

RUN = "local/synthetic/2026-11-21 07:00 UTC"
HOSTILE = "<b>|x`](y)\x1b[31m\x00\ud800 & *z*"


@pytest.fixture
def comparison(tree: Callable[..., Any], between: Callable[..., Comparison]) -> Comparison:
    """Of one run, series that improved and regressed, one case removed and one added."""
    result = between(*sides(tree()))
    case = result.rows[0].series.base
    return replace(result, removed=(replace(case, toolchain=THIRD),), added=(case,))


@pytest.fixture
def hostile(comparison: Comparison) -> Comparison:
    """All that others may have named is hostile."""
    first = comparison.rows[0]
    case = replace(first.series.base, parameters=HOSTILE)
    point = replace(first.series.point, what=HOSTILE)
    row = replace(first, series=Series(case, case, point), verdict=None, why=HOSTILE)
    rows, facts = (row, *comparison.rows[1:]), (Fact(HOSTILE, HOSTILE, "x"),)
    named = replace(comparison, base=replace(comparison.base, name=HOSTILE), refusals=(HOSTILE,))
    return replace(named, rows=rows, facts=facts, removed=(case,))


def test_junit_has_a_case_for_each_series(comparison: Comparison) -> None:
    (suite,) = ElementTree.fromstring(forms.as_junit(comparison))  # noqa: S314  our own
    cases = suite.findall("testcase")
    failed_cases = [case for case in cases if case.find("failure") is not None]
    skipped_cases = [case for case in cases if case.find("skipped") is not None]
    assert suite.get("tests") == str(len(cases)) == str(len(comparison.rows) + 2)
    assert suite.get("failures") == str(len(failed_cases)) != "0"
    assert suite.get("skipped") == str(len(skipped_cases))
    assert "added" in {case.get("classname") for case in skipped_cases}
    assert "removed" in {case.get("classname") for case in failed_cases}
    message = str(failed_cases[0].find("failure").get("message"))
    assert f"regressed: {OPENMPI} is faster: new / base 0.7" in message
    (fact,) = [p for p in suite.iter("property") if p.get("name") == "toolchain"]
    assert fact.get("value") == f"{OPENMPI} -> {MPICH}"


def test_no_form_has_markup_or_moves_a_cursor_by_hostile_names(hostile: Comparison) -> None:
    suite = ElementTree.fromstring(forms.as_junit(hostile))[0]  # noqa: S314  our own
    names = [case.get("name") or "" for case in suite.iter("testcase")]
    assert any("<b>|x`](y)?[31m" in name for name in names)
    assert not list(suite.iter("b"))
    text = forms.as_markdown(hostile)
    assert "<b>" not in text and "\\<b\\>\\|x\\`\\](y)" in text
    for form in (text, forms.as_text(hostile)):
        form.encode()
        assert "\x1b" not in form and "\x00" not in form


def test_markdown_has_a_summary_and_folds_the_rest(comparison: Comparison) -> None:
    text = forms.as_markdown(comparison)
    first, *_ = text.splitlines()
    assert first.startswith("**") and "series compared" in first and "regressed" in first
    assert text.count("<details>") == text.count("</details>") == 3
    head = text.split("<details>")[0]
    assert head.count("| regressed: ") == sum(row.status == "regressed" for row in comparison.rows)
    rows = [line for line in text.splitlines() if line.startswith("| ") and "µs" in line]
    assert len({line.count("|") for line in rows}) == 1


def test_json_has_all_of_it(comparison: Comparison, hostile: Comparison) -> None:
    document = parse_answer("compare", forms.as_json(comparison))
    assert document["exit_status"] == 1
    assert len(document["series"]) == len(comparison.rows)
    first = document["series"][0]
    assert first["status"] in ("regressed", "improved")
    assert first["ratio"]["low"] <= first["ratio"]["median"] <= first["ratio"]["high"]
    assert (first["base"]["unit"], first["base"]["label"]) == (first["unit"], "measured")
    assert {row["base"]["direction"] for row in document["series"]} == {"lower"}
    assert first["ratio"]["direction"] == "higher"
    assert document["base"]["chosen"] == {"toolchain": OPENMPI}
    document = parse_answer("compare", forms.as_json(hostile))
    assert document["refused"] == [HOSTILE.replace("\ud800", "?")]
    common = parse_answer("compare", forms.as_json(comparison))["levels"]
    assert common["equivalence_margin"] == 0.05 and "equivalence_margins" not in common
    levels = comparison.levels.model_copy(update={"equivalence_margins": (("npb", 0.1),)})
    document = parse_answer("compare", forms.as_json(replace(comparison, levels=levels)))
    assert document["levels"] == {**common, "equivalence_margins.npb": 0.1}


def test_the_table_shows_what_differs_and_with_all_the_rest(comparison: Comparison) -> None:
    text = forms.as_text(comparison)
    assert "What differs besides speed" in text
    assert "compiler" not in text
    assert "GNU 12.2.0" not in text
    assert "compiler =" in forms.as_text(comparison, all_facts=True)
    case = "NetPIPE, mode pingpong, placement shared-memory, on local:smp"
    assert f"Removed: {case} with {THIRD}" in text
    count = f": {len(comparison.rows)} series compared: "
    assert text.splitlines()[-1].startswith(f"{MPICH} against {OPENMPI}, {RUN}{count}")


def test_a_narrow_terminal_gets_a_table_too(comparison: Comparison) -> None:
    console = Console(width=100, force_terminal=True)
    assert "regressed" in forms.as_text(comparison, console=console)


@pytest.mark.parametrize("columns", [60, 80, 119])
def test_columns_says_how_wide_a_pipe_is(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = forms.as_text(comparison, console=Console())
    *lines, summary = text.splitlines()
    assert all(len(line) <= columns for line in lines)
    assert model.summary(comparison) == summary
    table = text.partition("Speed, new over base")[2].partition("Case 1:")[0]
    row = comparison.rows[0]
    words = " ".join(table.split())
    assert units.printable(model.describe_series(row)) in words
    assert units.printable(f"{row.status} {model.cells(row)[4].text}") in words
    assert "1 other; --all" not in text


@pytest.mark.parametrize("columns", [80, 160])
def test_an_open_claim_has_its_range_and_the_launches_that_it_lacks(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    first = comparison.rows[0]
    assert first.verdict
    interval = replace(first.verdict.interval, low=0.96, median=1.0, high=1.06)
    open_claim = replace(first.verdict, interval=interval, verdict=Verdict.CANNOT_TELL)
    for verdict, words in (
        (replace(open_claim, extra_launches=14), "(open: about 14 more launches)"),
        (open_claim, "(open)"),
    ):
        one_row = replace(comparison, rows=(replace(first, verdict=verdict),))
        text = forms.as_text(one_row, console=Console())
        lines = [re.split(" {2,}|│", line.strip(" │"))[-1].strip() for line in text.splitlines()]
        assert f"4.2 % slower to 6 % faster {words}" in " ".join(lines)
        assert f"open: 4.2 % slower to 6 % faster {words}" in forms.as_junit(one_row)


def test_a_side_is_its_night_and_its_toolchain(comparison: Comparison, tmp_path: Path) -> None:
    base = comparison.base
    lines = forms.as_text(comparison).splitlines()
    assert lines[:2] == [f"base {RUN}, {OPENMPI}", f"new  {RUN}, {MPICH}"]
    assert base.name in forms.as_text(comparison, all_facts=True).replace("\n", "")
    folder = tmp_path / "2026-11-21.2" / "r3" / "bundle"
    night = replace(base, data=replace(base.data, folder=folder), selection={"boost": "1.81"})
    assert model.describe_side(night) == "local/synthetic/2026-11-21.2/r3, 2 toolchains, boost=1.81"
    summary = model.summary(replace(comparison, base=night))
    assert summary.startswith(f"{RUN}, {MPICH} against local/synthetic/2026-11-21.2/r3, 2 toolch")


def test_a_command_is_on_one_line(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    command = f"roundtrip ab {OPENMPI} {MPICH} --checks NetPIPE:mode=pingpong --site local"
    advised = replace(comparison, advice=f"to measure both interleaved: {command}")
    lines = forms.as_text(advised, console=Console()).splitlines()
    assert lines[lines.index("To measure both interleaved:") + 1].strip() == command


def test_of_an_mpi_library_the_version_is_enough(comparison: Comparison) -> None:
    fact = Fact("MPI library", "Open MPI v4.1.4, package: Debian", "MPICH Version: 4.0.2")
    text = forms.as_text(replace(comparison, facts=(fact,)))
    assert "Open MPI v4.1.4 " in text and "Debian" not in text
    assert "Debian" in forms.as_text(replace(comparison, facts=(fact,)), all_facts=True)
    rebuilt = replace(fact, new="Open MPI v4.1.4, package: own")
    assert "Debian" in forms.as_text(replace(comparison, facts=(rebuilt,)))


def test_of_many_facts_that_differ_three_are_shown(comparison: Comparison) -> None:
    facts = tuple(Fact(f"fact {number}", "a", "b") for number in range(5))
    text = forms.as_text(replace(comparison, facts=facts))
    assert "fact 2" in text and "fact 3" not in text
    assert "and 2 others; --all shows every fact" in text
    assert "fact 4" in forms.as_text(replace(comparison, facts=facts), all_facts=True)
