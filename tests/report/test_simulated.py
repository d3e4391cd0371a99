"""Reports of simulations: labelled everywhere, proved equal, and without claims and intervals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.bundles import read_tree
from support.json_files import edit
from support.simulated import find_unlabelled, simulate

from roundtrip.content import data, labels
from roundtrip.content.blocks import Report, Table, flatten_blocks
from roundtrip.measure import bundle, launches, samples
from roundtrip.report import publish, renderers
from roundtrip.report.build import build_report

ENVIRONS = ("openmpi41-boost181", "mpich40-boost181")
Maker = Callable[..., Any]


@pytest.fixture
def tree(make_tree: Maker) -> Path:
    run: Path = make_tree(launches=8).path
    simulate(run)
    return run


@pytest.fixture
def report(tree: Path) -> Report:
    return build_report(data.read_bundle(bundle.build_bundle(tree)))


def test_the_top_says_by_what_and_that_two_runs_were_identical(tree: Path) -> None:
    notice = labels.simulated_notice(data.read_bundle(bundle.build_bundle(tree)))
    assert notice is not None
    text = str(notice)
    assert "16 launches did not run on real hardware" in text
    assert "SimGrid 3.32 on platform odin (hosts of 1000 Mflop/s, file 5e5e5e5e)" in text
    assert "2 of 2 cases: two runs, identical to the last digit" in text
    assert "no interval is drawn" in text


def test_nothing_is_claimed_of_eight_equal_launches(report: Report) -> None:
    """Measured, they would be enough for claims, also between the two toolchains."""
    assert dict(report.provenance_facts)["Claims tested"] == "none"
    anchors = [part.anchor for part in report.sections]
    assert "claims" not in anchors
    assert "toolchains" not in anchors
    assert not any("Too few launches" in str(notice) for notice in report.notices)


def test_the_answer_of_a_simulated_comparison_is_that_nothing_is_claimed(report: Report) -> None:
    (part,) = [part for part in report.sections if part.anchor == "netpipe"]
    assert [answer.text for answer in part.answers] == [(labels.ONLY_SIMULATED_NOTE,)]


def test_every_row_and_every_figure_says_so(report: Report) -> None:
    (part,) = [part for part in report.sections if part.anchor == "netpipe"]
    tables = [block for block in flatten_blocks(part.blocks) if isinstance(block, Table)]
    measured_tables = [
        table for table in tables if any("Open MPI" in str(row) for row in table.rows)
    ]
    assert measured_tables
    for table in measured_tables:
        for row in table.rows:
            if "Open MPI" in str(row) or "MPICH" in str(row):
                assert "SIMULATED" in f"{table.caption} {row}"
    assert part.figures
    for figure in part.figures:
        assert "SIMULATED" in str(figure) or "The study" in figure.alt_text
    assert "SIMULATED" in renderers.render_markdown(report)


def test_no_row_figure_or_table_of_a_report_leaves_it_out(tree: Path, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    bundle_path = bundle.build_bundle(tree)
    folder.mkdir()
    publish.write_revision(bundle_path, folder)
    bundle_path.rename(folder / "bundle")
    assert find_unlabelled(folder) == []
    page, figure = folder / "report.html", next((folder / "figures").glob("*ratio*.svg"))
    page.write_text(page.read_text().replace("SIMULATED", "").replace("imulated", ""))
    figure.write_text(figure.read_text().replace("SIMULATED", ""))
    problems = find_unlabelled(folder)
    assert f"figures/{figure.name}" in problems
    assert any(line.startswith("report.html: NetPIPE") for line in problems)
    assert not any(line.startswith("report.md") for line in problems)


def test_a_second_run_that_differs_in_the_last_digit_fails(tree: Path) -> None:
    assert {launch.status for launch in launches.scan_launches(tree)} == {"passed"}
    moved_tree = tree.parent / "again"
    tree.rename(moved_tree)
    file = sorted(moved_tree.rglob(f"{ENVIRONS[0]}/*/samples.csv"))[1]
    _change_a_digit(file)
    failures = [
        launch for launch in launches.scan_launches(moved_tree) if launch.status == "failed"
    ]
    assert len(failures) == 1
    assert "its samples are not those of launch 001/" in failures[0].reason


def _change_a_digit(file: Path) -> None:
    lines = file.read_text().splitlines()
    fields = lines[-1].split(",")
    fields[7] = f"{float(fields[7]) * (1 + 1e-14):.17g}"
    data = ("\n".join([*lines[:-1], ",".join(fields)]) + "\n").encode()
    file.write_bytes(data)
    seal = samples.make_seal(data, samples.parse(data, file).frame)
    edit(file.with_name("run.json"), samples=seal)


def test_what_ran_once_is_not_called_proved_and_what_was_measured_not_simulated(
    make_tree: Maker,
) -> None:
    tree = make_tree(launches=1)
    assert labels.simulated_notice(read_tree(tree)) is None
    simulate(tree.path)
    assert "identical" not in str(labels.simulated_notice(read_tree(tree)))
