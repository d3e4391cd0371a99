"""The derived pages of a folder of reports: complete, linked, the same again, and never half."""

import json
import multiprocessing
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import bundles
from support.command import run_roundtrip
from support.json_files import edit

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.report import publish
from roundtrip.report.pages import write
from roundtrip.report.pages.write import write_pages

Maker = Callable[..., Any]

SITE = bundles.SITE
Night = Callable[..., Path]


def history(reports: Path) -> str:
    return (reports / SITE / "history.html").read_text(encoding="utf-8")


def contents(reports: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in reports.rglob("*.html")}


def links(page: Path) -> set[Path]:
    targets = re.findall(r'href="([^"#:]+)"', page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target in targets}


def test_the_index_the_history_and_the_reports_are_linked(night: Night, reports: Path) -> None:
    first, second = night(1), night(2)
    write_pages(reports)
    index, page = reports / "index.html", reports / SITE / "history.html"
    assert links(index) == {page, first / "report.html", second / "report.html"}
    assert links(page) == {index, first / "report.html", second / "report.html"}
    assert "2 nights, newest first" in index.read_text()
    assert history(reports).count("<tr data-key=") == 20  # 5 variants, 2 sizes, 2 toolchains


def test_the_same_reports_give_the_same_bytes_and_nothing_is_left_behind(
    night: Night, reports: Path
) -> None:
    night(1)
    write_pages(reports)
    pages, index = contents(reports), reports / "index.html"
    written_ns = index.stat().st_mtime_ns
    write_pages(reports)
    (reports / SITE / "history.html").write_text("somebody's")
    write_pages(reports)
    assert contents(reports) == pages
    assert index.stat().st_mtime_ns == written_ns  # not written again
    assert not list(reports.rglob(".*html-*"))


def test_a_correction_takes_the_place_of_what_it_supersedes(night: Night, reports: Path) -> None:
    night(1)
    second = night(1, supersedes="r1", reason="wrong label")
    write_pages(reports)
    assert second / "report.html" in links(reports / SITE / "history.html")
    assert second.parent / "r1" / "report.html" not in links(reports / SITE / "history.html")
    index = (reports / "index.html").read_text()
    assert index.index("r2/report.html") < index.index("r1/report.html")


def test_of_two_nights_the_table_has_all_values_and_links_lead_to_its_rows(
    night: Night, reports: Path
) -> None:
    for day in (1, 2):
        night(day)
    write_pages(reports)
    page = history(reports)
    assert page.count('<tr data-key="') == page.count(' id="series=') == 20
    assert 'class="nights-of panel"' not in page and 'href="#series=' not in page
    night(3)
    write_pages(reports)
    assert history(reports).count('class="nights-of panel" id="series=') == 20


def test_a_damaged_night_is_named_and_costs_no_other(night: Night, reports: Path) -> None:
    night(1)
    (night(2) / "bundle" / "manifest.json").write_text("{}")
    write_pages(reports)
    notices = re.findall(r'<p class="notice">(.*?)</p>', history(reports))
    assert any("Left out" in notice and "2026-11-02/r1" in notice for notice in notices)
    assert str(reports) not in history(reports)
    assert "1 night" not in notices
    assert history(reports).count("<tr data-key=") == 20


def test_what_was_emulated_says_so_in_its_rows_and_on_the_index(
    night: Night, reports: Path
) -> None:
    night(1, emulated="openmpi41-boost181")
    write_pages(reports)
    mark = '<b class="mark">EMULATED NODES</b>'
    rows = re.findall(r"<tr data-key=.*?</tr>", history(reports), re.S)
    row_marks = [mark in row for row in rows]
    assert row_marks == ["openmpi41-boost181" in row for row in rows]
    assert sum(row_marks) == 10
    assert "<strong>EMULATED NODES: </strong>" in history(reports)
    assert mark in (reports / "index.html").read_text()


def test_an_annotation_of_the_site_stands_at_its_night(
    night: Night, reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in (1, 2, 3):
        night(day)
    notes = tmp_path / "site-configs" / "local" / "annotations.yaml"
    notes.parent.mkdir(parents=True)
    notes.write_text("- from: 2026-11-02\n  text: new cable\n  leave_out: true\n")
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    write_pages(reports)
    page = history(reports)
    (text,) = re.findall(r'id="data">(.*?)</script>', page, re.S)
    content = json.loads(text)
    assert 'class="note"' in page and ">new cable</text>" in page
    assert {kind[1] for kind in content["kinds"]} == {"", "new cable"}


@pytest.mark.nightly
def test_writers_at_the_same_time_leave_whole_pages_of_all_nights(
    night: Night, reports: Path
) -> None:
    night(1)
    night(2)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_pages, args=(reports,)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    page = history(reports)
    write_pages(reports)
    assert history(reports) == page
    assert page.endswith("</html>")


def test_an_empty_folder_has_an_index_that_says_so(reports: Path) -> None:
    reports.mkdir()
    write_pages(reports)
    assert "No report is published here." in (reports / "index.html").read_text()


def test_a_report_is_published_with_its_pages_and_verifies_beside_them(
    make_tree: Maker, reports: Path
) -> None:
    done = run_roundtrip("report", make_tree(launches=6).path, "--output", reports)
    assert done.returncode == 0, done
    revision = next(reports.glob(f"{SITE}/*/r1"))
    index, page = reports / "index.html", reports / SITE / "history.html"
    assert links(index) == {page, revision / "report.html"}
    assert publish.verify_revision(revision) == []
    assert links(revision / "report.html") >= {index, page}


def test_what_was_imported_has_its_pages_too(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_REPORTS", str(reports))
    logs = Path(__file__).parents[1] / "data" / "reframe" / "4.10.4-default"
    options = ["--site", "local", "--higher-is-better", "wid*", "--campaign", "old"]
    assert run_roundtrip("import", logs, *options).returncode == 0
    page = reports / "old" / "local" / "history.html"
    assert links(reports / "index.html") == {page}
    assert page.read_text().count("<tr data-key=") > 0


def test_pages_that_cannot_be_written_are_a_warning_and_no_loss(
    make_tree: Maker, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(reports: Path) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(write, "write_pages", fail)
    tree, public = make_tree(launches=6), reports.with_name("public")
    for folder, arguments in (
        (reports, ["report", tree.path, "--output", reports]),
        (public, ["publish", reports, "--to", public]),
    ):
        status, output, errors = run_roundtrip(*arguments)
        assert status == 0, errors
        assert "warning: index and history pages: ZeroDivisionError: a bug" in errors
        assert "index: " not in output
        assert next(folder.glob(f"{SITE}/*/r1/report.html")).is_file()


def test_one_night_more_redraws_only_the_history_that_it_is_of(
    night: Night, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write.machines, "headline_values", lambda *_: iter(()))
    night(1)
    shutil.copytree(reports / SITE, reports / "other" / "local")
    (revision,) = (reports / "other").rglob("r1")
    edit(revision / "bundle" / "manifest.json", campaign="other")
    bundles.redigest_bundle(revision)
    write_pages(reports)
    campaigns: list[str] = []
    render = write.history.render_page

    def note(site_history: Any) -> str:
        campaigns.append(site_history.campaign)
        return render(site_history)

    monkeypatch.setattr(write.history, "render_page", note)
    write_pages(reports)
    assert campaigns == []
    night(2)
    write_pages(reports)
    assert campaigns == ["synthetic"]
    pages = contents(reports)
    for file in reports.rglob(".*.json"):
        file.unlink()
    write_pages(reports)
    assert campaigns == ["synthetic", "other", "synthetic"]
    assert contents(reports) == pages


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"source_digest": 3}', "\udcff"])
def test_a_damaged_note_of_what_a_page_was_made_from_costs_nothing(
    night: Night, reports: Path, text: str
) -> None:
    night(1)
    write_pages(reports)
    pages = contents(reports)
    note = reports / SITE / ".pages.json"
    record = json.loads(note.read_text())
    note.write_bytes(text.encode(errors="surrogateescape"))
    write_pages(reports)
    assert contents(reports) == pages
    assert json.loads(note.read_text()) == record


@pytest.mark.parametrize("change", ["annotations", "thresholds", "page"])
def test_whatever_a_page_is_made_from_makes_it_anew(
    night: Night, reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    first = night(1)
    night(2)
    site = tmp_path / "site-configs" / "local"
    site.mkdir(parents=True)
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    write_pages(reports)
    old_page = history(reports)
    if change == "annotations":
        (site / "annotations.yaml").write_text("- from: 2026-11-01\n  text: new cable\n")
    elif change == "thresholds":
        (site / "analysis.toml").write_text("damaged")
    else:
        (first / "report.html").unlink()
    write_pages(reports)
    assert history(reports) != old_page


def test_a_history_that_cannot_be_made_stops_no_other_page(
    night: Night, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(21)
    shutil.copytree(reports / SITE, reports / "another" / "local")
    write_history = write._write_history

    def broken(folder: Path, shelf: Any) -> Any:
        if shelf.campaign == "another":
            raise ValueError("day is out of range for month")
        return write_history(folder, shelf)

    monkeypatch.setattr(write, "_write_history", broken)
    with pytest.raises(UserError, match="another/local: ValueError: day is out of range"):
        write_pages(reports)
    assert (reports / SITE / "history.html").is_file()
    index = (reports / "index.html").read_text()
    assert "another" in index and "synthetic" in index
