"""Reports of simulations: labelled everywhere, proved equal, and without claims and intervals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.bundles import read_tree
from support.json_files import edit
from support.simulated import find_unlabelled, simulate

from roundtrip.content import data, labels
from roundtrip.measure import bundle, launches, samples
from roundtrip.report import publish
from roundtrip.report.build import build_report

ENVIRONS = ("openmpi41-boost181", "mpich40-boost181")
Maker = Callable[..., Any]


@pytest.fixture
def tree(make_tree: Maker) -> Path:
    run: Path = make_tree(launches=8).path
    simulate(run)
    return run


def test_the_top_says_by_what_and_that_two_runs_were_identical(tree: Path) -> None:
    notice = labels.simulated_notice(data.read_bundle(bundle.build_bundle(tree)))
    assert notice is not None
    text = str(notice)
    assert "16 launches did not run on real hardware" in text
    assert "SimGrid 3.32 on platform odin (hosts of 1000 Mflop/s, file 5e5e5e5e)" in text
    assert "2 of 2 cases: two runs, identical to the last digit" in text
    assert "no interval is drawn" in text


def test_nothing_is_claimed_of_eight_equal_launches(tree: Path) -> None:
    """Measured, they would be enough for claims, also between the two toolchains."""
    report = build_report(data.read_bundle(bundle.build_bundle(tree)))
    assert dict(report.provenance_facts)["Claims tested"] == "none"
    anchors = [part.anchor for part in report.sections]
    assert "claims" not in anchors
    assert "toolchains" not in anchors
    assert not any("Too few launches" in str(notice) for notice in report.notices)
    (part,) = [part for part in report.sections if part.anchor == "netpipe"]
    assert [answer.text for answer in part.answers] == [(labels.ONLY_SIMULATED_NOTE,)]


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
    rows, last_row = file.read_text().rstrip().rsplit("\n", 1)
    *names, value, unit = last_row.split(",")
    changed_row = ",".join([*names, f"{float(value) * (1 + 1e-14):.17g}", unit])
    file.write_text(f"{rows}\n{changed_row}\n")
    seal = samples.make_seal(file.read_bytes(), samples.read_rows(file))
    edit(file.with_name("run.json"), samples=seal)
    (failure,) = (
        launch for launch in launches.scan_launches(moved_tree) if launch.status == "failed"
    )
    assert "its samples are not those of launch 001/" in failure.reason


def test_what_ran_once_is_not_called_proved_and_what_was_measured_not_simulated(
    make_tree: Maker,
) -> None:
    tree = make_tree(launches=1)
    assert labels.simulated_notice(read_tree(tree)) is None
    simulate(tree.path)
    assert "identical" not in str(labels.simulated_notice(read_tree(tree)))
