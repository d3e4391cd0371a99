"""Publishing: once each bundle, never over another, and rebuilt byte for byte."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command import roundtrip

from roundtrip.errors import UserError
from roundtrip.measure import bundle
from roundtrip.report import publish
from roundtrip.report.build import Correction

ENVIRON = "openmpi41-boost181"
Maker = Callable[..., Any]


@pytest.fixture
def tree(make_tree: Maker) -> Any:
    return make_tree(launches=6, environs=(ENVIRON,))


def test_a_bundle_is_published_once(tree: Any, tmp_path: Path) -> None:
    bundle_path = bundle.build(tree.path)
    first = publish.publish(bundle_path, tmp_path / "reports")
    assert first == tmp_path / "reports" / "synthetic" / "local" / "2026-11-21" / "r1"
    assert publish.publish(bundle_path, tmp_path / "reports") == first
    assert [path.name for path in first.parent.iterdir()] == ["r1"]
    names = {"bundle", "figures", "report.html", "report.json", "report.md", "summary.md", "tables"}
    assert {path.name for path in first.iterdir()} == names
    assert publish.publish(first / "bundle", tmp_path / "reports") == first


def test_a_run_that_is_collected_again_with_other_launches_is_corrected(
    tree: Any, tmp_path: Path
) -> None:
    first = publish.publish(bundle.build(tree.path), tmp_path)
    page_bytes = (first / "report.html").read_bytes()
    tree.fail(6, ENVIRON, fail_reason="sanity error")
    second = publish.publish(bundle.build(tree.path), tmp_path)
    assert (first.name, second.name, second.parent) == ("r1", "r2", first.parent)
    assert (first / "report.html").read_bytes() == page_bytes
    assert "supersedes r1" in (second / "report.md").read_text()
    assert publish.publish(bundle.build(tree.path), tmp_path) == second
    assert publish.verify(second) == []


def test_a_correction_says_what_it_supersedes_and_why(tree: Any, tmp_path: Path) -> None:
    bundle_path = bundle.build(tree.path)
    with pytest.raises(UserError, match="no revision r1 to supersede"):
        publish.publish(bundle_path, tmp_path, Correction("r1", "wrong axis"))
    publish.publish(bundle_path, tmp_path)
    correction = publish.publish(bundle_path, tmp_path, Correction("r1", "wrong axis"))
    assert correction.name == "r2"
    assert publish.publish(bundle_path, tmp_path, Correction("r1", "wrong axis")) == correction
    for name in ("report.html", "report.md"):
        text = (correction / name).read_text()
        assert "supersedes r1" in text and "wrong axis" in text
    assert publish.verify(correction) == []


def test_a_report_is_rebuilt_byte_for_byte(tree: Any, tmp_path: Path) -> None:
    revision = publish.publish(bundle.build(tree.path), tmp_path)
    assert publish.verify(revision) == []
    page = revision / "report.html"
    page.write_text(page.read_text().replace("The answer", "The Answer"))
    (revision / "figures" / "more.svg").write_text("<svg/>")
    (revision / "report.md").unlink()
    assert publish.verify(revision) == ["figures/more.svg", "report.html", "report.md"]


def test_every_byte_of_a_revision_is_verified(tree: Any, tmp_path: Path) -> None:
    """Links, empty folders, report.json and whatever lies beside the bundle's files."""
    revision = publish.publish(bundle.build(tree.path), tmp_path)
    facts = revision / "report.json"
    facts.write_text(facts.read_text() + " ")
    (revision / "figures" / "link.svg").symlink_to("/etc/hostname")
    (revision / "folder").symlink_to("/etc")
    (revision / "empty").mkdir()
    os.mkfifo(revision / "fifo")
    wrong_files = ["empty", "fifo", "figures/link.svg", "folder", "report.json"]
    assert publish.verify(revision) == wrong_files
    (revision / "bundle" / "more").symlink_to("/etc")
    with pytest.raises(UserError, match="more is not in the manifest"):
        publish.verify(revision)


def test_publishing_over_a_damaged_revision_says_so(tree: Any, tmp_path: Path) -> None:
    bundle_path = bundle.build(tree.path)
    revision = publish.publish(bundle_path, tmp_path)
    for name in ("report.html", "figures/more.svg", "report.json"):
        whole = shutil.copytree(revision, tmp_path / "whole")
        (revision / name).write_text("{")
        with pytest.raises(UserError, match=f"r1: {name} is not as it was published"):
            publish.publish(bundle_path, tmp_path)
        shutil.rmtree(revision)
        whole.rename(revision)
    assert publish.publish(bundle_path, tmp_path) == revision
    (revision / "report.html").write_text("")
    assert publish.publish(bundle_path, tmp_path, Correction("r1", "it was damaged")).name == "r2"
    for name in ("../r1", "r0", "figures"):
        with pytest.raises(UserError, match="there is no revision"):
            publish.publish(bundle_path, tmp_path, Correction(name, "why"))


def test_a_revision_from_before_the_digests_of_its_files(tree: Any, tmp_path: Path) -> None:
    bundle_path = bundle.build(tree.path)
    revision = publish.publish(bundle_path, tmp_path)
    facts = json.loads((revision / "report.json").read_text())
    del facts["files"]
    (revision / "report.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
    assert publish.verify(revision) == []
    assert publish.publish(bundle_path, tmp_path) == revision


def test_a_tampered_bundle_is_not_published(tree: Any, tmp_path: Path) -> None:
    bundle_path = bundle.build(tree.path)
    (bundle_path / "campaign.toml").write_text('title = "mine"\n')
    with pytest.raises(UserError, match=r"campaign\.toml is not the file"):
        publish.publish(bundle_path, tmp_path / "reports")
    assert not (tmp_path / "reports").exists()


def test_a_full_disk_is_one_line_and_leaves_no_half_report(
    tree: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle_path = bundle.build(tree.path)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(UserError, match="free some space"):
        publish.publish(bundle_path, tmp_path / "reports")
    assert [f.name for f in (tmp_path / "reports").rglob("*.*")] == [".lock"]


def test_a_name_taken_by_another_process_is_not_overwritten(tree: Any, tmp_path: Path) -> None:
    folder = tmp_path / "synthetic" / "local" / "2026-11-21"
    (folder / "r1").mkdir(parents=True)
    (folder / "r1" / "notes.txt").write_text("mine")
    revision = publish.publish(bundle.build(tree.path), tmp_path)
    assert revision == folder.with_name("2026-11-21.2") / "r1"
    assert (folder / "r1" / "notes.txt").read_text() == "mine"


def test_the_command_line(tree: Any, tmp_path: Path) -> None:
    status, out, err = roundtrip("report", tree.path, "--output", tmp_path / "out", "--verify")
    assert status == 0, err
    page = tmp_path / "out" / "synthetic" / "local" / "2026-11-21" / "r1" / "report.html"
    first, last = out.splitlines()
    assert re.fullmatch(
        r"verified: rebuilt byte for byte; signed by SHA256:\S{43} \(roundtrip local\)", first
    )
    assert last == f"report: {page}"
    page.write_text("")
    status, _, err = roundtrip("report", page.parent, "--verify")
    assert status == 1
    assert "report.html: differs when rebuilt" in err


def test_a_report_is_verified_or_corrected(tree: Any, tmp_path: Path) -> None:
    revision = publish.publish(bundle.build(tree.path), tmp_path / "reports")
    status, out, err = roundtrip(
        "report", revision, "--verify", "--supersedes", "r1", "--reason", "a typo"
    )
    assert (status, out) == (2, "")
    assert "corrects none: leave --supersedes out" in err
    status, out, err = roundtrip("report", revision, "--supersedes", "r1", "--reason", " ")
    assert (status, out) == (2, "")
    assert "an argument is empty after --reason" in err


def test_the_command_line_refuses_in_one_line(tree: Any, tmp_path: Path) -> None:
    facts = json.loads((tree.path / "state.json").read_text())
    (tree.path / "state.json").write_text(json.dumps({**facts, "campaign": "../../etc"}))
    for arguments in (
        ("collect", tree.path),
        ("report", tree.path),
        ("report", tmp_path / "nowhere"),
        ("report", tree.path, "--supersedes", "r1"),
    ):
        status, out, err = roundtrip(*arguments)
        assert (status, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert err.startswith("roundtrip: ")
